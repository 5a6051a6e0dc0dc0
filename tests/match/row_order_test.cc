// Row order comparison: agreement, every disagreement, exact cost, and parties that deviate.
#include "match/row_order.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/data/expect_error.h"
#include "tests/net/parties.h"

namespace partita::match {
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
        // All report the first holder and the first that differs from it.
        const PartyIndex first = block.holders[0];
        const PartyIndex other = culprit == first ? block.holders[kOne] : culprit;
        EXPECT_EQ(errors[party]->code(), ErrorCode::kBadData);
        EXPECT_EQ(errors[party]->message(), "row lists of block '" + block.name +
                                                "' differ between '" + kNames[first] + "' and '" +
                                                kNames[other] + "'");
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
      EXPECT_EQ(traffic[0].links[peer].bytes_sent, out.bytes);
      EXPECT_EQ(traffic[0].links[peer].messages_received, in.messages);
      EXPECT_EQ(traffic[0].links[peer].bytes_received, in.bytes);
    }
    EXPECT_EQ(channel.depth(), channel.self() == 4 ? 0 : RowOrderRounds(kBlocks));
  });
  EXPECT_EQ(net::Describe(errors), "");
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 2, 3).bytes, 3u * (32 + 64));
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 2, 3).messages, 2u);
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 0, 1).messages, 0u);
  EXPECT_EQ(RowOrderTrafficBetween(kBlocks, 0, 0).bytes, 0u);
  EXPECT_EQ(RowOrderRounds({}), 0u);
}

// Exchanges one message of `size` bytes each way with party 1 - self.
Bytes Swap(Channel& channel, const Bytes& out) {
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

const std::vector<SharedBlock> kOneBlock = {{"a", {0, 1}}};

void RunHonest(Channel& channel) {
  auto random = net::TestRandom(9);
  const std::vector<std::string> keys = KeysOf("a");
  CompareRowOrder(channel, kOneBlock, {RowOrderDigest("a", keys)}, net::PartyNames(2), random);
}

TEST(RowOrderTest, ACopiedCommitmentIsNoticed) {
  // Party 1 knows no list: it sends back what it receives, commitment and opening. Waiting for the
  // other's message before answering is possible for a party that does not follow the protocol.
  const auto errors = net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
    if (channel.self() == 0) return RunHonest(channel);
    for (size_t size : {32, 64}) {
      Bytes message(size);
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
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerFault);
  EXPECT_EQ(errors[0]->message(),
            "'south' opened another row list digest of block 'a' than it committed to");
}

TEST(RowOrderTest, AnotherOpeningIsNoticed) {
  for (size_t flipped : {0, 31, 32, 63}) {
    const auto errors = net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
      if (channel.self() == 0) return RunHonest(channel);
      // An honest commitment as the header describes it.
      Bytes opening(32, 7);
      const std::vector<std::string> keys = KeysOf("a");
      const crypto::Digest digest = RowOrderDigest("a", keys);
      opening.insert(opening.end(), digest.begin(), digest.end());
      crypto::Sha256 hash;
      hash.Field("partita row order commitment v1").U64(1).Field("a").Update(opening);
      const crypto::Digest commitment = hash.Finish();
      Swap(channel, Bytes(commitment.begin(), commitment.end()));
      opening[flipped] ^= 1;
      Swap(channel, opening);
    });
    ASSERT_TRUE(errors[0].has_value());
    EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerFault) << flipped;
  }
}

TEST(RowOrderTest, NoncesAreFreshAndHideTheDigest) {
  // Two runs with the same lists send different commitments; equal random tapes, equal ones.
  auto commitment_with = [](uint8_t seed) {
    Bytes seen;
    net::RunChannels(net::MemoryParties(2), [&](Channel& channel) {
      if (channel.self() == 0) {
        auto random = net::TestRandom(seed);
        const std::vector<std::string> keys = KeysOf("a");
        CompareRowOrder(channel, kOneBlock, {RowOrderDigest("a", keys)}, net::PartyNames(2),
                        random);
      } else {
        seen = Swap(channel, Bytes(32));
      }
    });
    return seen;
  };
  EXPECT_NE(commitment_with(1), commitment_with(2));
  EXPECT_EQ(commitment_with(1), commitment_with(1));
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
}  // namespace partita::match
