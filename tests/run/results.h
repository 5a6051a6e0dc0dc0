// What an outcome holds, by method.
#pragma once

#include <stdexcept>

#include "methods/mle/report/report.h"
#include "report/document_report.h"
#include "run/party/outcome.h"

namespace partita::testing {

// None where this party has no result.
inline const std::vector<methods::mle::MleResult>& MleResultsOf(const run::PartyOutcome& outcome) {
  static const std::vector<methods::mle::MleResult> kNone;
  const auto* report = dynamic_cast<const methods::mle::MleReport*>(outcome.result.get());
  return report == nullptr ? kNone : report->analyses;
}

// Throws where this party has none.
inline const study::Document& DocumentOf(const run::PartyOutcome& outcome) {
  const auto* result = dynamic_cast<const report::DocumentResult*>(outcome.result.get());
  if (result == nullptr) throw std::runtime_error(outcome.party + " has no document");
  return result->document;
}

}  // namespace partita::testing
