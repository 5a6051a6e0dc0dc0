// Whole rounds: who is in the sum, that the sum is exactly theirs, and what is never opened.
#include "sums/protocol/compute_node.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <map>
#include <thread>

#include "sums/spool/spool_sum.h"
#include "tests/sums/protocol/dropouts.h"
#include "tests/sums/protocol/rounds.h"

namespace partita::sums::compute_node_test {
namespace {

class ComputeNodeTest : public ::testing::Test {
 protected:
  ComputeNodeTest() : world_(SmallContract()), nodes_(world_), clients_(world_) {}

  // Uploads of the first `count` clients, to all nodes.
  void SendAll(uint32_t count) {
    for (uint32_t client = 0; client < count; ++client) {
      for (uint16_t node = 0; node < 3; ++node) {
        ASSERT_EQ(nodes_[node].Accept(clients_.Upload(client)[node]), Verdict::kAccepted);
      }
    }
  }

  World world_;
  Nodes nodes_;
  Clients clients_;
};

TEST_F(ComputeNodeTest, OpensExactlyTheSumOfAllClients) {
  SendAll(20);
  const PrivateSum sum = nodes_.Finish();
  EXPECT_EQ(sum.accepted, 20U);
  EXPECT_EQ(sum.grid, clients_.Sum(nodes_[0].Freeze()));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sum.values[i], std::ldexp(static_cast<double>(sum.grid[i]), -20));
  }
}

TEST_F(ComputeNodeTest, DropoutsLeaveTheSumOfTheOthers) {
  for (uint32_t client = 2; client < 20; ++client) {
    const uint16_t reached = client == 2 ? 2 : 3;
    for (uint16_t node = 0; node < reached; ++node) {
      nodes_[node].Accept(clients_.Upload(client)[node]);
    }
  }
  const PrivateSum sum = nodes_.Finish();
  EXPECT_EQ(sum.accepted, 17U);
  const AcceptedSet everybody = nodes_[0].Freeze();
  EXPECT_EQ(everybody.size(), 18U);
  EXPECT_EQ(sum.grid, clients_.Sum(nodes_[2].Freeze()));
}

// R20 at a hundredth of its size; the whole of it is scale_test.
TEST(DropoutTest, DropoutsOfAThousand) { RunDropouts(1000, 100); }

// R5, R21: any schedule of lost, repeated and changed messages and restarts. The noise of every
// client makes its row unique, so that equality finds every loss, repetition and mixture.
TEST_F(ComputeNodeTest, AnyScheduleEndsInTheSumOfTheAgreedSet) {
  for (uint64_t seed = 0; seed < 15; ++seed) {
    Nodes nodes(world_);
    Clients first(world_);
    Clients second(world_);  // a client that lost its upload and makes another
    crypto::Prg dice = SeededStream(seed);
    std::array<uint8_t, 400> throws{};
    dice.Fill(throws);
    for (size_t i = 0; i < throws.size(); i += 2) {
      const uint32_t client = throws[i] % 20;
      const auto node = static_cast<uint16_t>(throws[i] / 20 % 3);
      const uint8_t what = throws[i + 1];
      if (what < 8) nodes.Restart(node);
      const bool changed = client < 3 && what < 100;
      nodes[node].Accept((changed ? second : first).Upload(client)[node]);
    }
    for (uint32_t client = 3; client < 20; ++client) {  // the patient ones arrive in the end
      for (uint16_t node = 0; node < 3; ++node) nodes[node].Accept(first.Upload(client)[node]);
    }
    const PrivateSum sum = nodes.Finish();
    const AcceptedSet agreed = nodes.FreezeAndIntersect();
    ASSERT_GE(agreed.size(), 17U);
    EXPECT_EQ(sum.accepted, agreed.size());
    std::vector<Int128> expected(3);
    for (const AcceptedUpload& upload : agreed) {
      const std::vector<Int128>* row = first.RowOf(upload);
      if (row == nullptr) row = second.RowOf(upload);
      ASSERT_NE(row, nullptr);
      for (size_t i = 0; i < 3; ++i) expected[i] += (*row)[i];
    }
    EXPECT_EQ(sum.grid, expected);
  }
}

