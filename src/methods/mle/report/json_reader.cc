#include <nlohmann/json.hpp>

#include "methods/mle/report/json.h"
#include "methods/mle/report/moments_json.h"
#include "methods/mle/report/report.h"
#include "report/document_json.h"
#include "report/facts_json.h"
#include "report/json.h"

namespace partita::methods::mle {
namespace {

using report::Json;
using report::NumberOrNan;

void ReadModel(const Json& model, MleResult& result) {
  result.function = model.at("function");
  result.information = model.at("information") == "expected" ? stats::Information::kExpected
                                                             : stats::Information::kObserved;
  result.table.observed = model.at("observed").get<std::vector<std::string>>();
  result.table.latent = model.at("latent").get<std::vector<std::string>>();
  result.table.meanstructure = model.at("meanstructure");
  result.table.fixed_x = model.at("fixed_x");
  result.table.num_free = model.at("free_parameters");
  for (const Json& group : model.at("groups")) {
    result.group_labels.push_back(group.at("label"));
    result.group_n.push_back(NumberOrNan(group.at("n")));
  }
  result.table.groups = result.group_labels;
}

stats::Parameter ReadParameter(const Json& json) {
  stats::Parameter row;
  row.lhs = json.at("lhs");
  row.op = json.at("op");
  row.rhs = json.at("rhs");
  row.group = json.at("group");
  row.label = json.at("label");
  row.free = json.at("free");
  row.user = json.at("user");
  row.exogenous = json.at("exo");
  return row;
}

stats::ParameterEstimate ReadEstimate(const Json& json) {
  return {NumberOrNan(json.at("est")),      NumberOrNan(json.at("se")),
          NumberOrNan(json.at("z")),        NumberOrNan(json.at("pvalue")),
          NumberOrNan(json.at("ci.lower")), NumberOrNan(json.at("ci.upper")),
          NumberOrNan(json.at("std.lv")),   NumberOrNan(json.at("std.all"))};
}

void ReadFit(const Json& json, MleResult& result) {
  const Json& convergence = json.at("convergence");
  stats::SemFit& fit = result.fit;
  fit.converged = convergence.at("converged");
  fit.optimizer = convergence.at("optimizer");
  fit.iterations = convergence.at("iterations");
  fit.max_scaled_gradient = NumberOrNan(convergence.at("max_scaled_gradient"));
  fit.warnings = json.at("warnings").get<std::vector<std::string>>();
  for (const Json& parameter : json.at("parameters")) {
    result.table.rows.push_back(ReadParameter(parameter));
    fit.estimates.push_back(ReadEstimate(parameter));
  }
  for (const auto& [name, value] : json.at("fit").items())
    fit.fit_measures[name] = NumberOrNan(value);
}

Eigen::MatrixXd ReadVcov(const Json& values) {
  const auto size = static_cast<Eigen::Index>(values.size());
  Eigen::MatrixXd vcov(size, size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const Json& row = values.at(static_cast<size_t>(i));
    for (Eigen::Index j = 0; j < size; ++j)
      vcov(i, j) = NumberOrNan(row.at(static_cast<size_t>(j)));
  }
  return vcov;
}

std::optional<stats::RobustFit> ReadRobust(const Json& json) {
  if (json.is_null()) return {};
  stats::RobustFit robust;
  for (const Json& parameter : json.at("parameters")) {
    robust.estimates.push_back(ReadEstimate(parameter));
  }
  for (const auto& [name, value] : json.at("fit").items()) {
    robust.fit_measures[name] = NumberOrNan(value);
  }
  robust.scaling_factor = NumberOrNan(json.at("scaling_factor"));
  robust.vcov = ReadVcov(json.at("vcov"));
  robust.warnings = json.at("warnings").get<std::vector<std::string>>();
  return robust;
}

std::optional<LikelihoodFacts> ReadLikelihood(const Json& json) {
  if (json.is_null()) return {};
  LikelihoodFacts facts;
  facts.usage.values = json.at("values");
  facts.usage.gradients = json.at("gradients");
  facts.usage.opened_numbers = json.at("opened_numbers");
  facts.usage.rank = json.at("rank");
  facts.usage.num_statistics = json.at("num_statistics");
  facts.leakage_level = json.at("leakage_level");
  return facts;
}

LeastSquares ReadLeastSquares(const Json& json, const MleResult& result) {
  LeastSquares regression;
  regression.outcome = json.at("outcome");
  const auto group = json.at("group").get<size_t>();
  if (group < 1 || group > result.group_n.size() || json.at("terms").empty())
    throw Json::other_error::create(501, "a regression is not one of the fit", nullptr);
  regression.group = group - 1;
  regression.n = NumberOrNan(json.at("n"));
  regression.df = NumberOrNan(json.at("df"));
  regression.sigma = NumberOrNan(json.at("sigma"));
  regression.r2 = NumberOrNan(json.at("r2"));
  regression.adjusted_r2 = NumberOrNan(json.at("adjusted_r2"));
  regression.f = NumberOrNan(json.at("f"));
  regression.f_df = NumberOrNan(json.at("f_df"));
  regression.f_p_value = NumberOrNan(json.at("f_pvalue"));
  for (const Json& term : json.at("terms")) {
    regression.terms.push_back({term.at("name"), term.at("parameter"), NumberOrNan(term.at("est")),
                                NumberOrNan(term.at("se")), NumberOrNan(term.at("t")),
                                NumberOrNan(term.at("pvalue")), NumberOrNan(term.at("ci.lower")),
                                NumberOrNan(term.at("ci.upper"))});
    if (regression.terms.back().row >= result.table.rows.size())
      throw Json::other_error::create(501, "a term of a regression has no parameter", nullptr);
  }
  return regression;
}

MleResult ReadAnalysis(const Json& json) {
  MleResult result;
  result.name = json.at("name");
  ReadModel(json.at("model"), result);
  ReadFit(json, result);
  result.fit.vcov = ReadVcov(json.at("vcov").at("values"));
  result.robust = ReadRobust(json.at("robust"));
  result.likelihood = ReadLikelihood(json.at("likelihood"));
  result.fit_measures_available = json.at("fit_measures_available");
  result.notes = json.at("notes").get<std::vector<std::string>>();
  // Results of before these keys are read as well.
  result.family = json.value("family", "");
  if (json.contains("tables")) {
    for (const Json& table : json.at("tables"))
      result.tables.push_back(report::ReadCellTable(table));
  }
  if (json.contains("least_squares")) {
    for (const Json& regression : json.at("least_squares"))
      result.least_squares.push_back(ReadLeastSquares(regression, result));
  }
  const auto moments = json.find("moments");
  if (moments != json.end() && !moments->is_null()) {
    NamedMoments named = ReadMoments(*moments);
    if (named.variables != result.table.observed || named.labels != result.group_labels)
      throw Json::other_error::create(501, "the moments are not those of the model", nullptr);
    result.moments = std::move(named.moments);
  }
  if (result.robust && result.robust->estimates.size() != result.table.rows.size()) {
    throw Json::other_error::create(501, "the robust parameters are not those of the fit", nullptr);
  }
  return result;
}

}  // namespace

std::vector<MleResult> ReadMleResults(const Json& json) {
  std::vector<MleResult> results;
  for (const Json& analysis : json.at("analyses")) results.push_back(ReadAnalysis(analysis));
  if (results.empty()) throw Json::other_error::create(501, "it has no analysis", nullptr);
  return results;
}

std::unique_ptr<const report::Result> ReadMleReport(const Json& json) {
  return std::make_unique<const MleReport>(ReadMleResults(json));
}

}  // namespace partita::methods::mle
