// What the versions of confidential accept-reject tell whom, as lines of type I against type II
// error: the figures of Aslett's talk, and what becomes of them over a chain (trade_offs.h).
//
// Outside: whoever sees what opens. A party removes its own part of the noise of Versions 1 and 2,
// a coalition those of its members. Of the thresholds of Version 3 nobody knows a part, so its
// lines are the same for all whom the engine withstands. Lines are those of exact thresholds;
// statements (statement.h) add how far the law of a threshold is off, 2^-39 per decision.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "privacy/accounting/trade_off.h"

namespace partita::methods::mcmc {

struct FigureSettings {
  uint32_t parties = 7;
  uint32_t coalition = 3;           // parties that pool what they know; below `parties`
  double sensitivity = 0.1;         // Delta of the figures of one decision
  double chain_sensitivity = 0.01;  // of those of chains
  std::vector<uint64_t> chains = {100, 1000, 10000};  // decisions
};

// "at log r = a against b" lines are the talk's formulas for that pair; "guarantee" lines hold for
// every pair and, over a chain, however proposals are chosen (side kLower); "attack" lines are
// reached by a test of bits at one log r (kUpper).
struct FigureLine {
  uint64_t decisions = 1;
  double sensitivity = 0;
  std::string adversary;
  privacy::TradeOff curve;  // its name is the line's
};

// In order of decisions, then adversaries: outside, a party, the coalition. Chains need the
// accountant, about a second each. Throws kUsage for settings out of range.
std::vector<FigureLine> TradeOffFigures(const FigureSettings& settings, Progress& progress);

}  // namespace partita::methods::mcmc
