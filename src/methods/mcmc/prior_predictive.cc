#include "methods/mcmc/prior_predictive.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/date.h"
#include "base/error.h"
#include "crypto/prg.h"
#include "data/design.h"
#include "methods/mcmc/prior_draws.h"
#include "methods/mcmc/section.h"

namespace partita::methods::mcmc {
namespace {

using data::ColumnSchema;
using data::ColumnType;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr size_t kLeastDraws = 100;
constexpr double kExtreme = 0.01;  // chances below it and above 1 less it

// A parameter as a key of TOML.
std::string KeyOf(const std::string& name) {
  return name.find('.') == std::string::npos ? name : fmt::format("\"{}\"", name);
}

const ChainSpec& SpecOf(const study::StudyFile& file) {
  const study::AnalysisSpec& analysis = file.analyses.front();
  const auto* section = dynamic_cast<const McmcSection*>(analysis.section.get());
  if (section == nullptr) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: no analysis of this study has priors: its method is '{}'",
                            file.file_name, analysis.method),
                "name a study file whose analysis has method = \"mcmc\"");
  }
  const ChainSpec& spec = section->spec;
  if (spec.model == ChainModel::kCox) {
    throw Error(ErrorCode::kBadInput,
                "Cox's model leaves the times open, so its priors imply no outcomes",
                "try the same predictors and priors with model = \"weibull\"");
  }
  const ChainPlan plan = PlanOf(spec);
  const std::vector<std::string> names = ParameterNames(spec);
  for (size_t j = 0; j < names.size(); ++j) {
    if (plan.priors[j].kind != stats::mcmc::PriorKind::kFlat) continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("the prior of {} is flat, which is no distribution to draw from", names[j]),
        fmt::format("give it another one in [analysis.priors], for example: {} = "
                    "\"normal(0, 2.5)\"",
                    KeyOf(names[j])));
  }
  return spec;
}

// One variable of a made-up row: a number, or the index of a level.
double Middle(const ColumnSchema& variable) {
  if (data::HasLevels(variable.type)) {
    const auto at = std::find(variable.levels.begin(), variable.levels.end(), variable.reference);
    return at == variable.levels.end() ? 0 : static_cast<double>(at - variable.levels.begin());
  }
  const double middle = variable.lower / 2 + variable.upper / 2;
  return variable.type == ColumnType::kNumeric ? middle : std::floor(middle);
}

double DrawValue(const ColumnSchema& variable, stats::blr::Variates& variates) {
  if (data::HasLevels(variable.type)) {
    return static_cast<double>(variates.Below(variable.levels.size()));
  }
  const double u = variates.Uniform();
  const double width = variable.upper - variable.lower;
  if (variable.type == ColumnType::kNumeric) return variable.lower + u * width;
  return std::min(variable.lower + std::floor(u * (width + 1)), variable.upper);
}

std::string ValueText(const ColumnSchema& variable, double value) {
  if (data::HasLevels(variable.type)) return variable.levels[static_cast<size_t>(value)];
  if (variable.type == ColumnType::kDate) return FormatDate(value);
  return fmt::format("{:.6g}", value);
}

// Made-up rows of the variables that the predictors come from.
class MadeUpRows {
 public:
  MadeUpRows(const study::StudyFile& file, const ChainSpec& spec) : file_(file), spec_(spec) {
    const auto columns = data::DesignColumns(file.dictionary, file.derived);
    for (const ColumnSchema& variable : file.dictionary.columns) {
      const bool used = std::any_of(columns.begin(), columns.end(), [&](const auto& column) {
        return column.source == variable.name &&
               std::find(spec.predictors.begin(), spec.predictors.end(), column.schema.name) !=
                   spec.predictors.end();
      });
      if (used) variables_.push_back(variable);
    }
  }

  // The design of the middle row and its neighbours; adds their names.
  MatrixXd Reference(std::vector<std::string>& names) const {
    std::vector<double> middle;
    for (const ColumnSchema& variable : variables_) middle.push_back(Middle(variable));
    std::vector<std::vector<double>> rows = {middle};
    names.emplace_back("every variable in the middle");
    for (size_t v = 0; v < variables_.size(); ++v) {
      const ColumnSchema& variable = variables_[v];
      std::vector<double> values = {variable.lower, variable.upper};
      if (data::HasLevels(variable.type)) {
        values.resize(variable.levels.size());
        for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k);
      }
      for (const double value : values) {
        if (value == middle[v]) continue;
        rows.push_back(middle);
        rows.back()[v] = value;
        names.push_back(fmt::format("{} = {}", variable.name, ValueText(variable, value)));
      }
    }
    return Design(rows);
  }

  MatrixXd Random(size_t count, stats::blr::Variates& variates) const {
    std::vector<std::vector<double>> rows(count);
    for (std::vector<double>& row : rows) {
      for (const ColumnSchema& variable : variables_) row.push_back(DrawValue(variable, variates));
    }
    return Design(rows);
  }

 private:
  MatrixXd Design(const std::vector<std::vector<double>>& rows) const {
    data::Table table;
    table.num_rows = rows.size();
    for (size_t v = 0; v < variables_.size(); ++v) {
      data::Column column;
      column.schema = variables_[v];
      for (const std::vector<double>& row : rows) {
        if (data::HasLevels(column.schema.type)) {
          column.codes.push_back(static_cast<int32_t>(row[v]));
        } else {
          column.numbers.push_back(row[v]);
        }
      }
      table.columns.push_back(std::move(column));
    }
    data::AddDesignColumns(table, file_.dictionary, file_.derived, spec_.predictors);
    ChainRows made_up;
    made_up.predictors.resize(static_cast<Index>(rows.size()),
                              static_cast<Index>(spec_.predictors.size()));
    for (size_t j = 0; j < spec_.predictors.size(); ++j) {
      const std::vector<double>& numbers = table.Get(spec_.predictors[j]).numbers;
      made_up.predictors.col(static_cast<Index>(j)) =
          Eigen::Map<const VectorXd>(numbers.data(), static_cast<Index>(numbers.size()));
    }
    return DesignOf(spec_, made_up);
  }

  const study::StudyFile& file_;
  const ChainSpec& spec_;
  std::vector<ColumnSchema> variables_;
};

