#include "methods/mle/report/estimate_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"

namespace partita::methods::mle {
namespace {

struct Kind {
  const char* title;
  const char* op;
  bool is_variance;  // of the rows with ~~, those with equal sides
};
constexpr std::array<Kind, 5> kKinds = {{{"Latent variables (loadings)", "=~", false},
                                         {"Regressions", "~", false},
                                         {"Covariances", "~~", false},
                                         {"Intercepts", "~1", false},
                                         {"Variances", "~~", true}}};

constexpr std::array<std::string_view, 6> kMeasuresOfSaturated = {"aic",  "bic",  "bic2",
                                                                  "logl", "npar", "ntotal"};

bool IsOf(const stats::Parameter& row, const Kind& kind) {
  if (row.op != kind.op || row.exogenous) return false;
  return row.op != "~~" || (row.lhs == row.rhs) == kind.is_variance;
}

}  // namespace

std::vector<EstimateSection> EstimateSections(const MleResult& result) {
  const std::vector<stats::Parameter>& rows = result.table.rows;
  std::vector<EstimateSection> sections;
  for (size_t group = 1; group <= result.group_n.size(); ++group) {
    for (const Kind& kind : kKinds) {
      EstimateSection section{kind.title, static_cast<int>(group), {}};
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].group == section.group && IsOf(rows[i], kind)) section.rows.push_back(i);
      }
      if (!section.rows.empty()) sections.push_back(std::move(section));
    }
  }
  EstimateSection defined{"Defined parameters", 0, {}};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].op == ":=") defined.rows.push_back(i);
  }
  if (!defined.rows.empty()) sections.push_back(std::move(defined));
  return sections;
}

const std::vector<stats::ParameterEstimate>& ReportedEstimates(const MleResult& result) {
  return result.robust ? result.robust->estimates : result.fit.estimates;
}

const Eigen::MatrixXd& ReportedVcov(const MleResult& result) {
  return result.robust ? result.robust->vcov : result.fit.vcov;
}

bool IsSaturatedRegression(const MleResult& result) {
  const auto df = result.fit.fit_measures.find("df");
  return result.function == "regression" && df != result.fit.fit_measures.end() && df->second == 0;
}

std::map<std::string, double> ReportedMeasures(const MleResult& result) {
  std::map<std::string, double> measures = result.fit.fit_measures;
  if (result.robust) {
    measures.insert(result.robust->fit_measures.begin(), result.robust->fit_measures.end());
  }
  if (!IsSaturatedRegression(result)) return measures;
  std::erase_if(measures, [](const auto& measure) {
    return std::find(kMeasuresOfSaturated.begin(), kMeasuresOfSaturated.end(), measure.first) ==
           kMeasuresOfSaturated.end();
  });
  return measures;
}

void CheckEstimates(const MleResult& result) {
  const size_t rows = result.table.rows.size();
  if (result.fit.estimates.size() != rows || ReportedEstimates(result).size() != rows) {
    throw Error(ErrorCode::kInternal, "the fit does not belong to its parameter table");
  }
}

std::string ParameterName(const stats::Parameter& row) {
  return row.lhs + " " + row.op + (row.op == "~1" ? "" : " " + row.rhs);
}

bool HasInterval(const MleResult& result, size_t row) {
  const stats::Parameter& parameter = result.table.rows[row];
  const stats::ParameterEstimate& estimate = ReportedEstimates(result)[row];
  return (parameter.free > 0 || parameter.op == ":=") && !parameter.exogenous &&
         std::isfinite(estimate.estimate) && std::isfinite(estimate.ci_lower) &&
         std::isfinite(estimate.ci_upper);
}

}  // namespace partita::methods::mle
