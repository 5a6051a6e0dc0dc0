// What a job found when it froze a table, signed by the key of this site's jobs: the commit statement.
//
// The draft of an approval, and the name of the table that it is about, reach the steward by the daemon.
// The daemon does not have the key of the jobs, so the steward's signer sees whether both are as the job
// wrote them (node/sign). The key is made with the node's folder; its certificate is given to the
// steward's folder when the steward's key is made, and is compared as a whole: its time does not matter.
//
// Numbers of rows and cells are those of the own table, for the own stewards: they pass the daemon, and
// never go to a peer.
#pragma once

#include <string>
#include <string_view>

#include "crypto/certificate.h"
#include "node/message/signed_document.h"

namespace partita::node {

inline constexpr char kCommitDomain[] = "partita node commit 1";
inline constexpr size_t kMaxTableName = 4096;
inline constexpr size_t kMaxEditionText = 256;
inline constexpr size_t kMaxBudgetText = 2048;
inline constexpr size_t kMaxDictionaryText = 4096;
inline constexpr size_t kMaxStatementBytes = 16384;

struct CommitStatement {
  StudyId study{};
  // As the catalogue names it; empty: this party brings no data, and all of the next six are zero.
  std::string table;
  Digest commitment{};   // to the bytes of the frozen table (data/snapshot.h)
  uint64_t rows = 0;     // that the study reads
  uint64_t missing = 0;  // cells of them, in the columns that it reads
  // Of which edition of the table these rows are, for people ("edition of 2026-11-28, 312 rows"); empty: of none.
  std::string edition;
  // What the study takes of the table's privacy budget, lines for people (run/ledger/price.h); empty: no
  // ledger is kept here, or the study releases nothing of the table.
  std::string budget;
  // Where the study departs from the site's dictionary of the table, lines for people (own_dictionary.h); empty: there
  // was no dictionary.
  std::string dictionary;
  Digest draft{};  // of the exact text of the draft

  bool operator==(const CommitStatement&) const = default;
};

struct SignedCommit {
  CommitStatement statement;
  Signature signature;  // of the job key
};

SignedCommit SignCommit(const CommitStatement& statement, const crypto::Identity& job_key);
Bytes Encode(const SignedCommit& commit);
// Throws kBadInput for anything but what Encode writes. The signature is not looked at.
SignedCommit DecodeSignedCommit(ByteView bytes);

// Throws kUntrusted unless it is signed by the key with this fingerprint, and about this study and
// exactly this draft, whose table it commits to.
void RequireCommit(const SignedCommit& commit, const Digest& job_key, const StudyId& study,
                   std::string_view draft);

}  // namespace partita::node
