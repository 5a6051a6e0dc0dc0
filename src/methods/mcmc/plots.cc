#include "methods/mcmc/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using study::DocumentPlot;
using study::DocumentSeries;

constexpr size_t kTracePoints = 400, kRankBins = 20, kDensityPoints = 121;
constexpr Index kDensityDraws = 4000;  // of all chains together, at most about

VectorXd ColumnOf(const Eigen::MatrixXd& chain, size_t parameter) {
  return chain.col(static_cast<Index>(parameter));
}

// A line per chain, or what stands for many of them; lines: chains by positions in `x`, each of
// which is a `what`.
void AddChains(const std::vector<double>& x, const std::vector<std::vector<double>>& lines,
               const std::string& what, DocumentPlot& plot) {
  if (lines.size() <= kMostLines) {
    for (size_t c = 0; c < lines.size(); ++c)
      plot.series.push_back({fmt::format("{} {}", what, c + 1), x, lines[c]});
    return;
  }
  DocumentSeries band{fmt::format("lowest to highest of {} {}s", lines.size(), what), x, {}};
  DocumentSeries mean{"mean of the " + what + "s", x, {}};
  for (size_t i = 0; i < x.size(); ++i) {
    double lowest = lines[0][i], highest = lowest, sum = 0;
    for (const std::vector<double>& line : lines) {
      lowest = std::min(lowest, line[i]);
      highest = std::max(highest, line[i]);
      sum += line[i];
    }
    band.y.push_back(lowest);
    band.upper.push_back(highest);
    mean.y.push_back(sum / static_cast<double>(lines.size()));
  }
  plot.series = {std::move(band), std::move(mean)};
}

std::string LabelOf(const ChainSpec& spec, const std::string& name) {
  const bool predictor =
      std::find(spec.predictors.begin(), spec.predictors.end(), name) != spec.predictors.end();
  const std::string unit = predictor ? CoefficientUnit(spec.model) : "";
  return unit.empty() ? name : name + " (" + unit + ")";
}

std::string DiagnosticsText(const ParameterResult& result) {
  if (!(result.sd > 0)) return "the draws stand still";
  return fmt::format("R-hat {:.3f}; effective draws {:.0f} (bulk), {:.0f} (tail)", result.rhat,
                     result.bulk_ess, result.tail_ess);
}

DocumentPlot Trace(const std::string& name, const std::string& label, const std::string& note,
                   size_t parameter, const stats::mcmc::Draws& draws) {
  DocumentPlot plot{"Trace of " + name, "draw after the warm-up", label, {}, note};
  const Index rows = draws.chains.front().rows();
  const Index every = std::max<Index>(1, rows / static_cast<Index>(kTracePoints));
  std::vector<double> x;
  for (Index i = 0; i < rows; i += every) x.push_back(static_cast<double>(i + 1));
  std::vector<std::vector<double>> lines;
  for (const Eigen::MatrixXd& chain : draws.chains) {
    const VectorXd column = ColumnOf(chain, parameter);
    std::vector<double>& line = lines.emplace_back();
    for (Index i = 0; i < rows; i += every) line.push_back(column[i]);
  }
  AddChains(x, lines, "chain", plot);
  return plot;
}

// Draws of all chains together, evenly thinned.
std::vector<double> PooledDraws(size_t parameter, const stats::mcmc::Draws& draws) {
  Index all = 0;
  for (const Eigen::MatrixXd& chain : draws.chains) all += chain.rows();
  const Index every = std::max<Index>(1, all / kDensityDraws);
  std::vector<double> pooled;
  for (const Eigen::MatrixXd& chain : draws.chains) {
    for (Index i = 0; i < chain.rows(); i += every)
      pooled.push_back(chain(i, static_cast<Index>(parameter)));
  }
  std::sort(pooled.begin(), pooled.end());
  return pooled;
}

