// Row order comparison: agreement, every disagreement, exact cost, and parties that deviate.
#include "match/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "crypto/ristretto.h"
#include "tests/data/expect_error.h"
#include "tests/net/parties.h"

namespace partita::match::row_order_test {
namespace {

using net::Channel;
using net::PartyIndex;

constexpr size_t kOne = 1;

// a: 0, 2, 3; b: 1, 2, 3; c: 2, 3. Party 4 (a dealer, say) holds nothing.
const std::vector<SharedBlock> kBlocks = {{"a", {0, 2, 3}}, {"b", {1, 2, 3}}, {"c", {2, 3}}};
const std::vector<std::string> kNames = net::PartyNames(5);

std::vector<std::string> KeysOf(const std::string& block) {
  return {block + "1", block + "2", block + "3"};
}

// The digests of a party whose lists are right, but for `wrong` (party, block) pairs.
BlockDigests DigestsOf(PartyIndex party,
                       const std::set<std::pair<PartyIndex, std::string>>& wrong = {}) {
  BlockDigests digests;
  for (const SharedBlock& block : kBlocks) {
    digests.emplace_back();
    if (std::find(block.holders.begin(), block.holders.end(), party) == block.holders.end())
      continue;
    std::vector<std::string> keys = KeysOf(block.name);
    if (wrong.contains({party, block.name})) std::swap(keys[0], keys[1]);
    digests.back() = RowOrderDigest(block.name, keys);
  }
  return digests;
}

std::vector<std::optional<Error>> Compare(
    const std::set<std::pair<PartyIndex, std::string>>& wrong) {
  return net::RunChannels(net::MemoryParties(5), [&](Channel& channel) {
    auto random = net::TestRandom(static_cast<uint8_t>(50 + channel.self()));
    CompareRowOrder(channel, kBlocks, DigestsOf(channel.self(), wrong), kNames, random);
  });
}

TEST(RowOrderDigestTest, DependsOnNameOrderAndBoundaries) {
  using Keys = std::vector<std::string>;
  std::set<crypto::Digest> digests;
  size_t cases = 0;
  auto add = [&](const std::string& block, const Keys& keys) {
    digests.insert(RowOrderDigest(block, keys));
    ++cases;
  };
  add("a", {"1", "2"});
  add("b", {"1", "2"});
  add("a", {"2", "1"});
  add("a", {"12"});
  add("a", {"1", "2", ""});
  add("a", {"1", "2", "2"});
  add("a", {"1"});
  add("a", {});
  add("a1", {"2"});
  EXPECT_EQ(digests.size(), cases);
  // Longer than one piece, and equal for equal lists.
  const Keys many(20000, "some key"), more(20001, "some key");
  EXPECT_EQ(RowOrderDigest("a", many), RowOrderDigest("a", many));
  EXPECT_NE(RowOrderDigest("a", many), RowOrderDigest("a", more));
}

TEST(RowOrderDigestTest, IsTheHashItsHeaderSays) {
  ByteWriter writer;
  writer.String("partita row order v1");
  writer.String("block");
  writer.U64(2);
  writer.String("k1");
  writer.String("k2");
  const std::vector<std::string> keys = {"k1", "k2"};
  EXPECT_EQ(RowOrderDigest("block", keys), crypto::Sha256Of(writer.bytes()));
}

TEST(RowOrderTest, EqualListsPass) { EXPECT_EQ(net::Describe(Compare({})), ""); }

TEST(RowOrderTest, EveryHolderOfADifferingBlockLearnsItAndNobodyElse) {
  for (const SharedBlock& block : kBlocks) {
    for (PartyIndex culprit : block.holders) {
      const auto errors = Compare({{culprit, block.name}});
      for (PartyIndex party = 0; party < 5; ++party) {
        const bool holds =
            std::find(block.holders.begin(), block.holders.end(), party) != block.holders.end();
        ASSERT_EQ(errors[party].has_value(), holds) << block.name << " " << culprit << " " << party;
        if (!holds) continue;
        // The culprit differs from all others, these from the culprit only.
        const PartyIndex other_holder =
            block.holders[0] == party ? block.holders[1] : block.holders[0];
        const PartyIndex peer = party == culprit ? other_holder : culprit;
        EXPECT_EQ(errors[party]->code(), ErrorCode::kBadData);
        EXPECT_EQ(errors[party]->message(), "row lists of block '" + block.name +
                                                "' differ between '" +
                                                kNames[std::min(party, peer)] + "' and '" +
                                                kNames[std::max(party, peer)] + "'");
        EXPECT_THAT(errors[party]->hint(), testing::HasSubstr("no row is named"));
      }
    }
  }
}

TEST(RowOrderTest, TwoWrongListsOfTwoBlocks) {
  const auto errors = Compare({{0, "a"}, {1, "b"}});
  for (PartyIndex party = 0; party < 4; ++party) ASSERT_TRUE(errors[party].has_value()) << party;
  EXPECT_THAT(errors[0]->message(), testing::HasSubstr("block 'a'"));
  EXPECT_THAT(errors[1]->message(), testing::HasSubstr("block 'b'"));
  EXPECT_THAT(errors[2]->message(), testing::HasSubstr("block 'a'"));
  EXPECT_FALSE(errors[4].has_value());
}

TEST(RowOrderTest, CostIsExactlyWhatIsDeclared) {
  const auto errors = net::RunChannels(net::MemoryParties(5), [&](Channel& channel) {
    auto random = net::TestRandom(static_cast<uint8_t>(channel.self()));
    channel.BeginPhase("row-order");
    CompareRowOrder(channel, kBlocks, DigestsOf(channel.self()), kNames, random);
    const auto traffic = channel.traffic();
    ASSERT_EQ(traffic.size(), kOne);
    for (PartyIndex peer = 0; peer < 5; ++peer) {
      const RowOrderTraffic out = RowOrderTrafficBetween(kBlocks, channel.self(), peer);
      const RowOrderTraffic in = RowOrderTrafficBetween(kBlocks, peer, channel.self());
      EXPECT_EQ(traffic[0].links[peer].messages_sent, out.messages);
      EXPECT_EQ(traffic[0].links[peer].bytes_sent, out.messages * out.bytes_per_message);
      EXPECT_EQ(traffic[0].links[peer].messages_received, in.messages);
      EXPECT_EQ(traffic[0].links[peer].bytes_received, in.messages * in.bytes_per_message);
    }
    EXPECT_EQ(channel.depth(), channel.self() == 4 ? 0 : RowOrderRounds(kBlocks));
  });
  EXPECT_EQ(net::Describe(errors), "");
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 2, 3).bytes_per_message, 3u * 32);
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 2, 3).messages, 2u);
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 0, 1).messages, 0u);
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 0, 0).messages, 0u);
  EXPECT_EQ(RowOrderRounds({}), 0u);
}

