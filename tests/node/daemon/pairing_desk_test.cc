// Two desks that pair through servers of theirs: from the line to what both stewards list, and what strangers, mistakes and
// waits come to. The clock is the test's.
#include "node/daemon/pairing_desk.h"

#include <gtest/gtest.h>

#include <atomic>

#include "net/https_server.h"
#include "run/simulate/temporary_folder.h"
#include "tests/node/parties/sites.h"
#include "tests/node/port/port_world.h"

namespace partita::node::pairing_desk_test {
namespace {

constexpr int64_t kStart = 1'800'000'000;

struct Clock {
  std::atomic<int64_t> now = kStart;
};

// A site's desk, and a port at which it answers.
class Site {
 public:
  Site(const std::string& name, Clock& clock)
      : name_(name),
        keeper_(folder_.path(), name, {KeyOf(name + "/steward")}),
        random_(net::TestRandom(name == "north" ? 31 : 32)),
        server_(net::Listener(), IdentityOf(name), {}, 1,
                [this](net::HttpRequest request, const net::HttpReply& reply) {
                  reply(desk_->Answer(request));
                }) {
    OnePortOptions options;
    options.listener = net::Listen("127.0.0.1", "0");
    options.host = name + ".example.org";
    options.serve = [this](net::Arrival arrival, std::shared_ptr<const void> place) {
      server_.Take(std::move(arrival.socket), std::move(place));
    };
    port_ = std::make_unique<OnePort>(std::move(options));
    desk_.emplace(PairingDesk::Parts{IdentityOf(name),
                                     port_->address(),
                                     {"127.0.0.1"},
                                     keeper_,
                                     own_lines_,
                                     sent_lines_,
                                     random_,
                                     log_,
                                     [&clock] { return clock.now.load(); }});
  }
  ~Site() { port_ = nullptr; }

  PairingDesk& desk() { return *desk_; }
  const std::string& address() const { return port_->address(); }
  PartyKeeper& keeper() { return keeper_; }

  // What `other` answers to the digits that its site was shown.
  void EnterShown(const InviteNumber& number, Site& other) {
    desk_->Enter(number, other.desk().Look(number).shown);
  }
  // The steward's word on what the desk shows.
  void Sign(const InviteNumber& number) {
    const PairingView view = desk_->Look(number);
    ASSERT_EQ(view.state, PairingState::kSign);
    desk_->Sign(number,
                SignPaired(view.role, view.hash, IdentityOf(name_ + "/steward"), address()));
  }

 private:
  std::string name_;
  run::TemporaryFolder folder_;
  PartyKeeper keeper_;
  TestInvitations own_lines_, sent_lines_;
  crypto::Prg random_;
  Log log_{[](const std::string&) {}};
  std::optional<PairingDesk> desk_;
  net::HttpsServer server_;
  std::unique_ptr<OnePort> port_;
};

struct PairingDeskTest : ::testing::Test {
  Clock clock;
  Site north{"north", clock}, west{"west", clock};

