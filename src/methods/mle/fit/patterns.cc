#include "methods/mle/fit/patterns.h"

#include <algorithm>
#include <map>
#include <string>

#include "data/scaling.h"

namespace partita::methods::mle {
namespace {

void AddTo(IntegerMoments& sum, const IntegerMoments& term) {
  sum.n += term.n;
  for (size_t i = 0; i < sum.sum.size(); ++i) sum.sum[i] += term.sum[i];
  for (size_t i = 0; i < sum.cross.size(); ++i) sum.cross[i] += term.cross[i];
}

stats::PatternMoments ToUnits(const MleAnalysis& analysis, size_t group,
                              const std::vector<size_t>& observed, const IntegerMoments& moments,
                              int fraction_bits) {
  const IntegerMoments own = Restrict(moments, observed);
  std::vector<data::ColumnScale> scales;
  for (const size_t v : observed) scales.push_back(data::ScaleOf(analysis.variables[v].schema));
  const data::SampleMoments sample = data::ToOriginalUnits(
      {static_cast<uint64_t>(own.n), fraction_bits, own.sum, own.cross}, scales);
  const auto p = static_cast<Eigen::Index>(scales.size());
  return {group,
          {observed.begin(), observed.end()},
          {static_cast<double>(sample.num_rows),
           Eigen::Map<const Eigen::VectorXd>(sample.mean.data(), p),
           Eigen::Map<const Eigen::MatrixXd>(sample.covariance.data(), p, p)}};
}

std::string MissingNames(const MleAnalysis& analysis, const std::vector<int>& observed) {
  std::string names;
  for (size_t v = 0; v < analysis.table.observed.size(); ++v) {
    if (std::binary_search(observed.begin(), observed.end(), static_cast<int>(v))) continue;
    names += (names.empty() ? "" : ", ") + analysis.table.observed[v];
  }
  return names.empty() ? "nothing" : names;
}

CellTable PatternRows(const MleAnalysis& analysis,
                      const std::vector<stats::PatternMoments>& patterns) {
  CellTable table{"Patterns of missing values", {"missing", "rows"}, {}};
  const bool groups = analysis.table.groups.size() > 1;
  if (groups) table.columns.insert(table.columns.begin(), "group");
  for (const stats::PatternMoments& pattern : patterns) {
    table.rows.push_back({MissingNames(analysis, pattern.observed), pattern.moments.n});
    if (groups)
      table.rows.back().insert(table.rows.back().begin(), analysis.table.groups[pattern.group]);
  }
  return table;
}

CellTable MissingTable(const MleAnalysis& analysis,
                       const std::vector<stats::PatternMoments>& patterns) {
  CellTable table{"Missing values", {"variable", "rows with a value", "fraction missing"}, {}};
  double rows = 0;
  for (const stats::PatternMoments& pattern : patterns) rows += pattern.moments.n;
  for (size_t v = 0; v < analysis.table.observed.size(); ++v) {
    double present = 0;
    for (const stats::PatternMoments& pattern : patterns) {
      if (std::binary_search(pattern.observed.begin(), pattern.observed.end(), static_cast<int>(v)))
        present += pattern.moments.n;
    }
    table.rows.push_back({analysis.table.observed[v], present, 1 - present / rows});
  }
  return table;
}

}  // namespace

std::vector<stats::PatternMoments> PatternMomentsOf(const MleAnalysis& analysis,
                                                    const std::vector<IntegerMoments>& moments,
                                                    int fraction_bits) {
  const size_t num_patterns = analysis.patterns.size();
  std::vector<stats::PatternMoments> samples;
  for (size_t g = 0; g * num_patterns < moments.size(); ++g) {
    // Sums by what is observed, and these in the order of the patterns.
    std::map<std::vector<size_t>, IntegerMoments> sums;
    std::vector<std::vector<size_t>> order;
    for (size_t k = 0; k < num_patterns; ++k) {
      const IntegerMoments& cell = moments.at(g * num_patterns + k);
      const std::vector<size_t>& observed = analysis.patterns[k];
      if (cell.n <= 0 || observed.empty()) continue;
      const auto [place, added] = sums.emplace(observed, cell);
      if (added) {
        order.push_back(observed);
      } else {
        AddTo(place->second, cell);
      }
    }
    for (const std::vector<size_t>& observed : order)
      samples.push_back(ToUnits(analysis, g, observed, sums.at(observed), fraction_bits));
  }
  return samples;
}

MleResult FitPatterns(const MleAnalysis& analysis, const std::vector<IntegerMoments>& moments,
                      int fraction_bits, Progress& progress) {
  MleResult result = ResultWithoutFit(analysis);
  const std::vector<stats::PatternMoments> patterns =
      PatternMomentsOf(analysis, moments, fraction_bits);
  result.group_n.assign(analysis.table.groups.size(), 0);
  for (const stats::PatternMoments& pattern : patterns)
    result.group_n[pattern.group] += pattern.moments.n;
  stats::SemFitOptions options;
  options.information = analysis.options.information;
  result.fit = stats::FitFiml(analysis.table, patterns, options, progress);
  result.tables = {PatternRows(analysis, patterns), MissingTable(analysis, patterns)};
  result.notes.emplace_back(kMissingAtRandom);
  return result;
}

}  // namespace partita::methods::mle
