// The published protocols as whole fits: one call at every party, the result at the central node.
//
// FOR SIMULATION AND COMPARISON ONLY: every one of them shows some party more than it says
// (published/README.md). They refuse to run unless the caller says that the rows may leak.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "methods/mle/published/normal.h"
#include "methods/mle/published/numbers.h"
#include "stats/sem/fit.h"
#include "stats/sem/linear_statistics.h"
#include "stats/sem/oracle_fit.h"
#include "stats/sem/parameter_table.h"

namespace partita::methods::mle::published {

enum class Protocol { kConditional, kSecureSum, kSecureMatmul, kObliviousTransfer, kPlainPassing };
std::string_view ProtocolName(Protocol protocol);  // "conditional", "secure-sum", ...

struct Task {
  Protocol protocol = Protocol::kConditional;
  Masks masks = Masks::kRing;  // of kConditional and kSecureSum
  Layout layout;
  stats::ParameterTable table;
  stats::StatisticsScale scale;  // public bounds of the columns
  bool rows_may_leak = false;    // made-up rows, or somebody said so
  // At the central node, every answer, in the units of UnitsOf: what it can keep. May be empty.
  std::function<void(const Answer&)> watch;
};

// The nodes' rows enter as (y - centre) / half_width of these: as they are with paper masks, which
// belong to such values, else in about standard deviations, since the ring has a fixed resolution.
stats::StatisticsScale UnitsOf(const Task& task);

struct Result {
  stats::SemFit fit;
  // Of the protocols that ask for likelihoods.
  std::optional<stats::OracleUsage> usage;
  int questions = 0;
  std::vector<std::string> leaks;  // what was shown to whom, in sentences, numbers included
};

// Throws as FitPublished before anything is sent, of a channel with so many parties.
void CheckTask(const Task& task, size_t num_parties);

// Throws, before anything is sent, kRefused where rows may not leak, kUsage for a layout that does
// not tile or does not suit the protocol, kBadInput for a model without means where likelihoods are
// asked for. own: this party's columns of y in natural units, by block; empty at the centre. The
// result at the centre, empty elsewhere.
std::optional<Result> FitPublished(net::Channel& channel, const Task& task, const OwnRows& own,
                                   crypto::RandomSource& random, Progress& progress);

}  // namespace partita::methods::mle::published
