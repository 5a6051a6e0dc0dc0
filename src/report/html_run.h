// The sections of the report that do not depend on the method, and those that a plan has too, as
// markup.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::report {

std::string StatementsHtml(std::span<const Statement> statements);

// What runs where, hashes, and the stewards' decisions.
std::string StudyHtml(const study::Plan& plan, const RunFacts& facts);

// Parties, releases, disclosure checks, leakage, privacy, assumptions.
std::string LearnedHtml(const study::Plan& plan, const RunFacts& facts);

// Rows observed, used and excluded, and the variables; small counts suppressed (report_html.h).
// Empty if nothing is known.
std::string DataHtml(const RunFacts& facts);

// Phases, bytes and time, and what the plan had predicted.
std::string TrafficHtml(const RunFacts& facts);
// The numbers of its plot: a JSON array of phase, start, seconds, note.
std::string TrafficData(const RunFacts& facts);

// Parts of the above that a plan has, too.
std::string PartiesTable(const study::Plan& plan);
// Terms and texts for Definitions: what the study declares, as far as it does.
void AddDeclared(const study::Plan& plan, std::vector<std::pair<std::string, std::string>>& items);
std::string AssumptionsHtml(const study::Plan& plan);

}  // namespace partita::report
