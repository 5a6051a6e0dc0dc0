// Which budgets a restored site keeps: what its job found, by its own copy of the ledger and by what other sites
// remember of it (heads_answer.h), and what its steward signs of that.
//
// The job signs what it found with its own key (kFoundDomain), so that the daemon, which carries it, changes nothing;
// the signer holds it against the answers again (sign/kept_word.h); the steward signs the same bytes (kKeptDomain).
// Jobs read the steward's word at each piece of work (closed.h).
//
// Bytes (base/bytes.h): owner, mark (32), time u64, number of parties u32 and of each name, digest of its answer (32) and
// a text; number of accounts u32 and of each its name, head (EncodeHead), number of the newest entry that was shown u64,
// reservations (u32, each u64), policy and a text; then as in node/message/signed_document.h.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/job/closed.h"
#include "node/message/signed_document.h"
#include "privacy/ledger/receipts.h"

namespace partita::node {

inline constexpr char kFoundDomain[] = "partita node found budgets 1";
inline constexpr char kKeptDomain[] = "partita node kept budgets 1";
inline constexpr size_t kMaxKeptBytes = size_t{1} << 20;
inline constexpr size_t kMaxKeptText = 2048;

// A site that is asked, or that signed an entry of the ledger.
struct KeptParty {
  std::string name;
  Digest answer{};  // of the bytes of its answer; zero: there is none that counts
  std::string
      lacks;  // why it says nothing for an account: "has not answered"; empty: its memory is whole

  bool operator==(const KeptParty&) const = default;
};

struct KeptAccount {
  std::string table;           // its name in the ledger
  privacy::ledger::Head head;  // the newest entry of the copy
  uint64_t shown = 0;          // number of the newest entry that a site was shown
  // Reservations that were open when it was shown, or since, and were not spent then: they count as spent for good.
  std::vector<uint64_t> charged;
  std::string policy;  // that holds, and what is left, for people
  std::string lost;    // why its budget counts as spent; empty: it is kept

  bool operator==(const KeptAccount&) const = default;
};

struct KeptBudgets {
  std::string owner;
  Digest mark{};
  int64_t time = 0;
  std::vector<KeptParty> parties;     // by name
  std::vector<KeptAccount> accounts;  // those that the mark closed and no earlier restore

  bool operator==(const KeptBudgets&) const = default;
};

struct SignedKept {
  KeptBudgets kept;
  Signature signature;  // of the jobs, or of the steward
};

SignedKept SignKept(const KeptBudgets& kept, std::string_view domain,
                    const crypto::Identity& identity);
Bytes Encode(const SignedKept& document);
// Throws kBadInput for anything but what Encode writes. The signature is not looked at.
SignedKept DecodeSignedKept(ByteView bytes);
bool IsKeptSignedBy(const SignedKept& document, std::string_view domain,
                    const std::vector<Digest>& keys);

// The steward's word for this mark, if the file has one that one of these keys signed.
std::optional<KeptBudgets> ReadKept(const std::filesystem::path& file, const Digest& mark,
                                    const std::vector<Digest>& stewards);
// Of the accounts of the mark those that the word does not keep: they count as spent for good.
std::set<Digest> GivenUpBy(const KeptBudgets& kept, const RestoredMark& mark);
// Null if there is no such account whose budget is kept.
const KeptAccount* FindKeptAccount(const KeptBudgets& kept, const Digest& pseudonym);

}  // namespace partita::node
