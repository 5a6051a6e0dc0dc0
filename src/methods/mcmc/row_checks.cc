#include "methods/mcmc/row_checks.h"

#include <fmt/format.h>

#include "base/error.h"
#include "mpc/compare.h"

namespace partita::methods::mcmc {
namespace {

constexpr double kMaxCount = 0x1p32;

}  // namespace

mpc::Release RowChecksReleaseOf(size_t checks) {
  return {kRowChecksRelease,
          fmt::format("whether each of {} counts reaches its minimum, one bit each", checks),
          "all",
          "exact",
          1,
          mpc::kEverybody,
          checks};
}

std::vector<bool> ReachMinima(mpc::Engine& engine, const std::vector<uint64_t>& own,
                              const std::vector<uint64_t>& minima) {
  const mpc::Shape shape{1, minima.size()};
  std::vector<mpc::PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < engine.num_parties(); ++party) {
    mpc::PrivateMatrix input{party, shape, 0, kMaxCount, nullptr};
    if (engine.self() == party) {
      if (own.size() != minima.size()) {
        throw Error(ErrorCode::kInternal, "a party counts something else than is checked");
      }
      input.read = [&own](size_t, size_t num_rows, Int128* out) {
        for (size_t k = 0; num_rows > 0 && k < own.size(); ++k)
          out[k] = static_cast<Int128>(own[k]);
      };
    }
    inputs.push_back(std::move(input));
  }
  const std::vector<mpc::Shared> parts = engine.Input(inputs);
  mpc::Shared total = parts.front();
  for (size_t k = 1; k < parts.size(); ++k) total = engine.Add(total, parts[k]);
  mpc::PublicMatrix least{{shape, {}}, 0};
  for (const uint64_t minimum : minima) least.values.values.push_back(static_cast<Int128>(minimum));
  const mpc::Shared rest = engine.Subtract(total, engine.Public(least));
  const mpc::SharedBits fails = mpc::IsNegative(engine, std::span(&rest, 1)).front();
  const mpc::SharedBits reached = engine.Not(fails);
  const mpc::BitMatrix opened =
      engine.RevealBits(kRowChecksRelease, std::span(&reached, 1), mpc::kEverybody).front();
  std::vector<bool> result;
  if (opened.words.empty()) return result;
  for (size_t k = 0; k < minima.size(); ++k) result.push_back(mpc::GetBit(opened, 0, k));
  return result;
}

}  // namespace partita::methods::mcmc
