// What a restore from a backup leaves for the jobs: tables that are closed until the steward opens them, and budgets
// and policies that do not count any more.
//
// An older copy of a node knows of less than was opened: of runs, of charges, of uses of policies. So a restore first
// writes a mark, and with it
//   - no table of this site is bound, committed or read until the steward has signed for the mark: that all that is
//     left of the budgets counts as spent, or which budgets are kept because other sites remember no newer copy of the
//     ledger (kept_budgets.h);
//   - an account that the ledger had then and that is not kept is never charged again: a ledger that was put back gives
//     nothing back, whichever copy it is, and whoever puts it there. What a table may still tell is for the steward to
//     decide, in a new account;
//   - nor is one that was opened before the mark and is not in it: a copy that was put in its place later has it, and no
//     word was asked for it;
//   - no policy from before the restore approves anything.
// Jobs read the files at each piece of work; neither the node nor a peer can write the steward's. Of the two words the
// one that all is spent counts if it is there, whatever else is.
//
// Bytes of the mark (base/bytes.h): kMarkDomain, owner, time u64, nonce (32), number of accounts u32, their pseudonyms
// (32 each, rising), number u32 and pseudonyms of those that count as spent since an earlier restore. Of the steward's
// word: the digest of the mark, then as in node/message/signed_document.h. A mark of the first version
// (kFirstMarkDomain) does not tell accounts of earlier restores from others: of it none is ever kept.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "node/job/settings.h"
#include "node/message/signed_document.h"

namespace partita::node {

inline constexpr char kMarkDomain[] = "partita node restored 2";
inline constexpr char kFirstMarkDomain[] = "partita node restored 1";
inline constexpr char kReopenDomain[] = "partita node reopened 1";
inline constexpr size_t kMaxMarkBytes = size_t{1} << 20;

struct RestoredMark {
  std::string owner;
  int64_t time = 0;  // of the restore
  Digest nonce{};
  std::set<Digest> accounts;  // pseudonyms of those that count as spent unless they are kept
  std::set<Digest> spent;     // of them, those that no word keeps any more
  bool is_first_version = false;

  bool operator==(const RestoredMark&) const = default;
};

Bytes Encode(const RestoredMark& mark);
// Throws kBadInput for anything but what Encode writes.
RestoredMark DecodeRestoredMark(ByteView bytes);
Digest DigestOf(const RestoredMark& mark);  // what the steward signs

// The steward's word for a mark.
Bytes EncodeReopened(const Digest& mark, const Signature& signature);
// Whether one of these keys signed these bytes for this mark.
bool IsReopenedBy(ByteView bytes, const Digest& mark, const std::vector<Digest>& stewards);

// None where nothing was ever restored. Throws kBadInput for a file that is no mark.
std::optional<RestoredMark> ReadRestoredMark(const std::filesystem::path& file);
// Whether the steward's word is there, and for this mark.
bool IsReopened(const std::filesystem::path& file, const RestoredMark& mark,
                const std::vector<Digest>& stewards);

// Where the mark and the words lie.
struct RestoreFiles {
  std::filesystem::path restored, reopened, kept;
};
enum class RestoreWord {
  kNone,      // the tables are closed
  kAllSpent,  // for all accounts of the mark
  kSomeKept,  // for those of the mark that the word does not keep
};
RestoreWord WordFor(const RestoredMark& mark, const RestoreFiles& files,
                    const std::vector<Digest>& stewards);
// Of the accounts of a mark those that count as spent for good when there is another restore: all that its word does
// not keep.
std::set<Digest> SpentBy(const RestoredMark& mark, const RestoreFiles& files,
                         const std::vector<Digest>& stewards);

// Before a job binds, commits or reads a table. Throws kRefused with a reason for the own people.
void RequireOpenTable(const JobSettings& settings, const JobTable& table);
// Whether a policy that counts from `from` on may still approve: not one from before a restore.
bool IsPolicyOfNow(const JobSettings& settings, int64_t from);

}  // namespace partita::node
