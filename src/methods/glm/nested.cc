#include "methods/glm/nested.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/glm/model.h"
#include "stats/glm/inference.h"
#include "study/file/sections.h"
#include "study/file/study_file.h"

namespace partita::methods::glm {
namespace {

using study::TableReader;

constexpr char kNested[] = "nested", kDrop[] = "drop";

// What there is no likelihood-ratio test with.
void RequireLikelihoods(const TableReader& reader, const Spec& spec) {
  const study::Position position = reader.PositionOf(kNested);
  if (spec.robust() || (!spec.weights.empty() && !spec.copies() &&
                        spec.weights_kind != study::WeightsKind::kPrecision)) {
    reader.Fail(position, "tests of nested models take the errors of the model",
                "leave errors and weights out, or [analysis.nested]: terms of several columns have "
                "Wald's test with every kind of errors");
  }
  if (spec.ridge > 0 || spec.firth || !spec.lasso.empty()) {
    reader.Fail(position, "tests of nested models with a penalty",
                "leave the penalty out, or [analysis.nested]");
  }
  if (spec.sealed) {
    reader.Fail(position, "level sealed has no tests of nested models",
                "take protocol = \"iterates\"");
  }
}

bool IsKept(const Spec& spec, const data::ModelColumn& column) {
  return std::find(spec.kept.begin(), spec.kept.end(), column.name) != spec.kept.end();
}

std::vector<Eigen::Index> KeptColumns(const Spec& spec) {
  std::vector<Eigen::Index> kept;
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    if (IsKept(spec, spec.columns[c])) kept.push_back(static_cast<Eigen::Index>(c));
  }
  return kept;
}

NestedTest TestOf(const Spec& spec, const Regression& larger, const Regression& smaller) {
  NestedTest test;
  test.df = larger.coefficients.size() - smaller.coefficients.size();
  const auto k = static_cast<double>(test.df);
  const double apart = smaller.fit->deviance - larger.fit->deviance;
  if (HasDispersion(spec.law)) {
    test.df_residual = larger.df_residual;
    test.statistic = apart / k / larger.fit->dispersion;
    test.p_value = stats::glm::WaldPValue(std::max(0.0, k * test.statistic), k, test.df_residual);
    return test;
  }
  // Deviances of negative binomial models are against another theta each.
  const bool of_theta = spec.law.family == stats::glm::Family::kNegativeBinomial;
  test.statistic =
      of_theta ? 2 * (*larger.fit->log_likelihood - *smaller.fit->log_likelihood) : apart;
  test.p_value = stats::glm::WaldPValue(std::max(0.0, test.statistic), k, std::nullopt);
  return test;
}

}  // namespace

void ReadNested(const TableReader& reader, const study::StudyFile& study, Spec& spec) {
  const auto nested = reader.OptionalTable(kNested, {kDrop});
  if (!nested) return;
  RequireLikelihoods(reader, spec);
  const auto terms = nested->Texts(kDrop, "drop = [\"age\"]");
  if (terms.empty()) {
    nested->Fail(nested->PositionOf(kDrop), "the smaller model drops no term",
                 "write, for example: drop = [\"age\"]");
  }
  study::CheckDistinct(*nested, terms, kDrop);
  for (const study::LocatedText& term : terms) spec.dropped.push_back(term.value);
  try {
    const Spec smaller =
        ModelOf(spec.law, spec.formula, study.dictionary, study.derived, spec.dropped);
    for (const data::ModelColumn& column : smaller.columns) spec.kept.push_back(column.name);
  } catch (const Error& error) {
    study::FailWith(reader, nested->PositionOf(kDrop), error);
  }
}

Task SmallerTask(const Task& task) {
  Task smaller = task;
  Spec& spec = smaller.spec;
  std::erase_if(spec.columns,
                [&](const data::ModelColumn& column) { return !IsKept(task.spec, column); });
  if (spec.columns.empty()) {
    throw Error(ErrorCode::kBadInput, "with effects of sites the smaller model has no column",
                "leave a term in, or write site = \"ignore\"");
  }
  spec.terms.clear();
  spec.products.clear();
  spec.dropped.clear();
  spec.cuts.clear();
  spec.covariance = spec.pairs = false;
  SetParameters(spec);
  smaller.prefix = kSmaller;
  return smaller;
}

stats::glm::Rows SmallerRows(const Spec& spec, const stats::glm::Rows& rows) {
  stats::glm::Rows smaller = rows;
  if (rows.x.cols() == 0) return smaller;  // of a party that holds none
  smaller.x = rows.x(Eigen::all, KeptColumns(spec));
  return smaller;
}

OwnData SmallerData(const Spec& spec, const OwnData& own) {
  if (!own.moments) return {SmallerRows(spec, own.rows), own.counts};
  std::vector<size_t> kept;
  for (const Eigen::Index column : KeptColumns(spec)) kept.push_back(static_cast<size_t>(column));
  return {own.rows, own.counts, MomentsOfColumns(*own.moments, kept)};
}

void AddNested(const Spec& spec, const Regression& smaller, Regression& larger) {
  larger.smaller = smaller.coefficients;
  larger.smaller_converged = smaller.converged;
  if (larger.converged && smaller.converged) larger.nested = TestOf(spec, larger, smaller);
}

}  // namespace partita::methods::glm
