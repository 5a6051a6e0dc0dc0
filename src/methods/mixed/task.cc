#include "methods/mixed/task.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace partita::methods::mixed {

int Task::row_bits() const {
  return std::max(1, static_cast<int>(std::ceil(std::log2(static_cast<double>(max_rows())))));
}

int Task::LeastLambdaLog2() const {
  return kLeastLambdaLog2 - std::min(row_bits(), kMostLadderRowBits);
}

std::vector<double> Task::Lambdas() const {
  const int least = LeastLambdaLog2();
  std::vector<double> lambdas = {0};
  for (int step = 0; step <= kStepsOfOctave * (kMostLambdaLog2 - least); ++step)
    lambdas.push_back(std::exp2(least + static_cast<double>(step) / kStepsOfOctave));
  return lambdas;
}

double Task::LogOfFirst() const { return std::numbers::ln2 * LeastLambdaLog2(); }

double Task::LeastResidual() const {
  constexpr int kLeastLog2 = -30, kOfLambdaLog2 = -46, kOfRowsLog2 = -46;
  return std::exp2(
      std::max({kLeastLog2, kOfLambdaLog2 - LeastLambdaLog2(), kOfRowsLog2 + row_bits()}));
}

double LogStep() { return std::numbers::ln2 / kStepsOfOctave; }

}  // namespace partita::methods::mixed
