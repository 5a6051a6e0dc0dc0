#include "methods/mixture/utility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "stats/mixture/predictive.h"

namespace partita::methods::mixture {

namespace {

constexpr size_t kDraws = 20;  // of the predictive density

// The model's level of a text.
size_t LevelOf(const FittedModel& model, const std::string& target, const std::string& level) {
  for (const ModelColumn& column : model.columns) {
    if (column.encoding.column.name != target) continue;
    const std::vector<std::string>& levels = column.encoding.column.levels;
    const auto found = std::find(levels.begin(), levels.end(), level);
    if (found == levels.end()) break;
    data::Table table;
    table.num_rows = 1;
    table.columns.push_back(
        {column.encoding.column, {}, {static_cast<int32_t>(found - levels.begin())}, {}});
    return static_cast<size_t>(data::Encode(column.encoding, table).front());
  }
  throw Error(ErrorCode::kBadInput,
              fmt::format("the model has no column '{}' with a level '{}'", target, level),
              "name a factor of the model and one of its levels");
}

stats::mixture::Values Draw(const FittedModel& model, const stats::mixture::Layout& layout,
                            size_t rows, stats::blr::Variates& variates) {
  return stats::mixture::DrawRows(layout, stats::mixture::DrawTheta(model.state(), variates), rows,
                                  variates);
}

}  // namespace

Spread SpreadOf(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), *least, *most};
}

bool Utility::poor_for_learning() const {
  if (!from_synthetic || !from_real) return false;
  return from_synthetic->auc - 0.5 < (from_real->auc - 0.5) / 2;
}

Utility JudgeSynthetic(const FittedModel& model, const RealRows& real,
                       const UtilityRequest& request, crypto::RandomSource& random) {
  const stats::mixture::Layout layout = ModelLayout(model.columns);
  const stats::mixture::VariationalState state = model.state();
  const stats::mixture::Rows rows = stats::mixture::MakeRows(layout, real.test);
  stats::blr::Variates variates(random);
  const bool predicts = !request.target.empty();
  const size_t level = predicts ? LevelOf(model, request.target, request.level) : 0;
  const auto score = [&](const stats::mixture::Values& train) {
    return stats::mixture::TrainAndTest(layout, train, real.test, request.target, level);
  };
  Utility utility;
  for (size_t t = 0; t < std::max<size_t>(1, request.tables); ++t) {
    const stats::mixture::Values synthetic = Draw(model, layout, request.synthetic_rows, variates);
    auto marginals = stats::mixture::CompareMarginals(layout, real.test, synthetic);
    auto associations = stats::mixture::CompareAssociations(layout, real.test, synthetic);
    TableUtility table;
    for (const stats::mixture::MarginalDistance& one : marginals)
      table.marginals += one.total_variation / static_cast<double>(marginals.size());
    for (const stats::mixture::Association& one : associations) {
      table.associations +=
          std::abs(one.synthetic - one.real) / static_cast<double>(associations.size());
    }
    if (predicts) table.prediction = score(synthetic);
    utility.tables.push_back(table);
    if (t > 0) continue;
    utility.marginals = std::move(marginals);
    utility.associations = std::move(associations);
  }
  utility.plug_in = stats::mixture::PlugInLogDensity(layout, rows, state);
  utility.predictive = stats::mixture::PredictiveLogDensity(layout, rows, state, kDraws, variates);
  utility.active_components = stats::mixture::ActiveComponents(state);
  if (!predicts) return utility;
  utility.target = request.target;
  utility.level = request.level;
  stats::mixture::PredictionScore mean;
  const auto count = static_cast<double>(utility.tables.size());
  for (const TableUtility& table : utility.tables) {
    mean.accuracy += table.prediction->accuracy / count;
    mean.auc += table.prediction->auc / count;
    mean.log_loss += table.prediction->log_loss / count;
  }
  utility.from_synthetic = mean;
  if (real.train) utility.from_real = score(*real.train);
  return utility;
}

std::vector<stats::mixture::Association> SyntheticAssociations(const FittedModel& model,
                                                               size_t rows,
                                                               crypto::RandomSource& random) {
  const stats::mixture::Layout layout = ModelLayout(model.columns);
  stats::blr::Variates variates(random);
  const stats::mixture::Values synthetic = Draw(model, layout, rows, variates);
  return stats::mixture::CompareAssociations(layout, synthetic, synthetic);
}

std::vector<ColumnStrength> ColumnStrengths(const FittedModel& model, size_t rows, size_t tables,
                                            crypto::RandomSource& random) {
  const size_t columns = model.columns.size();
  std::vector<std::vector<double>> strongest(columns, std::vector<double>(tables));
  for (size_t t = 0; t < tables; ++t) {
    const auto associations = SyntheticAssociations(model, rows, random);
    size_t pair = 0;  // in the order of the columns
    for (size_t a = 0; a < columns; ++a) {
      for (size_t b = a + 1; b < columns; ++b, ++pair) {
        for (const size_t column : {a, b}) {
          double& most = strongest[column][t];
          most = std::max(most, associations[pair].synthetic);
        }
      }
    }
  }
  std::vector<ColumnStrength> strengths;
  for (size_t f = 0; f < columns; ++f)
    strengths.push_back({model.columns[f].encoding.column.name, SpreadOf(strongest[f])});
  return strengths;
}

std::vector<stats::mixture::Association> Strongest(
    std::vector<stats::mixture::Association> associations, size_t count) {
  std::stable_sort(associations.begin(), associations.end(), [](const auto& a, const auto& b) {
    return std::max(a.real, a.synthetic) > std::max(b.real, b.synthetic);
  });
  associations.resize(std::min(associations.size(), count));
  return associations;
}

}  // namespace partita::methods::mixture