// Two parties, one shared block.
const std::vector<SharedBlock> kOneBlock = {{"a", {0, 1}}};
const Bytes kOtherRun = {9};

void CompareOne(Channel& channel, const crypto::Digest& digest, crypto::RandomSource& random) {
  CompareRowOrder(channel, kOneBlock, {digest}, net::PartyNames(2), random);
}

std::vector<std::optional<Error>> ComparePair(const crypto::Digest& first,
                                              const crypto::Digest& second) {
  return net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
    auto random = net::TestRandom(static_cast<uint8_t>(channel.self()));
    CompareOne(channel, channel.self() == 0 ? first : second, random);
  });
}

TEST(RowOrderTest, AnyDifferenceOfTwoListsIsSeenAtBothEnds) {
  const crypto::Digest list = RowOrderDigest("a", KeysOf("a"));
  EXPECT_EQ(net::Describe(ComparePair(list, list)), "");
  const std::vector<std::pair<std::string, crypto::Digest>> cases = {
      {"one row fewer", RowOrderDigest("a", std::vector<std::string>{"a1", "a2"})},
      {"one row more", RowOrderDigest("a", std::vector<std::string>{"a1", "a2", "a3", "a4"})},
      {"another order", RowOrderDigest("a", std::vector<std::string>{"a2", "a1", "a3"})},
      {"one key spelt differently",
       RowOrderDigest("a", std::vector<std::string>{"a1", "A2", "a3"})},
      {"another block", RowOrderDigest("b", KeysOf("a"))},
      {"no rows", RowOrderDigest("a", std::vector<std::string>{})}};
  for (const auto& [what, other] : cases) {
    const auto errors = ComparePair(list, other);
    for (const auto& error : errors) {
      ASSERT_TRUE(error.has_value()) << what;
      EXPECT_EQ(error->code(), ErrorCode::kBadData) << what;
      EXPECT_EQ(error->message(), "row lists of block 'a' differ between 'north' and 'south'");
    }
  }
}

