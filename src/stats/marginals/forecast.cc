#include "stats/marginals/forecast.h"

#include "stats/blr/variates.h"
#include "stats/marginals/generator.h"

namespace partita::stats::marginals {
namespace {

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
  for (const size_t groups : kForecastGroups) {
    Codes codes = DrawRows(set, MadeUpGroups(set, groups, variates), rows, source);
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
