// The promises of a spool, kept by the embedded one and by PostgreSQL's; and that the checks notice
// broken ones.
#include "sums/spool/spool.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "tests/sums/protocol/postgres_server.h"
#include "tests/sums/protocol/shares.h"

namespace partita::sums::spool_test {
namespace {

using OpenSpool = std::function<std::unique_ptr<Spool>()>;

// Whether a client counts once, also after a restart.
bool CountsOnceAcrossRestarts(const OpenSpool& open) {
  PutOne(*open(), Share(1, 1));
  const auto spool = open();
  return PutOne(*spool, Share(1, 1)) == PutResult::kIdentical &&
         PutOne(*spool, Share(1, 2)) == PutResult::kDifferent && spool->Accepted().size() == 1;
}

// Rounds of a race between putting and freezing: how many had a share stored after the freeze had
// returned, or acknowledged but not in the set that was read after the freeze.
int LateInclusions(const std::function<std::unique_ptr<Spool>(int round)>& open, int rounds) {
  int late = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto spool = open(round);
    AcceptedSet frozen;
    PutResult result = PutResult::kFrozen;
    std::barrier start(2);
    std::thread putting([&] {
      start.arrive_and_wait();
      result = PutOne(*spool, Share(1, 1));
    });
    start.arrive_and_wait();
    spool->Freeze();
    frozen = spool->Accepted();
    putting.join();
    const bool acknowledged = result == PutResult::kStored;
    if (frozen != spool->Accepted() || acknowledged != (frozen.size() == 1)) ++late;
  }
  return late;
}

// A store that outlives the objects that open it.
class Store {
 public:
  virtual ~Store() = default;
  virtual std::unique_ptr<Spool> Open(uint64_t epoch, const StudyHash& study) = 0;
};

class SqliteStore : public Store {
 public:
  std::unique_ptr<Spool> Open(uint64_t epoch, const StudyHash& study) override {
    return std::make_unique<SqliteSpool>(folder_ / "spool", study, epoch);
  }

 private:
  TempFolder folder_;
};

class PostgresStore : public Store {
 public:
  std::unique_ptr<Spool> Open(uint64_t epoch, const StudyHash& study) override {
    return std::make_unique<PostgresSpool>(SharedServer().Settings(database_), study, epoch);
  }

 private:
  const std::string database_ = SharedServer().MakeDatabase();
};

struct StoreKind {
  const char* name;
  int race_rounds;
  std::unique_ptr<Store> (*make)();
};

class SpoolTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::unique_ptr<Spool> OpenRound(uint64_t epoch = 1, const StudyHash& study = {}) {
    return store_->Open(epoch, study);
  }
  std::unique_ptr<Store> store_ = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(Stores, SpoolTest,
                         ::testing::Values(StoreKind{"sqlite", 300,
                                                     []() -> std::unique_ptr<Store> {
                                                       return std::make_unique<SqliteStore>();
                                                     }},
                                           StoreKind{"postgres", 30,
                                                     []() -> std::unique_ptr<Store> {
                                                       return std::make_unique<PostgresStore>();
                                                     }}),
                         [](const ::testing::TestParamInfo<StoreKind>& kind) {
                           return std::string(kind.param.name);
                         });

// The same with clients that come all the time: what was acknowledged before the freeze returned is
// what is there afterwards, for ever.
TEST_P(SpoolTest, FreezesInTheMiddleOfAStream) {
  constexpr uint32_t kPutters = 4;
  const auto spool = OpenRound();
  std::atomic<uint32_t> stored = 0;
  std::array<std::set<ClientId>, kPutters> acknowledged;
  std::vector<std::thread> threads;
  for (uint32_t putter = 0; putter < kPutters; ++putter) {
    threads.emplace_back([&, putter] {
      for (uint32_t client = putter;; client += kPutters) {
        if (PutOne(*spool, Share(client, 1)) == PutResult::kFrozen) return;
        acknowledged[putter].insert(IdOf(client));
        ++stored;
      }
    });
  }
  while (stored < 200) std::this_thread::yield();
  spool->Freeze();
  const AcceptedSet frozen = spool->Accepted();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(spool->Accepted(), frozen);
  std::set<ClientId> all;
  for (const std::set<ClientId>& some : acknowledged) all.insert(some.begin(), some.end());
  EXPECT_EQ(all.size(), frozen.size());
  for (const AcceptedUpload& upload : frozen) EXPECT_TRUE(all.contains(upload.client));
}

class SqliteSpoolTest : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteSpool> OpenRound(uint64_t epoch = 1) {
    return std::make_unique<SqliteSpool>(folder_ / "spool", StudyHash{}, epoch);
  }
  TempFolder folder_;
};

