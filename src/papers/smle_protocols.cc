#include "papers/smle_protocols.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "data/scaling.h"
#include "methods/mle/likelihood/likelihood.h"
#include "methods/mle/moments/pooled_moments.h"
#include "methods/mle/sealed/analysis.h"
#include "mpc/dealer_engine.h"
#include "papers/smle_parties.h"

namespace partita::papers {
namespace {

namespace mle = methods::mle;
namespace published = methods::mle::published;
using Eigen::Index;
using Clock = std::chrono::steady_clock;

constexpr const char* kMoments = "moments";
constexpr const char* kFit = "fit";

published::Protocol PublishedProtocol(const std::string& name) {
  using enum published::Protocol;
  for (const published::Protocol protocol :
       {kConditional, kSecureSum, kSecureMatmul, kObliviousTransfer, kPlainPassing}) {
    if (published::ProtocolName(protocol) == name) return protocol;
  }
  throw Error(ErrorCode::kInternal, "no published protocol " + name);
}

bool HasMasks(const std::string& protocol) {
  return protocol == "conditional" || protocol == "secure-sum";
}

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

double PhaseSeconds(const PartyTraffic& traffic, const char* name) {
  double seconds = 0;
  for (const net::PhaseTraffic& phase : traffic.phases) {
    if (phase.phase == name) seconds += phase.seconds;
  }
  return seconds;
}

// Everything that the three protocols of `mle` share: moments of all rows.
class OwnProtocol {
 public:
  OwnProtocol(const std::string& protocol, const SmleSample& sample, const SmleSetting& setting)
      : protocol_(protocol), sample_(sample), setting_(setting), scale_(sample.scale()) {
    const auto rows = static_cast<size_t>(sample.rows.rows());
    task_.num_variables = static_cast<size_t>(sample.rows.cols());
    task_.max_rows = rows;
    if (protocol == "pooled-moments") task_.fraction_bits = data::MomentFractionBits(rows);
    if (protocol == "likelihood") task_.fraction_bits = mle::kLikelihoodFractionBits;
    if (protocol == "sealed") task_.fraction_bits = mle::kSealedInputBits;
    for (const published::Block& block : setting.layout.blocks) {
      mle::RowBlock rows_of;
      rows_of.name = fmt::format("block{}", task_.blocks.size() + 1);
      rows_of.count = static_cast<size_t>(block.rows);
      for (const published::BlockNode& node : block.nodes) {
        rows_of.holders.push_back({node.party, {node.columns.begin(), node.columns.end()}, {}});
      }
      task_.blocks.push_back(std::move(rows_of));
    }
    release_ = {kMoments, setting.layout.centre, {0}, All(), mle::AllPairs(All())};
    likelihood_.name = openings_.name = sample.analysis.options.name;
    likelihood_.max_rows = task_.max_rows;
    likelihood_.centre = openings_.receiver = setting.layout.centre;
  }

  SmleRun Run(Progress& progress) {
    SmleRun run;
    run.protocol = protocol_;
    std::optional<mle::MleResult> result;
    // The dealer is the last party.
    const size_t parties = setting_.layout.centre + 2;
    const Clock::time_point start = Clock::now();
    const PartyTraffic traffic =
        RunInThreads(parties, setting_.layout.centre, [&](net::Channel& channel) {
          mpc::CountingReleaseGate gate;
          gate.Reserve(Releases());
          const auto engine = mpc::MakeDealerEngine(channel, gate);
          SilentProgress silent;
          const bool centre = channel.self() == setting_.layout.centre;
          std::optional<mle::MleResult> mine =
              Fit(*engine, channel.self(), centre ? progress : silent);
          if (centre) result = std::move(mine);
        });
    run.seconds = Seconds(start);
    run.fit_seconds = PhaseSeconds(traffic, kFit);
    run.bytes = traffic.bytes;
    run.rounds = traffic.rounds;
    run.fit = result->fit;
    Describe(*result, run);
    return run;
  }

