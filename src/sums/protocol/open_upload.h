// One compute node's judgement of one upload: the share inside, or the reason why not.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "crypto/box.h"
#include "sums/protocol/contract.h"
#include "sums/protocol/upload.h"

namespace partita::sums {

// What became of an upload. The first two are good news; every other is a refusal.
enum class Verdict : uint8_t {
  kAccepted,       // new, and durable
  kRetried,        // the same bytes as an accepted one
  kMalformed,      // not an upload, or of a wrong length
  kOversized,      // longer than any upload to this node
  kWrongStudy,     // of another study
  kWrongNode,      // made for another compute node
  kReplay,         // of an earlier epoch
  kEarly,          // of a later epoch
  kUnknownClient,  // nobody admitted has this name
  kUnauthentic,    // cannot be decrypted, or is not inside what it says outside
  kDuplicate,      // another upload of this client is accepted
  kLate,           // nothing more is taken
};
inline constexpr size_t kVerdicts = 12;

// "accepted", "wrong-study", ...: the names of the counters.
std::string_view VerdictName(Verdict verdict);

// Who may take part. A key: registered, and nothing but registered uploads come from this client
// (RegisteredKey, client.h). No key: sealed uploads only, authenticated by the connection.
using ClientDirectory = std::map<ClientId, std::optional<crypto::Key>>;

// One compute node's view of one round.
struct NodeRound {
  Contract contract;
  uint64_t epoch = 0;
  uint16_t node = 0;
  crypto::BoxKeyPair box;
};

struct OpenedUpload {
  Verdict verdict = Verdict::kMalformed;  // kAccepted: may be stored
  UploadHeader header;                    // both only if accepted
  Bytes content;
};

// Checks, in this order: length, structure, study, node, epoch, client, mode, encryption, agreement
// of inside and outside. Never throws for what is in `bytes`, and allocates no more than they are
// long.
OpenedUpload OpenUpload(ByteView bytes, const NodeRound& round, const ClientDirectory& clients);

}  // namespace partita::sums
