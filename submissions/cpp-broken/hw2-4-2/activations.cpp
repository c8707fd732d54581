#include <torch/script.h>

#include <iostream>

int main() {
  auto module = torch::jit::load("traced_alexnet_model.pt");
  std::cout << "activation_bytes: " << module.forward({torch::ones({1, 3, 224, 224})}).toTensor().nbytes() << "\n";
}