  PairingState AtNorth(const InviteNumber& number) { return north.desk().Look(number).state; }
  PairingState AtWest(const InviteNumber& number) { return west.desk().Look(number).state; }
  // As far as the digits at both.
  InviteNumber Meet() { return west.desk().Join(FormatInvitation(north.desk().MakeLine("west"))); }
};

// A request of a stranger, who shows the key of `name`.
net::HttpRequest AskAs(const std::string& name, const std::string& what, Bytes body,
                       uint8_t connection) {
  net::HttpRequest request;
  request.method = "POST";
  request.target = std::string(kPairPath) + what;
  request.body = std::move(body);
  request.certificate = IdentityOf(name).certificate;
  request.connection.fill(connection);
  return request;
}

// The first message of whoever has `line` and the key of `name`.
Bytes HelloOf(const std::string& name, const Invitation& line, uint8_t connection) {
  TestInvitations book;
  crypto::Prg random = net::TestRandom(connection);
  Accept(book, line, kStart);
  return Joiner(line, Connect("north", name, connection), book, random).Hello(kStart);
}

TEST_F(PairingDeskTest, TwoSitesListEachOther) {
  const Invitation line = north.desk().MakeLine("west");
  EXPECT_EQ(AtNorth(line.number), PairingState::kOpen);
  EXPECT_EQ(AtWest(line.number), PairingState::kOver);
  ASSERT_EQ(west.desk().Join(FormatInvitation(line)), line.number);
  EXPECT_EQ(AtNorth(line.number), PairingState::kDigits);
  EXPECT_EQ(north.desk().Look(line.number).name, "west");
  EXPECT_EQ(west.desk().Look(line.number).name, "north");
  EXPECT_NE(north.desk().Look(line.number).shown, west.desk().Look(line.number).shown);

  const std::string at_the_telephone = west.desk().Look(line.number).shown;
  west.EnterShown(line.number, north);
  west.Sign(line.number);
  EXPECT_EQ(AtWest(line.number), PairingState::kWaiting);
  west.desk().Deliver();
  EXPECT_EQ(AtWest(line.number), PairingState::kWaiting) << "north compares its digits";
  north.desk().Enter(line.number, at_the_telephone);
  north.Sign(line.number);
  EXPECT_EQ(AtNorth(line.number), PairingState::kWaiting);
  west.desk().Deliver();
  ASSERT_EQ(AtWest(line.number), PairingState::kMet);
  ASSERT_EQ(AtNorth(line.number), PairingState::kMet);

  const PairedParty at_north = *north.desk().Look(line.number).met;
  const PairedParty at_west = *west.desk().Look(line.number).met;
  EXPECT_EQ(at_north, (PairedParty{"west", CertificateOf("west"), CertificateOf("west/steward"),
                                   west.address(), at_north.compared_at}));
  EXPECT_EQ(at_west, (PairedParty{"north", CertificateOf("north"), CertificateOf("north/steward"),
                                  north.address(), at_west.compared_at}));
  EXPECT_EQ(north.desk().Look(line.number).reach, "");
  north.desk().Deliver();
  EXPECT_EQ(north.desk().Look(line.number).reach, "reached");
}

TEST_F(PairingDeskTest, WrongDigitsEndIt) {
  const InviteNumber number = Meet();
  const std::string shown = west.desk().Look(number).shown,
                    of_north = north.desk().Look(number).shown;
  EXPECT_EQ(CodeOf([&] { north.desk().Enter(number, "12345"); }), ErrorCode::kUsage);
  EXPECT_EQ(AtNorth(number), PairingState::kDigits) << "a slip is no try";
  EXPECT_EQ(CodeOf([&] { north.desk().Enter(number, north.desk().Look(number).shown); }),
            ErrorCode::kUntrusted);
  EXPECT_EQ(AtNorth(number), PairingState::kOver);
  EXPECT_EQ(CodeOf([&] { north.desk().Enter(number, shown); }), ErrorCode::kUsage)
      << "there is one try";
  // West finds them right, and hears nothing of north.
  west.desk().Enter(number, of_north);
  // Twice is no other try of digits that agreed.
  EXPECT_EQ(CodeOf([&] { west.desk().Enter(number, of_north); }), ErrorCode::kRefused);
  EXPECT_EQ(AtWest(number), PairingState::kSign);
}

TEST_F(PairingDeskTest, NobodySignsBeforeTheDigits) {
  const InviteNumber number = Meet();
  const PairingView view = north.desk().Look(number);
  EXPECT_EQ(CodeOf([&] {
              north.desk().Sign(number, SignPaired(view.role, view.hash,
                                                   IdentityOf("north/steward"), north.address()));
            }),
            ErrorCode::kInternal);
  EXPECT_TRUE(north.keeper().Pairings().front().pending == std::nullopt);
}

TEST_F(PairingDeskTest, ALineIsForOneSiteOnce) {
  EXPECT_EQ(CodeOf([&] { north.desk().MakeLine("north"); }), ErrorCode::kRefused);
  const Invitation line = north.desk().MakeLine("west");
  EXPECT_EQ(north.desk().Answer(AskAs("south", "hello", HelloOf("south", line, 1), 1)).status, 403u)
      << "somebody else has the line";
  EXPECT_EQ(AtNorth(line.number), PairingState::kOpen) << "it did not use it up";
  ASSERT_EQ(west.desk().Join(FormatInvitation(line)), line.number);
  EXPECT_EQ(north.desk().Answer(AskAs("west", "hello", HelloOf("west", line, 2), 2)).status, 403u);
  EXPECT_EQ(CodeOf([&] { west.desk().Join(FormatInvitation(line)); }), ErrorCode::kRefused);
}

// A message that is not due, of a connection that is not the one, and none of whoever shows no key.
TEST_F(PairingDeskTest, StrangersHearNothing) {
  const Invitation line = north.desk().MakeLine("west");
  const Bytes hello = HelloOf("west", line, 1);
  for (const std::string what : {"nonce", "paired", "other", ""})
    EXPECT_EQ(north.desk().Answer(AskAs("west", what, hello, 1)).status, 403u) << what;
  EXPECT_EQ(north.desk().Answer(AskAs("west", "hello", {}, 1)).status, 403u);
  net::HttpRequest nameless = AskAs("west", "hello", hello, 1);
  nameless.certificate = nullptr;
  EXPECT_EQ(north.desk().Answer(nameless).status, 403u);
  EXPECT_EQ(north.desk().Answer(AskAs("west", "hello", hello, 1)).status, 200u);
  const Bytes nonce(kPairingNonceBytes, 7);
  EXPECT_EQ(north.desk().Answer(AskAs("west", "nonce", nonce, 2)).status, 403u);
  EXPECT_EQ(north.desk().Answer(AskAs("west", "nonce", nonce, 1)).status, 403u)
      << "not what it was bound to";
  EXPECT_EQ(AtNorth(line.number), PairingState::kOver);
}

// The port is open for strangers as long as one may come, and no longer.
TEST_F(PairingDeskTest, StrangersAreLetInWhileOneIsExpected) {
  EXPECT_FALSE(north.desk().TakesStrangers());
  const Invitation line = north.desk().MakeLine("west");
  EXPECT_TRUE(north.desk().TakesStrangers());
  clock.now = line.expires + 1;
  EXPECT_FALSE(north.desk().TakesStrangers());
}

TEST_F(PairingDeskTest, DigitsThatNobodyComparesAreForgotten) {
  const InviteNumber number = Meet();
  clock.now = kStart + kComparisonSeconds;
  EXPECT_TRUE(north.desk().TakesStrangers());
  EXPECT_EQ(AtNorth(number), PairingState::kDigits);
  clock.now = kStart + kComparisonSeconds + 1;
  EXPECT_FALSE(north.desk().TakesStrangers());
  EXPECT_EQ(AtNorth(number), PairingState::kOver);
  EXPECT_EQ(AtWest(number), PairingState::kOver);
}

TEST_F(PairingDeskTest, AgreedDigitsThatNobodySignsAreForgotten) {
  const InviteNumber number = Meet();
  north.EnterShown(number, west);
  clock.now = kStart + kPairedSeconds;
  EXPECT_EQ(AtNorth(number), PairingState::kSign);
  EXPECT_TRUE(north.desk().TakesStrangers());
  clock.now = kStart + kPairedSeconds + 1;
  EXPECT_EQ(AtNorth(number), PairingState::kOver);
  EXPECT_FALSE(north.desk().TakesStrangers());
}

TEST_F(PairingDeskTest, AJoinerThatBreaksOffIsForgotten) {
  const Invitation line = north.desk().MakeLine("west");
  ASSERT_EQ(north.desk().Answer(AskAs("west", "hello", HelloOf("west", line, 1), 1)).status, 200u);
  EXPECT_EQ(AtNorth(line.number), PairingState::kOpen) << "between the two nonces";
  EXPECT_TRUE(north.desk().TakesStrangers());
  clock.now = kStart + kComparisonSeconds + 1;
  EXPECT_FALSE(north.desk().TakesStrangers());
  EXPECT_EQ(AtNorth(line.number), PairingState::kOver);
}

// A pairing that one steward signed and the other did not.
TEST_F(PairingDeskTest, AWordThatNobodyAnswersIsForgotten) {
  const InviteNumber number = Meet();
  north.EnterShown(number, west);
  north.Sign(number);
  clock.now = kStart + kPairedSeconds;
  EXPECT_TRUE(north.desk().TakesStrangers());
  clock.now = kStart + kPairedSeconds + 1;
  EXPECT_FALSE(north.desk().TakesStrangers());
  EXPECT_EQ(AtNorth(number), PairingState::kOver);
}

}  // namespace
}  // namespace partita::node::pairing_desk_test
