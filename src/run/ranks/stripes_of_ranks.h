// The stripes of a party that has several ranks (ranks.h): rank 0 hands rows out, every rank computes its
// stripes over connections of its own, and rank 0 adds up what they report.
//
// Failure   A rank that fails reports why, and rank 0 ends the run with an error that names the rank, also
//           while it computes itself. Every rank gives up with the run.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "run/party/stripes.h"
#include "run/ranks/order.h"
#include "run/ranks/ranks.h"

namespace partita::run {

// At rank 0: as StripesInTurn, with the other ranks' help.
std::unique_ptr<Stripes> StripesOfRanks(const Study& study, net::Channel& channel,
                                        const MethodRows* rows, StripeConnector connect,
                                        Progress& progress, Ranks& ranks, RankSetup setup);

// At another rank, on one order: connects and computes. Errors are in the report.
RankReport RunOrder(const Study& study, const RankOrder& order, size_t rank, size_t ranks,
                    const StripeConnector& connect, Progress& progress);

}  // namespace partita::run
