#include "stats/marginals/forecast.h"

#include <algorithm>

#include "stats/blr/variates.h"
#include "stats/marginals/generator.h"

namespace partita::stats::marginals {
namespace {

// The share of cells that do not follow.
constexpr double kOtherwise = 0.05;

ProductModel MadeUpGroups(const TableSet& set, size_t groups, blr::Variates& variates) {
  Eigen::Index levels = 0;
  for (const Attribute& attribute : set.attributes) levels += attribute.levels;
  const auto k = static_cast<Eigen::Index>(groups);
  ProductModel model = {Eigen::ArrayXf::Constant(k, 1 / static_cast<float>(groups)),
                        Eigen::ArrayXXf(k, levels)};
  for (Eigen::Index group = 0; group < k; ++group) {
    Eigen::Index first = 0;
    for (const Attribute& attribute : set.attributes) {
      auto shares = model.levels.row(group).segment(first, attribute.levels);
      for (float& share : shares) share = static_cast<float>(variates.Exponential());
      shares /= shares.sum();
      first += attribute.levels;
    }
  }
  return model;
}

// Every attribute a drawn function of one that is left out, but for some cells.
Codes DrawFunctions(const TableSet& set, size_t rows, blr::Variates& variates) {
  std::vector<double> until;
  for (size_t level = 0; level < kSourceLevels; ++level)
    until.push_back((until.empty() ? 0 : until.back()) + variates.Exponential());
  std::vector<size_t> source(rows);
  for (size_t& level : source) {
    const auto found = std::ranges::lower_bound(until, variates.Uniform() * until.back());
    level = std::min(static_cast<size_t>(found - until.begin()), kSourceLevels - 1);
  }
  Codes codes;
  for (const Attribute& attribute : set.attributes) {
    std::vector<uint16_t> level_of(kSourceLevels);
    for (uint16_t& level : level_of)
      level = static_cast<uint16_t>(variates.Below(attribute.levels));
    codes.emplace_back();
    for (const size_t level : source) {
      codes.back().push_back(variates.Uniform() < kOtherwise
                                 ? static_cast<uint16_t>(variates.Below(attribute.levels))
                                 : level_of[level]);
    }
  }
  return codes;
}

NoisyTables MeasureAll(const TableSet& set, std::vector<double> counts, double noise_stddev,
                       double rows, const TableWeights& weights, blr::Variates& variates) {
  NoisyTables noisy = {std::move(counts), noise_stddev, rows, {}, weights};
  for (size_t t = 0; t < set.tables.size(); ++t) {
    for (double& cell : set.tables[t].Of(std::span<double>(noisy.cells)))
      cell = noisy.Measured(t) ? cell + noisy.Stddev(t) * variates.Normal() : 0;
  }
  return noisy;
}

}  // namespace

std::vector<std::vector<double>> Forecast(const TableSet& set, size_t rows, double noise_stddev,
                                          const TableWeights& weights,
                                          std::span<const ImpossibleCell> impossible,
                                          const std::optional<Selection>& selection,
                                          crypto::RandomSource& source) {
  blr::Variates variates(source);
  if (rows > kMostMadeUpRows) {
    noise_stddev *= static_cast<double>(kMostMadeUpRows) / static_cast<double>(rows);
    rows = kMostMadeUpRows;
  }
  std::vector<std::vector<double>> forecast;
  for (size_t made_up = 0; made_up < kForecasts; ++made_up) {
    Codes codes =
        made_up < kForecastGroups.size()
            ? DrawRows(set, MadeUpGroups(set, kForecastGroups[made_up], variates), rows, source)
            : DrawFunctions(set, rows, variates);
    MendImpossible(set, impossible, codes, source);
    const std::vector<double> counts = Count(set, codes);
    std::vector<double> truth = counts;
    for (double& share : truth) share /= static_cast<double>(rows);
    const auto all = static_cast<double>(rows);
    NoisyTables noisy = selection
                            ? MeasureByScores(set, counts, *selection, noise_stddev, all, source)
                            : MeasureAll(set, counts, noise_stddev, all, weights, variates);
    noisy.impossible = {impossible.begin(), impossible.end()};
    const Choice choice = ChooseGenerator(set, noisy, source);
    forecast.push_back(TotalVariations(set, truth, TablesOf(set, choice.generator)));
  }
  return forecast;
}

}  // namespace partita::stats::marginals
