// What an owner shows to its peers, and what they sign: so that an old copy of a ledger is noticed.
//
// After reserving, an owner sends its head to every peer. A peer compares it with the last head
// that it stored for the same pseudonym, stores the new one durably, and only then signs. An owner
// whose ledger was restored from a backup shows a smaller number, or the same number with another
// hash, and is refused before anything is opened (methods.md, R-m).
//
// A larger number needs no proof that it continues the same chain: peers never see entries. So an
// owner who forges on purpose can; this is against restored files, not against a lying owner. What
// peers learn: that the same account is used again, and how many entries it has.
//
// Wire: one message of kHeadBytes to each peer, one of kReceiptBytes back; one round.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "crypto/certificate.h"
#include "crypto/hash.h"

namespace partita::privacy::ledger {

struct Head {
  std::array<uint8_t, 32> pseudonym{};
  uint64_t sequence = 0;  // of the last entry
  crypto::Digest hash{};
  bool operator==(const Head&) const = default;
};

inline constexpr size_t kHeadBytes = 80;     // tag (8), pseudonym, sequence, hash
inline constexpr size_t kReceiptBytes = 88;  // tag (4), length (4), signature padded with zeros
inline constexpr char kReceiptDomain[] = "partita ledger receipt";

Bytes EncodeHead(const Head& head);
// `peer`: whose message it is. Throws kPeerFault unless the bytes are exactly an encoded head with
// sequence from 1 to 2^62.
Head DecodeHead(ByteView bytes, const std::string& peer);

// What a peer vouches for.
struct Receipt {
  Head head;
  crypto::Digest run_id{};
  crypto::Digest agreement_hash{};
  bool operator==(const Receipt&) const = default;
};

// Signs (domain, head, run id, agreement hash) with the peer's identity key. Call it only after
// SqliteLedger::Witness has returned.
Bytes SignReceipt(const crypto::Identity& identity, const Receipt& receipt);
bool VerifyReceipt(const x509_st& certificate, const Receipt& receipt, ByteView signature);

// A signature on the wire: always kReceiptBytes.
Bytes EncodeSignature(ByteView signature);
// Throws kPeerFault unless the bytes are exactly an encoded signature.
Bytes DecodeSignature(ByteView bytes, const std::string& peer);

// `last`: the newest receipt given for the same pseudonym, if any. Throws kRefused, naming `owner`,
// if the head is older, or is another one with the same number.
void CheckShownHead(const std::optional<Receipt>& last, const Receipt& shown,
                    const std::string& owner);

}  // namespace partita::privacy::ledger
