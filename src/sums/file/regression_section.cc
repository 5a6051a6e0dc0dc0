#include "sums/file/regression_section.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bytes.h"
#include "base/error.h"
#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::sums {
namespace {

using regression::Collects;
using regression::Estimator;
using study::Quote;
using study::TableReader;
using RegressionSpec = regression::Spec;

const std::vector<std::string> kRegressionKeys = {"outcome", "predictors", "intercept", "row_norm",
                                                  "noise",   "collects",   "estimator", "level",
                                                  "clip",    "prior"};

void ReadRegressionModel(const TableReader& reader, const study::Dictionary& dictionary,
                         RegressionSpec& spec) {
  const study::LocatedText outcome = reader.Text("outcome", "outcome = \"blood_pressure\"");
  const data::ColumnSchema& target =
      study::FindVariable(reader, outcome, "outcome", dictionary.schema);
  const auto predictors = reader.Texts("predictors", "predictors = [\"age\", \"sex\"]");
  study::CheckDistinct(reader, predictors, "predictor");
  if (predictors.size() > study::kMaxPredictors) {
    reader.Fail(reader.PositionOf("predictors"), "there are too many predictors",
                "a vector has about half the square of their number; give at most " +
                    std::to_string(study::kMaxPredictors));
  }
  for (const study::LocatedText& name : predictors) {
    if (name.value == outcome.value) {
      reader.Fail(name.position, Quote(name.value) + " is the outcome and a predictor",
                  "remove it from one of them");
    }
    spec.variables.columns.push_back(
        study::FindVariable(reader, name, "predictors", dictionary.schema));
  }
  spec.variables.columns.push_back(target);
  spec.intercept = reader.OptionalBool("intercept").value_or(true);
  if (predictors.empty() && !spec.intercept) {
    reader.Fail(reader.PositionOf("predictors"), "a regression without predictors or intercept",
                "name a predictor");
  }
}

void ReadChoices(const TableReader& reader, RegressionSpec& spec) {
  if (const auto noise = reader.OptionalText("noise"))
    spec.laplace = reader.Choice(*noise, "noise", {"gaussian", "laplace"}) == "laplace";
  if (const auto what = reader.OptionalText("collects")) {
    spec.collects = reader.Choice(*what, "collects", {"statistics", "spread"}) == "spread"
                        ? Collects::kSpread
                        : Collects::kStatistics;
  }
  if (const auto estimator = reader.OptionalText("estimator")) {
    spec.estimator = reader.Choice(*estimator, "estimator", {"noise-aware", "plain"}) == "plain"
                         ? Estimator::kPlain
                         : Estimator::kNoiseAware;
  }
  if (const auto level = reader.OptionalNumber("level")) {
    if (!(level->value >= 0.5 && level->value <= 0.999)) {
      reader.Fail(level->position, "'level' must be from 0.5 to 0.999",
                  "write level = 0.95: intervals contain the coefficient with that probability");
    }
    spec.level = level->value;
  }
  if (const auto norm = reader.OptionalNumber("row_norm")) {
    if (!(norm->value >= study::kMinNorm && norm->value <= study::kMaxNorm)) {
      reader.Fail(norm->position, "'row_norm' must be from 0.01 to 100",
                  "scaled values lie in [-1, 1]; rows that are longer than this are shortened");
    }
    if (spec.laplace) {
      reader.Fail(norm->position, "'row_norm' does not reduce Laplace noise",
                  "remove it, or write noise = \"gaussian\"");
    }
    spec.row_norm = norm->value;
  }
}

// Two values, ascending.
regression::ClipRange ReadRange(const TableReader& reader, const std::string& key, bool date,
                                double least) {
  const auto values = reader.Values(key, date, key + " = [20, 60]");
  if (values.size() != 2 || !(values[0].value >= least) || !(values[0].value <= values[1].value) ||
      !std::isfinite(values[1].value)) {
    reader.Fail(reader.PositionOf(key), Quote(key) + " must be two ascending numbers",
                "write the smaller first, for example: " + key + " = [0.1, 0.5]");
  }
  return {values[0].value, values[1].value};
}

void ReadClip(const TableReader& regression, RegressionSpec& spec) {
  std::vector<std::string> names;
  for (const data::ColumnSchema& variable : spec.variables.columns) names.push_back(variable.name);
  const auto reader = regression.OptionalTable("clip", names, "[regression.clip]");
  if (!reader) return;
  for (const data::ColumnSchema& variable : spec.variables.columns) {
    if (!reader->Has(variable.name)) continue;
    if (!data::HasBounds(variable.type)) {
      reader->Fail(reader->PositionOf(variable.name),
                   Quote(variable.name) + " is a factor and is not clipped", "remove it");
    }
    const auto range =
        ReadRange(*reader, variable.name, variable.type == data::ColumnType::kDate, -1e300);
    if (range.lower < variable.lower || range.upper > variable.upper ||
        range.lower == range.upper) {
      reader->Fail(reader->PositionOf(variable.name),
                   Quote(variable.name) + " must be clipped within its bounds, " +
                       data::BoundsText(variable),
                   "clip more tightly, or not at all");
    }
    spec.clip[variable.name] = range;
  }
}

stats::blr::Range SquaredRange(const TableReader& reader, const std::string& key,
                               const stats::blr::Range& otherwise) {
  if (!reader.Has(key)) return otherwise;
  if (!reader.IsList(key)) {
    const study::Located<double> one = reader.Number(key, key + " = 0.5");
    if (!(one.value > 1e-6 && one.value < 1e6)) {
      reader.Fail(one.position, Quote(key) + " must be positive",
                  "write a standard deviation in scaled units, where values lie in [-1, 1]");
    }
    return {one.value * one.value, one.value * one.value};
  }
  const auto range = ReadRange(reader, key, false, 1e-6);
  return {range.lower * range.lower, range.upper * range.upper};
}

void ReadPrior(const TableReader& regression, RegressionSpec& spec) {
  const auto reader =
      regression.OptionalTable("prior", {"slope_sd", "noise_sd"}, "[regression.prior]");
  if (!reader) return;
  spec.prior.slope_variance = SquaredRange(*reader, "slope_sd", spec.prior.slope_variance);
  if (spec.estimator == Estimator::kPlain && reader->Has("noise_sd")) {
    reader->Fail(reader->PositionOf("noise_sd"), "the plain estimator takes no prior of the noise",
                 "remove it, or write estimator = \"noise-aware\"");
  }
  spec.prior.noise_variance = SquaredRange(*reader, "noise_sd", spec.prior.noise_variance);
}

}  // namespace

