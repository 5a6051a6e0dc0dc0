// Summing by several workers: the same words whoever did which part, leases that run out, workers
// that come late, stores that were changed.
#include "sums/protocol/sum_worker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "sums/protocol/node_secrets.h"
#include "sums/spool/spool_sum.h"
#include "tests/sums/protocol/postgres_server.h"
#include "tests/sums/protocol/rounds.h"

namespace partita::sums::sum_worker_test {
namespace {

constexpr uint32_t kClients = 40;

Contract WorkContract() { return SmallContract(kClients, 5, 2); }

// Time that passes only when somebody waits.
struct FakeClock {
  std::atomic<int64_t> now_ms = 1000000;
  WorkClock Clock() {
    return {[this] { return now_ms.load(); }, [this](int64_t ms) { now_ms += ms; }};
  }
};

class SumWorkerTest : public ::testing::TestWithParam<uint16_t> {
 protected:
  SumWorkerTest() : world_(WorkContract(), true), clients_(world_) {
    const auto spool = Open();
    crypto::SystemRandom random;
    ComputeNode node(world_.Settings(kNode), world_.directories[kNode], *spool, random);
    for (uint32_t client = 0; client < kClients; ++client) {
      EXPECT_EQ(node.Accept(clients_.Upload(client)[kNode]), Verdict::kAccepted);
    }
    agreed_ = node.Freeze();
    // Accepted here, but not elsewhere.
    for (const size_t dropped : {30, 11, 0}) agreed_.erase(agreed_.begin() + dropped);
    spool->RecordClosing(SealSet(Round(), agreed_));
    expected_ = WordsOf(SumShares(*spool, StoreKey(Round()), world_.contract, kNode, agreed_, 1));
  }

  std::unique_ptr<PostgresSpool> Open() const {
    return std::make_unique<PostgresSpool>(SharedServer().Settings(database_),
                                           world_.contract.study, kEpoch);
  }
  NodeRound Round() const { return world_.Settings(kNode).round; }
  WorkerSettings Worker(FakeClock& clock) const {
    WorkerSettings settings;
    settings.threads = 1;
    settings.chunk_uploads = 4;
    settings.clock = clock.Clock();
    return settings;
  }
  static Bytes WordsOf(const MaskedSum& sum) { return {sum.words().begin(), sum.words().end()}; }
  Bytes Sum(Spool& spool, const WorkerSettings& settings) {
    return WordsOf(SumWithWorkers(spool, Round(), agreed_, settings, random_));
  }
  postgres::Rows Administer(const std::string& sql) const {
    return SharedServer().Administer(database_, sql);
  }

