// Two sites that compare digits, honest and not; somebody in between with everything he may try.
#include "node/parties/pairing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/node/parties/sites.h"

namespace partita::node::pairing_test {
namespace {

StewardWord WordFor(const Comparison& comparison, const std::string& steward,
                    const std::string& address) {
  return SignPaired(comparison.role(), comparison.hash(), IdentityOf(steward), address);
}

TEST(PairingTest, HonestSitesAgreeOnBothNumbers) {
  TwoSites sites;
  Compared compared = CompareHonestly(sites);
  EXPECT_EQ(compared.north.hash(), compared.west.hash());
  EXPECT_NE(compared.north.Shown(), compared.west.Shown()) << "each shows a number of its own";
  compared.north.Enter(compared.west.Shown(), kNow + 600);
  const std::string spoken = compared.north.Shown();
  compared.west.Enter(spoken.substr(0, 3) + " - " + spoken.substr(3), kNow);
  EXPECT_TRUE(compared.north.agreed());
  EXPECT_TRUE(compared.west.agreed());
}

// By the definition, written out by hand: SHA-256 over length-prefixed fields.
TEST(PairingTest, HashesAreThoseOfTheDesign) {
  const PairingEnds ends = Connect("north", "west");
  InviteNumber number{};
  number.fill(9);
  PairingNonce joiner{}, inviter{};
  joiner.fill(1);
  inviter.fill(2);
  auto by_hand = [](const std::vector<Bytes>& fields) {
    ByteWriter writer;
    for (const Bytes& field : fields) writer.Blob(field);
    return crypto::Sha256Of(writer.bytes());
  };
  auto bytes = [](const auto& range) { return Bytes(range.begin(), range.end()); };
  const std::string label = "partita invitation 1", role = "joiner", both = "both";
  EXPECT_EQ(PairingCommitment(number, ends, joiner),
            by_hand({bytes(label), bytes(role), bytes(number), ends.inviter_certificate,
                     ends.joiner_certificate, bytes(ends.exporter), bytes(joiner)}));
  const Digest hash = PairingHash(number, ends, joiner, inviter);
  EXPECT_EQ(hash, by_hand({bytes(label), bytes(both), bytes(number), ends.inviter_certificate,
                           ends.joiner_certificate, bytes(joiner), bytes(inviter),
                           bytes(ends.exporter)}));
  // Every field counts.
  std::set<Digest> all = {hash};
  auto changed = [&](auto change) {
    PairingEnds other_ends = ends;
    InviteNumber other_number = number;
    PairingNonce other_joiner = joiner, other_inviter = inviter;
    change(other_ends, other_number, other_joiner, other_inviter);
    EXPECT_TRUE(
        all.insert(PairingHash(other_number, other_ends, other_joiner, other_inviter)).second);
  };
  changed([](auto& e, auto&, auto&, auto&) { e.exporter[31] ^= 1; });
  changed([](auto& e, auto&, auto&, auto&) { e.inviter_certificate.back() ^= 1; });
  changed([](auto& e, auto&, auto&, auto&) { e.joiner_certificate.back() ^= 1; });
  changed([](auto&, auto& n, auto&, auto&) { n[0] ^= 1; });
  changed([](auto&, auto&, auto& j, auto&) { j[0] ^= 1; });
  changed([](auto&, auto&, auto&, auto& i) { i[0] ^= 1; });
  changed([](auto& e, auto&, auto&, auto&) { e = Connect("west", "north"); });
}

TEST(PairingTest, NumbersAreSixDigits) {
  Digest hash{};
  EXPECT_EQ(NumbersOf(hash), (SpokenNumbers{0, 0}));
  EXPECT_EQ(SpokenText(0), "000000");
  EXPECT_EQ(SpokenText(48213), "048213");
  hash[0] = 0x40;  // 0x0f4240 = 1,000,000
  hash[1] = 0x42;
  hash[2] = 0x0f;
  hash[8] = 7;
  EXPECT_EQ(NumbersOf(hash), (SpokenNumbers{0, 7}));
  hash[0] = 0x41;
  EXPECT_EQ(NumbersOf(hash), (SpokenNumbers{1, 7}));
}

TEST(PairingTest, DigitsAreComparedOnce) {
  TwoSites sites;
  Compared compared = CompareHonestly(sites);
  const std::string right = compared.west.Shown();
  std::string wrong = right;
  wrong[5] = wrong[5] == '9' ? '0' : static_cast<char>(wrong[5] + 1);
  // What is not six digits is no try.
  for (const std::string text : {"", "12345", "1234567", "12345a", "+12345"}) {
    EXPECT_EQ(CodeOf([&] { compared.north.Enter(text, kNow); }), ErrorCode::kUsage) << text;
  }
  EXPECT_EQ(CodeOf([&] { compared.north.Enter(wrong, kNow); }), ErrorCode::kUntrusted);
  EXPECT_FALSE(compared.north.agreed());
  EXPECT_EQ(CodeOf([&] { compared.north.Enter(right, kNow); }), ErrorCode::kRefused);
  EXPECT_FALSE(compared.north.agreed());
  EXPECT_EQ(CodeOf([&] {
              BeginPaired(compared.north, IdentityOf("north"),
                          WordFor(compared.north, "north/steward", "north.example.org:7400"),
                          "north.example.org:7400", kNow);
            }),
            ErrorCode::kInternal);
  // An end that shows a number does not accept that number.
  EXPECT_EQ(CodeOf([&] { compared.west.Enter(compared.west.Shown(), kNow); }),
            ErrorCode::kUntrusted);
}

TEST(PairingTest, DigitsHaveTenMinutes) {
  for (const int64_t late : {int64_t{601}, int64_t{86'400}, int64_t{-1}}) {
    TwoSites sites;
    Compared compared = CompareHonestly(sites);
    EXPECT_EQ(CodeOf([&] { compared.north.Enter(compared.west.Shown(), kNow + late); }),
              ErrorCode::kTimeout);
    // Nor afterwards, if the clock is set back.
    EXPECT_EQ(CodeOf([&] { compared.north.Enter(compared.west.Shown(), kNow); }),
              ErrorCode::kRefused);
  }
  TwoSites sites;
  const PairingEnds ends = Connect("north", "west");
  Inviter inviter(ends, sites.north, sites.random);
  Joiner joiner(sites.line, ends, sites.west, sites.random);
  const Bytes nonce = inviter.TakeHello(joiner.Hello(kNow), kNow);
  const Bytes opening = joiner.TakeNonce(nonce, kNow);
  EXPECT_EQ(CodeOf([&] { inviter.TakeNonce(opening, kNow + 601); }), ErrorCode::kTimeout);
}

TEST(PairingTest, OwnCertificatesAreRefused) {
  TwoSites sites;
  EXPECT_EQ(CodeOf([&] { Inviter(Connect("north", "north"), sites.north, sites.random); }),
            ErrorCode::kUntrusted);
  EXPECT_EQ(
      CodeOf([&] { Joiner(sites.line, Connect("north", "north"), sites.north, sites.random); }),
      ErrorCode::kUntrusted);
  // Of another key, but the same name.
  EXPECT_EQ(CodeOf([&] { CheckPairingEnds(Connect("north", "north/2")); }), ErrorCode::kUntrusted);
  PairingEnds garbage = Connect("north", "west");
  garbage.joiner_certificate = {1, 2, 3};
  EXPECT_EQ(CodeOf([&] { CheckPairingEnds(garbage); }), ErrorCode::kPeerFault);
}

TEST(PairingTest, SomebodyElseAtTheAddressIsRefused) {
  TwoSites sites;
  EXPECT_EQ(CodeOf([&] { Joiner(sites.line, Connect("east", "west"), sites.west, sites.random); }),
            ErrorCode::kUntrusted);
  EXPECT_FALSE(sites.west.IsUsed(sites.line.number));
}

TEST(PairingTest, MalformedMessagesEndTheTry) {
  TwoSites sites;
  const PairingEnds ends = Connect("north", "west");
  const Bytes hello = Joiner(sites.line, ends, sites.west, sites.random).Hello(kNow);
  EXPECT_EQ(hello.size(), kPairingHelloBytes);
  for (size_t size = 0; size <= hello.size() + 1; ++size) {
    if (size == hello.size()) continue;
    Bytes other = hello;
    other.resize(size);
    Inviter inviter(ends, sites.north, sites.random);
    EXPECT_EQ(CodeOf([&] { inviter.TakeHello(other, kNow); }), ErrorCode::kPeerFault) << size;
    EXPECT_EQ(CodeOf([&] { inviter.TakeHello(hello, kNow); }), ErrorCode::kPeerFault) << "again";
  }
  Bytes newer = hello;
  newer[0] = 2;
  EXPECT_EQ(CodeOf([&] { Inviter(ends, sites.north, sites.random).TakeHello(newer, kNow); }),
            ErrorCode::kPeerFault);
  EXPECT_FALSE(sites.north.IsUsed(sites.line.number)) << "no nonce was sent";
  // Out of turn.
  Inviter inviter(ends, sites.north, sites.random);
  EXPECT_EQ(CodeOf([&] { inviter.TakeNonce(Bytes(32), kNow); }), ErrorCode::kPeerFault);
  Joiner joiner(sites.line, ends, sites.west, sites.random);
  EXPECT_EQ(CodeOf([&] { joiner.TakeNonce(Bytes(32), kNow); }), ErrorCode::kPeerFault);
  EXPECT_EQ(CodeOf([&] { joiner.Compare(); }), ErrorCode::kPeerFault);
  EXPECT_FALSE(sites.west.IsUsed(sites.line.number));
}

// Before a nonce leaves, the store knows that the line is used up.
TEST(PairingTest, TheLineIsUsedUpBeforeANonceIsSent) {
  struct Failing : TestInvitations {
    void Save(const InvitationBook&) override {
      throw Error(ErrorCode::kStorage, "the disk is full");
    }
  };
  TwoSites sites;
  const PairingEnds ends = Connect("north", "west");
  Failing north, west;
  north.book = sites.north.book;
  west.book = sites.west.book;
  Inviter full(ends, north, sites.random);
  Joiner joiner(sites.line, ends, west, sites.random);
  const Bytes hello = joiner.Hello(kNow);
  EXPECT_EQ(CodeOf([&] { full.TakeHello(hello, kNow); }), ErrorCode::kStorage);
  EXPECT_EQ(CodeOf([&] { full.TakeNonce(Bytes(32), kNow); }), ErrorCode::kPeerFault);
  EXPECT_EQ(CodeOf([&] { joiner.TakeNonce(Bytes(32), kNow); }), ErrorCode::kStorage);
  EXPECT_EQ(CodeOf([&] { joiner.Compare(); }), ErrorCode::kPeerFault);

  Inviter inviter(ends, sites.north, sites.random);
  inviter.TakeHello(hello, kNow);
  EXPECT_TRUE(sites.north.IsUsed(sites.line.number));
  Joiner second(sites.line, ends, sites.west, sites.random);
  second.Hello(kNow);
  EXPECT_FALSE(sites.west.IsUsed(sites.line.number));
  second.TakeNonce(Bytes(32, 3), kNow);
  EXPECT_TRUE(sites.west.IsUsed(sites.line.number));
}

// However far a try came, broken off after any message: from the first nonce on there is no other with
// this line; before it the line is as good as new.
TEST(PairingTest, BrokenOffAtEveryMessage) {
  for (int cut = 0; cut <= 4; ++cut) {
    TwoSites sites;
    const PairingEnds ends = Connect("north", "west");
    {
      Inviter inviter(ends, sites.north, sites.random);
      Joiner joiner(sites.line, ends, sites.west, sites.random);
      Bytes message = joiner.Hello(kNow);
      if (cut > 0) message = inviter.TakeHello(message, kNow);
      if (cut > 1) message = joiner.TakeNonce(message, kNow);
      if (cut > 2) inviter.TakeNonce(message, kNow);
      if (cut > 3) joiner.Compare();
    }
    EXPECT_EQ(sites.north.IsUsed(sites.line.number), cut > 0) << cut;
    EXPECT_EQ(sites.west.IsUsed(sites.line.number), cut > 1) << cut;
    // Again, by another connection.
    Joiner joiner(sites.line, Connect("north", "west", 2), sites.west, sites.random);
    Inviter inviter(Connect("north", "west", 2), sites.north, sites.random);
    if (cut > 1) {
      EXPECT_EQ(CodeOf([&] { joiner.Hello(kNow); }), ErrorCode::kRefused) << cut;
    } else {
      const Bytes hello = joiner.Hello(kNow);
      EXPECT_EQ(CodeOf([&] { inviter.TakeHello(hello, kNow); }),
                cut > 0 ? std::optional(ErrorCode::kRefused) : std::nullopt);
    }
  }
}

// Two connections with one line at the same time: one nonce.
TEST(PairingTest, ALineInTwoConnectionsIsUsedOnce) {
  TwoSites sites;
  const PairingEnds one = Connect("north", "west", 1), two = Connect("north", "west", 2);
  Inviter first(one, sites.north, sites.random), second(two, sites.north, sites.random);
  Joiner west_first(sites.line, one, sites.west, sites.random);
  Joiner west_second(sites.line, two, sites.west, sites.random);
  const Bytes hello_first = west_first.Hello(kNow), hello_second = west_second.Hello(kNow);
  first.TakeHello(hello_first, kNow);
  EXPECT_EQ(CodeOf([&] { second.TakeHello(hello_second, kNow); }), ErrorCode::kRefused);
  west_first.TakeNonce(Bytes(32), kNow);
  EXPECT_EQ(CodeOf([&] { west_second.TakeNonce(Bytes(32), kNow); }), ErrorCode::kRefused);
}

TEST(PairingTest, ExpiredLinesAreRefusedAtBothEnds) {
  TwoSites sites;
  const PairingEnds ends = Connect("north", "west");
  const int64_t late = kNow + kInvitationSeconds + 1;
  Joiner joiner(sites.line, ends, sites.west, sites.random);
  const Bytes hello = joiner.Hello(kNow);
  EXPECT_EQ(CodeOf([&] { Inviter(ends, sites.north, sites.random).TakeHello(hello, late); }),
            ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { joiner.TakeNonce(Bytes(32), late); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { Joiner(sites.line, ends, sites.west, sites.random).Hello(late); }),
            ErrorCode::kRefused);
}

// ---- Somebody in between. ------------------------------------------------------------------------
//
// West's mail was changed: its line names him as the inviter, with north's number. He is "west" to
// north, and "north" to west, with certificates of his own; he sees all and speaks when he likes.

struct InBetween {
  TwoSites sites;
  PairingEnds to_north = Connect("north", "west/forged", 3);
  PairingEnds to_west = Connect("north/forged", "west", 4);
  Invitation forged;

  InBetween() { NewLine(); }
  void NewLine() {
    sites.north.book.lines.clear();
    sites.west.book.lines.clear();
    sites.line = Invite(sites.north, "north.example.org:7400", KeyOf("north"), sites.random, kNow);
    forged = sites.line;
    forged.fingerprint = KeyOf("north/forged");
    Accept(sites.west, forged, kNow);
  }
  PairingNonce Draw() {
    PairingNonce nonce{};
    sites.random.Fill(nonce);
    return nonce;
  }
};

Bytes HelloWith(const InviteNumber& number, const Digest& commitment) {
  ByteWriter writer;
  writer.U8(1);
  writer.Raw(number);
  writer.Raw(commitment);
  return writer.Take();
}

Bytes Whole(const PairingNonce& nonce) { return {nonce.begin(), nonce.end()}; }

PairingNonce NonceOf(const Bytes& bytes) {
  PairingNonce nonce{};
  std::copy(bytes.begin(), bytes.end(), nonce.begin());
  return nonce;
}

// Both orders in which he can play the two sessions; each end accepts with one in `values`, here few
// of them so that tries can be counted. 1000 tries of each order, p = 1/10 for an end: 100 expected,
// standard deviation 9.5. By Bernstein's bound, P(|X - 100| > 60) <= 2 exp(-60^2 / (2 (90 + 20))) < 1.6e-7
// for each of four counts: a false alarm has probability below 1e-6 (keys are new each time).
TEST(InBetweenTest, PassesAnEndWithTheChanceOfItsDigits) {
  constexpr uint64_t kValues = 10;
  constexpr int kTries = 1000;
  InBetween middle;
  for (const bool north_first : {true, false}) {
    int north_accepts = 0, west_accepts = 0, both = 0;
    for (int i = 0; i < kTries; ++i) {
      middle.NewLine();
      Inviter north(middle.to_north, middle.sites.north, middle.sites.random);
      Joiner west(middle.forged, middle.to_west, middle.sites.west, middle.sites.random);
      const PairingNonce to_north = middle.Draw(), to_west = middle.Draw();
      Digest north_hash{}, west_hash{};
      auto play_north = [&] {
        north.TakeHello(
            HelloWith(middle.sites.line.number,
                      PairingCommitment(middle.sites.line.number, middle.to_north, to_north)),
            kNow);
        north_hash = north.TakeNonce(Whole(to_north), kNow).hash();
      };
      auto play_west = [&] {
        west.Hello(kNow);
        west.TakeNonce(Whole(to_west), kNow);
        west_hash = west.Compare().hash();
      };
      if (north_first) play_north();
      play_west();
      if (!north_first) play_north();
      const SpokenNumbers at_north = NumbersOf(north_hash, kValues);
      const SpokenNumbers at_west = NumbersOf(west_hash, kValues);
      // People read to each other what their pages show.
      north_accepts += at_north.second == at_west.second;
      west_accepts += at_north.first == at_west.first;
      both += at_north == at_west;
    }
    EXPECT_NEAR(north_accepts, 100, 60);
    EXPECT_NEAR(west_accepts, 100, 60);
    // 10 expected: P(X >= 45) < 1e-13.
    EXPECT_LT(both, 45);
  }
}

// The product's digits are the whole million, and a wrong number is refused.
TEST(InBetweenTest, IsFoundByTheDigits) {
  InBetween middle;
  Inviter north(middle.to_north, middle.sites.north, middle.sites.random);
  Joiner west(middle.forged, middle.to_west, middle.sites.west, middle.sites.random);
  const PairingNonce own = middle.Draw();
  north.TakeHello(HelloWith(middle.sites.line.number,
                            PairingCommitment(middle.sites.line.number, middle.to_north, own)),
                  kNow);
  Comparison at_north = north.TakeNonce(Whole(own), kNow);
  west.Hello(kNow);
  west.TakeNonce(Whole(own), kNow);
  Comparison at_west = west.Compare();
  EXPECT_EQ(CodeOf([&] { west.Compare(); }), ErrorCode::kPeerFault) << "a second try";
  EXPECT_EQ(CodeOf([&] { at_north.Enter(at_west.Shown(), kNow); }), ErrorCode::kUntrusted);
  EXPECT_EQ(CodeOf([&] { at_west.Enter(at_north.Shown(), kNow); }), ErrorCode::kUntrusted);
  EXPECT_FALSE(at_north.agreed() || at_west.agreed());
}

// He would win if he could choose a nonce after he has seen north's: what he fixed stops him.
TEST(InBetweenTest, CannotChooseHisNonceLate) {
  constexpr uint64_t kValues = 20;
  InBetween middle;
  Joiner west(middle.forged, middle.to_west, middle.sites.west, middle.sites.random);
  west.Hello(kNow);
  west.TakeNonce(Whole(middle.Draw()), kNow);
  const SpokenNumbers wanted = NumbersOf(west.Compare().hash(), kValues);
  Inviter north(middle.to_north, middle.sites.north, middle.sites.random);
  const InviteNumber& number = middle.sites.line.number;
  const PairingNonce fixed = middle.Draw();
  const PairingNonce nonce = NonceOf(
      north.TakeHello(HelloWith(number, PairingCommitment(number, middle.to_north, fixed)), kNow));
  PairingNonce searched{};
  int tries = 0;
  do {
    searched = middle.Draw();
    ++tries;
  } while (NumbersOf(PairingHash(number, middle.to_north, searched, nonce), kValues) != wanted);
  ASSERT_GT(tries, 0);
  EXPECT_EQ(CodeOf([&] { north.TakeNonce(Whole(searched), kNow); }), ErrorCode::kUntrusted);
}

// Nor by commitments of somebody else: west's, carried over, is for another connection.
TEST(InBetweenTest, CannotPassMessagesOn) {
  InBetween middle;
  Inviter north(middle.to_north, middle.sites.north, middle.sites.random);
  Joiner west(middle.forged, middle.to_west, middle.sites.west, middle.sites.random);
  const Bytes nonce = north.TakeHello(west.Hello(kNow), kNow);
  const Bytes opening = west.TakeNonce(nonce, kNow);
  EXPECT_EQ(CodeOf([&] { north.TakeNonce(opening, kNow); }), ErrorCode::kUntrusted);
}

// He breaks off until digits agree: with one line he gets one nonce of each end.
TEST(InBetweenTest, BreakingOffGetsHimOneTry) {
  InBetween middle;
  int north_nonces = 0, west_nonces = 0;
  for (uint8_t i = 0; i < 20; ++i) {
    middle.to_north.exporter.fill(static_cast<uint8_t>(10 + i));
    middle.to_west.exporter.fill(static_cast<uint8_t>(40 + i));
    Inviter north(middle.to_north, middle.sites.north, middle.sites.random);
    Joiner west(middle.forged, middle.to_west, middle.sites.west, middle.sites.random);
    north_nonces +=
        !CodeOf([&] { north.TakeHello(HelloWith(middle.sites.line.number, Digest{}), kNow + i); });
    west_nonces += !CodeOf([&] {
      west.Hello(kNow + i);
      west.TakeNonce(Bytes(32, i), kNow + i);
    });
  }
  EXPECT_EQ(north_nonces, 1);
  EXPECT_EQ(west_nonces, 1);
}

// ---- `paired`. ----------------------------------------------------------------------------------

// Statements as a node would make them that names a certificate whose key it does not have.
TEST(StewardWordTest, ACertificateAloneIsNoWord) {
  TwoSites sites;
  Compared compared = CompareHonestly(sites);
  compared.west.Enter(compared.north.Shown(), kNow);
  StewardWord word = WordFor(compared.west, "west/steward", "west:7400");
  EXPECT_FALSE(CodeOf([&] {
                 BeginPaired(compared.west, IdentityOf("west"), word, "west:7400", kNow);
               }).has_value());
  const StewardWord own = WordFor(compared.west, "west", "west:7400");
  word.signature = own.signature;  // by the node key, for the steward's certificate
  EXPECT_EQ(
      CodeOf([&] { BeginPaired(compared.west, IdentityOf("west"), word, "west:7400", kNow); }),
      ErrorCode::kBadInput);
  // And for another address.
  EXPECT_EQ(CodeOf([&] {
              BeginPaired(compared.west, IdentityOf("west"),
                          WordFor(compared.west, "west/steward", "west:7401"), "west:7400", kNow);
            }),
            ErrorCode::kBadInput);
}

struct PairedTest : testing::Test {
  TwoSites sites;
  Compared compared = CompareHonestly(sites);
  PendingPair north, west;

  PairedTest() {
    compared.north.Enter(compared.west.Shown(), kNow);
    compared.west.Enter(compared.north.Shown(), kNow);
    north = BeginPaired(compared.north, IdentityOf("north"),
                        WordFor(compared.north, "north/steward", "north.example.org:7400"),
                        "north.example.org:7400", kNow + 1);
    west = BeginPaired(compared.west, IdentityOf("west"),
                       WordFor(compared.west, "west/steward", "west.example.org:7400"),
                       "west.example.org:7400", kNow + 2);
  }
};

TEST_F(PairedTest, APartyCountsWhenBothHaveSigned) {
  const PairedParty at_north = FinishPaired(north, west.own_statement, kNow + 3600);
  EXPECT_EQ(at_north.name, "west");
  EXPECT_EQ(at_north.node_certificate, CertificateOf("west"));
  EXPECT_EQ(at_north.steward_certificate, CertificateOf("west/steward"));
  EXPECT_EQ(at_north.address, "west.example.org:7400");
  const PairedParty at_west = FinishPaired(west, north.own_statement, kNow + 2);
  EXPECT_EQ(at_west.name, "north");
  EXPECT_LE(north.own_statement.size(), kMaxPairedBytes);
}

TEST_F(PairedTest, IsForgottenAfterAnHour) {
  EXPECT_FALSE(IsForgotten(north, kNow + 3601));
  EXPECT_TRUE(IsForgotten(north, kNow + 3602));
  EXPECT_TRUE(IsForgotten(north, kNow));
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, west.own_statement, kNow + 3602); }),
            ErrorCode::kTimeout);
}