// Exchanges one message each way with party 1 - self.
Bytes Swap(Channel& channel, ByteView out) {
  Bytes in(out.size());
  net::Send send;
  send.to = 1 - channel.self();
  send.bytes = out;
  net::Receive receive;
  receive.from = send.to;
  receive.into = in;
  channel.Exchange(std::span(&send, kOne), std::span(&receive, kOne));
  return in;
}

// Written from row_order.h, not from row_order.cc.
crypto::RistrettoPoint PointOfHeader(const Channel& channel, const crypto::Digest& list) {
  ByteWriter message;
  message.String("partita row order point v1");
  message.Blob(channel.PairwiseKey(1 - channel.self(), "row order", 0).Expose());
  message.String("a");
  message.Blob(list);
  return crypto::RistrettoPoint::Hash(message.bytes());
}

crypto::Digest HashOfHeader(PartyIndex sender, const crypto::RistrettoPoint& common) {
  crypto::Sha256 hash;
  hash.Field("partita row order hash v1").U64(sender).Field("a").Update(common.bytes());
  return hash.Finish();
}

// Everything that party 0 sent, and what became of it.
struct Seen {
  std::vector<Bytes> sent;
  std::optional<Error> error;
};

// Party 1 follows the header; party 0 is `party`.
Seen RunAgainstHeader(const Bytes& run_id, const std::function<void(Channel&)>& party) {
  Seen run;
  const auto errors =
      net::RunTransports(net::MemoryParties(2), [&](std::unique_ptr<net::Transport> transport) {
        Channel channel(std::move(transport), run_id, 1);
        if (channel.self() == 0) return party(channel);
        auto random = net::TestRandom(77);
        const crypto::RistrettoScalar b = crypto::RandomScalar(random);
        const auto mine = PointOfHeader(channel, RowOrderDigest("a", KeysOf("a"))).Times(b);
        run.sent.push_back(Swap(channel, mine.bytes()));
        const auto theirs = crypto::RistrettoPoint::Decode(run.sent.back());
        const auto common = theirs.value_or(mine).Times(b);
        run.sent.push_back(Swap(channel, HashOfHeader(1, common)));
      });
  run.error = errors[0];
  return run;
}

Seen RunHonest(const Bytes& run_id, uint8_t seed) {
  return RunAgainstHeader(run_id, [seed](Channel& channel) {
    auto random = net::TestRandom(seed);
    CompareOne(channel, RowOrderDigest("a", KeysOf("a")), random);
  });
}

TEST(RowOrderTest, IsTheProtocolOfTheHeader) {
  std::vector<Bytes> expected;
  const Seen run = RunAgainstHeader(net::kTestRun, [&](Channel& channel) {
    const crypto::Digest list = RowOrderDigest("a", KeysOf("a"));
    auto random = net::TestRandom(5);
    CompareOne(channel, list, random);
    auto again = net::TestRandom(5), peer = net::TestRandom(77);
    const auto blinded = PointOfHeader(channel, list).Times(crypto::RandomScalar(again));
    const crypto::Digest hash = HashOfHeader(0, blinded.Times(crypto::RandomScalar(peer)));
    expected = {Bytes(blinded.bytes().begin(), blinded.bytes().end()),
                Bytes(hash.begin(), hash.end())};
  });
  ASSERT_FALSE(run.error.has_value()) << run.error->message();
  EXPECT_EQ(run.sent, expected);
}

// Counts the bytes that were drawn.
class CountingRandom : public crypto::RandomSource {
 public:
  void Fill(std::span<uint8_t> out) override {
    stream_.Fill(out);
    drawn_ += out.size();
  }
  size_t drawn() const { return drawn_; }

 private:
  crypto::Prg stream_ = net::TestRandom(4);
  size_t drawn_ = 0;
};

