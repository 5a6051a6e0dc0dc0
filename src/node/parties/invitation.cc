#include "node/parties/invitation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utc_time.h"
#include "net/roster.h"
#include "node/parties/base32.h"

namespace partita::node {
namespace {

constexpr std::string_view kLinePrefix = "partita-invite-1-";
constexpr char kLineDomain[] = "partita invitation line 1";
constexpr size_t kLineCheckBytes = 4;
constexpr size_t kMaxLineAddress = 255;
constexpr uint16_t kBookFormat = 1;
// Far more than a site is ever sent in a week.
constexpr size_t kMaxLines = 4096;
constexpr char kAskAgain[] = "Ask for a new invitation.";

Bytes LineCheck(ByteView fields) {
  crypto::Sha256 hash;
  const Digest digest = hash.Field(kLineDomain).Field(fields).Finish();
  return {digest.begin(), digest.begin() + kLineCheckBytes};
}

Bytes LineBytes(const Invitation& invitation) {
  ByteWriter writer;
  writer.U16(static_cast<uint16_t>(invitation.address.size()));
  writer.Raw(AsBytes(invitation.address));
  writer.Raw(invitation.fingerprint);
  writer.Raw(invitation.number);
  writer.U64(static_cast<uint64_t>(invitation.expires));
  writer.Raw(LineCheck(writer.bytes()));
  return writer.Take();
}

[[noreturn]] void FailLine(const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("this is not an invitation: {}", what),
              "Paste the whole line that the other site sent, from 'partita-invite-1-' on.");
}

void CheckLineAddress(const std::string& address) {
  if (address.size() > kMaxLineAddress) {
    throw Error(ErrorCode::kBadInput, "the address of an invitation is too long",
                "Use the name or the number of the host, and its port.");
  }
  net::ParseAddress(address);
}

template <size_t kSize>
std::array<uint8_t, kSize> TakeArray(ByteReader& reader) {
  std::array<uint8_t, kSize> array{};
  const ByteView bytes = reader.Raw(kSize);
  std::copy(bytes.begin(), bytes.end(), array.begin());
  return array;
}

bool IsOpenLine(const InvitationBook::Line& line, int64_t now) {
  return !line.used && line.expires >= now &&
         line.expires <= now + kInvitationSeconds + kInvitationSkewSeconds;
}

// Lines whose time is over are forgotten, unless they were used: a clock may be set back.
InvitationBook LoadLines(InvitationStore& store, int64_t now) {
  InvitationBook book = store.Load();
  const auto is_over = [now](const auto& line) {
    return line.expires + kInvitationSkewSeconds < now;
  };
  std::erase_if(book.lines, [&](const auto& line) { return !line.used && is_over(line); });
  while (book.lines.size() >= kMaxLines) {
    const auto oldest = std::find_if(book.lines.begin(), book.lines.end(), is_over);
    if (oldest == book.lines.end()) break;
    book.lines.erase(oldest);
  }
  return book;
}

InvitationBook::Line& RequireLine(InvitationBook& book, const InviteNumber& number, int64_t now) {
  const auto line = std::find_if(book.lines.begin(), book.lines.end(),
                                 [&](const auto& entry) { return entry.number == number; });
  if (line != book.lines.end() && line->used)
    throw Error(ErrorCode::kRefused, "the invitation was used already", kAskAgain);
  if (line == book.lines.end() || !IsOpenLine(*line, now)) {
    throw Error(ErrorCode::kRefused, "the invitation is not known here, or has expired", kAskAgain);
  }
  return *line;
}

}  // namespace

std::string FormatInvitation(const Invitation& invitation) {
  CheckLineAddress(invitation.address);
  return std::string(kLinePrefix) + ToBase32(LineBytes(invitation));
}

