#include <torch/script.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: analyzer model.pt\n";
    return 1;
  }
  torch::jit::script::Module module = torch::jit::load(argv[1]);
  module.eval();
  torch::NoGradGuard no_grad;
  at::Tensor output = module.forward({torch::zeros({1, 3, 224, 224})}).toTensor();
  std::cout << "loaded " << argv[1] << "\n";
  std::cout << output.slice(1, 0, 5) << "\n";
}
