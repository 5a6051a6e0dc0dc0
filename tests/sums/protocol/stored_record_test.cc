// Stores that were put back to an earlier state, or edited by whoever can write to them: the words
// that were published before, or none. What a ledger adds is in tests/runtime.
#include <algorithm>
#include <utility>

#include "sums/protocol/node_secrets.h"
#include "sums/protocol/sum_worker.h"
#include "tests/sums/protocol/memory_spool.h"
#include "tests/sums/protocol/rounds.h"

namespace partita::sums::stored_record_test {
namespace {

constexpr uint16_t kNode = 0;

Contract RecordContract(NoiseSource source, NoiseLaw law = NoiseLaw::kGaussian) {
  Contract contract = SmallContract(6, 3, 2);
  contract.noise_source = source;
  contract.noise_law = law;
  if (law == NoiseLaw::kLaplace) {
    contract.clip.norm = privacy::Norm::kL1;
    contract.laplace_scale = UInt128{1} << 20;
  }
  return contract;
}

class Round {
 public:
  explicit Round(const Contract& contract) : world(contract, true), clients(world) {
    for (uint32_t client = 0; client < contract.clients; ++client) {
      all.push_back({IdOf(client), clients.UploadOf(client)});
    }
    std::ranges::sort(all);
  }

  ComputeNode Node(Spool& spool, unsigned threads = 2) {
    NodeSettings settings = world.Settings(kNode);
    settings.threads = threads;
    return {settings, world.directories[kNode], spool, random};
  }
  // The other node's, for whatever set this one closed.
  Bytes OtherClosing(ByteView own) const {
    Closing closing = OpenClosing(own, world.certificates);
    closing.node = 1;
    closing.commitment = {};
    return SignClosing(closing, world.identities[1]);
  }
  // A process from its start to its end.
  Bytes Live(Spool& spool, unsigned threads = 2) {
    ComputeNode node = Node(spool, threads);
    if (!spool.frozen()) {
      for (uint32_t client = 0; client < world.contract.clients; ++client) {
        node.Accept(clients.Upload(client)[kNode]);
      }
    }
    node.Freeze();
    const Bytes closing = node.Agree(all);
    return node.Publish(std::vector<Bytes>{closing, OtherClosing(closing)});
  }