TEST_F(PairedTest, OnlyTheOthersStatementWillDo) {
  // The own one, sent back.
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, north.own_statement, kNow + 2); }),
            ErrorCode::kUntrusted);
  // Of the other site, but in the own role.
  Comparison turned(PairingRole::kInviter, sites.line.number, compared.west.ends(),
                    compared.west.hash(), kNow);
  turned.Enter(compared.west.Shown(), kNow);
  const PendingPair same_role =
      BeginPaired(turned, IdentityOf("west"), WordFor(turned, "west/steward", "west:7400"),
                  "west:7400", kNow + 2);
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, same_role.own_statement, kNow + 3); }),
            ErrorCode::kUntrusted);
  // Of another invitation.
  sites.NewLine();
  Compared again = CompareHonestly(sites, 9);
  again.north.Enter(again.west.Shown(), kNow);
  again.west.Enter(again.north.Shown(), kNow);
  const PendingPair other =
      BeginPaired(again.west, IdentityOf("west"), WordFor(again.west, "west/steward", "west:7400"),
                  "west:7400", kNow + 2);
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, other.own_statement, kNow + 3); }),
            ErrorCode::kUntrusted);
  // With the node's certificate as the steward's.
  const PendingPair lazy =
      BeginPaired(compared.west, IdentityOf("west"), WordFor(compared.west, "west", "west:7400"),
                  "west:7400", kNow + 2);
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, lazy.own_statement, kNow + 3); }),
            ErrorCode::kPeerFault);
  // With a steward's certificate that is not valid any more.
  const crypto::Identity expired =
      crypto::MakeIdentity({.name = "west", .days = 1, .start = std::chrono::hours(-48)});
  const PendingPair old =
      BeginPaired(compared.west, IdentityOf("west"),
                  SignPaired(PairingRole::kJoiner, compared.west.hash(), expired, "west:7400"),
                  "west:7400", kNow + 2);
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, old.own_statement, kNow + 3); }),
            ErrorCode::kUntrusted);
  // With a steward's certificate of another site, whose key signs.
  const PendingPair foreign =
      BeginPaired(compared.west, IdentityOf("west"),
                  WordFor(compared.west, "lake/steward", "west:7400"), "west:7400", kNow + 2);
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, foreign.own_statement, kNow + 3); }),
            ErrorCode::kUntrusted);
  // With the certificate of a steward who did not sign: the daemon of west alone makes this.
  ByteReader parts(west.own_statement);
  const Bytes fields = parts.Blob(kMaxPairedBytes);
  ByteWriter forged;
  forged.Blob(fields);
  forged.Blob(crypto::Sign(IdentityOf("west"), kPairedStewardDomain, fields));
  const Bytes by_node = crypto::Sign(IdentityOf("west"), kPairedDomain, forged.bytes());
  forged.Blob(by_node);
  EXPECT_EQ(CodeOf([&] { FinishPaired(north, forged.bytes(), kNow + 3); }), ErrorCode::kUntrusted);
  // Every changed byte, and every shorter piece.
  for (size_t i = 0; i < west.own_statement.size(); ++i) {
    Bytes changed = west.own_statement;
    changed[i] ^= 1;
    EXPECT_TRUE(CodeOf([&] { FinishPaired(north, changed, kNow + 3); }).has_value()) << i;
    changed.resize(i);
    EXPECT_TRUE(CodeOf([&] { FinishPaired(north, changed, kNow + 3); }).has_value()) << i;
  }
}

}  // namespace
}  // namespace partita::node::pairing_test
