#include "methods/mcmc/decisions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/variates.h"

namespace partita::methods::mcmc {
namespace {

// Ways through a block from decision i to decision j: plane r says that these fall as the bits i to
// j of r, if those before i fall as the bits of r below. So 2^(j + 1) planes.
//
// Of every pair of neighbours, one after the other, the ways through both.
std::vector<mpc::SharedBits> JoinNeighbours(mpc::Engine& engine,
                                            const std::vector<mpc::SharedBits>& ways) {
  std::vector<mpc::BitProduct> products;
  for (size_t i = 0; i + 1 < ways.size(); i += 2) {
    std::vector<size_t> begin(ways[i + 1].width);
    for (size_t r = 0; r < begin.size(); ++r) begin[r] = r % ways[i].width;
    products.push_back({engine.SelectPlanes(ways[i], begin), ways[i + 1]});
  }
  std::vector<mpc::SharedBits> joined = engine.And(products);
  if (ways.size() % 2 == 1) joined.push_back(ways.back());
  return joined;
}

struct Halves {
  mpc::SharedBits lower, upper;
};

Halves HalvesOf(mpc::Engine& engine, const mpc::SharedBits& planes) {
  std::vector<size_t> lower(planes.width / 2), upper(planes.width / 2);
  std::iota(lower.begin(), lower.end(), size_t{0});
  std::iota(upper.begin(), upper.end(), lower.size());
  return {engine.SelectPlanes(planes, lower), engine.SelectPlanes(planes, upper)};
}

// Of the ways through a whole block, of which exactly one is taken: how each decision falls on it.
mpc::SharedBits DecisionsOfWay(mpc::Engine& engine, mpc::SharedBits ways) {
  std::vector<mpc::SharedBits> decisions;
  while (ways.width > 1) {
    auto [lower, upper] = HalvesOf(engine, ways);
    ways = engine.Xor(lower, upper);
    while (upper.width > 1) {
      const Halves halves = HalvesOf(engine, upper);
      upper = engine.Xor(halves.lower, halves.upper);
    }
    decisions.push_back(upper);
  }
  std::reverse(decisions.begin(), decisions.end());
  return engine.JoinPlanes(decisions);
}

}  // namespace

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

// One plane per decision.
mpc::SharedBits Decisions::PathOf(const std::vector<mpc::SharedBits>& accepted) {
  std::vector<mpc::SharedBits> ways;
  for (size_t k = 0; k < task_.block; ++k) {
    const size_t questions = size_t{1} << k;
    const mpc::SharedBits yes =
        engine_.JoinPlanes(std::span(accepted).subspan(questions - 1, questions));
    const mpc::SharedBits both[] = {engine_.Not(yes), yes};
    ways.push_back(engine_.JoinPlanes(both));
  }
  while (ways.size() > 1) ways = JoinNeighbours(engine_, ways);
  return DecisionsOfWay(engine_, ways.front());
}

}  // namespace partita::methods::mcmc