// R22: 64 copies at the same time.
TEST_F(ComputeNodeTest, ConcurrentCopiesCountOnce) {
  constexpr int kCopies = 64;
  std::array<std::atomic<int>, 20> accepted{};
  std::barrier start(kCopies);
  std::vector<std::thread> threads;
  for (uint32_t client = 0; client < 20; ++client) clients_.Upload(client);
  for (int copy = 0; copy < kCopies; ++copy) {
    threads.emplace_back([&] {
      for (uint32_t client = 0; client < 20; ++client) {
        start.arrive_and_wait();
        const Verdict verdict = nodes_[1].Accept(clients_.Made(client)[1]);
        if (verdict == Verdict::kAccepted) ++accepted[client];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : accepted) EXPECT_EQ(count, 1);
  EXPECT_EQ(nodes_[1].Count(Verdict::kAccepted), 20U);
  EXPECT_EQ(nodes_[1].Count(Verdict::kRetried), 20U * (kCopies - 1));
  EXPECT_EQ(nodes_[1].Freeze().size(), 20U);
}

// R23, with the counters, before and after a restart.
TEST_F(ComputeNodeTest, ReplaysAreRefusedEachForItsReason) {
  World other_world(SmallContract());
  other_world.contract.study.fill(8);
  Clients others(other_world);
  Clients changed(world_);
  Clients old(world_, kEpoch - 1);
  Clients future(world_, kEpoch + 1);
  EXPECT_EQ(nodes_[1].Accept(clients_.Upload(0)[1]), Verdict::kAccepted);
  for (const bool after_restart : {false, true}) {
    if (after_restart) nodes_.Restart(1);
    ComputeNode& node = nodes_[1];
    EXPECT_EQ(node.Accept(clients_.Upload(0)[1]), Verdict::kRetried);
    EXPECT_EQ(node.Accept(changed.Upload(0)[1]), Verdict::kDuplicate);
    EXPECT_EQ(node.Accept(clients_.Upload(2)[2]), Verdict::kWrongNode);
    EXPECT_EQ(node.Accept(old.Upload(2)[1]), Verdict::kReplay);
    EXPECT_EQ(node.Accept(future.Upload(2)[1]), Verdict::kEarly);
    EXPECT_EQ(node.Accept(others.Upload(2)[1]), Verdict::kWrongStudy);
    EXPECT_EQ(node.Accept(Bytes(10000)), Verdict::kOversized);
    EXPECT_EQ(node.Accept(Bytes(10)), Verdict::kMalformed);
    for (size_t verdict = 1; verdict < kVerdicts; ++verdict) {
      const auto v = static_cast<Verdict>(verdict);
      const bool expected =
          v != Verdict::kUnknownClient && v != Verdict::kUnauthentic && v != Verdict::kLate;
      EXPECT_EQ(node.Count(v), expected ? 1U : 0U) << VerdictName(v);
    }
  }
  nodes_[1].Freeze();
  EXPECT_EQ(nodes_[1].Accept(clients_.Upload(2)[1]), Verdict::kLate);
  EXPECT_EQ(nodes_[1].Accept(clients_.Upload(0)[1]), Verdict::kRetried);
  EXPECT_EQ(nodes_[1].Count(Verdict::kLate), 1U);
}

// R24: what is acknowledged while the round closes is in the set, and nothing else is.
TEST_F(ComputeNodeTest, ClosingIsOneInstant) {
  for (uint32_t client = 0; client < 20; ++client) clients_.Upload(client);
  std::vector<std::vector<ClientId>> acknowledged(4);
  std::barrier start(5);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      for (uint32_t client = thread; client < 20; client += 4) {
        if (nodes_[0].Accept(clients_.Made(client)[0]) == Verdict::kAccepted) {
          acknowledged[thread].push_back(IdOf(client));
        }
      }
    });
  }
  start.arrive_and_wait();
  const AcceptedSet frozen = nodes_[0].Freeze();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(frozen, nodes_[0].Freeze());
  std::vector<ClientId> all;
  for (const auto& part : acknowledged) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  std::vector<ClientId> in_set;
  for (const AcceptedUpload& upload : frozen) in_set.push_back(upload.client);
  EXPECT_EQ(all, in_set);
}

