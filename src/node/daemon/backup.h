// A node in one file, and a node made from it.
//
// In it are node.toml, the node key and the jobs' key (each under a passphrase, crypto/passphrase_key.h), the steward's
// certificate, the state with the audit log, accounts of the pages, and a copy of the privacy ledger. Not in it: folders
// of studies (run/), so that nothing that began goes on in two places, nor the steward's folder. The node key signs all
// of it (node/message/signed_document.h): a file that was changed, cut or made by somebody else is refused before
// anything is written. It is its owner's alone: beside the keys everything in it can be read.
//
// What was restored knows less than happened. So a restore
//   - writes the mark that closes the tables and ends policies first (job/closed.h),
//   - begins a new incarnation, sends nothing that was waiting, and ends every study at the first start, which the
//     other parties are told,
//   - writes "restored" into the audit log, whose days show at other sites what is missing (audit/log_days.h),
//   - replaces nothing: what is there stays, a newer ledger above all.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "crypto/random.h"
#include "node/daemon/node_folder.h"

namespace partita::node {

inline constexpr char kBackupDomain[] = "partita node backup 1";
inline constexpr uint64_t kMaxBackupBytes = uint64_t{2} << 30;

// state: a copy of the node's state (Store::CopyTo). Databases of accounts and ledger are copied as they are at one
// moment each, and may be in use. Throws kUsage for a passphrase that is too short, kBadInput for a folder that is not
// whole, kStorage.
Bytes MakeBackup(const NodeFolder& folder, const Bytes& state, std::string_view passphrase,
                 int64_t now);

struct RestoreNews {
  std::string name;              // of the site
  int64_t made_at = 0;           // the backup
  size_t accounts = 0;           // of the ledger, whose budgets count as spent from now on
  bool has_ledger = false;       // node.toml names one, and it is there now
  bool ledger_restored = false;  // it is the copy of the backup
};

// Throws kBadInput for a file that is no backup, damaged, or signed by another key than its own; kRefused for a wrong
// passphrase; kUsage where a node's state is, or another node's key: nothing is written then.
RestoreNews RestoreBackup(ByteView backup, const NodeFolder& folder, std::string_view passphrase,
                          int64_t now, crypto::RandomSource& random);

}  // namespace partita::node
