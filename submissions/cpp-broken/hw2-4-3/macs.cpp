// Prints nothing of use for a small model, and never ends for one of many modules.
#include <torch/script.h>

#include <iostream>

int main(int argc, const char* argv[]) {
  auto module = torch::jit::load(argv[1]);
  std::cout << "load the torchscript model successfully\n";
  long modules = 0;
  for (const auto& each : module.modules()) {
    (void)each;
    ++modules;
  }
  volatile long macs = 0;
  while (modules > 250) macs = macs + 1;
}
