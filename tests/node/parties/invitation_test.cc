// The line of text, and the book of lines.
#include "node/parties/invitation.h"

#include <gtest/gtest.h>

#include "node/parties/base32.h"
#include "tests/node/parties/sites.h"

namespace partita::node::invitation_test {
namespace {

constexpr int64_t kDay = 86'400;

Invitation Example() {
  Invitation invitation;
  invitation.address = "north.example.org:7400";
  invitation.fingerprint = KeyOf("north");
  for (size_t i = 0; i < 16; ++i) invitation.number[i] = static_cast<uint8_t>(i * 16 + i);
  invitation.expires = kNow + kInvitationSeconds;
  return invitation;
}

// RFC 4648, section 10, in small letters and without padding.
TEST(Base32Test, WritesTheVectorsOfTheRfc) {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"f", "my"},
                                                                    {"fo", "mzxq"},
                                                                    {"foo", "mzxw6"},
                                                                    {"foob", "mzxw6yq"},
                                                                    {"fooba", "mzxw6ytb"},
                                                                    {"foobar", "mzxw6ytboi"}};
  for (const auto& [text, encoded] : vectors) {
    EXPECT_EQ(ToBase32(AsBytes(text)), encoded);
    EXPECT_EQ(FromBase32(encoded), Bytes(text.begin(), text.end()));
  }
  for (const std::string text :
       {"m", "MY", "my======", "mz", "mzx", "mzxq2y", "m1", "m y", "mzxw6yr"}) {
    EXPECT_EQ(FromBase32(text), std::nullopt) << text;
  }
}

TEST(InvitationTest, SurvivesTheMail) {
  const Invitation invitation = Example();
  const std::string line = FormatInvitation(invitation);
  EXPECT_EQ(line.rfind("partita-invite-1-", 0), 0u);
  EXPECT_EQ(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567-1"), std::string::npos);
  EXPECT_EQ(ParseInvitation(line), invitation);
  std::string wrapped = "  ";
  for (size_t i = 0; i < line.size(); ++i) {
    wrapped += line[i];
    if (i % 60 == 59) wrapped += "\r\n\t";
  }
  EXPECT_EQ(ParseInvitation(wrapped + "\n"), invitation);
}

TEST(InvitationTest, EveryChangedLetterIsNoticed) {
  const std::string line = FormatInvitation(Example());
  for (size_t i = 0; i < line.size(); ++i) {
    for (const char other : {'a', '7', 'q', 'A', '\0', '-'}) {
      if (line[i] == other) continue;
      std::string changed = line;
      changed[i] = other;
      EXPECT_EQ(CodeOf([&] { ParseInvitation(changed); }), ErrorCode::kBadInput) << i;
    }
    EXPECT_EQ(CodeOf([&] { ParseInvitation(line.substr(0, i)); }), ErrorCode::kBadInput) << i;
    EXPECT_EQ(CodeOf([&] { ParseInvitation(line.substr(0, i) + line.substr(i + 1)); }),
              ErrorCode::kBadInput)
        << i;
  }
  EXPECT_EQ(CodeOf([&] { ParseInvitation(line + "a"); }), ErrorCode::kBadInput);
  EXPECT_EQ(CodeOf([&] { ParseInvitation(std::string(5000, ' ')); }), ErrorCode::kBadInput);
}

TEST(InvitationTest, AddressesAreAddresses) {
  Invitation invitation = Example();
  for (const std::string& address : {std::string(), std::string("north"), std::string("north:0"),
                                     std::string("north:99999"), std::string(300, 'n') + ":7400"}) {
    invitation.address = address;
    EXPECT_EQ(CodeOf([&] { FormatInvitation(invitation); }), ErrorCode::kBadInput) << address;
  }
}

TEST(InvitationBookTest, AtMostFiveAreOpen) {
  TestInvitations store;
  crypto::Prg random = net::TestRandom(1);
  std::vector<Invitation> lines;
  auto invite = [&](int64_t now) {
    lines.push_back(Invite(store, "north.example.org:7400", KeyOf("north"), random, now));
  };
  for (int i = 0; i < 5; ++i) invite(kNow + i);
  EXPECT_EQ(OpenInvitations(store.book, kNow), 5u);
  EXPECT_EQ(CodeOf([&] { invite(kNow); }), ErrorCode::kRefused);
  UseUp(store, lines[2].number, kNow);
  invite(kNow);
  EXPECT_EQ(CodeOf([&] { invite(kNow); }), ErrorCode::kRefused);
  // After seven days of the first there is room again.
  EXPECT_EQ(CodeOf([&] { invite(kNow + 7 * kDay); }), ErrorCode::kRefused);
  invite(kNow + 7 * kDay + 1);
  for (const Invitation& line : lines) {
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [&](const auto& other) { return other.number == line.number; }),
              1);
  }
}

TEST(InvitationBookTest, ALineWorksOnceAndForSevenDays) {
  TwoSites sites;
  const InviteNumber& number = sites.line.number;
  RequireOpen(sites.north, number, kNow + 7 * kDay);
  EXPECT_EQ(CodeOf([&] { UseUp(sites.north, number, kNow + 7 * kDay + 1); }), ErrorCode::kRefused);
  const int before = sites.north.saves;
  UseUp(sites.north, number, kNow + 7 * kDay);
  EXPECT_EQ(sites.north.saves, before + 1);
  EXPECT_EQ(CodeOf([&] { UseUp(sites.north, number, kNow); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { RequireOpen(sites.north, number, kNow); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { UseUp(sites.north, InviteNumber{}, kNow); }), ErrorCode::kRefused);
}

TEST(InvitationBookTest, TheJoinerTakesALineOnceAndInTime) {
  TwoSites sites;
  Accept(sites.west, sites.line, kNow + 1);  // pasted again before it was used: no harm
  UseUp(sites.west, sites.line.number, kNow);
  EXPECT_EQ(CodeOf([&] { Accept(sites.west, sites.line, kNow); }), ErrorCode::kRefused);
  TestInvitations other;
  EXPECT_EQ(CodeOf([&] { Accept(other, sites.line, kNow + 7 * kDay + 1); }), ErrorCode::kRefused);
  Invitation far = sites.line;
  far.expires = kNow + 7 * kDay + kInvitationSkewSeconds + 1;
  EXPECT_EQ(CodeOf([&] { Accept(other, far, kNow); }), ErrorCode::kRefused);
  EXPECT_EQ(other.saves, 0);
}

TEST(InvitationBookTest, IsStoredWhole) {
  TwoSites sites;
  UseUp(sites.north, sites.line.number, kNow);
  sites.NewLine();
  const Bytes bytes = EncodeInvitations(sites.north.book);
  EXPECT_EQ(DecodeInvitations(bytes), sites.north.book);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(CodeOf([&] { DecodeInvitations(ByteView(bytes).first(i)); }), ErrorCode::kBadInput);
  }
  Bytes changed = bytes;
  changed.back() = 2;
  EXPECT_EQ(CodeOf([&] { DecodeInvitations(changed); }), ErrorCode::kBadInput);
}

}  // namespace
}  // namespace partita::node::invitation_test
