// What the report says of a run, gathered from the party's outcome.
#pragma once

#include "report/run_facts.h"
#include "run/party/party.h"

namespace partita::run {

report::RunFacts FactsOf(const PartyOutcome& outcome);

}  // namespace partita::run
