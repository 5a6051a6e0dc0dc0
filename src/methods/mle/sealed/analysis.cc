#include "methods/mle/sealed/analysis.h"

#include <fmt/format.h>

#include "base/error.h"
#include "methods/mle/moments/public_scale.h"
#include "methods/mle/sealed/patterns.h"

namespace partita::methods::mle {
namespace {

std::string GroupSizes(const SealedOpenings& openings) { return "group-sizes/" + openings.name; }

}  // namespace

SealedModel SealedModelOf(const MleAnalysis& analysis) {
  const bool incomplete = !analysis.patterns.empty();
  if (analysis.options.information != stats::Information::kExpected && !incomplete) {
    throw Error(ErrorCode::kBadInput,
                "the protocol 'sealed' cannot give standard errors from the observed information: "
                "that needs the moments",
                "use information = \"expected\", or protocol = \"pooled-moments\"");
  }
  const stats::StatisticsScale scale = PublicScale(analysis);
  return PrepareSealed(analysis.table, scale.centre, scale.half_width);
}

bool HasSealedCovariates(const MleAnalysis& analysis) {
  return analysis.table.fixed_x && !analysis.table.exogenous_covariates.empty();
}

bool NeedsStandardErrors(const MleAnalysis& analysis) {
  return HasSealedCovariates(analysis) || !analysis.patterns.empty();
}

std::vector<mpc::Release> SealedAnalysisReleases(const MleAnalysis& analysis,
                                                 const SealedOpenings& openings,
                                                 const std::string& receiver_name) {
  std::vector<mpc::Release> releases = {{GroupSizes(openings), "number of rows of every group",
                                         receiver_name, "exact", 1, openings.receiver,
                                         analysis.table.groups.size()}};
  for (mpc::Release& release : SealedReleases(SealedModelOf(analysis), openings, receiver_name)) {
    releases.push_back(std::move(release));
  }
  return releases;
}

uint64_t NumStatistics(const MleAnalysis& analysis) {
  const uint64_t p = analysis.table.observed.size();
  return analysis.table.groups.size() *
         (1 + p * (p + 1) / 2 + (analysis.table.meanstructure ? p : 0));
}

std::optional<MleResult> FitSealedAnalysis(mpc::Engine& engine, const MleAnalysis& analysis,
                                           const SealedOpenings& openings, const SealedSums& sums,
                                           Progress& progress) {
  const SealedModel model = SealedModelOf(analysis);
  const mpc::Shared sizes = GroupSizesOf(engine, analysis, sums);
  const std::vector<Int128> opened =
      engine.Reveal(GroupSizes(openings), {&sizes, 1}, openings.receiver).front().values;
  const std::vector<SealedSample> samples = SampleOnShares(engine, sums);
  SealedEstimates estimates =
      FitSealed(engine, model, openings, samples, progress,
                mpc::SumOfRows(engine, sizes, sums.max_rows), sums.max_rows);
  if (engine.self() != openings.receiver) return std::nullopt;
  std::vector<double> group_sizes;
  double n = 0;
  for (const Int128 size : opened) {
    group_sizes.push_back(static_cast<double>(size));
    n += group_sizes.back();
  }
  if (openings.grid_bits > 0 && estimates.scalars && n > 0) {
    for (double* total : {&estimates.scalars->chisq, &estimates.scalars->baseline_chisq,
                          &estimates.scalars->saturated})
      *total /= n;
  }
  return DescribeSealed(analysis, model, openings, group_sizes, estimates);
}

}  // namespace partita::methods::mle