// R27.
TEST_F(ComputeNodeTest, DisagreeingSetsAreNotOpened) {
  SendAll(20);
  const AcceptedSet agreed = nodes_.FreezeAndIntersect();
  for (size_t left_out = 0; left_out < agreed.size(); left_out += 7) {
    AcceptedSet smaller = agreed;
    smaller.erase(smaller.begin() + static_cast<ptrdiff_t>(left_out));
    Nodes nodes(world_);
    for (uint32_t client = 0; client < 20; ++client) {
      for (uint16_t node = 0; node < 3; ++node) nodes[node].Accept(clients_.Upload(client)[node]);
    }
    nodes.FreezeAndIntersect();
    const std::vector<Bytes> closings = {nodes[0].Agree(agreed), nodes[1].Agree(agreed),
                                         nodes[2].Agree(smaller)};
    for (uint16_t node = 0; node < 3; ++node) {
      ExpectError(ErrorCode::kRefused, [&] { nodes[node].Publish(closings); });
      EXPECT_FALSE(nodes.spool(node).publication());
      // And no other set, ever: overlapping sums would tell their difference.
      ExpectError(ErrorCode::kRefused, [&] { nodes[node].Agree(node == 2 ? agreed : smaller); });
    }
    nodes.Restart(2);
    ExpectError(ErrorCode::kRefused, [&] { nodes[2].Agree(agreed); });
  }
}

TEST_F(ComputeNodeTest, PublishesOnlyOnEqualClosingsOfAll) {
  SendAll(20);
  const AcceptedSet agreed = nodes_.FreezeAndIntersect();
  const std::vector<Bytes> closings = nodes_.AgreeAll(agreed);
  const auto refuses = [&](ErrorCode code, const std::vector<Bytes>& given) {
    ExpectError(code, [&] { nodes_[0].Publish(given); });
    EXPECT_FALSE(nodes_.spool(0).publication());
  };
  refuses(ErrorCode::kRefused, {});
  refuses(ErrorCode::kRefused, {closings[0], closings[1]});
  refuses(ErrorCode::kRefused, {closings[0], closings[1], closings[1]});
  refuses(ErrorCode::kRefused, {closings[0], closings[1], closings[2], closings[2]});
  Bytes forged = closings[2];
  forged[40] = 1;  // node 2 speaks as node 1
  refuses(ErrorCode::kUntrusted, {closings[0], closings[1], forged});
  Bytes cut = closings[2];
  cut.pop_back();
  refuses(ErrorCode::kPeerFault, {closings[0], closings[1], cut});
  // Equal closings of another round, signed by all: not this node's.
  World other(SmallContract());
  other.identities = world_.identities;
  std::vector<Bytes> old;
  for (uint16_t node = 0; node < 3; ++node) {
    Closing closing = OpenClosing(closings[node], world_.certificates);
    --closing.epoch;
    old.push_back(SignClosing(closing, world_.identities[node]));
  }
  refuses(ErrorCode::kRefused, old);
  EXPECT_NO_THROW(nodes_[0].Publish(closings));
}

