// The line of text by which one site invites another, and the book of those that are open.
//
// The line is sent by mail. Safety does not depend on its secrecy: who has it may use it up, no more.
// It works once, and for a week. Once a nonce of the exchange (pairing.h) was sent in the open, the
// line is used up at both ends, whatever happens then: somebody in between who could break off and
// begin anew until the digits agree would need a million tries, and has one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "crypto/hash.h"
#include "crypto/random.h"

namespace partita::node {

using crypto::Digest;

// By which a line is known: 128 random bits.
using InviteNumber = std::array<uint8_t, 16>;

inline constexpr int64_t kInvitationSeconds = int64_t{7} * 86'400;
inline constexpr size_t kMaxOpenInvitations = 5;
// How far the clocks of two sites may be apart.
inline constexpr int64_t kInvitationSkewSeconds = 300;
inline constexpr size_t kMaxInvitationText = 1024;

struct Invitation {
  std::string address;    // of the inviter, "host:port"
  Digest fingerprint{};   // of its node certificate
  InviteNumber number{};  // random
  int64_t expires = 0;    // utc_time.h

  bool operator==(const Invitation&) const = default;
};

// "partita-invite-1-" and base32 (RFC 4648) in small letters without padding, of the fields and four
// bytes of their hash, which tell a slip from a forgery to nobody but who typed it. One line
// without a break. Throws kBadInput for an address that is none.
std::string FormatInvitation(const Invitation& invitation);
// Blanks and line breaks, which mail programs add, are skipped; anything else that is not exactly what
// FormatInvitation writes is kBadInput. Says nothing about the time: see RequireUsable.
Invitation ParseInvitation(std::string_view text);

// What a site knows of lines, its own or those that it was sent. A plain value; `Encode` and `Decode`
// are for its store.
struct InvitationBook {
  struct Line {
    InviteNumber number{};
    int64_t expires = 0;
    bool used = false;

    bool operator==(const Line&) const = default;
  };
  // Used ones too, long after they expired: that they were used must be known where the clock was set
  // back. Of more than 4096 the oldest used ones are forgotten.
  std::vector<Line> lines;

  bool operator==(const InvitationBook&) const = default;
};

Bytes EncodeInvitations(const InvitationBook& book);
// Throws kBadInput unless the bytes are what EncodeInvitations writes.
InvitationBook DecodeInvitations(ByteView bytes);

// Keeps one book. What was saved is durable when Save returns: it survives a loss of power.
class InvitationStore {
 public:
  virtual ~InvitationStore() = default;
  virtual InvitationBook Load() = 0;
  virtual void Save(const InvitationBook& book) = 0;
};

// The inviter's: a new line, open in the store. Throws kRefused if kMaxOpenInvitations are open.
Invitation Invite(InvitationStore& store, const std::string& address, const Digest& fingerprint,
                  crypto::RandomSource& random, int64_t now);
// How many lines are open at `now`.
size_t OpenInvitations(const InvitationBook& book, int64_t now);

// The joiner's: takes a line that it was sent into its book of such lines. Throws kRefused if it has
// expired, is valid for longer than lines are, or was used here.
void Accept(InvitationStore& store, const Invitation& invitation, int64_t now);

// Uses up the line, durably, before anything that depends on it is sent. Throws kRefused unless it is
// open at `now`, and for no longer than lines are (one made while the clock was ahead is not): of two that come at once, one. Not thread-safe: one caller at a time for a store.
void UseUp(InvitationStore& store, const InviteNumber& number, int64_t now);
// Throws as UseUp would, and changes nothing.
void RequireOpen(InvitationStore& store, const InviteNumber& number, int64_t now);

}  // namespace partita::node
