// Reports of methods whose result is a study::Document: text, JSON and a page, with the same facts
// of the run around it as every report.
#pragma once

#include <string>

#include "report/run_facts.h"
#include "study/document.h"
#include "study/plan.h"

namespace partita::report {

std::string DocumentSummary(const study::Document& document, const study::Plan& plan,
                            const RunFacts& facts);

// As ResultJson (docs/result-json.md), with `document` and, from the method, `result` instead of
// `analyses`. Contents of files are not in it.
std::string DocumentJson(const study::Document& document, const study::Plan& plan,
                         const RunFacts& facts);

std::string RenderDocumentHtml(const study::Document& document, const study::Plan& plan,
                               const RunFacts& facts);

}  // namespace partita::report
