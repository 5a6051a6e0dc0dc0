// The plan: what a study will do, before anything is done. Everybody reads it, every party computes
// it from the study file alone, and its normative part is hashed and compared in the hello.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "privacy/statement.h"
#include "study/file/declaration.h"

namespace partita::study {

inline constexpr int kPlanSchemaVersion = 2;  // of the plan's JSON

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

// One analysis of the study file.
struct PlanAnalysis {
  std::string name;
  std::string protocol;
  std::string model;  // "cfa of x1..x9, 21 free parameters"
  std::string rows;   // "over the rows where age >= 18, for each level of school"
  uint64_t free_parameters = 0;
};

// A count that is compared with its minimum before anything opens.
struct PlanCheck {
  std::string analysis;
  std::string variable;  // "smoker", or "rows"
  std::string rule;      // full clause with the threshold
  uint64_t minimum = 0;
  bool warning = false;  // printed, does not stop the study
};

// Bits that open against the bits of the table of covariates: the release rule
// (privacy/release_rule.h).
struct PlanBits {
  uint64_t opened = 0;   // B, at most
  uint64_t table = 0;    // H, at least, for the holder that knows most of the table itself
  uint64_t rows = 0;     // that this holder does not have, or not all columns of
  std::string patterns;  // that it does not tell apart: "16", "2^90"
  std::string grid;      // of the standard error, on which numbers open: "2^-6"; empty: exact
  bool passes = false;   // B <= H / 2
  std::string meaning;   // a clause; "table of covariates" in it where B > H / 2
};

// Rule R-k: opened real numbers against what determines every analysis of these rows.
struct PlanExposure {
  std::string of;  // a release, or "all releases of this study"
  std::string to;
  uint64_t opened = 0;      // real numbers, at most
  uint64_t statistics = 0;  // sufficient statistics of the rows and variables concerned
  std::string level;        // methods.md 1.3
  std::vector<std::string>
      exposes;  // one clause each: "the exact number of rows where smoker is 1"
  std::optional<PlanBits> bits = {};  // of exact releases
};

// One row of the privacy statement: how much whoever it is may learn about one person.
struct PlanPrivacy {
  std::string adversary;  // "the receiver", "any 2 parties together"
  std::string adjacency;  // "replace"; empty where the loss is infinite whatever it is
  std::string loss;       // "infinite: the release is exact", "eps <= 1.02 at delta = 1e-6"
};

// What noise does to one estimate, at the planning values.
struct PlanUtility {
  std::string analysis, parameter;
  double standard_error = 0;   // without privacy
  double inflation = 1;        // of the standard error by the noise
  double smallest_effect = 0;  // detectable with power 0.8 at 0.05, without noise
  double smallest_effect_dp = 0;
};

// Predictions, never normative; compared with what was counted after the run.
struct PlanPrediction {
  std::string network;
  double seconds = 0;       // of the whole study: start, reading, computing, network, fit
  uint64_t wire_bytes = 0;  // all links, with frame headers and TLS
};

// The same study by another schedule, as private as this one: what its messages cost, and what it
// does to the result. Never normative; in the plans that a person asks for.
struct PlanAlternative {
  std::string schedule;  // "batches of 400 rows, 60 iterations"
  std::string result;    // a sentence
  uint64_t rounds = 0;
  uint64_t bytes = 0;          // of all links
  uint64_t busiest_bytes = 0;  // of the busiest directed link of every phase
};

struct Plan {
  std::string study, title;
  Declaration declared;         // the hash of the file covers it
  std::string study_file_hash;  // SHA-256 of the file's bytes, hexadecimal
  std::string method;
  uint32_t method_version = 0;
  std::string protocol;
  std::string engine;
  std::optional<uint32_t> threshold;  // of engine "shamir": parties that may pool what they have
  std::string partition;              // "horizontal", "vertical" or "complex"
  std::vector<PlanParty> parties;
  std::vector<PlanPhase> phases;  // of the run
  // Before the run, where the study uses stored correlations: what preparing them for one run
  // costs. The dealer takes part in these phases only. Empty: nothing is prepared.
  std::vector<PlanPhase> preparation;
  std::vector<PlanCorrelation> correlations;
  std::vector<PlanRelease> releases;
  std::vector<PlanAnalysis> analyses;
  std::vector<PlanCheck> checks;
  std::vector<PlanExposure> exposures;  // by release, then cumulatively
  std::vector<PlanPrivacy> privacy;
  std::string leakage_level;             // methods.md 1.3: "sufficient-statistics", ...
  std::vector<std::string> assumptions;  // full sentences: who may collude, what is trusted
  // `privacy` with its trade-off functions, for plots; not normative. Empty: the releases are
  // exact.
  std::optional<privacy::Statement> privacy_statement;
  std::vector<PlanUtility> utility;           // not normative
  std::vector<PlanPrediction> predictions;    // not normative
  std::vector<PlanAlternative> alternatives;  // not normative
  std::vector<std::string> notes;             // for people; not normative
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
// Of the run's phases.
PlanTotals Totals(const Plan& plan);
PlanTotals Totals(std::span<const PlanPhase> phases);

// Sum over the phases of rounds * latency + (bytes of the busiest directed link) / bandwidth.
// Network time only: the parties' own arithmetic comes on top.
double EstimateSeconds(const Plan& plan, const NetworkModel& network);
double EstimateSeconds(const PlanPhase& phase, const NetworkModel& network);
double EstimateSeconds(const PlanAlternative& alternative, const NetworkModel& network);
// Of a plan, as one beside others.
PlanAlternative AlternativeOf(const Plan& plan, std::string schedule, std::string result);
// Which phase takes longest there, how much of the whole, and whether it waits for messages or for
// bytes: one sentence. Empty if nothing is sent.
std::string SlowestPhase(const Plan& plan, const NetworkModel& network);

// "north (holder and receiver) learns: a; b." One sentence per party, in roster order; a party that
// learns nothing "learns: nothing beyond this plan".
std::vector<std::string> LearnsSentences(const Plan& plan);

// The canonical encoding of everything above but `title`, `notes`, utility, predictions and
// alternatives.
Bytes NormativeBytes(const Plan& plan);

// For people: plain ASCII apart from names, at most 100 columns. Estimates for `networks`.
std::string RenderPlanText(const Plan& plan, std::span<const NetworkModel> networks);
// For programs: docs/result-json.md, "Plan".
std::string RenderPlanJson(const Plan& plan, std::span<const NetworkModel> networks);
// Back from RenderPlanJson; estimates and totals are ignored. Throws kBadInput.
Plan ParsePlanJson(const std::string& text);

}  // namespace partita::study
