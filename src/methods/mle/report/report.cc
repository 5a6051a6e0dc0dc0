#include "methods/mle/report/report.h"

#include <algorithm>

#include "methods/mle/report/estimates_csv.h"
#include "methods/mle/report/json.h"
#include "methods/mle/report/report_html.h"
#include "methods/mle/report/sem_summary.h"

namespace partita::methods::mle {

using report::RunFacts;

MleReport::MleReport(std::vector<MleResult> analyses_in) : analyses(std::move(analyses_in)) {}

study::Ending MleReport::ending() const {
  const bool converged = std::all_of(analyses.begin(), analyses.end(),
                                     [](const MleResult& result) { return result.fit.converged; });
  return converged ? study::Ending::kConverged : study::Ending::kNotConverged;
}

std::string MleReport::Text(const study::Plan& plan, const RunFacts& facts) const {
  return TerminalSummary(analyses, plan, facts);
}

std::string MleReport::Json(const study::Plan& plan, const RunFacts& facts) const {
  return ResultJson(analyses, plan, facts);
}

std::string MleReport::Html(const study::Plan& plan, const RunFacts& facts) const {
  return RenderReportHtml(analyses, plan, facts);
}

std::optional<std::string> MleReport::Csv() const { return EstimatesCsv(analyses); }

std::string MleReport::Holds() const {
  const bool moments = std::any_of(analyses.begin(), analyses.end(), [](const MleResult& result) {
    return result.moments.has_value();
  });
  if (!moments) return {};
  return "result.json holds the released moments: whoever has it can fit any model of these "
         "variables";
}

std::span<const MleResult> AnalysesOf(const report::Result* result) {
  const auto* report = dynamic_cast<const MleReport*>(result);
  return report == nullptr ? std::span<const MleResult>() : report->analyses;
}

}  // namespace partita::methods::mle