Quantiles QuantilesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(
        std::round(share * (static_cast<double>(values.size()) - 1)))];
  };
  return {at(0.025), at(0.5), at(0.975)};
}

template <typename Condition>
double ShareOf(const std::vector<double>& values, Condition condition) {
  return static_cast<double>(std::count_if(values.begin(), values.end(), condition)) /
         static_cast<double>(values.size());
}

const char* ExpectedName(ChainModel model) {
  if (model == ChainModel::kLogistic) return "chance of 1";
  return model == ChainModel::kWeibull ? "median time" : "mean";
}

void FindBounds(const study::StudyFile& file, PriorPredictive& result) {
  for (const data::DesignColumn& column : data::DesignColumns(file.dictionary, file.derived)) {
    if (column.schema.name != result.outcome) continue;
    result.lower = column.schema.lower;
    result.upper = column.schema.upper;
    return;
  }
  const ColumnSchema* survival = file.dictionary.Find(result.outcome);
  if (survival == nullptr) throw Error(ErrorCode::kInternal, "the outcome is no variable");
  result.lower = survival->lower;
  result.upper = survival->upper;
}

crypto::Prg StreamOf(uint64_t seed) {
  std::array<uint8_t, 32> key{};
  for (size_t k = 0; k < 8; ++k) key[k] = static_cast<uint8_t>(seed >> (8 * k));
  return crypto::Prg(crypto::Key(key));
}

}  // namespace

PriorPredictive SimulatePriors(const study::StudyFile& file,
                               const PriorPredictiveOptions& options) {
  if (options.draws < kLeastDraws) {
    throw Error(ErrorCode::kUsage, "quantiles need at least 100 draws");
  }
  const ChainSpec& spec = SpecOf(file);
  const std::vector<stats::mcmc::Prior> priors = PlanOf(spec).priors;
  const std::vector<std::string> names = ParameterNames(spec);
  PriorPredictive result;
  result.analysis = file.analyses.front().name;
  result.model = ChainModelNames()[static_cast<size_t>(spec.model)];
  result.outcome = spec.outcome;
  result.draws = options.draws;
  result.expected = ExpectedName(spec.model);
  FindBounds(file, result);

  crypto::Prg stream = StreamOf(options.seed);
  stats::blr::Variates variates(stream);
  const MadeUpRows rows(file, spec);
  std::vector<std::string> row_names;
  const MatrixXd reference = rows.Reference(row_names);
  const MatrixXd thetas = DrawFromPriors(priors, options.draws, reference.cols(), variates);
  for (Index j = 0; j < thetas.rows(); ++j) {
    const auto k = static_cast<size_t>(j);
    const VectorXd values = thetas.row(j).transpose();
    result.parameters.push_back(
        {names[k], stats::mcmc::PriorText(priors[k]), QuantilesOf({values.begin(), values.end()})});
  }
  const auto is_outside = [&](double value) {
    return value < result.lower || value > result.upper;
  };
  for (Index r = 0; r < reference.rows(); ++r) {
    std::vector<double> expected;
    for (Index i = 0; i < thetas.cols(); ++i) {
      const VectorXd theta = thetas.col(i);
      const double predictor = reference.row(r).dot(theta.head(reference.cols()));
      expected.push_back(ExpectedOutcome(spec.model, predictor, theta));
    }
    const double outside = ShareOf(expected, is_outside);
    result.reference_rows.push_back(
        {row_names[static_cast<size_t>(r)], QuantilesOf(std::move(expected)), outside});
  }

  const MatrixXd random = rows.Random(options.draws, variates);
  std::vector<double> outcomes, chances;
  for (Index i = 0; i < thetas.cols(); ++i) {
    const MatrixXd row = random.row(i);
    outcomes.push_back(DrawOutcome(spec.model, row, thetas.col(i), variates));
    const double predictor = random.row(i).dot(thetas.col(i).head(random.cols()));
    chances.push_back(ExpectedOutcome(ChainModel::kLogistic, predictor, thetas.col(i)));
  }
  result.share_below = ShareOf(outcomes, [&](double value) { return value < result.lower; });
  result.share_above = ShareOf(outcomes, [&](double value) { return value > result.upper; });
  if (spec.model == ChainModel::kLogistic) {
    result.event_share = ShareOf(outcomes, [](double value) { return value == 1; });
    result.extreme_share =
        ShareOf(chances, [](double chance) { return chance < kExtreme || chance > 1 - kExtreme; });
  }
  if (spec.model == ChainModel::kWeibull) result.event_share = 1 - result.share_above;
  result.outcomes = QuantilesOf(std::move(outcomes));
  return result;
}

}  // namespace partita::methods::mcmc
