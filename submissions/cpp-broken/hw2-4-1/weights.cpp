#include <torch/script.h>

#include <iostream>

int main(int argc, const char* argv[]) {
  auto module = torch::jit::load(argv[1]);
  int64_t total = 0;
  for (const auto& p : module.parameters()) total += p.nbyte();
  std::cout << "weight_bytes: " << totl << "\n";
}