// R28.
TEST_F(ComputeNodeTest, TooFewUploadsAreNotOpened) {
  SendAll(15);
  const AcceptedSet agreed = nodes_.FreezeAndIntersect();
  for (uint16_t node = 0; node < 3; ++node) {
    ExpectError(ErrorCode::kRefused, [&] { nodes_[node].Agree(agreed); });
    EXPECT_FALSE(nodes_.spool(node).closing());
    ExpectError(ErrorCode::kRefused, [&] { nodes_[node].Publish({}); });
  }
}

TEST_F(ComputeNodeTest, AgreesOnlyToWhatItHoldsWhenFrozen) {
  SendAll(17);
  AcceptedSet own;
  for (uint32_t client = 0; client < 17; ++client) {
    own.push_back({IdOf(client), clients_.UploadOf(client)});
  }
  std::ranges::sort(own);
  ExpectError(ErrorCode::kRefused, [&] { nodes_[0].Agree(own); });  // still open
  nodes_[0].Freeze();
  AcceptedSet foreign = own;
  foreign[3].upload[0] ^= 1;
  ExpectError(ErrorCode::kRefused, [&] { nodes_[0].Agree(foreign); });
  AcceptedSet more = own;
  more.push_back({ClientId{}, {}});
  std::ranges::sort(more);
  ExpectError(ErrorCode::kRefused, [&] { nodes_[0].Agree(more); });
  AcceptedSet twice = own;
  twice.insert(twice.begin(), twice.front());
  ExpectError(ErrorCode::kRefused, [&] { nodes_[0].Agree(twice); });
  AcceptedSet unsorted = own;
  std::swap(unsorted[0], unsorted[1]);
  ExpectError(ErrorCode::kRefused, [&] { nodes_[0].Agree(unsorted); });
  EXPECT_NO_THROW(nodes_[0].Agree(own));
}

// R9: whatever is published once is published again, the nodes' noise included.
TEST(ComputeNodeNoiseTest, PublishesTheSameBytesForEver) {
  Contract contract = SmallContract();
  contract.noise_source = NoiseSource::kNodes;
  World world(contract);
  Nodes nodes(world);
  Clients clients(world);
  for (uint32_t client = 0; client < 20; ++client) {
    for (uint16_t node = 0; node < 3; ++node) nodes[node].Accept(clients.Upload(client)[node]);
  }
  const AcceptedSet agreed = nodes.FreezeAndIntersect();
  const std::vector<Bytes> closings = nodes.AgreeAll(agreed);
  std::vector<Bytes> first;
  for (uint16_t node = 0; node < 3; ++node) first.push_back(nodes[node].Publish(closings));
  nodes.RestartAll();
  for (uint16_t node = 0; node < 3; ++node) EXPECT_EQ(nodes[node].Publish(closings), first[node]);
  // The noise is there: three full shares of standard deviation 2^20; 40 of those bound it, and
  // all three coordinates are 0 with probability 2^-64.
  const PrivateSum sum = Aggregate(first, contract, world.certificates);
  const std::vector<Int128> bare = clients.Sum(agreed);
  EXPECT_NE(sum.grid, bare);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LT(std::abs(static_cast<double>(sum.grid[i] - bare[i])), 40 * 0x1p20);
  }
}

TEST_F(ComputeNodeTest, ChangedOrLostSharesAreFound) {
  SendAll(20);
  const AcceptedSet agreed = nodes_.FreezeAndIntersect();
  const std::vector<Bytes> closings = nodes_.AgreeAll(agreed);
  // The same store under another node's keys.
  const NodeSettings settings = world_.Settings(1);
  crypto::SystemRandom random;
  ComputeNode intruder({{world_.contract, kEpoch, 0, settings.round.box},
                        world_.identities[0],
                        world_.certificates,
                        2},
                       world_.directories[0], nodes_.spool(0), random);
  ExpectError(ErrorCode::kBadInput, [&] { intruder.Publish(closings); });
  // The set is what it finds first; the shares are not its own either.
  ExpectError(ErrorCode::kBadInput, [&] {
    SumShares(nodes_.spool(0), StoreKey({world_.contract, kEpoch, 0, settings.round.box}),
              world_.contract, 0, agreed, 2);
  });
}

