#include "methods/mixture/utility.h"

#include <fmt/format.h>

#include <algorithm>

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

Utility JudgeSynthetic(const FittedModel& model, const RealRows& real,
                       const UtilityRequest& request, crypto::RandomSource& random) {
  const stats::mixture::Layout layout = ModelLayout(model.columns);
  const stats::mixture::VariationalState state = model.state();
  const stats::mixture::Rows rows = stats::mixture::MakeRows(layout, real.test);
  stats::blr::Variates variates(random);
  const stats::mixture::Values synthetic = Draw(model, layout, request.synthetic_rows, variates);
  Utility utility;
  utility.marginals = stats::mixture::CompareMarginals(layout, real.test, synthetic);
  utility.associations = stats::mixture::CompareAssociations(layout, real.test, synthetic);
  utility.plug_in = stats::mixture::PlugInLogDensity(layout, rows, state);
  utility.predictive = stats::mixture::PredictiveLogDensity(layout, rows, state, kDraws, variates);
  utility.active_components = stats::mixture::ActiveComponents(state);
  if (request.target.empty()) return utility;
  utility.target = request.target;
  utility.level = request.level;
  const size_t level = LevelOf(model, request.target, request.level);
  const auto score = [&](const stats::mixture::Values& train) {
    return stats::mixture::TrainAndTest(layout, train, real.test, request.target, level);
  };
  utility.from_synthetic = score(synthetic);
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

std::vector<stats::mixture::Association> Strongest(
    std::vector<stats::mixture::Association> associations, size_t count) {
  std::stable_sort(associations.begin(), associations.end(), [](const auto& a, const auto& b) {
    return std::max(a.real, a.synthetic) > std::max(b.real, b.synthetic);
  });
  associations.resize(std::min(associations.size(), count));
  return associations;
}

}  // namespace partita::methods::mixture
