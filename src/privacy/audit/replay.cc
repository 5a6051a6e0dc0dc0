#include "privacy/audit/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::privacy {
namespace {

const char* NormName(Norm norm) {
  switch (norm) {
    case Norm::kL1:
      return "L1";
    case Norm::kL2:
      return "L2";
    case Norm::kLinf:
      return "Linf";
  }
  throw Error(ErrorCode::kInternal, "unknown norm");
}

std::string CallFault(size_t index, const NoiseCall& a, const NoiseCall& b) {
  const size_t number = index + 1;
  if (a.law != b.law) {
    return fmt::format("noise call {}: the law depends on the data ({} and {})", number, a.law,
                       b.law);
  }
  if (a.norm != b.norm || a.sensitivity != b.sensitivity) {
    return fmt::format("noise call {}: the declared sensitivity depends on the data", number);
  }
  if (a.values.size() != b.values.size()) {
    return fmt::format("noise call {}: {} values on one data set and {} on its neighbour", number,
                       a.values.size(), b.values.size());
  }
  const long double distance = GridDistance(a.values, b.values, a.norm);
  if (distance > static_cast<long double>(a.sensitivity)) {
    return fmt::format("noise call {}: neighbours differ by {:.6g} in {}, declared is {:.6g}",
                       number, static_cast<double>(distance), NormName(a.norm), a.sensitivity);
  }
  return {};
}

}  // namespace

void RecordingNoise::Add(const NoiseRequest& request, std::span<Int128> values) {
  calls_.push_back({request.law, request.norm, request.sensitivity,
                    std::vector<Int128>(values.begin(), values.end())});
  std::vector<Int128> noise(values.size());
  request.sample(tape_, noise);
  for (size_t i = 0; i < values.size(); ++i) values[i] += noise[i];
}

void CountingSource::Fill(std::span<uint8_t> out) {
  bytes_ += out.size();
  source_.Fill(out);
}

std::vector<std::string> CompareReplays(const std::vector<NoiseCall>& data,
                                        const std::vector<NoiseCall>& neighbour) {
  std::vector<std::string> faults;
  if (data.size() != neighbour.size()) {
    faults.push_back(fmt::format("{} noise calls on one data set and {} on its neighbour",
                                 data.size(), neighbour.size()));
  }
  for (size_t i = 0; i < std::min(data.size(), neighbour.size()); ++i) {
    std::string fault = CallFault(i, data[i], neighbour[i]);
    if (!fault.empty()) faults.push_back(std::move(fault));
  }
  return faults;
}

long double GridDistance(std::span<const Int128> a, std::span<const Int128> b, Norm norm) {
  if (a.size() != b.size()) {
    throw Error(ErrorCode::kInternal, "vectors of unlike length have no distance");
  }
  long double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto difference = std::fabs(static_cast<long double>(a[i] - b[i]));
    if (norm == Norm::kLinf) {
      sum = std::max(sum, difference);
    } else {
      sum += norm == Norm::kL2 ? difference * difference : difference;
    }
  }
  const long double rounding = static_cast<long double>(a.size() + 4) * 0x1p-63L;
  return (norm == Norm::kL2 ? std::sqrt(sum) : sum) * (1 - rounding);
}

}  // namespace partita::privacy
