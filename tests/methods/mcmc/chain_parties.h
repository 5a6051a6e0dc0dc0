// Parties of a chain in one process, on the rows of birthwt.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "methods/mcmc/chain.h"
#include "mpc/functions/variates.h"
#include "tests/mpc/harness.h"
#include "tests/paths.h"
#include "tests/stats/mcmc/registries.h"

namespace partita::methods::mcmc {

struct EngineCase {
  const char* kind;
  size_t parties;
};

inline mpc::testing::RunOptions OptionsFor(const EngineCase& engine_case,
                                           std::vector<mpc::Release> releases) {
  mpc::testing::RunOptions options;
  options.kind = engine_case.kind;
  options.num_parties = engine_case.parties;
  options.releases = std::move(releases);
  return options;
}

inline nlohmann::json BirthwtReference() {
  std::ifstream file(FixturePath("references/glm/posteriors.json"));
  return nlohmann::json::parse(file)["birthwt_logit"];
}

// The model of the reference, begun at 0; `decisions` draws without warm-up.
inline ChainPlan BirthwtPlan(size_t chains, size_t decisions, stats::mcmc::Acceptance acceptance) {
  ChainPlan plan;
  plan.options.chains = chains;
  plan.options.warmup = 0;
  plan.options.draws = decisions;
  plan.options.acceptance = acceptance;
  plan.start = Eigen::MatrixXd::Zero(6, static_cast<Eigen::Index>(chains));
  plan.priors.assign(6, stats::mcmc::ParsePrior("normal(0, 2.5)"));
  plan.priors[0] = stats::mcmc::ParsePrior("normal(0, 5)");
  return plan;
}

inline ErrorCode CodeOf(const std::exception_ptr& failed) {
  try {
    std::rethrow_exception(failed);
  } catch (const Error& error) {
    return error.code();
  }
}
inline std::string MessageOf(const std::exception_ptr& failed) {
  try {
    std::rethrow_exception(failed);
  } catch (const Error& error) {
    return error.message();
  }
}

// A target that stops being finite after so many calls.
class Failing : public stats::mcmc::LocalTarget {
 public:
  Failing(stats::mcmc::TargetPtr inner, size_t calls, double value)
      : inner_(std::move(inner)), left_(calls), value_(value) {}
  size_t dimension() const override { return inner_->dimension(); }
  Eigen::VectorXd LogLikelihood(const Eigen::MatrixXd& thetas) const override {
    Eigen::VectorXd values = inner_->LogLikelihood(thetas);
    if (left_ == 0) values(0) = value_;
    if (left_ > 0) --left_;
    return values;
  }

 private:
  stats::mcmc::TargetPtr inner_;
  mutable size_t left_;
  double value_;
};

class Parties {
 public:
  explicit Parties(size_t count)
      : fail_after(count, SIZE_MAX),
        later_fails_after(count, SIZE_MAX),
        stored(count),
        marked(count),
        records(count + 1),
        results(count),
        registry_(stats::mcmc::testing::Birthwt()),
        count_(count) {}

  // At one process: its part of the run.
  void Run(mpc::Engine& engine, size_t process, const ChainPlan& plan,
           std::vector<mpc::Shared> variates = {}) {
    crypto::SystemRandom random;
    SilentProgress progress;
    ChainInputs inputs;
    inputs.variates = std::move(variates);
    inputs.record = records[std::min(process, records.size() - 1)];
    if (!engine.self()) {
      RunSecureChains(engine, plan, inputs, progress);
      return;
    }
    const size_t self = *engine.self();
    // In a staged plan every other row decides first.
    const auto part = [&](Eigen::Index first, size_t step) {
      return stats::mcmc::testing::PartOf(registry_, first, static_cast<Eigen::Index>(step));
    };
    const auto place = static_cast<Eigen::Index>(self), of = static_cast<Eigen::Index>(count_);
    const Failing target(plan.staged ? part(place, 2 * count_) : part(place, count_),
                         fail_after[self], broken);
    const Failing later(part(place + of, 2 * count_), later_fails_after[self], broken);
    inputs.target = &target;
    if (plan.staged) inputs.later = &later;
    inputs.public_key = &key_;
    inputs.random = &random;
    inputs.mark = [this, self](uint64_t decisions) { marked[self].push_back(decisions); };
    inputs.store = [this, self](const ChainRecord& record) { stored[self].push_back(record); };
    results[self] = RunSecureChains(engine, plan, inputs, progress);
  }

  // What all parties agree on; rethrows what one of them threw.
  ChainRecord AgreeOn(const std::vector<ChainRecord>& own, mpc::testing::RunOptions options) {
    std::vector<ChainRecord> agreed(count_);
    options.prepare = [&](net::Channel& channel) {
      agreed[channel.self()] = AgreeOnRecord(channel, count_, 4, 1000, own[channel.self()]);
    };
    mpc::testing::RunAll(options, [](mpc::Engine&, size_t) {}).ThrowIfFailed();
    for (const ChainRecord& record : agreed) {
      EXPECT_EQ(EncodeRecord(record, 4, {}), EncodeRecord(agreed[0], 4, {}));
    }
    return agreed[0];
  }

  const crypto::Key& key() const { return key_; }
  const stats::mcmc::testing::Registry& registry() const { return registry_; }

