// How long a node keeps what it has of studies that are over.
//
// Frozen rows, the run key and its salt go when a study is over (job/folder.h), whatever stands here. By rules of
// node.toml go, later, its result and what its jobs said (`results`), and then its documents: study file, roster,
// offers, approvals and messages. What never goes: the number of the study and the names of its messages, by which
// neither counts again; what its jobs know a second run by; what was served of tables, their editions and the
// ledger; the audit log.
#pragma once

#include <cstdint>
#include <string>

#include "node/message/message.h"

namespace partita::node {

inline constexpr int64_t kMostResultsDays = 36'500;
inline constexpr int64_t kMostDocumentsYears = 100;

struct RetentionRules {
  int64_t results_days = 0;  // from 1 on; 0: as long as documents
  int64_t documents_years =
      10;  // from 1 on: no study lasts longer, so its messages do nothing any more

  bool operator==(const RetentionRules&) const = default;
};

// Numbers in the store: never used again for something else.
enum class Kept : uint8_t {
  kAll = 0,
  kDocuments = 1,  // all but the result
  kNumber = 2,     // and of the folder what jobs know a second run by
};

struct OverStudy {
  StudyId id{};
  int64_t ended = 0;  // when it was over here, its keys and frozen rows deleted
  Kept kept = Kept::kAll;

  bool operator==(const OverStudy&) const = default;
};

// The seconds from which on they are due.
struct KeptUntil {
  int64_t results = 0, documents = 0;
};
KeptUntil KeptUntilOf(int64_t ended, const RetentionRules& rules);
// What is to be kept then, not more than is.
Kept KeptAt(int64_t now, const OverStudy& study, const RetentionRules& rules);

// For people: "for 30 days after its end", "for 10 years after its end".
std::string KeptText(Kept without, const RetentionRules& rules);

}  // namespace partita::node
