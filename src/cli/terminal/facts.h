// What the report says of a run, gathered from the party's outcome.
#pragma once

#include "report/run_facts.h"
#include "run/party/party.h"

namespace partita::cli {

report::RunFacts FactsOf(const run::PartyOutcome& outcome);

}  // namespace partita::cli