std::optional<RegressionSpec> ReadRegression(const TableReader& root) {
  const auto reader = root.OptionalTable("regression", kRegressionKeys);
  if (!reader) {
    if (root.Has("variable")) {
      root.Fail(root.PositionOf("variable"), "[[variable]] belongs to a regression",
                "add [regression] with an outcome and predictors, or remove it");
    }
    return std::nullopt;
  }
  RegressionSpec spec;
  const study::Dictionary dictionary = study::ReadDictionary(root);
  ReadRegressionModel(*reader, dictionary, spec);
  ReadChoices(*reader, spec);
  ReadClip(*reader, spec);
  ReadPrior(*reader, spec);
  try {
    regression::DesignOf(spec);
  } catch (const Error& error) {
    study::FailWith(*reader, reader->position(), error);
  }
  return spec;
}

std::string CanonicalRegression(const RegressionSpec& spec) {
  ByteWriter bytes;
  bytes.U8(spec.collects == Collects::kSpread);
  bytes.U8(spec.intercept);
  bytes.U8(spec.laplace);
  bytes.F64(spec.row_norm);
  const crypto::Digest digest = data::SchemaDigest(spec.variables);
  bytes.Raw(digest);
  bytes.U64(spec.clip.size());
  for (const auto& [name, range] : spec.clip) {
    bytes.String(name);
    bytes.F64(range.lower);
    bytes.F64(range.upper);
  }
  return {bytes.bytes().begin(), bytes.bytes().end()};
}

}  // namespace partita::sums
