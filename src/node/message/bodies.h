// What messages say: a struct per kind, with its canonical bytes (base/bytes.h). Reading is strict:
// kPeerFault for anything but the bytes that writing gives, so that a body can be compared, and
// relayed, as bytes. Texts are UTF-8 on one line without control characters; they are peers' words,
// shown as text only.
//
// No body holds rows, counts of rows, paths or the text of an error.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/message/message.h"

namespace partita::node {

inline constexpr size_t kMaxProposalBytes = size_t{1} << 20;  // of a study file
inline constexpr size_t kMaxPublicReason = 400;
inline constexpr size_t kMaxAddress = 300;
inline constexpr size_t kMaxDocumentBytes = 4096;
inline constexpr size_t kMaxParties = 64;

// 8 random bytes, new for every attempt: the server name `run-TAG.HOST` of its connections. No
// secret.
using Tag = std::array<uint8_t, 8>;

// The exact study file. The id of the study is StudyIdOf(file, sender, nonce).
struct Proposal {
  std::string study_file;
  Nonce nonce{};
  int64_t expires = 0;

  bool operator==(const Proposal&) const = default;
};

// "Valid here", or, with a reason, "not here": then all else is empty.
struct Offer {
  Bytes run_certificate;  // DER
  Digest steward{};       // fingerprint of the key that will approve
  std::string address;    // "host:port"
  Digest plan_hash{};
  std::string refusal;  // a public reason

  bool valid() const { return refusal.empty(); }
  bool operator==(const Offer&) const = default;
};

// The exact roster file with the offers that it was made of: whole messages, byte for byte, in the
// order of the parties. An empty text: there is no roster, because of the offers "not here" that
// follow.
struct RosterFile {
  std::string text;
  std::vector<Bytes> offers;

  bool operator==(const RosterFile&) const = default;
};

// Of approval and rejection: the signed document of docs/approvals.md, unchanged.
struct Document {
  std::string text;

  bool operator==(const Document&) const = default;
};

// A question for a lease, or, with seconds = 0, that it is not needed any more.
struct AskSlot {
  uint32_t attempt = 0;
  uint64_t memory_bytes = 0;
  uint32_t seconds = 0;

  bool operator==(const AskSlot&) const = default;
};

// The answer yes: the message that asked has this number.
struct Slot {
  uint64_t question = 0;

  bool operator==(const Slot&) const = default;
};

// The answer no, to a question or a start; `attempt` is the number that a start would need here.
struct Busy {
  uint64_t question = 0;
  int64_t until = 0;
  uint32_t attempt = 0;

  bool operator==(const Busy&) const = default;
};

struct Start {
  uint32_t attempt = 0;
  Tag tag{};

  bool operator==(const Start&) const = default;
};

struct Progress {
  uint32_t attempt = 0;
  std::string phase;
  uint16_t done_per_mille = 0;

  bool operator==(const Progress&) const = default;
};

enum class Outcome : uint8_t {
  kFinished = 1,
  kFailed = 2,
  kRefused = 3,    // it never began
  kCancelled = 4,  // by a withdrawal or an emergency stop
  kLost = 5,       // the process was gone, or had no folder
};

std::string OutcomeName(Outcome outcome);  // "finished"

// What one party says of its part in one attempt. Signed by a job with the run key over
// EndedFields; what is not signed counts as "may have opened" (closing_rule.h).
struct Ended {
  uint32_t attempt = 0;
  Outcome outcome = Outcome::kLost;
  bool may_have_opened = true;
  Digest result{};  // of what it got; zero if nothing
  Bytes signature;

  bool operator==(const Ended&) const = default;
};

inline constexpr char kEndedDomain[] = "partita node ended 1";
// What the run key signs.
Bytes EndedFields(const StudyId& study, const std::string& party, const Ended& ended);

struct Withdraw {
  bool by_steward = false;  // else by the proposer
  std::string reason;

  bool operator==(const Withdraw&) const = default;
};

// The message with this name is of a kind or version that is not known here.
struct NotUnderstood {
  Digest name{};
  uint16_t version = 0;
  uint16_t kind = 0;

  bool operator==(const NotUnderstood&) const = default;
};

// Most days of a log that one message tells, and most that a log has.
inline constexpr size_t kMaxDaysTold = 400;
inline constexpr uint64_t kMaxLogDays = 1'000'000;

// One day of the sender's audit log (audit/log_days.h): its date, and the digest that stands for all before it.
struct ToldDay {
  int64_t day = 0;  // since 1970, by the clock that closed it
  Digest digest{};

  bool operator==(const ToldDay&) const = default;
};

// Days `first`, `first` + 1, ... of the sender's audit log, which has `newest` days: all from `first` on, or the
// first kMaxDaysTold of them. before: digest of the day before the first; zero before day 1.
struct LogHead {
  uint64_t first = 1, newest = 1;
  Digest before{};
  std::vector<ToldDay> days;

  bool operator==(const LogHead&) const = default;
};

// The answer: what the sender keeps now of the receiver's log. It is signed as every message is: this is the
// receipt.
struct LogReceipt {
  Digest head{};        // name of the message that it answers
  uint64_t number = 0;  // of the newest day; 0: none
  Digest digest{};      // of that day; zero if there is none
  // Not 0: what was told does not go on from what was told before, from this day on, of `had` days.
  uint64_t departs = 0, had = 0;

  bool operator==(const LogReceipt&) const = default;
};

// A message of a third party, byte for byte: it shows by itself who wrote it.
struct Relay {
  Bytes message;

  bool operator==(const Relay&) const = default;
};

Bytes Encode(const Proposal& body);
Bytes Encode(const Offer& body);
Bytes Encode(const RosterFile& body);
Bytes Encode(const Document& body);
Bytes Encode(const AskSlot& body);
Bytes Encode(const Slot& body);
Bytes Encode(const Busy& body);
Bytes Encode(const Start& body);
Bytes Encode(const Progress& body);
Bytes Encode(const Ended& body);
Bytes Encode(const Withdraw& body);
Bytes Encode(const NotUnderstood& body);
Bytes Encode(const LogHead& body);
Bytes Encode(const LogReceipt& body);
Bytes Encode(const Relay& body);

Proposal DecodeProposal(ByteView bytes);
Offer DecodeOffer(ByteView bytes);
RosterFile DecodeRosterFile(ByteView bytes);
Document DecodeDocument(ByteView bytes);
AskSlot DecodeAskSlot(ByteView bytes);
Slot DecodeSlot(ByteView bytes);
Busy DecodeBusy(ByteView bytes);
Start DecodeStart(ByteView bytes);
Progress DecodeProgress(ByteView bytes);
Ended DecodeEnded(ByteView bytes);
Withdraw DecodeWithdraw(ByteView bytes);
NotUnderstood DecodeNotUnderstood(ByteView bytes);
LogHead DecodeLogHead(ByteView bytes);
LogReceipt DecodeLogReceipt(ByteView bytes);
Relay DecodeRelay(ByteView bytes);

// Whether `text` may stand where a message has a line for people.
bool IsPublicLine(std::string_view text, size_t max_bytes);

}  // namespace partita::node