TEST(RowOrderTest, EveryBlockAndPeerHasAFreshScalar) {
  const std::vector<size_t> comparisons = {2, 2, 5, 5, 0};  // of each party, over blocks and peers
  const auto errors = net::RunChannels(net::MemoryParties(5), [&](Channel& channel) {
    CountingRandom random;
    CompareRowOrder(channel, kBlocks, DigestsOf(channel.self()), kNames, random);
    EXPECT_EQ(random.drawn(), 64 * comparisons[channel.self()]) << channel.self();
  });
  EXPECT_EQ(net::Describe(errors), "");
}

// What a party must not send about its list: the list's digest, anything that does not change with
// its random tape (the peer could compute it for a guessed list, since it knows the pair key), and
// anything that does not change with the run (it would link runs).
std::string WhatIsExposed(const std::function<Seen(const Bytes& run_id, uint8_t seed)>& protocol) {
  const crypto::Digest list = RowOrderDigest("a", KeysOf("a"));
  const Seen run = protocol(net::kTestRun, 1);
  const Seen other_tape = protocol(net::kTestRun, 2);
  const Seen other_run = protocol(kOtherRun, 1);
  std::string exposed;
  if (run.sent.size() != 2 || other_tape.sent.size() != 2 || other_run.sent.size() != 2)
    return "not two messages";
  for (size_t i = 0; i < 2; ++i) {
    const Bytes& sent = run.sent[i];
    if (std::search(sent.begin(), sent.end(), list.begin(), list.end()) != sent.end())
      exposed += "digest in message " + std::to_string(i) + "; ";
    if (sent == other_tape.sent[i]) exposed += "no blinding of message " + std::to_string(i) + "; ";
    if (sent == other_run.sent[i]) exposed += "no run in message " + std::to_string(i) + "; ";
  }
  return exposed;
}

TEST(RowOrderTest, NothingSentCanBeComputedFromAGuessedList) {
  EXPECT_EQ(WhatIsExposed(RunHonest), "");
}

// The check above sees what it is for: a party that commits to its digest and then opens it, one
// that compares a digest salted with the pair key, and one whose scalar is always the same.
TEST(RowOrderTest, DoublesThatExposeTheirListAreNoticed) {
  const crypto::Digest list = RowOrderDigest("a", KeysOf("a"));
  EXPECT_EQ(WhatIsExposed([&](const Bytes& run_id, uint8_t seed) {
              return RunAgainstHeader(run_id, [&, seed](Channel& channel) {
                crypto::Sha256 commitment;
                commitment.U64(seed).Field(run_id).Update(list);
                Swap(channel, commitment.Finish());
                Swap(channel, list);
              });
            }),
            "digest in message 1; no blinding of message 1; no run in message 1; ");
  EXPECT_EQ(WhatIsExposed([&](const Bytes& run_id, uint8_t) {
              return RunAgainstHeader(run_id, [&](Channel& channel) {
                Swap(channel, PointOfHeader(channel, list).bytes());
                Swap(channel, HashOfHeader(0, PointOfHeader(channel, list)));
              });
            }),
            "no blinding of message 0; no blinding of message 1; ");
  EXPECT_EQ(WhatIsExposed([&](const Bytes& run_id, uint8_t) { return RunHonest(run_id, 3); }),
            "no blinding of message 0; no blinding of message 1; ");
}

TEST(RowOrderTest, APeerThatSendsNoElementIsRefused) {
  const std::vector<SharedBlock> blocks = {{"a", {0, 1}}, {"b", {0, 1}}};
  Bytes good(32);
  const auto point = crypto::RistrettoPoint::Hash(AsBytes("any"));
  std::copy(point.bytes().begin(), point.bytes().end(), good.begin());
  for (const Bytes& bad : {Bytes(32), Bytes(32, 0xff), Bytes(32, 1)}) {
    for (size_t place : {0, 1}) {
      const auto errors = net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
        if (channel.self() == 0) {
          auto random = net::TestRandom(9);
          return CompareRowOrder(
              channel, blocks, {RowOrderDigest("a", KeysOf("a")), RowOrderDigest("b", KeysOf("b"))},
              net::PartyNames(2), random);
        }
        Bytes message = place == 0 ? bad : good;
        const Bytes& second = place == 0 ? good : bad;
        message.insert(message.end(), second.begin(), second.end());
        Swap(channel, message);
      });
      ASSERT_TRUE(errors[0].has_value());
      EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerFault);
      EXPECT_EQ(errors[0]->message(),
                "'south' sent no valid group element for the row list of block '" +
                    blocks[place].name + "'");
    }
  }
}