TEST_P(SpoolTest, TakesEachClientOnce) {
  EXPECT_TRUE(CountsOnceAcrossRestarts([&] { return OpenRound(); }));
  const auto spool = OpenRound();
  const std::vector<StoredShare> batch = {Share(2, 1), Share(2, 1), Share(2, 3), Share(3, 1)};
  EXPECT_EQ(spool->Put(batch), (std::vector<PutResult>{PutResult::kStored, PutResult::kIdentical,
                                                       PutResult::kDifferent, PutResult::kStored}));
}

TEST_P(SpoolTest, KeepsRoundsApart) {
  PutOne(*OpenRound(1), Share(1, 1));
  EXPECT_EQ(PutOne(*OpenRound(2), Share(1, 2)), PutResult::kStored);
  EXPECT_EQ(PutOne(*OpenRound(~uint64_t{0}), Share(1, 3)), PutResult::kStored);
  OpenRound(2)->Freeze();
  EXPECT_FALSE(OpenRound(1)->frozen());
  EXPECT_TRUE(OpenRound(2)->frozen());
  StudyHash other{};
  other[31] = 1;
  EXPECT_TRUE(OpenRound(1, other)->Accepted().empty());
}

TEST_P(SpoolTest, TakesNothingOnceFrozenButKnowsRetries) {
  PutOne(*OpenRound(), Share(1, 1));
  OpenRound()->Freeze();
  const auto spool = OpenRound();
  EXPECT_EQ(PutOne(*spool, Share(1, 1)), PutResult::kIdentical);
  EXPECT_EQ(PutOne(*spool, Share(1, 2)), PutResult::kDifferent);
  EXPECT_EQ(PutOne(*spool, Share(2, 1)), PutResult::kFrozen);
  EXPECT_EQ(spool->Accepted().size(), 1U);
}

TEST_P(SpoolTest, GivesSharesInOrderPageByPage) {
  const auto spool = OpenRound();
  std::map<ClientId, Bytes> expected;
  std::vector<StoredShare> batch;
  for (uint32_t client = 0; client < 100; ++client) {
    // An empty one, small ones, and one larger than a page.
    batch.push_back(Share(client, 1, client == 50 ? 5000 : client * 7));
    expected[IdOf(client)] = batch.back().share;
  }
  spool->Put(batch);
  std::optional<ClientId> after;
  auto next = expected.begin();
  int pages = 0;
  for (auto page = spool->Shares(after, 2000); !page.empty(); page = spool->Shares(after, 2000)) {
    for (const StoredShare& share : page) {
      ASSERT_NE(next, expected.end());
      EXPECT_EQ(share.client, next->first);
      EXPECT_EQ(share.share, next->second);
      ++next;
    }
    after = page.back().client;
    ++pages;
  }
  EXPECT_EQ(next, expected.end());
  EXPECT_GT(pages, 10);
  EXPECT_EQ(spool->Shares({}, 0).size(), 1U);
  EXPECT_EQ(spool->Shares({}, size_t{1} << 30).size(), 100U);
}

TEST_P(SpoolTest, RecordsOneClosingAndOnePublication) {
  const Bytes first = {1};
  const Bytes second = {2};
  auto spool = OpenRound();
  EXPECT_FALSE(spool->closing());
  ExpectError(ErrorCode::kRefused, [&] { spool->RecordClosing(first); });  // not frozen
  spool->Freeze();
  ExpectError(ErrorCode::kRefused, [&] { spool->RecordPublication(first); });  // not closed
  spool->RecordClosing(first);
  spool.reset();
  spool = OpenRound();
  EXPECT_EQ(spool->closing(), first);
  EXPECT_NO_THROW(spool->RecordClosing(first));
  ExpectError(ErrorCode::kRefused, [&] { spool->RecordClosing(second); });
  EXPECT_EQ(spool->RecordPublication(first), first);
  EXPECT_EQ(spool->RecordPublication(second), first);
  spool.reset();
  EXPECT_EQ(OpenRound()->publication(), first);
}

