// The plan: what a study will do, before anything is done. Everybody reads it, every party computes
// it from the study file alone, and its normative part is hashed and compared in the hello.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace partita::study {

inline constexpr int kPlanSchemaVersion = 1;  // of the plan's JSON

struct PlanParty {
  std::string name;
  std::vector<std::string> roles;   // "holder", "receiver", "dealer"
  std::string contributes;          // "x1, x2, x3 of 156 rows (Pasteur)"; empty: nothing
  std::vector<std::string> learns;  // one clause each: "n, sums and cross products of x1..x9"
};

// Payload that crosses one directed link in one phase.
struct PlanLink {
  std::string from, to;
  uint64_t messages = 0, bytes = 0;
};

struct PlanPhase {
  std::string name;
  uint64_t rounds = 0;  // longest chain of dependent messages
  std::vector<PlanLink> links;
};

struct PlanCorrelation {
  std::string name;  // "matrix triple 301 x 3 x 6"
  uint64_t count = 0;
};

struct PlanRelease {
  std::string id;         // "moments"
  std::string what;       // "n, sums and cross products of x1..x9, over all rows"
  std::string to;         // party name, or "all"
  std::string mechanism;  // "exact"
  uint64_t max_count = 1;
};

struct Plan {
  std::string study, title;
  std::string study_file_hash;  // SHA-256 of the file's bytes, hexadecimal
  std::string method;
  uint32_t method_version = 0;
  std::string protocol;
  std::string engine;
  std::string partition;  // "horizontal", "vertical" or "complex"
  std::vector<PlanParty> parties;
  std::vector<PlanPhase> phases;
  std::vector<PlanCorrelation> correlations;
  std::vector<PlanRelease> releases;
  std::string leakage_level;             // methods.md 1.3: "sufficient-statistics", ...
  std::vector<std::string> assumptions;  // full sentences: who may collude, what is trusted
  std::vector<std::string> notes;        // for people; not normative
};

// A network to estimate for. Both numbers are positive.
struct NetworkModel {
  std::string name;             // "LAN"
  double latency_seconds = 0;   // one way
  double bytes_per_second = 0;  // of one directed link
};

// Two to show by default: a local network (0.1 ms, 1 Gbit/s) and one between cities (20 ms,
// 100 Mbit/s).
std::vector<NetworkModel> DefaultNetworks();

struct PlanTotals {
  uint64_t rounds = 0, messages = 0, bytes = 0;
};
PlanTotals Totals(const Plan& plan);

// Sum over the phases of rounds * latency + (bytes of the busiest directed link) / bandwidth.
// Network time only: the parties' own arithmetic comes on top.
double EstimateSeconds(const Plan& plan, const NetworkModel& network);

// "north (holder and receiver) learns: a; b." One sentence per party, in roster order; a party that
// learns nothing "learns: nothing beyond this plan".
std::vector<std::string> LearnsSentences(const Plan& plan);

// The canonical encoding of everything above but `title`, `notes` and estimates.
Bytes NormativeBytes(const Plan& plan);

// For people: plain ASCII apart from names, at most 100 columns. Estimates for `networks`.
std::string RenderPlanText(const Plan& plan, std::span<const NetworkModel> networks);
// For programs: docs/result-json.md, "Plan".
std::string RenderPlanJson(const Plan& plan, std::span<const NetworkModel> networks);
// Back from RenderPlanJson; estimates and totals are ignored. Throws kBadInput.
Plan ParsePlanJson(const std::string& text);

}  // namespace partita::study
