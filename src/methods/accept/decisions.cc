#include "methods/accept/decisions.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/variates.h"

namespace partita::methods::accept {
namespace {

std::vector<Int128> Encoded(std::span<const double> differences) {
  std::vector<Int128> encoded;
  for (const double difference : differences) {
    if (std::isnan(difference) || difference == HUGE_VAL) {
      throw Error(ErrorCode::kBadData, "an own log ratio is not a number",
                  "check the own log density at extreme parameters");
    }
    encoded.push_back(mpc::EncodeFixed(
        std::clamp(difference, -kLargestDifference, kLargestDifference), kDecisionBits));
  }
  return encoded;
}

}  // namespace

mpc::Release ReleaseOf(const DecisionTask& task, uint64_t decisions) {
  return {kDecisionsRelease,
          "which proposals are accepted",
          "all",
          "exact bits of random decisions",
          decisions,
          mpc::kEverybody,
          task.chains};
}

void Decisions::Prepare(size_t decisions) {
  const mpc::Shape shape{decisions, task_.chains};
  const mpc::Shared all = task_.acceptance == stats::mcmc::Acceptance::kBarker
                              ? mpc::LogisticVariates(engine_, shape, random_, kDecisionBits)
                              : mpc::ExponentialVariates(engine_, shape, random_, kDecisionBits);
  for (size_t row = 0; row < decisions; ++row) {
    variates_.push_back(engine_.Slice(all, row, 0, {1, task_.chains}));
  }
}

std::vector<bool> Decisions::Decide(std::span<const double> own) {
  if (variates_.empty()) Prepare(task_.ahead);
  const std::vector<Int128> encoded = Encoded(own);
  std::vector<mpc::PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < engine_.num_parties(); ++party) {
    mpc::PrivateMatrix input{party, {1, task_.chains}, kDecisionBits, kLargestDifference, nullptr};
    if (engine_.self() == party) {
      if (encoded.size() != task_.chains) {
        throw Error(ErrorCode::kInternal, "a party has not one difference per chain");
      }
      input.read = [&encoded](size_t, size_t num_rows, Int128* out) {
        if (num_rows > 0) std::copy(encoded.begin(), encoded.end(), out);
      };
    }
    inputs.push_back(std::move(input));
  }
  mpc::Shared sum = variates_.front();
  variates_.pop_front();  // never used twice, whatever happens next
  for (const mpc::Shared& part : engine_.Input(inputs)) sum = engine_.Add(sum, part);
  const mpc::SharedBits rejected = mpc::IsNegative(engine_, std::span(&sum, 1)).front();
  const mpc::SharedBits accepted = engine_.Not(rejected);
  const mpc::BitMatrix opened =
      engine_.RevealBits(kDecisionsRelease, std::span(&accepted, 1), mpc::kEverybody).front();
  std::vector<bool> bits;
  if (opened.words.empty()) return bits;
  for (size_t c = 0; c < task_.chains; ++c) bits.push_back(mpc::GetBit(opened, 0, c));
  return bits;
}

}  // namespace partita::methods::accept
