// The plan as one page for stewards and analysts, in the style of the report: what is computed, who
// learns what, what is released, what that gives away, whom the guarantees trust, what it costs.
#pragma once

#include <span>
#include <string>

#include "study/plan/plan.h"

namespace partita::report {

// One self-contained file, as described in report_html.h. Estimates of time for `networks`.
// `plan_hash`: hexadecimal, what the parties compare and stewards sign; empty: not shown.
std::string RenderPlanHtml(const study::Plan& plan, std::span<const study::NetworkModel> networks,
                           const std::string& plan_hash = {});

}  // namespace partita::report
