// What a site remembers of another site's ledger, said when that one was restored from a backup.
//
// The restored site asks by the digest of its mark (closed.h) and names no account: whoever is asked says the newest
// head of each account, and of the journal, that the restored site itself ever showed it (run/ledger/run_ledger.h). So
// no site learns of an account that it was not shown. Of a pseudonym of which another party showed a newer head it says
// that, and not that head: who once showed another site's pseudonym does not read that site's newest head by asking. A job looks, since it alone opens the ledger; the node key signs,
// by which other sites know this one. It is a site's word about its own memory: a node that lies can leave heads out.
//
// Bytes (base/bytes.h): from, to, mark (32), time u64, memory u8, since u64, number of heads u32, each as EncodeHead and u8
// whether it is overtaken, by pseudonym, rising; then as in node/message/signed_document.h.
//
// Revealed to the restored site: what it showed itself, whether another party showed the same pseudonym since, whether
// this site keeps a ledger, since when, and whether it was restored, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/socket.h"
#include "node/job/settings.h"
#include "node/message/signed_document.h"
#include "node/parties/party_list.h"
#include "privacy/ledger/journal.h"

namespace partita::node {

inline constexpr char kHeadsDomain[] = "partita node heads 2";
// That what a site remembered, or a job found by it, counts: what is shown after it is in no older answer.
inline constexpr int64_t kHeadsCountFor = 86'400;
inline constexpr int64_t kHeadsClocksDiffer = 3'600;
inline constexpr size_t kMostShownHeads = 700;
inline constexpr size_t kMaxHeadsBytes = 64 << 10;

// What the memory of a site is worth.
enum class HeadsMemory : uint8_t {
  kWhole = 1,      // its ledger has every head that it was shown
  kRestored = 2,   // it was itself restored from a backup, and may have forgotten some
  kNoLedger = 3,   // it keeps none, and so remembers nothing
  kTakenOver = 4,  // its ledger was of a version in which what was shown was in no chain
};

struct ShownHeads {
  HeadsMemory memory = HeadsMemory::kNoLedger;
  std::vector<privacy::ledger::ShownHead> heads;  // none unless the memory is whole
  int64_t since = 0;  // when its journal began; 0 unless the memory is whole

  bool operator==(const ShownHeads&) const = default;
};

struct HeadsAnswer {
  std::string from, to;
  Digest mark{};  // of the restore that is asked for
  int64_t time = 0;
  ShownHeads shown;

  bool operator==(const HeadsAnswer&) const = default;
};

struct SignedHeads {
  HeadsAnswer answer;
  Signature signature;  // of the node key of `from`
};

Bytes Encode(const ShownHeads& shown);
// Throws kBadInput for anything but what Encode writes.
ShownHeads DecodeShownHeads(ByteView bytes);

SignedHeads SignHeads(const HeadsAnswer& answer, const crypto::Identity& node);
Bytes Encode(const SignedHeads& document);
// Throws kBadInput for anything but what Encode writes. The signature is not looked at.
SignedHeads DecodeSignedHeads(ByteView bytes);

// Whether what was said at `time`, by a clock that may be an hour ahead, counts at `now`.
bool IsFresh(int64_t time, int64_t now);

// Whether a party of the list gave it to this site, for this mark, under a node key that counts at `now`, and not more
// than a day before. A party that was revoked says nothing.
bool IsHeadsAnswer(const SignedHeads& document, const PartyList& list, const Digest& mark,
                   int64_t now);

// What the own ledger has of what `owner` showed. Throws as run::OpenLedger.
ShownHeads HeadsShownBy(const JobSettings& settings, const std::string& owner);

}  // namespace partita::node