  World world;
  Clients clients;
  AcceptedSet all;
  crypto::SystemRandom random;
};

// Put back to each state that it ever was in, `restarts` times each, on 1, 2, ... threads.
void ExpectTheSameWordsFromEveryState(const Contract& contract, unsigned restarts) {
  Round round(contract);
  MemorySpool spool;
  std::vector<MemorySpool::Content> states = {spool.content};
  WatchedSpool watched(
      spool, [](int) {}, [&](int) { states.push_back(spool.content); });
  const Bytes published = round.Live(watched);
  EXPECT_GT(states.size(), 15U);
  for (const MemorySpool::Content& state : states) {
    for (unsigned restart = 1; restart <= restarts; ++restart) {
      spool.content = state;
      EXPECT_EQ(round.Live(spool, restart), published);
    }
  }
}

TEST(StoredRecordTest, RestoredStoresLeadToTheSameWords) {
  ExpectTheSameWordsFromEveryState(RecordContract(NoiseSource::kNodes), 3);
  ExpectTheSameWordsFromEveryState(RecordContract(NoiseSource::kNodes, NoiseLaw::kLaplace), 1);
  ExpectTheSameWordsFromEveryState(RecordContract(NoiseSource::kClients), 3);
}

TEST(StoredRecordTest, AnotherSetHasOtherNoise) {
  Round round(RecordContract(NoiseSource::kNodes));
  MemorySpool spool;
  const auto noise_of = [&](const AcceptedSet& set) {
    spool.content.closing.reset();
    spool.content.publication.reset();
    ComputeNode node = round.Node(spool);
    const Bytes closing = node.Agree(set);
    const Bytes published = node.Publish(std::vector<Bytes>{closing, round.OtherClosing(closing)});
    const Contract& contract = round.world.contract;
    MaskedSum sum = MaskedSum::Of(contract);
    sum.AddWords(OpenPublication(published, contract, round.world.certificates).words);
    std::vector<Int128> noise = sum.Signed();
    MaskedSum masked = MaskedSum::Of(contract);
    for (const AcceptedUpload& upload : set) {
      const uint32_t client = round.clients.NumberOf(upload);
      masked.AddWords(OpenUpload(round.clients.Made(client)[kNode],
                                 round.world.Settings(kNode).round, round.world.directories[kNode])
                          .content);
    }
    const std::vector<Int128> bare = masked.Signed();
    for (size_t i = 0; i < noise.size(); ++i) noise[i] -= bare[i];
    return noise;
  };
  round.Live(spool);
  AcceptedSet fewer = round.all;
  fewer.pop_back();
  const std::vector<Int128> first = noise_of(round.all);
  EXPECT_EQ(noise_of(round.all), first);
  const std::vector<Int128> second = noise_of(fewer);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NE(first[i], second[i]);
}

TEST(StoredRecordTest, EditedSetsAreNotOpened) {
  Round round(RecordContract(NoiseSource::kNodes));
  MemorySpool spool;
  round.Live(spool);
  spool.content.publication.reset();
  const MemorySpool::Content whole = spool.content;
  AcceptedSet fewer = round.all;
  fewer.erase(fewer.begin());
  NodeRound next = round.world.Settings(kNode).round;
  ++next.epoch;
  const Bytes bare = EncodeSet(fewer);
  Bytes resealed = bare;
  resealed.insert(resealed.end(), whole.closing->end() - 32, whole.closing->end());
  for (const Bytes& edited : {bare, resealed, SealSet(next, fewer), Bytes{}}) {
    spool.content = whole;
    spool.content.closing = edited;
    ComputeNode node = round.Node(spool);
    ExpectError(ErrorCode::kBadInput, [&] { node.Recorded(); });
    // Whatever the other node says.
    Closing closing{round.world.contract.study, kEpoch, 0, static_cast<uint32_t>(fewer.size()),
                    SetHash(round.world.contract.study, kEpoch, fewer)};
    const Bytes own = SignClosing(closing, round.world.identities[0]);
    ExpectError(ErrorCode::kBadInput, [&] {
      node.Publish(std::vector<Bytes>{own, round.OtherClosing(own)});
    });
    EXPECT_FALSE(spool.content.publication);
  }
}

TEST(StoredRecordTest, EditedPublicationsAreNotShown) {
  Round round(RecordContract(NoiseSource::kNodes));
  MemorySpool spool;
  const Bytes published = round.Live(spool);
  const MemorySpool::Content whole = spool.content;
  std::vector<Bytes> edited = {
      {}, Bytes(published.size()), Bytes(published.begin(), published.end() - 1)};
  for (const size_t at : {0, 50, 100, 150, 200}) {
    edited.push_back(published);
    edited.back()[at] ^= 1;
  }
  // Signed by the other node, or by this one for another set of the round or for another round.
  Publication publication =
      OpenPublication(published, round.world.contract, round.world.certificates);
  publication.closing.node = 1;
  edited.push_back(SignPublication(publication, round.world.identities[1]));
  publication.closing.node = 0;
  publication.closing.set_hash[0] ^= 1;
  edited.push_back(SignPublication(publication, round.world.identities[0]));
  publication.closing.set_hash[0] ^= 1;
  ++publication.closing.epoch;
  edited.push_back(SignPublication(publication, round.world.identities[0]));
  for (const Bytes& bytes : edited) {
    spool.content.publication = bytes;
    ComputeNode node = round.Node(spool);
    ExpectError(ErrorCode::kBadInput, [&] { node.Published(); });
    ExpectError(ErrorCode::kBadInput, [&] { node.Publish({}); });
    ExpectError(ErrorCode::kBadInput, [&] { round.Live(spool); });
  }
  spool.content = whole;
  EXPECT_EQ(round.Live(spool), published);
}

// A client that sent two contents under one upload id, and somebody who changes one for the other.
TEST(StoredRecordTest, EditedUploadsAreNotOpened) {
  Round round(RecordContract(NoiseSource::kNodes));
  World& world = round.world;
  Splitter splitter(world.contract);
  const auto upload_of = [&](double value) {
    Shares shares = splitter.MakeShares();
    splitter.Split(std::vector<double>(world.contract.dimension, value), world.random, shares);
    crypto::Prg same = SeededStream(1);
    return RegisteredUpload(world.contract, IdOf(0), kEpoch, shares, world.client_keys[0], same)[0];
  };
  const Bytes honest = upload_of(0), swapped = upload_of(100);
  ASSERT_EQ(ParseEnvelope(honest).header.upload, ParseEnvelope(swapped).header.upload);
  ASSERT_NE(honest, swapped);
  const auto share_of = [&](const Bytes& upload) {
    MemorySpool alone;
    ComputeNode node = round.Node(alone);
    EXPECT_EQ(node.Accept(upload), Verdict::kAccepted);
    return alone.content.shares.at(IdOf(0));
  };
  for (AcceptedUpload& upload : round.all) {
    if (upload.client == IdOf(0)) upload.upload = ParseEnvelope(honest).header.upload;
  }
  std::ranges::sort(round.all);

  MemorySpool spool;
  spool.Put(std::vector<StoredShare>{share_of(honest)});
  for (uint32_t client = 1; client < world.contract.clients; ++client) {
    ComputeNode node = round.Node(spool);
    node.Accept(round.clients.Upload(client)[kNode]);
  }
  ComputeNode node = round.Node(spool);
  node.Freeze();
  const Bytes closing = node.Agree(round.all);
  const std::vector<Bytes> closings = {closing, round.OtherClosing(closing)};
  const MemorySpool::Content before = spool.content;
  const Bytes published = node.Publish(closings);

  // In a new process, which has seen the closings.
  spool.content = before;
  spool.content.shares[IdOf(0)] = share_of(swapped);
  ComputeNode restarted = round.Node(spool);
  ExpectError(ErrorCode::kRefused, [&] { restarted.Publish(closings); });
  EXPECT_FALSE(spool.content.publication);
  // In the process that has closed with the right one.
  spool.content = before;
  ComputeNode going = round.Node(spool);
  EXPECT_EQ(going.Agree(round.all), closing);
  spool.content.shares[IdOf(0)] = share_of(swapped);
  EXPECT_EQ(going.Publish(closings), published);
}

// A process that knows its closing from the publication, which then disappears, with the uploads
// changed.
TEST(StoredRecordTest, TheCommitmentOutlivesThePublication) {
  Round round(RecordContract(NoiseSource::kNodes));
  MemorySpool spool;
  const Bytes published = round.Live(spool);
  const std::vector<Bytes> closings = [&] {
    ComputeNode node = round.Node(spool);
    const Bytes closing = node.Agree(round.all);
    return std::vector<Bytes>{closing, round.OtherClosing(closing)};
  }();
  {
    ComputeNode node = round.Node(spool);
    node.Agree(round.all);
    spool.content.publication.reset();
    EXPECT_EQ(node.Publish(closings), published);
  }
  ComputeNode node = round.Node(spool);
  node.Agree(round.all);
  spool.content.publication.reset();
  spool.content.shares.begin()->second.share[40] ^= 1;
  ExpectError(ErrorCode::kBadInput, [&] { node.Publish(closings); });
  EXPECT_FALSE(spool.content.publication);
}

// After the publication the shares may go; the sum is shown all the same.
TEST(StoredRecordTest, PublishesWithoutTheSharesOnceItHas) {
  Round round(RecordContract(NoiseSource::kClients));
  MemorySpool spool;
  const Bytes published = round.Live(spool);
  spool.content.shares.clear();
  EXPECT_EQ(round.Live(spool), published);
  spool.content.publication.reset();
  ExpectError(ErrorCode::kRefused, [&] { round.Live(spool); });
}

TEST(StoredRecordTest, OtherKeysOpenNothing) {
  Round round(RecordContract(NoiseSource::kNodes));
  MemorySpool spool;
  round.Live(spool);
  const MemorySpool::Content published = spool.content;
  spool.content.publication.reset();
  World& world = round.world;
  const crypto::BoxKeyPair box =
      std::exchange(world.boxes[kNode], crypto::MakeBoxKeyPair(world.random));
  ExpectError(ErrorCode::kRefused, [&] { round.Live(spool); });
  {
    ComputeNode node = round.Node(spool);
    ExpectError(ErrorCode::kBadInput, [&] { node.Recorded(); });
  }
  EXPECT_FALSE(spool.content.publication);
  // What was published under another certificate is not shown under this one.
  world.boxes[kNode] = box;
  spool.content = published;
  world.identities[kNode] = crypto::MakeIdentity({.name = "node0"});
  world.certificates[kNode] = world.identities[kNode].certificate;
  ExpectError(ErrorCode::kBadInput, [&] { round.Live(spool); });
}

}  // namespace
}  // namespace partita::sums::stored_record_test
