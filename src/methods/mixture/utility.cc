#include "methods/mixture/utility.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "stats/mixture/predictive.h"

namespace partita::methods::dpvi {

namespace mixture = stats::mixture;

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

mixture::Values Draw(const FittedModel& model, const mixture::Layout& layout, size_t rows,
                     stats::blr::Variates& variates) {
  return mixture::DrawRows(layout, mixture::DrawTheta(model.state(), variates), rows, variates);
}

}  // namespace

Utility JudgeSynthetic(const FittedModel& model, const RealRows& real,
                       const UtilityRequest& request, crypto::RandomSource& random) {
  const mixture::Layout layout = ModelLayout(model.columns);
  const mixture::VariationalState state = model.state();
  const mixture::Rows rows = mixture::MakeRows(layout, real.test);
  stats::blr::Variates variates(random);
  const mixture::Values synthetic = Draw(model, layout, request.synthetic_rows, variates);
  Utility utility;
  utility.marginals = mixture::CompareMarginals(layout, real.test, synthetic);
  utility.associations = mixture::CompareAssociations(layout, real.test, synthetic);
  utility.plug_in = mixture::PlugInLogDensity(layout, rows, state);
  utility.predictive = mixture::PredictiveLogDensity(layout, rows, state, kDraws, variates);
  utility.active_components = mixture::ActiveComponents(state);
  if (request.target.empty()) return utility;
  utility.target = request.target;
  utility.level = request.level;
  const size_t level = LevelOf(model, request.target, request.level);
  const auto score = [&](const mixture::Values& train) {
    return mixture::TrainAndTest(layout, train, real.test, request.target, level);
  };
  utility.from_synthetic = score(synthetic);
  if (real.train) utility.from_real = score(*real.train);
  return utility;
}

std::vector<mixture::Association> SyntheticAssociations(const FittedModel& model, size_t rows,
                                                        crypto::RandomSource& random) {
  const mixture::Layout layout = ModelLayout(model.columns);
  stats::blr::Variates variates(random);
  const mixture::Values synthetic = Draw(model, layout, rows, variates);
  return mixture::CompareAssociations(layout, synthetic, synthetic);
}

std::vector<mixture::Association> Strongest(std::vector<mixture::Association> associations,
                                            size_t count) {
  std::stable_sort(associations.begin(), associations.end(), [](const auto& a, const auto& b) {
    return std::max(a.real, a.synthetic) > std::max(b.real, b.synthetic);
  });
  associations.resize(std::min(associations.size(), count));
  return associations;
}

}  // namespace partita::methods::dpvi
