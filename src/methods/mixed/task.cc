#include "methods/mixed/task.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace partita::methods::mixed {

int Task::row_bits() const {
  return std::max(1, static_cast<int>(std::ceil(std::log2(static_cast<double>(max_rows())))));
}

int Task::least_log2() const { return std::max(kLeastLambdaLog2, kLeastOverRowsLog2 - row_bits()); }

std::vector<double> Task::Lambdas() const {
  const int least = least_log2();
  std::vector<double> lambdas = {0};
  for (int step = 0; step <= kStepsOfOctave * (kMostLambdaLog2 - least); ++step)
    lambdas.push_back(std::exp2(least + static_cast<double>(step) / kStepsOfOctave));
  return lambdas;
}

double Task::LogOfFirst() const { return std::numbers::ln2 * least_log2(); }

double LogStep() { return std::numbers::ln2 / kStepsOfOctave; }

}  // namespace partita::methods::mixed
