// analyze MODEL.pt [SIZE...]: what a TorchScript model holds, puts out and computes, one line each.
//
// TorchScript has no forward hooks in C++, so a callback of RecordFunction sees each operator that runs. Operators call
// others; the outermost one of a layer is counted, and nothing inside of it.
#include <ATen/record_function.h>
#include <torch/script.h>

#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace {

const std::set<std::string> kLayers = {
    "aten::_convolution", "aten::conv2d",   "aten::linear",
    "aten::addmm",        "aten::matmul",   "aten::batch_norm",
    "aten::relu",         "aten::relu_",    "aten::max_pool2d",
    "aten::avg_pool2d",   "aten::dropout",  "aten::adaptive_avg_pool2d",
    "aten::dropout_",
};

int64_t activation_bytes = 0;
int64_t macs = 0;
int depth = 0;  // how many operators of layers are running

struct Seen : at::ObserverContext {
  bool counted = false;
};

int64_t multiplications(const std::string& name, const at::RecordFunction& fn, const at::Tensor& out) {
  if (name == "aten::_convolution" || name == "aten::conv2d") {
    const at::Tensor& weight = fn.inputs()[1].toTensor();  // out channels, in channels / groups, height, width
    return out.numel() * (weight.numel() / weight.size(0));
  }
  if (name == "aten::linear") return out.numel() * fn.inputs()[1].toTensor().size(1);
  if (name == "aten::addmm") return out.numel() * fn.inputs()[1].toTensor().size(1);
  if (name == "aten::matmul") return out.numel() * fn.inputs()[0].toTensor().size(-1);
  return 0;
}

std::unique_ptr<at::ObserverContext> entered(const at::RecordFunction& fn) {
  auto seen = std::make_unique<Seen>();
  seen->counted = kLayers.count(fn.name()) > 0;
  if (seen->counted) ++depth;
  return seen;
}

void left(const at::RecordFunction& fn, at::ObserverContext* context) {
  if (!static_cast<Seen*>(context)->counted || --depth > 0) return;
  for (const auto& value : fn.outputs()) {
    if (!value.isTensor()) continue;
    const at::Tensor& out = value.toTensor();
    activation_bytes += static_cast<int64_t>(out.nbytes());
    macs += multiplications(fn.name(), fn, out);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: analyze MODEL.pt [SIZE...]\n";
    return 2;
  }
  std::vector<int64_t> shape;
  for (int i = 2; i < argc; ++i) shape.push_back(std::stoll(argv[i]));
  if (shape.empty()) shape = {1, 3, 224, 224};

  torch::jit::Module module = torch::jit::load(argv[1]);
  module.eval();
  int64_t weight_bytes = 0;
  for (const auto& parameter : module.parameters()) weight_bytes += static_cast<int64_t>(parameter.nbytes());

  at::addGlobalCallback(at::RecordFunctionCallback(entered, left)
                            .needsInputs(true)
                            .needsOutputs(true)
                            .scopes({at::RecordScope::FUNCTION}));
  torch::NoGradGuard no_grad;
  module.forward({torch::ones(shape)});

  std::cout << "weight_bytes: " << weight_bytes << "\n"
            << "activation_bytes: " << activation_bytes << "\n"
            << "macs: " << macs << "\n";
}