Invitation ParseInvitation(std::string_view text) {
  if (text.size() > kMaxInvitationText) FailLine("it is too long");
  std::string line;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') line.push_back(c);
  }
  if (!line.starts_with(kLinePrefix)) FailLine("it begins with something else");
  const auto bytes = FromBase32(std::string_view(line).substr(kLinePrefix.size()));
  if (!bytes) FailLine("a letter in it cannot be right");
  Invitation invitation;
  try {
    ByteReader reader(*bytes);
    const ByteView address = reader.Raw(reader.U16());
    invitation.address.assign(address.begin(), address.end());
    invitation.fingerprint = TakeArray<sizeof(Digest)>(reader);
    invitation.number = TakeArray<sizeof(InviteNumber)>(reader);
    invitation.expires = static_cast<int64_t>(reader.U64());
    reader.Raw(kLineCheckBytes);
    reader.ExpectEnd();
  } catch (const Error&) {
    FailLine("it is not whole");
  }
  if (LineBytes(invitation) != *bytes) FailLine("a letter in it is wrong, or some are missing");
  if (invitation.expires < 0 || invitation.expires > kMaxUtc) FailLine("its date is none");
  CheckLineAddress(invitation.address);
  return invitation;
}

Bytes EncodeInvitations(const InvitationBook& book) {
  ByteWriter writer;
  writer.U16(kBookFormat);
  writer.U32(static_cast<uint32_t>(book.lines.size()));
  for (const InvitationBook::Line& line : book.lines) {
    writer.Raw(line.number);
    writer.U64(static_cast<uint64_t>(line.expires));
    writer.U8(line.used ? 1 : 0);
  }
  return writer.Take();
}

InvitationBook DecodeInvitations(ByteView bytes) {
  InvitationBook book;
  try {
    ByteReader reader(bytes);
    const bool known = reader.U16() == kBookFormat;
    const size_t count = reader.U32();
    for (size_t i = 0; i < count && i < kMaxLines; ++i) {
      InvitationBook::Line line;
      line.number = TakeArray<sizeof(InviteNumber)>(reader);
      line.expires = static_cast<int64_t>(reader.U64());
      line.used = reader.U8() != 0;
      book.lines.push_back(line);
    }
    if (known && EncodeInvitations(book) == Bytes(bytes.begin(), bytes.end())) return book;
  } catch (const Error&) {
  }
  throw Error(ErrorCode::kBadInput, "the stored list of invitations is damaged",
              "Restore the state of the node from its backup; open invitations are made anew.");
}

size_t OpenInvitations(const InvitationBook& book, int64_t now) {
  return static_cast<size_t>(
      std::count_if(book.lines.begin(), book.lines.end(),
                    [now](const auto& line) { return IsOpenLine(line, now); }));
}

Invitation Invite(InvitationStore& store, const std::string& address, const Digest& fingerprint,
                  crypto::RandomSource& random, int64_t now) {
  CheckLineAddress(address);
  InvitationBook book = LoadLines(store, now);
  if (book.lines.size() >= kMaxLines || OpenInvitations(book, now) >= kMaxOpenInvitations) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} invitations are open already", OpenInvitations(book, now)),
                "Wait until one was used, or has expired after 7 days.");
  }
  Invitation invitation;
  invitation.address = address;
  invitation.fingerprint = fingerprint;
  random.Fill(invitation.number);
  invitation.expires = now + kInvitationSeconds;
  book.lines.push_back({invitation.number, invitation.expires, false});
  store.Save(book);
  return invitation;
}

void Accept(InvitationStore& store, const Invitation& invitation, int64_t now) {
  if (invitation.expires < now ||
      invitation.expires > now + kInvitationSeconds + kInvitationSkewSeconds) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the invitation is for a time until {}, which is over or too far away",
                            FormatUtc(invitation.expires)),
                "Ask for a new invitation, and check the clocks of both sites.");
  }
  InvitationBook book = LoadLines(store, now);
  const bool is_there = std::any_of(book.lines.begin(), book.lines.end(), [&](const auto& line) {
    return line.number == invitation.number;
  });
  if (is_there) {
    RequireLine(book, invitation.number, now);
    return;
  }
  if (book.lines.size() >= kMaxLines) {
    throw Error(ErrorCode::kRefused, "too many invitations were pasted in a week",
                "Wait until some have expired.");
  }
  book.lines.push_back({invitation.number, invitation.expires, false});
  store.Save(book);
}

void UseUp(InvitationStore& store, const InviteNumber& number, int64_t now) {
  InvitationBook book = LoadLines(store, now);
  RequireLine(book, number, now).used = true;
  store.Save(book);
}

void RequireOpen(InvitationStore& store, const InviteNumber& number, int64_t now) {
  InvitationBook book = LoadLines(store, now);
  RequireLine(book, number, now);
}

}  // namespace partita::node
