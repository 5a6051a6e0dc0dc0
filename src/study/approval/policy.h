// A policy: an envelope of format 2, by which the signer of a node approves a steward's studies in advance.
//
//   partita_envelope = 2
//   name = "asthma-nightly"
//   tables = ["asthma"]                     # of node.toml; the statement of the job says which one
//   methods = ["mle"]                       # these seven as in format 1 (envelope.h)
//   protocols = ["pooled-moments"]
//   functions = ["sem"]
//   engines = ["dealer"]
//   receivers = ["north", "all"]
//   releases = ["moments", "estimates"]
//   variables = ["age", "sbp"]
//   conditions = ["age >= 18"]              # by which `subset` may select rows, as the plan writes them; []: none
//   proposers = ["north"]
//   dealers = ["helper"]                    # []: none
//   min_parties = 3                         # that hold rows
//   max_results = 30
//   valid_until = "2026-12-31"
//   max_leakage = {moments = "noisy", result = "noisy"}   # releases of the plan, up to a '/'
//   epsilon_per_study = 1                   # needed where one of them is "noisy"
//   delta = 1e-6                            # the same: of no statement may it be larger
//   epsilon_in_all = 12                     # of all studies of this policy; may be left out, as all that follows
//   adjacency = "replace"                   # of the statements; default "replace"
//   max_rows_per_person = 1                 # what the study has to say of the table; default 1
//   key = "id"                              # the columns that [table] may name; default: none
//   block = "site"
//   matchings = ["<64 hexadecimal digits>"] # `record` of [rows.match]; default: none
//   exact = ["<64 hexadecimal digits>"]     # SHA-256 of study files, with one table in `tables`
//   min_cell = 10                           # and min_rows, refuse_small_samples, as in format 1
//   [[party]]                               # every other party that a study may have
//   name = "north"
//   node = "<64 hexadecimal digits>"        # fingerprints of the signer's list of parties
//   steward = "<64 hexadecimal digits>"
//
// Exact results are for the studies in `exact` alone, byte for byte: whatever selects rows is in the file
// (decision 0450).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/adjacency.h"
#include "study/approval/envelope.h"

namespace partita::study {

inline constexpr int64_t kPolicyFormat = 2;
inline constexpr size_t kMaxConditionBytes = 1024;
inline constexpr uint64_t kMaxPolicyResults = 1000;

enum class Leakage { kExact, kNoisy };

// A party by the keys of the signer's list: SHA-256 of its certificates.
struct KnownParty {
  std::string name;
  Digest node_key{}, steward_key{};
  bool operator==(const KnownParty&) const = default;
};

struct Policy : AdmittedLists {
  std::string name;
  std::vector<std::string> tables, conditions, proposers, dealers;
  std::vector<KnownParty> parties;
  uint64_t min_parties = 2;
  uint64_t max_results = 0;
  int64_t valid_until = 0;  // utc_time.h
  std::map<std::string, Leakage> max_leakage;
  // Positive and finite; the two that are needed where something is noisy are there then.
  std::optional<double> epsilon_per_study, epsilon_in_all, delta;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  uint64_t max_rows_per_person = 1;
  std::string key, block;
  std::vector<Digest> matchings, exact;
  DisclosureSpec disclosure;
};

// Whether a steward's text says that it is a policy. Never throws: what is no TOML is none.
bool IsPolicyFile(const std::string& text);

// The steward's text. file: for messages; methods: the names of all that there are. Strict: kBadInput with file,
// line and column.
Policy ParsePolicyFile(const std::string& text, const std::string& file,
                       const std::vector<std::string>& methods);

}  // namespace partita::study
