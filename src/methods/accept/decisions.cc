#include "methods/accept/decisions.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/variates.h"

namespace partita::methods::accept {

Int128 EncodeDifference(double difference) {
  if (std::isnan(difference) || difference == HUGE_VAL) {
    throw Error(ErrorCode::kBadData, "an own log ratio is not a number",
                "check the own log density at extreme parameters");
  }
  return mpc::EncodeFixed(std::clamp(difference, -kLargestDifference, kLargestDifference),
                          kDecisionBits);
}

mpc::Release ReleaseOf(const DecisionTask& task, uint64_t blocks) {
  return {kDecisionsRelease,
          "which proposals are accepted",
          "all",
          "exact bits of random decisions",
          blocks,
          mpc::kEverybody,
          task.chains * task.block};
}

Decisions::Decisions(mpc::Engine& engine, const DecisionTask& task, crypto::RandomSource& random)
    : engine_(engine), task_(task), random_(random) {
  if (task.chains == 0 || task.ahead == 0 || task.block == 0 || task.block > kMaxBlock) {
    throw Error(ErrorCode::kUsage, "decisions need a chain, and 1 to 10 decisions in a block");
  }
}

void Decisions::Prepare(size_t blocks) {
  const mpc::Shape shape{blocks * questions(), task_.chains};
  const mpc::Shared all = task_.acceptance == stats::mcmc::Acceptance::kBarker
                              ? mpc::LogisticVariates(engine_, shape, random_, kDecisionBits)
                              : mpc::ExponentialVariates(engine_, shape, random_, kDecisionBits);
  for (size_t block = 0; block < blocks; ++block) {
    variates_.push_back(engine_.Slice(all, block * questions(), 0, {questions(), task_.chains}));
  }
}

Bits Decisions::Decide(const Eigen::MatrixXd& own) {
  if (variates_.empty()) Prepare(task_.ahead);
  const mpc::Shape shape{questions(), task_.chains};
  std::vector<Int128> encoded;
  if (engine_.self()) {
    if (own.rows() != static_cast<Eigen::Index>(shape.rows) ||
        own.cols() != static_cast<Eigen::Index>(shape.cols)) {
      throw Error(ErrorCode::kInternal, "a party has not one difference per question and chain");
    }
    for (Eigen::Index q = 0; q < own.rows(); ++q) {
      for (Eigen::Index c = 0; c < own.cols(); ++c) encoded.push_back(EncodeDifference(own(q, c)));
    }
  }
  std::vector<mpc::PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < engine_.num_parties(); ++party) {
    mpc::PrivateMatrix input{party, shape, kDecisionBits, kLargestDifference, nullptr};
    if (engine_.self() == party) {
      input.read = [&encoded, shape](size_t first, size_t count, Int128* out) {
        std::copy_n(encoded.begin() + static_cast<ptrdiff_t>(first * shape.cols),
                    count * shape.cols, out);
      };
    }
    inputs.push_back(std::move(input));
  }
  mpc::Shared sum = variates_.front();
  variates_.pop_front();  // never used twice, whatever happens next
  for (const mpc::Shared& part : engine_.Input(inputs)) sum = engine_.Add(sum, part);
  std::vector<mpc::Shared> questions;
  for (size_t q = 0; q < shape.rows; ++q) {
    questions.push_back(engine_.Slice(sum, q, 0, {1, shape.cols}));
  }
  std::vector<mpc::SharedBits> accepted = mpc::IsNegative(engine_, questions);
  for (mpc::SharedBits& bit : accepted) bit = engine_.Not(bit);
  const mpc::SharedBits path = PathOf(accepted);
  const mpc::BitMatrix opened =
      engine_.RevealBits(kDecisionsRelease, std::span(&path, 1), mpc::kEverybody).front();
  if (opened.words.empty()) return {};
  Bits bits(task_.block, std::vector<bool>(task_.chains));
  for (size_t k = 0; k < task_.block; ++k) {
    for (size_t c = 0; c < task_.chains; ++c) bits[k][c] = mpc::GetBit(opened, k, c);
  }
  return bits;
}

// One plane per decision. After each, of every pair of later questions that differ in this decision
// the one that comes up stays.
mpc::SharedBits Decisions::PathOf(const std::vector<mpc::SharedBits>& accepted) {
  std::vector<std::vector<mpc::SharedBits>> left(task_.block);  // by decision
  for (size_t k = 0; k < task_.block; ++k) {
    const auto first = accepted.begin() + static_cast<ptrdiff_t>((size_t{1} << k) - 1);
    left[k].assign(first, first + (ptrdiff_t{1} << k));
  }
  std::vector<mpc::SharedBits> path;
  for (size_t k = 0; k < task_.block; ++k) {
    path.push_back(left[k].front());
    std::vector<mpc::SharedBits> if_not, change;
    for (size_t later = k + 1; later < task_.block; ++later) {
      for (size_t m = 0; m < left[later].size(); m += 2) {
        if_not.push_back(left[later][m]);
        change.push_back(engine_.Xor(left[later][m], left[later][m + 1]));
      }
    }
    if (if_not.empty()) break;
    const std::vector<size_t> copies(if_not.size(), 0);
    const mpc::BitProduct product{engine_.SelectPlanes(path.back(), copies),
                                  engine_.JoinPlanes(change)};
    const mpc::SharedBits changed = engine_.And(std::span(&product, 1)).front();
    size_t plane = 0;
    for (size_t later = k + 1; later < task_.block; ++later) {
      std::vector<mpc::SharedBits> kept;
      for (size_t m = 0; m < left[later].size(); m += 2, ++plane) {
        kept.push_back(
            engine_.Xor(if_not[plane], engine_.SelectPlanes(changed, std::span(&plane, 1))));
      }
      left[later] = std::move(kept);
    }
  }
  return engine_.JoinPlanes(path);
}

}  // namespace partita::methods::accept
