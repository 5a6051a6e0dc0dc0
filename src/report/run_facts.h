// What happened in a run, as one party saw it: the part of a report that does not depend on the
// method. Only what this party may know is in it. Everything has a default that means "not known
// here"; the report then says so or leaves the line out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace partita::report {

inline constexpr int kResultSchemaVersion = 3;  // of result.json

// Payload of one phase over all links of this party; frame headers come on top.
struct PhaseFacts {
  std::string phase;
  uint64_t rounds = 0;
  uint64_t messages_sent = 0, messages_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  double seconds = 0;
  // On the wire, frame headers and TLS included; 0: not measured (parties as threads, local steps).
  uint64_t wire_bytes_sent = 0, wire_bytes_received = 0;
};

// One line of the release gate's count.
struct ReleaseFacts {
  std::string id, what, to, mechanism;
  uint64_t max_count = 0;
  uint64_t opened = 0;
};

// A steward's signed decision.
struct ApprovalFacts {
  std::string party;
  std::string decision;        // "approved" or "rejected"
  std::string kind = "study";  // "study": of this study alone; "envelope", "policy": standing
  std::string signed_by;       // fingerprint of the certificate, hexadecimal
  std::string approved_at, valid_until;  // UTC; valid_until empty: no end
  uint64_t min_cell = 0, min_rows = 0;   // what this party asked for; 0: the study's own
};

struct ExclusionFacts {
  std::string reason;  // "missing x1", "not in the subset age >= 18"
  uint64_t count = 0;
};

// Rows that were there, that took part, and why the others did not.
struct RowFacts {
  std::string scope;             // party name, or "all"
  uint64_t observed = 0;         // 0 although some were used: not known here
  std::optional<uint64_t> used;  // not known where which rows match is hidden
  std::vector<ExclusionFacts> excluded;
};

// One disclosure check of the plan that ran before a release.
struct DisclosureFacts {
  std::string variable;  // "smoker = yes", "all rows"
  std::string rule;      // "every level has at least 5 rows"
  bool passed = false;
};

// A variable of the dictionary. Mean and standard deviation only where a release told them; reports
// show three significant digits, and nothing if n < min_cell.
struct VariableFacts {
  std::string name, type, unit, held_by;
  std::optional<double> lower, upper;
  uint64_t n = 0;  // rows behind mean and sd; 0: not known
  std::optional<double> mean, sd;
};

struct CostFacts {
  double seconds = 0;
  uint64_t rounds = 0, bytes = 0;  // bytes: payload that this party sent and received
};

// What the plan said against what was counted.
struct PredictionFacts {
  CostFacts predicted, measured;
};

// The way of an optimiser, where it was recorded.
struct HistoryPoint {
  int iteration = 0;
  double log_likelihood = 0;
  double max_scaled_gradient = 0;
};
struct HistoryFacts {
  std::string analysis;
  std::vector<HistoryPoint> points;
};

// One of those that a report makes whether its reader asked or not (statements.h).
struct Statement {
  std::string about;  // "agreement", "differential-privacy", "adversary", ...: stable, for programs
  std::string text;   // full sentences
};

struct RunFacts {
  std::string party;                                          // whose report this is
  std::string agreement_hash, study_hash, plan_hash, run_id;  // hexadecimal
  std::string software_version;
  std::string started_at;  // UTC, "2024-05-01T12:00:00Z"
  double seconds_total = 0;
  std::vector<PhaseFacts> phases;
  std::vector<ReleaseFacts> releases;
  std::vector<ApprovalFacts> approvals;
  uint64_t min_cell = 5;  // the highest that the study and its stewards ask for
  std::vector<RowFacts> rows;
  std::vector<VariableFacts> variables;
  std::vector<DisclosureFacts> disclosure;
  // Parties whose wrong shares in openings this one corrected (engine `shamir`).
  std::vector<std::string> corrected;
  std::string leakage_level;         // reached; empty: the plan's
  std::vector<std::string> leakage;  // sentences: opened numbers against sufficient statistics
  std::optional<PredictionFacts> prediction;
  std::optional<int> digits_of_agreement;  // with the pooled fit, from a rehearsal on mock data
  std::vector<std::string> privacy;        // the privacy statement, one sentence each
  std::vector<HistoryFacts> history;
  // "OpenSSL 3.0.17", ...: libraries that the numbers depend on, beside Partita itself.
  std::vector<std::string> libraries;
};

}  // namespace partita::report
