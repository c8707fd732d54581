// witness MODEL.pt SIZE...: a second count of what reference/torchscript.py counts, without any of its code.
//
// A callback of RecordFunction sees every operator that runs, with its tensors. Only the outermost one of a layer counts.
// Build it as libtorch was built, with -DNDEBUG: without, at::RecordFunction has one member more, and nothing is seen.
// These headers alone, and those of single operators, compile in half the time that torch/script.h takes.
#define AT_PER_OPERATOR_HEADERS
#include <ATen/ops/ones.h>
#include <ATen/record_function.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

enum class Kind { kOther, kConvolution, kLinear };

const std::map<std::string, Kind>& layers() {
  static const std::map<std::string, Kind> known = [] {
    std::map<std::string, Kind> found = {
        {"aten::_convolution", Kind::kConvolution},
        {"aten::_convolution_mode", Kind::kConvolution},
        {"aten::linear", Kind::kLinear},
    };
    for (const char* name : {"batch_norm", "dropout", "dropout_", "relu", "relu_", "hardtanh", "hardtanh_", "silu",
                             "silu_", "hardswish", "hardswish_", "hardsigmoid", "hardsigmoid_", "sigmoid", "max_pool2d",
                             "avg_pool2d", "adaptive_avg_pool2d"}) {
      found.emplace(std::string("aten::") + name, Kind::kOther);
    }
    return found;
  }();
  return known;
}

struct Tally {
  int64_t activation_bytes = 0;
  int64_t joined_bytes = 0;  // sums, products and concatenations between layers
  int64_t macs = 0;
  int depth = 0;
} tally;

const std::set<std::string> kJoins = {"aten::add", "aten::add_", "aten::mul", "aten::mul_", "aten::cat", "aten::mean"};

struct Seen : at::ObserverContext {
  bool layer = false;
  bool join = false;
};

std::unique_ptr<at::ObserverContext> entered(const at::RecordFunction& fn) {
  auto seen = std::make_unique<Seen>();
  seen->layer = layers().count(fn.name()) != 0;
  seen->join = tally.depth == 0 && kJoins.count(fn.name()) != 0;
  tally.depth += seen->layer || seen->join;
  return seen;
}

void left(const at::RecordFunction& fn, at::ObserverContext* context) {
  const auto* seen = static_cast<Seen*>(context);
  if (!seen->layer && !seen->join) return;
  if (--tally.depth > 0) return;
  const at::Tensor out = fn.outputs().at(0).toTensor();
  const auto bytes = static_cast<int64_t>(out.numel() * out.element_size());
  (seen->layer ? tally.activation_bytes : tally.joined_bytes) += bytes;
  if (!seen->layer || layers().at(fn.name()) == Kind::kOther) return;
  const at::Tensor weight = fn.inputs()[1].toTensor();
  tally.macs += out.numel() * (weight.numel() / weight.size(0));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: witness MODEL.pt SIZE...\n";
    return 2;
  }
  std::vector<int64_t> shape;
  for (int i = 2; i < argc; ++i) shape.push_back(std::stoll(argv[i]));
  torch::jit::Module module = torch::jit::load(argv[1]);
  module.eval();

  int64_t weight_bytes = 0;
  for (const at::Tensor& each : module.parameters()) weight_bytes += each.numel() * each.element_size();

  at::addGlobalCallback(at::RecordFunctionCallback(entered, left).needsInputs(true).needsOutputs(true));
  at::NoGradGuard no_grad;
  module.forward({at::ones(shape)});
  std::cout << "{\"weight_bytes\": " << weight_bytes << ", \"layers\": " << tally.activation_bytes
            << ", \"operators\": " << tally.activation_bytes + tally.joined_bytes << ", \"macs\": " << tally.macs
            << "}\n";
}