TEST_F(SqliteSpoolTest, IsItsOwnersAlone) {
  const mode_t before = umask(0);
  const auto spool = OpenRound();
  umask(before);
  PutOne(*spool, Share(1, 1));
  struct stat found {};
  ASSERT_EQ(stat((folder_ / "spool").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

// R11: the second opening is refused while the first is there.
TEST_F(SqliteSpoolTest, IsForOneProcess) {
  const auto spool = OpenRound();
  ExpectError(ErrorCode::kUnreachable, [&] { OpenRound(); });
}

TEST_F(SqliteSpoolTest, RefusesFilesOfOthers) {
  std::ofstream(folder_ / "spool") << std::string(5000, 'x');
  ExpectError(ErrorCode::kBadInput, [&] { OpenRound(); });
  std::filesystem::remove(folder_ / "spool");
  sqlite3* other = nullptr;
  sqlite3_open((folder_ / "spool").c_str(), &other);
  sqlite3_exec(other, "CREATE TABLE round (id)", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  ExpectError(ErrorCode::kBadInput, [&] { OpenRound(); });
  ExpectError(ErrorCode::kUnreachable,
              [&] { SqliteSpool(folder_ / "no such folder" / "spool", {}, 1); });
}

// R24 for the store: freezing and storing exclude each other.
TEST_P(SpoolTest, FreezesAtOneInstant) {
  const auto open = [&](int round) { return OpenRound(static_cast<uint64_t>(round)); };
  EXPECT_EQ(LateInclusions(open, GetParam().race_rounds), 0);
}

// --- The checks themselves ----------------------------------------------------------------------

// What a "disk" holds, for the faulty spools.
struct FakeDisk {
  std::mutex mutex;
  std::vector<StoredShare> shares;
  bool frozen = false;
};

// Fails in one of two ways: it remembers in its own memory only whom it has seen, or it looks
// whether the round is frozen before it starts to write.
class FaultySpool : public Spool {
 public:
  enum class Fault { kForgetsClients, kFreezesLoosely };
  FaultySpool(FakeDisk& disk, Fault fault) : disk_(disk), fault_(fault) {}

  std::vector<PutResult> Put(std::span<const StoredShare> shares) override {
    const bool was_frozen = frozen();
    if (fault_ == Fault::kFreezesLoosely) std::this_thread::yield();
    const std::lock_guard lock(disk_.mutex);
    std::vector<PutResult> results;
    for (const StoredShare& share : shares) {
      const auto seen = seen_.find(share.client);
      if (seen != seen_.end()) {
        results.push_back(seen->second == share.request ? PutResult::kIdentical
                                                        : PutResult::kDifferent);
      } else if (fault_ == Fault::kFreezesLoosely ? was_frozen : disk_.frozen) {
        results.push_back(PutResult::kFrozen);
      } else {
        seen_[share.client] = share.request;
        disk_.shares.push_back(share);
        results.push_back(PutResult::kStored);
      }
    }
    return results;
  }
  void Freeze() override {
    const std::lock_guard lock(disk_.mutex);
    disk_.frozen = true;
  }
  bool frozen() override {
    const std::lock_guard lock(disk_.mutex);
    return disk_.frozen;
  }
  AcceptedSet Accepted() override {
    const std::lock_guard lock(disk_.mutex);
    AcceptedSet set;
    for (const StoredShare& share : disk_.shares) set.push_back({share.client, share.upload});
    return set;
  }
  std::vector<StoredShare> Shares(const std::optional<ClientId>&, size_t) override { return {}; }
  void RecordClosing(ByteView) override {}
  std::optional<Bytes> closing() override { return {}; }
  Bytes RecordPublication(ByteView) override { return {}; }
  std::optional<Bytes> publication() override { return {}; }

 private:
  FakeDisk& disk_;
  Fault fault_;
  std::map<ClientId, crypto::Digest> seen_;
};

TEST(FaultySpoolTest, MemoryThatForgetsIsCaught) {
  FakeDisk disk;
  EXPECT_FALSE(CountsOnceAcrossRestarts(
      [&] { return std::make_unique<FaultySpool>(disk, FaultySpool::Fault::kForgetsClients); }));
}

// One round in thousands would do; the race is won far more often.
TEST(FaultySpoolTest, LooseFreezingIsCaught) {
  int late = 0;
  for (int attempt = 0; attempt < 100 && late == 0; ++attempt) {
    std::vector<std::unique_ptr<FakeDisk>> disks(200);
    late = LateInclusions(
        [&](int round) {
          auto& disk = disks[static_cast<size_t>(round)];
          disk = std::make_unique<FakeDisk>();
          return std::make_unique<FaultySpool>(*disk, FaultySpool::Fault::kFreezesLoosely);
        },
        200);
  }
  EXPECT_GT(late, 0);
}

}  // namespace
}  // namespace partita::sums::spool_test