// Silverman's rule of thumb, with the smaller of standard deviation and scaled quartile range.
double Bandwidth(const std::vector<double>& sorted, double sd) {
  const auto n = static_cast<double>(sorted.size());
  const double quartiles = (sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4]) / 1.34;
  const double spread = quartiles > 0 ? std::min(sd, quartiles) : sd;
  return 0.9 * spread * std::pow(n, -0.2);
}

double DensityAt(const std::vector<double>& draws, double bandwidth, double x) {
  double sum = 0;
  for (const double draw : draws) {
    const double z = (x - draw) / bandwidth;
    sum += std::exp(-z * z / 2);
  }
  return sum / (static_cast<double>(draws.size()) * bandwidth * std::sqrt(2 * std::numbers::pi));
}

// Empty where the draws stand still.
DocumentPlot Density(const ParameterResult& result, const std::string& label,
                     const std::vector<double>& draws) {
  DocumentPlot plot{"Posterior of " + result.name, label, "density", {}};
  plot.note = fmt::format("median {:.4g}, 95 % from {:.4g} to {:.4g}", result.median, result.q2_5,
                          result.q97_5);
  const double bandwidth = Bandwidth(draws, result.sd);
  if (!(bandwidth > 0)) return plot;
  DocumentSeries line{"density", {}, {}}, interval{"95 % interval", {}, {}};
  const double low = draws.front() - bandwidth, high = draws.back() + bandwidth;
  for (size_t i = 0; i < kDensityPoints; ++i) {
    const double x =
        low + (high - low) * static_cast<double>(i) / static_cast<double>(kDensityPoints - 1);
    line.x.push_back(x);
    line.y.push_back(DensityAt(draws, bandwidth, x));
    if (x < result.q2_5 || x > result.q97_5) continue;
    interval.x.push_back(x);
    interval.y.push_back(0);
    interval.upper.push_back(line.y.back());
  }
  plot.series = {std::move(line), std::move(interval)};
  return plot;
}

}  // namespace

std::string CoefficientUnit(ChainModel model) {
  switch (model) {
    case ChainModel::kLogistic:
      return "log odds ratio";
    case ChainModel::kPoisson:
    case ChainModel::kNegativeBinomial:
      return "log rate ratio";
    case ChainModel::kCox:
      return "log hazard ratio";
    case ChainModel::kWeibull:
      return "log time ratio";
    case ChainModel::kLinear:
      break;
  }
  return "";
}

std::vector<DocumentPlot> ChainPlots(const ChainSpec& spec, const ChainSummary& summary,
                                     const stats::mcmc::Draws& draws) {
  std::vector<DocumentPlot> plots;
  for (size_t j = 0; j < std::min(summary.parameters.size(), kMostPlottedParameters); ++j) {
    const ParameterResult& result = summary.parameters[j];
    const std::string label = LabelOf(spec, result.name);
    plots.push_back(Trace(result.name, label, DiagnosticsText(result), j, draws));
    DocumentPlot density = Density(result, label, PooledDraws(j, draws));
    if (!density.series.empty()) plots.push_back(std::move(density));
  }
  return plots;
}

std::vector<DocumentPlot> RankPlots(const ChainSummary& summary, const stats::mcmc::Draws& draws) {
  std::vector<DocumentPlot> plots;
  std::vector<double> x;
  for (size_t bin = 0; bin < kRankBins; ++bin)
    x.push_back((static_cast<double>(bin) + 0.5) / static_cast<double>(kRankBins));
  const bool nested = draws.superchains > 0;
  const size_t members = nested ? draws.chains.size() / draws.superchains : 1;
  const double expected = static_cast<double>(draws.chains.front().rows()) *
                          static_cast<double>(members) / static_cast<double>(kRankBins);
  for (size_t j = 0; j < std::min(summary.parameters.size(), kMostPlottedParameters); ++j) {
    DocumentPlot plot{
        "Ranks of " + summary.parameters[j].name, "rank among all draws, as a share", "draws", {}};
    AddChains(x, RankCounts(draws, j, kRankBins), nested ? "superchain" : "chain", plot);
    plot.series.push_back(
        {"expected where chains agree", {x.front(), x.back()}, {expected, expected}});
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace partita::methods::mcmc