 private:
  std::vector<size_t> All() const {
    std::vector<size_t> all(task_.num_variables);
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  std::vector<mpc::Release> Releases() const {
    if (protocol_ == "likelihood") {
      return mle::LikelihoodReleases(sample_.analysis, likelihood_, "centre");
    }
    if (protocol_ == "sealed") {
      return mle::SealedAnalysisReleases(sample_.analysis, openings_, "centre");
    }
    return {{release_.id, "n, sums and cross products", "centre", "exact", 1, release_.receiver,
             mle::NumReleasedValues(release_)}};
  }

  // Cells of a holder on the grid of the task.
  mpc::RowReader ReaderOf(const Eigen::MatrixXd& values, const std::vector<Index>& columns) const {
    return [this, &values, &columns](size_t first, size_t count, Int128* out) {
      for (size_t r = first; r < first + count; ++r) {
        for (size_t c = 0; c < columns.size(); ++c) {
          const data::ColumnScale scale{scale_.centre[columns[c]], scale_.half_width[columns[c]]};
          const double cell = values(static_cast<Index>(r), static_cast<Index>(c));
          *out++ = data::RoundToGrid(data::ToUnitInterval(cell, scale), task_.fraction_bits);
        }
      }
    };
  }

  std::vector<mle::LocalBlock> LocalBlocks(size_t self) const {
    std::vector<mle::LocalBlock> local(task_.blocks.size());
    for (size_t b = 0; b < local.size() && self < setting_.rows.size(); ++b) {
      const published::Block& block = setting_.layout.blocks[b];
      const published::BlockNode* node = published::NodeOf(block, self);
      if (node == nullptr) continue;
      local[b].num_rows = static_cast<size_t>(block.rows);
      local[b].values = ReaderOf(setting_.rows[self][b], node->columns);
    }
    return local;
  }

  std::optional<mle::MleResult> Fit(mpc::Engine& engine, size_t self, Progress& progress) {
    engine.BeginPhase(kMoments);
    const std::vector<mle::SharedMoments> moments =
        mle::ComputeMoments(engine, task_, LocalBlocks(self));
    if (protocol_ == "likelihood") {
      engine.BeginPhase(kFit);
      return mle::FitByLikelihood(engine, sample_.analysis, likelihood_, {moments, All()},
                                  progress);
    }
    if (protocol_ == "sealed") {
      mle::SealedSums sums;
      sums.groups = moments;
      sums.variables = All();
      sums.fraction_bits = task_.fraction_bits;
      sums.max_rows = static_cast<double>(task_.max_rows);
      engine.BeginPhase(kFit);
      return mle::FitSealedAnalysis(engine, sample_.analysis, openings_, sums, progress);
    }
    const std::vector<mle::IntegerMoments> opened =
        mle::OpenMoments(engine, task_, moments, release_);
    engine.BeginPhase(kFit);
    if (self != release_.receiver) return std::nullopt;
    return mle::FitMoments(sample_.analysis, opened, task_.fraction_bits, progress);
  }

  void Describe(const mle::MleResult& result, SmleRun& run) const {
    // n is public here, whereas a study counts it as a statistic.
    run.unknown = static_cast<int>(mle::NumStatistics(sample_.analysis)) - 1;
    if (result.likelihood) {
      const stats::OracleUsage& usage = result.likelihood->usage;
      run.questions = usage.values + usage.gradients;
      run.told = usage.rank;
    } else {
      run.told = protocol_ == "sealed" ? OpenedEstimates() : run.unknown;
    }
  }

  int OpenedEstimates() const {
    uint64_t opened = 0;
    for (const mpc::Release& release : Releases()) {
      if (release.id.starts_with("sealed-estimates/")) opened += release.num_values.value_or(0);
    }
    return static_cast<int>(opened);
  }

  const std::string& protocol_;
  const SmleSample& sample_;
  const SmleSetting& setting_;
  stats::StatisticsScale scale_;
  mle::MomentsTask task_;
  mle::MomentsRelease release_;
  mle::LikelihoodTask likelihood_;
  mle::SealedOpenings openings_;
};

SmleRun RunPublished(const std::string& protocol, const SmleSample& sample,
                     const SmleSetting& setting, const SmleRunOptions& options,
                     Progress& progress) {
  SmleRun run;
  run.protocol = protocol;
  if (HasMasks(protocol)) run.protocol += fmt::format(" ({})", MasksName(options.masks));
  published::Task task = PublishedTask(protocol, sample, setting, options);
  task.watch = [&run](const published::Answer& answer) { run.answers.push_back(answer); };
  std::optional<published::Result> result;
  const Clock::time_point start = Clock::now();
  const PartyTraffic traffic =
      RunInThreads(setting.layout.centre + 1, setting.layout.centre, [&](net::Channel& channel) {
        crypto::SystemRandom random;
        SilentProgress silent;
        const bool centre = channel.self() == setting.layout.centre;
        std::optional<published::Result> mine = published::FitPublished(
            channel, task, setting.rows[channel.self()], random, centre ? progress : silent);
        if (centre) result = std::move(mine);
      });
  run.seconds = run.fit_seconds = Seconds(start);
  run.bytes = traffic.bytes;
  run.rounds = traffic.rounds;
  run.questions = result->questions;
  run.unknown = static_cast<int>(mle::NumStatistics(sample.analysis)) - 1;
  run.told = result->usage ? result->usage->rank : run.unknown;
  run.fit = std::move(result->fit);
  return run;
}

bool IsPublished(const std::string& protocol) {
  return protocol != "pooled-moments" && protocol != "likelihood" && protocol != "sealed";
}

}  // namespace

bool NeedsWholeRows(const std::string& protocol) { return protocol == "secure-sum"; }

bool AsksLikelihoods(const std::string& protocol) {
  return protocol == "likelihood" || protocol == "conditional" || protocol == "secure-sum" ||
         protocol == "plain-passing";
}

published::Task PublishedTask(const std::string& protocol, const SmleSample& sample,
                              const SmleSetting& setting, const SmleRunOptions& options) {
  published::Task task;
  task.protocol = PublishedProtocol(protocol);
  task.masks = HasMasks(protocol) ? options.masks : published::Masks::kRing;
  task.layout = setting.layout;
  task.table = sample.analysis.table;
  task.scale = sample.scale();
  task.rows_may_leak = options.rows_may_leak;
  return task;
}

SmleRun RunSmle(const std::string& protocol, const SmleSample& sample, const SmleSetting& setting,
                const SmleRunOptions& options, Progress& progress) {
  if (IsPublished(protocol)) return RunPublished(protocol, sample, setting, options, progress);
  return OwnProtocol(protocol, sample, setting).Run(progress);
}

namespace {

// A number that is missing on one side is as far away as can be.
double Worse(double worst, double difference) {
  return std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                : std::max(worst, std::abs(difference));
}

}  // namespace

SmleGap Compare(const stats::SemFit& fit, const stats::SemFit& plain) {
  SmleGap gap;
  for (size_t i = 0; i < plain.estimates.size(); ++i) {
    const double error = plain.estimates[i].standard_error;
    if (!(error > 0)) continue;
    const double estimate = fit.estimates[i].estimate - plain.estimates[i].estimate;
    gap.estimates = Worse(gap.estimates, estimate / error);
    gap.errors = Worse(gap.errors, fit.estimates[i].standard_error / error - 1);
  }
  return gap;
}

}  // namespace partita::papers
