// R1, R3, R4: the power fails, or the disk does, at every single operation of a compute node's
// round; a new process on what is left of the disk comes to the same set, closing and bytes.
#include <sqlite3.h>

#include <algorithm>
#include <set>

#include "sums/protocol/node_secrets.h"
#include "tests/privacy/ledger/crash_vfs.h"
#include "tests/sums/protocol/rounds.h"

namespace partita::sums::crash_test {
namespace {

using privacy::ledger::CrashDisk;

constexpr char kDisk[] = "dca-crash";
constexpr uint16_t kNode = 1;

Contract CrashContract(NoiseSource source) {
  Contract contract = SmallContract(4, 3, 2);
  contract.max_drop = 1;
  contract.max_collude = 0;
  contract.noise_source = source;
  return contract;
}

// What this node has told others, ever.
struct Told {
  std::set<uint32_t> accepted;
  bool freezing = false;  // asked for, maybe not done
  std::optional<AcceptedSet> frozen;
  std::optional<Bytes> published;
};

class CrashTest : public ::testing::Test {
 protected:
  explicit CrashTest(NoiseSource source = NoiseSource::kClients)
      : disk_(kDisk), world_(CrashContract(source), true), clients_(world_) {
    sqlite3_vfs_register(sqlite3_vfs_find(kDisk), 1);
    for (uint32_t client = 0; client < 4; ++client) {
      clients_.Upload(client);
      all_.push_back({IdOf(client), clients_.UploadOf(client)});
    }
    std::sort(all_.begin(), all_.end());
  }

  // One process from start to end. Throws when the disk fails.
  void Run(Told& told) {
    SqliteSpool spool("spool", world_.contract.study, kEpoch);
    ComputeNode node(world_.Settings(kNode), world_.directories[kNode], spool, random_);
    Accept(node, told, {0});
    Accept(node, told, {1, 2});
    Accept(node, told, {3, 0});
    told.freezing = true;
    const AcceptedSet frozen = node.Freeze();
    EXPECT_EQ(frozen, all_);
    told.frozen = frozen;
    const std::vector<Bytes> closings = {OtherClosing(), node.Agree(frozen)};
    AcceptedSet smaller = frozen;
    smaller.pop_back();
    ExpectError(ErrorCode::kRefused, [&] { node.Agree(smaller); });
    const Bytes published = node.Publish(closings);
    EXPECT_EQ(published, told.published.value_or(published));
    told.published = published;
  }

  void Accept(ComputeNode& node, Told& told, const std::vector<uint32_t>& clients) {
    std::vector<ByteView> uploads;
    for (const uint32_t client : clients) uploads.emplace_back(clients_.Made(client)[kNode]);
    const std::vector<Verdict> verdicts = node.Accept(uploads);
    for (size_t i = 0; i < clients.size(); ++i) {
      if (told.accepted.count(clients[i]) > 0) {
        EXPECT_EQ(verdicts[i], Verdict::kRetried);
      } else {
        EXPECT_TRUE(verdicts[i] == Verdict::kAccepted || verdicts[i] == Verdict::kRetried);
      }
      told.accepted.insert(clients[i]);
    }
  }

  Bytes OtherClosing() const {
    return SignClosing(
        {world_.contract.study, kEpoch, 0, 4, SetHash(world_.contract.study, kEpoch, all_)},
        world_.identities[0]);
  }

  void ExpectTheSum(const Told& told) {
    const Publication publication =
        OpenPublication(told.published.value(), world_.contract, world_.certificates);
    MaskedSum expected = MaskedSum::Of(world_.contract);
    for (uint32_t client = 0; client < 4; ++client) {
      const OpenedUpload upload = OpenUpload(
          clients_.Made(client)[kNode], world_.Settings(kNode).round, world_.directories[kNode]);
      crypto::Key seed;
      std::ranges::copy(upload.content, seed.Expose().begin());
      expected.AddStreams(std::span(&seed, 1));
    }
    if (world_.contract.noise_source == NoiseSource::kNodes) {
      AddOwnNoise(world_.Settings(kNode).round, publication.closing.set_hash, expected);
    }
    EXPECT_TRUE(std::ranges::equal(publication.words, expected.words()));
  }

  // Fails at every operation in turn, until a run ends without; true if the run failed.
  bool FailOnce(uint64_t operation, CrashDisk::Failure failure, CrashDisk::Survivors survivors,
                uint64_t seed) {
    disk_.Load({});
    Told told;
    disk_.FailAt(operation, failure);
    bool threw = false;
    try {
      Run(told);
    } catch (const Error& error) {
      threw = true;
      EXPECT_EQ(error.code(), ErrorCode::kUnreachable) << error.what();
    }
    const bool failed = disk_.failed();
    EXPECT_TRUE(failed || !threw);
    disk_.Crash(survivors, seed);
    Run(told);
    ExpectTheSum(told);
    disk_.Crash(CrashDisk::Survivors::kNothing, seed);
    Run(told);
    return failed;
  }

  void FailEverywhere(CrashDisk::Failure failure, CrashDisk::Survivors survivors) {
    uint64_t operation = 1;
    while (FailOnce(operation, failure, survivors, operation)) {
      ++operation;
      if (HasFailure()) FAIL() << "at operation " << operation - 1;
    }
    EXPECT_GT(operation, 60U);
  }

  CrashDisk disk_;
  World world_;
  Clients clients_;
  AcceptedSet all_;
  crypto::SystemRandom random_;
};

TEST_F(CrashTest, PowerFailsAndUnsyncedWritesAreLost) {
  FailEverywhere(CrashDisk::Failure::kPower, CrashDisk::Survivors::kNothing);
}

TEST_F(CrashTest, PowerFailsAndUnsyncedWritesAreThere) {
  FailEverywhere(CrashDisk::Failure::kPower, CrashDisk::Survivors::kEverything);
}

TEST_F(CrashTest, PowerFailsAndUnsyncedWritesAreTorn) {
  FailEverywhere(CrashDisk::Failure::kPower, CrashDisk::Survivors::kPart);
}

TEST_F(CrashTest, TheDiskReportsAnError) {
  FailEverywhere(CrashDisk::Failure::kIo, CrashDisk::Survivors::kEverything);
}

TEST_F(CrashTest, TheDiskReportsAnErrorAfterTheFact) {
  FailEverywhere(CrashDisk::Failure::kIoDone, CrashDisk::Survivors::kEverything);
}

TEST_F(CrashTest, TheDiskIsFull) {
  FailEverywhere(CrashDisk::Failure::kNoSpace, CrashDisk::Survivors::kEverything);
}

// The node draws noise of its own: what it has once told must come again.
class NodeNoiseCrashTest : public CrashTest {
 protected:
  NodeNoiseCrashTest() : CrashTest(NoiseSource::kNodes) {}
};

TEST_F(NodeNoiseCrashTest, PowerFailsAndUnsyncedWritesAreTorn) {
  FailEverywhere(CrashDisk::Failure::kPower, CrashDisk::Survivors::kPart);
}

}  // namespace
}  // namespace partita::sums::crash_test
