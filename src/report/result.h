// What a party knows after a run, of any method: it shows and keeps itself. Methods without a
// report of their own make a Document (document_report.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/run_facts.h"
#include "study/plan/document.h"
#include "study/plan/plan.h"

namespace partita::report {

struct Result {
  virtual ~Result() = default;
  virtual study::Ending ending() const = 0;
  // For the terminal; as result.json (docs/result-json.md); as a page.
  virtual std::string Text(const study::Plan& plan, const RunFacts& facts) const = 0;
  virtual std::string Json(const study::Plan& plan, const RunFacts& facts) const = 0;
  virtual std::string Html(const study::Plan& plan, const RunFacts& facts) const = 0;
  // The estimates as a table, where there is one.
  virtual std::optional<std::string> Csv() const { return {}; }
  // Written beside result.json.
  virtual std::vector<study::DocumentFile> Files() const { return {}; }
  // What result.json tells whoever gets it beyond what the report shows: a sentence, or nothing.
  virtual std::string Holds() const { return {}; }
};

}  // namespace partita::report
