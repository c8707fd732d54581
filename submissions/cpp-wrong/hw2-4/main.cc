#include <ATen/record_function.h>
#include <torch/script.h>

#include <iostream>
#include <string>
#include <vector>

int64_t macs = 0;
int unused_variable_that_warns;

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction&) { return nullptr; }

void leave(const at::RecordFunction& fn, at::ObserverContext*) {
  std::string name = fn.name();
  if (name != "aten::_convolution" && name != "aten::linear") return;
  at::Tensor out = fn.outputs()[0].toTensor();
  at::Tensor weight = fn.inputs()[1].toTensor();
  if (name == "aten::linear")
    macs += out.numel() * weight.size(1) * out.size(0);
  else
    macs += out.numel() * weight.size(1) * weight.size(2) * weight.size(2) * out.size(0);
}

int64_t activation = 0;

at::Tensor run(torch::jit::Module module, at::Tensor x, bool top) {
  bool leaf = module.children().size() == 0;
  if (leaf) {
    if (module.hasattr("weight") && module.attr("weight").toTensor().dim() == 2) x = x.flatten(1);
    x = module.forward({x}).toTensor();
  } else {
    for (const auto& child : module.children()) x = run(child, x, false);
  }
  activation += x.numel() * x.element_size();
  return x;
}

int main(int argc, const char* argv[]) {
  torch::jit::Module module = torch::jit::load(argv[1]);
  std::vector<int64_t> size;
  for (int i = 2; i < argc; i++) size.push_back(std::stol(argv[i]));
  at::Tensor input = torch::ones(size);

  int64_t weights = 0;
  for (const auto& p : module.named_parameters())
    if (p.name.size() >= 6 && p.name.substr(p.name.size() - 6) == "weight")
      weights += p.value.numel() * p.value.element_size();
  std::cout << "Weight bytes: " << weights << std::endl;

  auto handle = at::addGlobalCallback(at::RecordFunctionCallback(enter, leave).needsInputs(true).needsOutputs(true));
  module.forward({input});
  at::removeCallback(handle);
  std::cout << "MACs: " << macs << std::endl;

  run(module, input, true);
  std::cout << "Activation bytes: " << activation << std::endl;
  return 0;
}
