#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

static std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

int main(int argc, char** argv) {
  std::vector<std::string> input, layers, linear;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto at = argument.find('=');
    const auto name = argument.substr(0, at);
    const auto values = split(argument.substr(at + 1));
    if (name == "input") input = values;
    if (name == "layers") layers = values;
    if (name == "linear") linear = values;
  }
  int64_t channels = std::stoll(input[0]), height = std::stoll(input[1]), width = std::stoll(input[2]);
  int convolutions = 0, pools = 0, rows = 0;
  std::cout << "layer,memory,parameters,macs\n";
  for (const auto& layer : layers) {
    if (layer == "M") {
      height /= 2, width /= 2;
      std::cout << "pool" << ++pools << "," << channels * height * width << ",0,0\n";
      continue;
    }
    const int64_t filters = std::stoll(layer);
    std::cout << "conv" << ++convolutions << "," << filters * height * width << "," << filters * (9 * channels + 1) << ","
              << 9 * channels * filters * height * width << "\n";
    channels = filters;
  }
  int64_t features = channels * height * width;
  for (const auto& layer : linear) {
    const int64_t outputs = std::stoll(layer);
    std::cout << "fc" << ++rows << "," << outputs << "," << outputs * (features + 1) << "," << outputs * features << "\n";
    features = outputs;
  }
}