  const uint16_t kNode = GetParam();
  const std::string database_ = SharedServer().MakeDatabase();
  World world_;
  Clients clients_;
  AcceptedSet agreed_;
  Bytes expected_;
  FakeClock clock_;
  crypto::SystemRandom random_;
};

// Vectors are added, or seeds expanded.
INSTANTIATE_TEST_SUITE_P(Nodes, SumWorkerTest, ::testing::Values(uint16_t{0}, uint16_t{1}));

TEST_P(SumWorkerTest, ChunksOfAnySizeGiveTheSameWords) {
  for (const uint32_t chunk_uploads : {1U, 4U, 36U, 37U, 1000U, 0U}) {
    Administer("DELETE FROM partita_dca.chunk; UPDATE partita_dca.round SET chunk_uploads = NULL");
    WorkerSettings settings = Worker(clock_);
    settings.chunk_uploads = chunk_uploads;
    EXPECT_EQ(Sum(*Open(), settings), expected_) << chunk_uploads;
  }
  // Another worker, with other wishes, keeps to what is cut.
  EXPECT_EQ(Sum(*Open(), Worker(clock_)), expected_);
}

TEST_P(SumWorkerTest, ThreadsAndProcessesGiveTheSameWords) {
  std::vector<pid_t> processes;
  for (int i = 0; i < 2; ++i) {
    const pid_t process = fork();
    if (process == 0) {
      try {
        crypto::SystemRandom random;
        WorkerSettings settings;
        settings.threads = 1;
        settings.chunk_uploads = 2;
        HelpToSum(*Open(), Round(), settings, random);
        _exit(0);
      } catch (...) {
        _exit(1);
      }
    }
    processes.push_back(process);
  }
  WorkerSettings settings;
  settings.threads = 3;
  settings.chunk_uploads = 2;
  EXPECT_EQ(Sum(*Open(), settings), expected_);
  for (const pid_t process : processes) {
    int status = 1;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Administer("SELECT 1 FROM partita_dca.chunk").size(), 19U);
}

// The chunks of a worker that died are taken over when its lease has run out, not before.
TEST_P(SumWorkerTest, TakesOverFromTheDead) {
  const auto spool = Open();
  spool->CutChunks(static_cast<uint32_t>(agreed_.size()), 4);
  const int64_t start = clock_.now_ms;
  EXPECT_EQ(spool->TakeChunk("dead", start, start + 60000), 0U);
  EXPECT_EQ(spool->TakeChunk("dead", start, start + 60000), 1U);
  EXPECT_EQ(Sum(*Open(), Worker(clock_)), expected_);
  EXPECT_GE(clock_.now_ms, start + 60000);
  EXPECT_LE(clock_.now_ms, start + 60000 + 200);
  const postgres::Rows attempts = Administer(
      "SELECT 1 FROM partita_dca.chunk WHERE attempts = 2 AND number <= 1 AND worker = 'worker'");
  EXPECT_EQ(attempts.size(), 2U);
  EXPECT_EQ(Administer("SELECT 1 FROM partita_dca.chunk WHERE attempts = 1").size(), 8U);
}

TEST_P(SumWorkerTest, NoChunkIsHeldTwice) {
  const auto spool = Open();
  spool->CutChunks(37, 1);
  std::array<std::vector<uint32_t>, 4> held;
  std::vector<std::thread> threads;
  for (std::vector<uint32_t>& own : held) {
    threads.emplace_back([&] {
      for (int take = 0; take < 50; ++take) {
        const auto chunk = spool->TakeChunk("racer", 0, 10);
        if (!chunk) return;
        own.push_back(*chunk);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint32_t> all;
  size_t count = 0;
  for (const std::vector<uint32_t>& own : held) {
    all.insert(own.begin(), own.end());
    count += own.size();
  }
  EXPECT_EQ(all.size(), 37U);
  EXPECT_EQ(count, 37U);
}

// A store that lets its first reader wait until it is told to go on.
class PausingSpool : public Spool {
 public:
  explicit PausingSpool(std::unique_ptr<PostgresSpool> spool) : spool_(std::move(spool)) {}
  std::vector<PutResult> Put(std::span<const StoredShare> shares) override {
    return spool_->Put(shares);
  }
  void Freeze() override { spool_->Freeze(); }
  bool frozen() override { return spool_->frozen(); }
  AcceptedSet Accepted() override { return spool_->Accepted(); }
  std::vector<StoredShare> Shares(const std::optional<ClientId>& after, size_t max) override {
    reading = true;
    reading.notify_all();
    go_on.wait(false);
    return spool_->Shares(after, max);
  }
  void RecordClosing(ByteView closing) override { spool_->RecordClosing(closing); }
  std::optional<Bytes> closing() override { return spool_->closing(); }
  Bytes RecordPublication(ByteView publication) override {
    return spool_->RecordPublication(publication);
  }
  std::optional<Bytes> publication() override { return spool_->publication(); }
  ChunkBoard* chunks() override { return spool_->chunks(); }

  std::atomic<bool> reading = false, go_on = false;

 private:
  std::unique_ptr<PostgresSpool> spool_;
};

// A worker that was paused in its chunk comes back when all is done: it changes nothing.
TEST_P(SumWorkerTest, ALateWorkerChangesNothing) {
  PausingSpool paused(Open());
  uint32_t late = 1000;
  std::thread worker([&] {
    crypto::SystemRandom random;
    late = HelpToSum(paused, Round(), Worker(clock_), random);
  });
  paused.reading.wait(false);
  const auto spool = Open();
  EXPECT_EQ(Sum(*spool, Worker(clock_)), expected_);
  const std::optional<Bytes> before = spool->ChunkResult(0);
  paused.go_on = true;
  paused.go_on.notify_all();
  worker.join();
  EXPECT_EQ(late, 0U);
  EXPECT_EQ(spool->ChunkResult(0), before);
  EXPECT_EQ(Sum(*spool, Worker(clock_)), expected_);
  EXPECT_EQ(Administer("SELECT 1 FROM partita_dca.chunk WHERE number = 0 AND attempts = 2").size(),
            1U);
}

// Results that the server lost in a crash are made again.
TEST_P(SumWorkerTest, LostResultsAreMadeAgain) {
  const auto spool = Open();
  EXPECT_EQ(Sum(*spool, Worker(clock_)), expected_);
  Administer("UPDATE partita_dca.chunk SET result = NULL, until_ms = NULL WHERE number = 5");
  EXPECT_EQ(Sum(*spool, Worker(clock_)), expected_);
}

// Chunks that are gone, and chunks of no size, end in an error, not in waiting for ever.
TEST_P(SumWorkerTest, MissingChunksAreFound) {
  const auto spool = Open();
  EXPECT_EQ(Sum(*spool, Worker(clock_)), expected_);
  Administer("DELETE FROM partita_dca.chunk WHERE number = 3");
  ExpectError(ErrorCode::kBadInput, [&] { Sum(*spool, Worker(clock_)); });
  Administer("UPDATE partita_dca.round SET chunk_uploads = 0");
  ExpectError(ErrorCode::kBadInput, [&] { Sum(*spool, Worker(clock_)); });
}

TEST_P(SumWorkerTest, ChangedResultsAreFound) {
  const auto spool = Open();
  for (const char* change :
       {"UPDATE partita_dca.chunk SET result = "
        "(SELECT result FROM partita_dca.chunk WHERE number = 0) WHERE number = 1",
        "UPDATE partita_dca.chunk SET result = '' WHERE number = 9",
        "UPDATE partita_dca.chunk SET result = set_byte(result, 40, get_byte(result, 40) # 1) "
        "WHERE number = 3"}) {
    Administer("DELETE FROM partita_dca.chunk; UPDATE partita_dca.round SET chunk_uploads = NULL");
    EXPECT_EQ(Sum(*spool, Worker(clock_)), expected_);
    Administer(change);
    ExpectError(ErrorCode::kBadInput, [&] { Sum(*spool, Worker(clock_)); });
  }
}

// The results of one agreed set are none of another.
TEST_P(SumWorkerTest, ResultsBelongToTheirSet) {
  const auto spool = Open();
  EXPECT_EQ(Sum(*spool, Worker(clock_)), expected_);
  agreed_.pop_back();
  ExpectError(ErrorCode::kBadInput, [&] { Sum(*spool, Worker(clock_)); });
}

TEST_P(SumWorkerTest, ChangedAndMissingSharesAreFound) {
  const auto spool = Open();
  Administer(
      "UPDATE partita_dca.share SET share = set_byte(share, 30, get_byte(share, 30) # 1) "
      "WHERE client = (SELECT client FROM partita_dca.share ORDER BY client DESC LIMIT 1)");
  ExpectError(ErrorCode::kBadInput, [&] { Sum(*spool, Worker(clock_)); });
  EXPECT_EQ(spool->OpenChunks(), 1U);
  Administer(
      "DELETE FROM partita_dca.share WHERE client = "
      "(SELECT client FROM partita_dca.share ORDER BY client DESC LIMIT 1)");
  clock_.now_ms += 60000;
  ExpectError(ErrorCode::kBadInput, [&] { Sum(*spool, Worker(clock_)); });
}

TEST_P(SumWorkerTest, NeedsAClosedRoundAndASharedStore) {
  PostgresSpool open(SharedServer().Settings(database_), world_.contract.study, kEpoch + 1);
  ExpectError(ErrorCode::kRefused, [&] { HelpToSum(open, Round(), Worker(clock_), random_); });
  ExpectError(ErrorCode::kRefused, [&] { open.CutChunks(4, 2); });
  TempFolder folder;
  SqliteSpool alone(folder / "spool", world_.contract.study, kEpoch);
  alone.Freeze();
  alone.RecordClosing(SealSet(Round(), agreed_));
  ExpectError(ErrorCode::kUsage, [&] { HelpToSum(alone, Round(), Worker(clock_), random_); });
}

// A set that the node did not record is not summed.
TEST_P(SumWorkerTest, AnEditedSetIsFound) {
  Administer("UPDATE partita_dca.round SET closing = substr(closing, 49)");
  ExpectError(ErrorCode::kBadInput, [&] { HelpToSum(*Open(), Round(), Worker(clock_), random_); });
  EXPECT_EQ(Administer("SELECT 1 FROM partita_dca.chunk").size(), 0U);
}

// Whole rounds of nodes with a database each: the sum is exactly that of the agreed set.
TEST(PostgresRoundTest, OpensExactlyTheSum) {
  World world(SmallContract(20, 3, 3));
  Clients clients(world);
  crypto::SystemRandom random;
  std::vector<std::unique_ptr<PostgresSpool>> spools;
  std::vector<std::unique_ptr<ComputeNode>> nodes;
  std::vector<AcceptedSet> sets;
  for (uint16_t node = 0; node < 3; ++node) {
    PostgresSettings settings = SharedServer().Settings(SharedServer().MakeDatabase());
    settings.node = world.node_keys[node];
    spools.push_back(std::make_unique<PostgresSpool>(settings, world.contract.study, kEpoch));
    nodes.push_back(std::make_unique<ComputeNode>(world.Settings(node), world.directories[node],
                                                  *spools[node], random));
    for (uint32_t client = node; client < 20; ++client) {
      EXPECT_EQ(nodes[node]->Accept(clients.Upload(client)[node]), Verdict::kAccepted);
    }
    sets.push_back(nodes[node]->Freeze());
    EXPECT_EQ(nodes[node]->Accept(clients.Upload(0)[node]),
              node == 0 ? Verdict::kRetried : Verdict::kLate);
  }
  const AcceptedSet agreed = Intersect(sets);
  EXPECT_EQ(agreed.size(), 18U);
  std::vector<Bytes> closings;
  for (auto& node : nodes) closings.push_back(node->Agree(agreed));
  std::vector<Bytes> publications;
  for (auto& node : nodes) publications.push_back(node->Publish(closings));
  const PrivateSum sum = Aggregate(publications, world.contract, world.certificates);
  EXPECT_EQ(sum.grid, clients.Sum(agreed));
  EXPECT_EQ(nodes[1]->Publish(closings), publications[1]);
}

// Two processes of one node publish at the same time, and each draws the noise: the same one.
TEST(PostgresRoundTest, ProcessesOfOneNodePublishTheSameBytes) {
  Contract contract = SmallContract(20, 3, 2);
  contract.noise_source = NoiseSource::kNodes;
  World world(contract, true);
  Clients clients(world);
  const PostgresSettings settings = SharedServer().Settings(SharedServer().MakeDatabase());
  crypto::SystemRandom random;
  PostgresSpool spool(settings, contract.study, kEpoch);
  ComputeNode node(world.Settings(1), world.directories[1], spool, random);
  for (uint32_t client = 0; client < 20; ++client) node.Accept(clients.Upload(client)[1]);
  const AcceptedSet agreed = node.Freeze();
  EXPECT_EQ(agreed.size(), 20U);
  const std::vector<Bytes> closings = {
      SignClosing({contract.study, kEpoch, 0, 20, SetHash(contract.study, kEpoch, agreed)},
                  world.identities[0]),
      node.Agree(agreed)};
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t process = fork();
  if (process == 0) {
    try {
      crypto::SystemRandom own_random;
      PostgresSpool own_spool(settings, contract.study, kEpoch);
      ComputeNode own(world.Settings(1), world.directories[1], own_spool, own_random);
      const Bytes published = own.Publish(closings);
      const ssize_t written = write(told[1], published.data(), published.size());
      _exit(written == static_cast<ssize_t>(published.size()) ? 0 : 1);
    } catch (...) {
      _exit(1);
    }
  }
  const Bytes published = node.Publish(closings);
  int status = 1;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
  close(told[1]);
  Bytes other(published.size() + 1);
  const ssize_t got = read(told[0], other.data(), other.size());
  other.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_EQ(other, published);
  close(told[0]);
}

}  // namespace
}  // namespace partita::sums::sum_worker_test