TEST(RowOrderTest, SendingBackWhatOneReceivesDoesNotPassForAnEqualList) {
  // Party 1 has no list and waits for each message before it answers, which a party that does not
  // follow the protocol can do.
  const auto errors = net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
    if (channel.self() == 0) {
      auto random = net::TestRandom(9);
      return CompareOne(channel, RowOrderDigest("a", KeysOf("a")), random);
    }
    for (int round = 0; round < 2; ++round) {
      Bytes message(32);
      net::Receive receive;
      receive.from = 0;
      receive.into = message;
      channel.Exchange({}, std::span(&receive, kOne));
      net::Send send;
      send.to = 0;
      send.bytes = message;
      channel.Exchange(std::span(&send, kOne), {});
    }
  });
  ASSERT_TRUE(errors[0].has_value());
  EXPECT_EQ(errors[0]->code(), ErrorCode::kBadData);
}

TEST(RowOrderTest, AnyFlippedBitOfTheSecondMessageIsNoticed) {
  for (size_t flipped : {0, 15, 31}) {
    const auto errors = net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
      auto random = net::TestRandom(static_cast<uint8_t>(channel.self()));
      const crypto::Digest list = RowOrderDigest("a", KeysOf("a"));
      if (channel.self() == 0) return CompareOne(channel, list, random);
      const crypto::RistrettoScalar b = crypto::RandomScalar(random);
      const Bytes theirs = Swap(channel, PointOfHeader(channel, list).Times(b).bytes());
      crypto::Digest hash =
          HashOfHeader(1, crypto::RistrettoPoint::Decode(theirs).value().Times(b));
      hash[flipped] ^= 1;
      Swap(channel, hash);
    });
    ASSERT_TRUE(errors[0].has_value());
    EXPECT_EQ(errors[0]->code(), ErrorCode::kBadData) << flipped;
  }
}

TEST(RowOrderTest, WrongCallsAreBugs) {
  net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
    auto random = net::TestRandom(1);
    const auto names = net::PartyNames(2);
    ExpectError(ErrorCode::kInternal, "wrong length", "",
                [&] { CompareRowOrder(channel, kOneBlock, {}, names, random); });
    ExpectError(ErrorCode::kInternal, "wrong length", "",
                [&] { CompareRowOrder(channel, kOneBlock, {std::nullopt}, {}, random); });
    ExpectError(ErrorCode::kInternal, "a held block has no row order digest", "",
                [&] { CompareRowOrder(channel, kOneBlock, {std::nullopt}, names, random); });
  });
}

TEST(RowOrderTest, BlocksAndDigestsOfAPartition) {
  const data::Partition partition = data::MakePartition({"x", "y"}, {{"a", 2}, {"b", {}}, {"c", 1}},
                                                        {{"north", 0, {"x"}, {"a", "c"}},
                                                         {"south", 2, {"y"}, {"c", "a"}},
                                                         {"west", 1, {"x", "y"}, {"b"}}});
  const std::vector<SharedBlock> blocks = SharedBlocks(partition);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[1].name, "c");
  EXPECT_EQ(blocks[1].holders, (std::vector<PartyIndex>{0, 2}));

  data::Table table;
  table.num_rows = 3;
  data::Column key, block;
  key.schema.name = "id";
  key.schema.type = data::ColumnType::kKey;
  key.keys = {"k3", "k2", "k1"};
  block.schema.name = "block";
  block.schema.type = data::ColumnType::kFactor;
  block.schema.levels = {"a", "c"};
  block.codes = {0, 1, 0};
  table.columns = {key, block};
  const data::Holding holding =
      data::MakeHolding(table, partition, 0, {.key = "id", .block = "block"});
  const BlockDigests digests = RowOrderDigests(partition, holding);
  ASSERT_EQ(digests.size(), 2u);
  EXPECT_EQ(digests[0], RowOrderDigest("a", std::vector<std::string>{"k1", "k3"}));
  EXPECT_EQ(digests[1], RowOrderDigest("c", std::vector<std::string>{"k2"}));
}

}  // namespace
}  // namespace partita::match::row_order_test