  std::vector<size_t> fail_after;                // calls of the log likelihood, by party
  std::vector<size_t> later_fails_after;         // of the second stage's
  double broken = std::nan("");                  // what it is then
  std::vector<std::vector<ChainRecord>> stored;  // by party, in order
  std::vector<std::vector<uint64_t>> marked;     // by party, in order
  std::vector<ChainRecord> records;              // to begin with, by process
  std::vector<ChainResult> results;              // by party

 private:
  stats::mcmc::testing::Registry registry_;
  size_t count_;
  crypto::Key key_{std::array<uint8_t, 32>{7, 1, 9}};
};

// All parties' rows of one stage, as Parties divides them.
class StageTarget : public stats::mcmc::LocalTarget {
 public:
  StageTarget(const stats::mcmc::testing::Registry& registry, size_t parties, size_t stage) {
    for (size_t p = 0; p < parties; ++p) {
      parts_.push_back(stats::mcmc::testing::PartOf(registry,
                                                    static_cast<Eigen::Index>(p + stage * parties),
                                                    static_cast<Eigen::Index>(2 * parties)));
    }
  }
  size_t dimension() const override { return parts_.front()->dimension(); }
  Eigen::VectorXd LogLikelihood(const Eigen::MatrixXd& thetas) const override {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(thetas.cols());
    for (const auto& part : parts_) sum += part->LogLikelihood(thetas);
    return sum;
  }

 private:
  std::vector<stats::mcmc::TargetPtr> parts_;
};

// Runs the plan with variates that are opened beside, and compares every decision with the one that
// the pooled rows and the same threshold give at the same state, except where |log r + V| < 2^-30.
// make: of engines, instead of that kind's. after: at every process, when its chains are done.
inline void ExpectPlaintextChain(const EngineCase& engine_case, const ChainPlan& plan,
                                 const mpc::testing::EngineMaker& make = {},
                                 const mpc::testing::Body& after = {}) {
  const size_t block = plan.options.speculation, chains = plan.options.chains;
  const size_t blocks = stats::mcmc::DecisionsOf(plan.options) / block;
  const size_t questions = (size_t{1} << block) - 1;
  const bool barker = plan.options.acceptance == stats::mcmc::Acceptance::kBarker;
  auto options = OptionsFor(engine_case, {ReleaseOf(plan), {"variates", "", "all", "exact", 1}});
  options.make = make;
  Parties parties(engine_case.parties);
  mpc::IntMatrix opened;
  mpc::testing::RunAll(options, [&](mpc::Engine& engine, size_t process) {
    crypto::SystemRandom random;
    const mpc::Shape shape{blocks * questions, chains};
    const mpc::Shared all = barker ? mpc::LogisticVariates(engine, shape, random, kDecisionBits)
                                   : mpc::ExponentialVariates(engine, shape, random, kDecisionBits);
    auto here = engine.Reveal("variates", std::span(&all, 1), mpc::kEverybody).front();
    if (engine.self() == mpc::PartyIndex{0}) opened = std::move(here);
    std::vector<mpc::Shared> variates;
    for (size_t b = 0; b < blocks; ++b) {
      variates.push_back(engine.Slice(all, b * questions, 0, {questions, chains}));
    }
    parties.Run(engine, process, plan, std::move(variates));
    if (after) after(engine, process);
  }).ThrowIfFailed();

  const auto& record = parties.results[0].record.decisions;
  ASSERT_EQ(record.size(), blocks * block);
  const auto pooled = stats::mcmc::testing::PartOf(parties.registry(), 0, 1);
  stats::mcmc::Differences differences(*pooled);
  size_t b = 0, near = 0, accepted = 0;
  const stats::mcmc::Decide replay = [&](const Eigen::MatrixXd& current,
                                         const std::vector<Eigen::MatrixXd>& steps) {
    Eigen::MatrixXd log_ratio = differences.Of(current, steps);
    log_ratio += PriorDifferences(plan.priors, current, steps);
    Bits bits;
    for (size_t k = 0; k < block; ++k) bits.push_back(record[b * block + k].accepted);
    for (size_t c = 0; c < chains; ++c) {
      std::vector<bool> before;
      for (size_t k = 0; k < block; ++k) {
        const size_t question = stats::mcmc::QuestionAfter(before);
        const double value =
            log_ratio(static_cast<Eigen::Index>(question), static_cast<Eigen::Index>(c)) +
            mpc::DecodeFixed(opened.values[(b * questions + question) * chains + c], kDecisionBits);
        if (std::abs(value) < 0x1p-30) {
          ++near;
        } else {
          EXPECT_EQ(bits[k][c], value >= 0) << engine_case.kind << " " << b << " " << k;
        }
        before.push_back(bits[k][c]);
        accepted += bits[k][c] ? 1 : 0;
      }
    }
    ++b;
    differences.Replace(bits);
    return bits;
  };
  crypto::Prg proposals(crypto::DeriveKey(parties.key(), "chain proposals"));
  SilentProgress progress;
  const auto draws = RunChains(plan.start, plan.options, replay, proposals, progress);
  for (const ChainResult& result : parties.results) {
    for (size_t c = 0; c < chains; ++c) {
      ASSERT_EQ(draws.chains[c], result.draws.chains[c]);
    }
  }
  // A value is so near 0 with a probability below 2^-29 each.
  EXPECT_LE(near, 3u);
  EXPECT_GT(accepted, record.size() * chains / 50);
}

}  // namespace partita::methods::mcmc