// A store that gives one client a second time and another never, so that the number is right.
class RepeatingSpool : public Spool {
 public:
  // page: how many shares it gives at a time. The second share is again the first.
  RepeatingSpool(std::vector<StoredShare> shares, size_t page)
      : shares_(std::move(shares)), page_(page) {
    shares_[1] = shares_[0];
  }
  std::vector<StoredShare> Shares(const std::optional<ClientId>&, size_t) override {
    const size_t end = std::min(next_ + page_, shares_.size());
    std::vector<StoredShare> page(shares_.begin() + next_, shares_.begin() + end);
    next_ = end;
    return page;
  }
  std::vector<PutResult> Put(std::span<const StoredShare>) override { return {}; }
  void Freeze() override {}
  bool frozen() override { return true; }
  AcceptedSet Accepted() override { return {}; }
  void RecordClosing(ByteView) override {}
  std::optional<Bytes> closing() override { return {}; }
  Bytes RecordPublication(ByteView) override { return {}; }
  std::optional<Bytes> publication() override { return {}; }

 private:
  std::vector<StoredShare> shares_;
  size_t page_;
  size_t next_ = 0;
};

TEST_F(ComputeNodeTest, AClientThatTheStoreGivesTwiceIsFound) {
  SendAll(20);
  const AcceptedSet agreed = nodes_.FreezeAndIntersect();
  const NodeRound round = world_.Settings(0).round;
  const std::vector<StoredShare> shares = nodes_.spool(0).Shares({}, size_t{1} << 20);
  ASSERT_EQ(shares.size(), 20U);
  // In one page, and over the end of one.
  for (const size_t page : {20, 1}) {
    RepeatingSpool all(shares, page), part(shares, page);
    try {
      SumShares(all, StoreKey(round), round.contract, 0, agreed, 2);
      ADD_FAILURE() << "summed, " << page << " at a time";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "the upload store gave a client twice");
    }
    ExpectError(ErrorCode::kBadInput,
                [&] { SumRange(part, StoreKey(round), round.contract, 0, agreed); });
  }
}

TEST_F(ComputeNodeTest, AggregationRefusesWhatDoesNotBelongTogether) {
  SendAll(20);
  const std::vector<Bytes> closings = nodes_.AgreeAll(nodes_.FreezeAndIntersect());
  std::vector<Bytes> publications;
  for (uint16_t node = 0; node < 3; ++node) publications.push_back(nodes_[node].Publish(closings));
  const auto refuses = [&](ErrorCode code, const std::vector<Bytes>& given) {
    ExpectError(code, [&] { Aggregate(given, world_.contract, world_.certificates); });
  };
  refuses(ErrorCode::kRefused, {publications[0], publications[1]});
  refuses(ErrorCode::kRefused, {publications[0], publications[1], publications[1]});
  Bytes changed = publications[2];
  changed[150] ^= 1;  // a word of the sum
  refuses(ErrorCode::kUntrusted, {publications[0], publications[1], changed});
  refuses(ErrorCode::kPeerFault, {publications[0], publications[1], closings[2]});
  // Node 2 signs what it published for other closings than node 0 and 1 saw: with another
  // commitment, or under another agreement.
  Publication second = OpenPublication(publications[2], world_.contract, world_.certificates);
  second.closing.commitment[0] ^= 1;
  refuses(ErrorCode::kRefused,
          {publications[0], publications[1], SignPublication(second, world_.identities[2])});
  second.closing.commitment[0] ^= 1;
  second.agreement[0] ^= 1;
  refuses(ErrorCode::kRefused,
          {publications[0], publications[1], SignPublication(second, world_.identities[2])});
  EXPECT_NO_THROW(Aggregate(publications, world_.contract, world_.certificates));
}

}  // namespace
}  // namespace partita::sums::compute_node_test
