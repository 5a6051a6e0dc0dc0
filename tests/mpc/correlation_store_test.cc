// No package is used twice: at every crash point, after a thousand crashes of two parties, after a
// restored backup; and what is refused.
#include "mpc/correlation_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.h"
#include "net/memory_transport.h"
#include "tests/mpc/crash_storage.h"

namespace partita::mpc::testing::correlation_store_test {
namespace {

const std::vector<std::string> kFingerprints = {std::string(64, 'a'), std::string(64, 'b')};

StoreIdentity IdentityOf(uint64_t self, uint8_t generation = 1) {
  StoreIdentity identity;
  identity.generation.fill(generation);
  identity.fingerprints = kFingerprints;
  identity.self = self;
  identity.study = "trial";
  identity.study_hash.fill(3);
  return identity;
}

crypto::Digest Label(uint8_t value = 7) {
  crypto::Digest label;
  label.fill(value);
  return label;
}

// Different for every number and generation of writing; zeros at its ends.
Bytes PackageOf(uint64_t number, size_t size = 1500) {
  Bytes bytes(size);
  std::mt19937_64 random(number);
  for (size_t i = 10; i + 10 < size; ++i) bytes[i] = static_cast<uint8_t>(random());
  return bytes;
}

ErrorCode CodeOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

CorrelationStore Reopen(Disk& disk, uint64_t self = 0) {
  return CorrelationStore::Open(disk.Open(), IdentityOf(self, 99));
}

TEST(CorrelationStoreTest, PackagesComeBackOnce) {
  Disk disk(1);
  {
    CorrelationStore store = CorrelationStore::Create(disk.Open(), IdentityOf(0));
    EXPECT_TRUE(store.Numbers().empty());
    for (uint64_t number : {0, 1, 2, 5}) store.Append(number, Label(), PackageOf(number));
    store.Append(6, Label(), {});
    EXPECT_EQ(store.Numbers(), (std::vector<uint64_t>{0, 1, 2, 5, 6}));
    EXPECT_EQ(CodeOf([&] { store.Append(6, Label(), {}); }), ErrorCode::kUsage);
  }
  CorrelationStore store = Reopen(disk);
  EXPECT_EQ(store.identity(), IdentityOf(0));
  EXPECT_EQ(store.NextNumber(), 7u);
  ASSERT_EQ(store.Packages().size(), 5u);
  EXPECT_EQ(store.Packages()[3].number, 5u);
  EXPECT_EQ(store.Packages()[3].size, 1500u);
  EXPECT_EQ(store.Packages()[3].label, Label());
  EXPECT_EQ(store.Take(1, Label()), PackageOf(1));
  EXPECT_EQ(store.mark(), 2u);
  for (uint64_t number : {0, 1, 3, 7}) {
    EXPECT_EQ(CodeOf([&] { store.Take(number, Label()); }), ErrorCode::kRefused) << number;
  }
  EXPECT_EQ(CodeOf([&] { store.Take(2, Label(8)); }), ErrorCode::kRefused);
  EXPECT_EQ(store.mark(), 2u) << "a refusal spends nothing";
  EXPECT_EQ(store.Take(2, Label()), PackageOf(2));
  EXPECT_EQ(Reopen(disk).Numbers(), (std::vector<uint64_t>{5, 6}));
  store.Spend(6);
  store.Spend(3);
  EXPECT_EQ(store.mark(), 6u);
  EXPECT_EQ(store.Take(6, Label()), Bytes{});
  EXPECT_EQ(Reopen(disk).mark(), 7u);
  EXPECT_EQ(Reopen(disk).NextNumber(), 7u);
}

// Nothing of a spent package is left in the file, and opening writes nothing when all is erased.
TEST(CorrelationStoreTest, SpentPackagesAreOverwritten) {
  Disk disk(2);
  CorrelationStore store = CorrelationStore::Create(disk.Open(), IdentityOf(0));
  for (uint64_t number : {0, 1, 2}) store.Append(number, Label(), PackageOf(number));
  auto is_there = [&](uint64_t number) {
    const Bytes package = PackageOf(number);
    const ByteView piece = ByteView(package).subspan(700, 16);
    return std::search(disk.durable().begin(), disk.durable().end(), piece.begin(), piece.end()) !=
           disk.durable().end();
  };
  EXPECT_TRUE(is_there(0) && is_there(1) && is_there(2));
  store.Take(1, Label());
  EXPECT_FALSE(is_there(0) || is_there(1));
  EXPECT_TRUE(is_there(2));
  const Bytes before = disk.durable();
  EXPECT_EQ(Reopen(disk).Take(2, Label()), PackageOf(2));
  EXPECT_FALSE(before == disk.durable());
}

TEST(CorrelationStoreTest, TheMarkIsDurableBeforeThePackageIsRead) {
  Disk disk(3);
  CorrelationStore store = CorrelationStore::Create(disk.Open(), IdentityOf(0));
  for (uint64_t number : {0, 1}) store.Append(number, Label(), PackageOf(number));
  size_t reads = 0;
  disk.on_read = [&](uint64_t, uint64_t) {
    Disk copy(4);
    copy.Restore(disk.durable());
    EXPECT_EQ(Reopen(copy).mark(), 1u);
    ++reads;
  };
  store.Take(0, Label());
  EXPECT_EQ(reads, 1u);
}

// The life of a store up to its crash at operation `crash_at`, then restarts until all is used;
// counts how often each package was handed out.
void LiveWithCrash(uint64_t seed, uint64_t crash_at, uint64_t& operations) {
  constexpr uint64_t kPackages = 3;
  Disk disk(seed);
  disk.CrashAt(crash_at);
  std::map<uint64_t, int> handed_out;
  bool created = false;
  auto live = [&] {
    CorrelationStore store =
        created ? Reopen(disk) : CorrelationStore::Create(disk.Open(), IdentityOf(0));
    created = true;
    while (store.NextNumber() < kPackages) {
      const uint64_t number = store.NextNumber();
      store.Append(number, Label(), PackageOf(number));
    }
    for (uint64_t number : store.Numbers()) {
      const Bytes package = store.Take(number, Label());
      EXPECT_EQ(package, PackageOf(number));
      ++handed_out[number];
    }
  };
  try {
    live();
  } catch (const Crash&) {
    disk.LosePower();
    disk.CrashAt(0);
    if (!created) disk.Restore({});
    live();
  }
  operations = disk.count();
  for (const auto& [number, times] : handed_out) EXPECT_EQ(times, 1) << number;
  EXPECT_LE(handed_out.size(), kPackages);
  const std::vector<uint64_t> left = Reopen(disk).Numbers();
  EXPECT_TRUE(left.empty());
  // A crash wastes at most the package that it hit and those after a torn write.
  EXPECT_GE(handed_out.size() + 2, kPackages);
}

TEST(CorrelationStoreTest, EveryCrashPoint) {
  uint64_t operations = 0;
  LiveWithCrash(1, 0, operations);
  const uint64_t all = operations;
  ASSERT_GT(all, 30u);
  for (uint64_t crash_at = 1; crash_at <= all; ++crash_at) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(::testing::Message() << "operation " << crash_at << ", seed " << seed);
      LiveWithCrash(seed, crash_at, operations);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// --- two parties

// Runs f at both parties; a crash or an error of one ends the other as well.
void AtBoth(const std::function<void(net::Channel&)>& f,
            const std::function<void(uint64_t self, std::exception_ptr)>& failed) {
  crypto::SystemRandom random;
  auto transports = net::MakeMemoryTransports({"north", "south"}, random);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(2);
  for (auto& transport : transports) {
    threads.emplace_back([&, own = std::move(transport)]() mutable {
      const uint64_t self = own->self();
      net::Channel channel(std::move(own), AsBytes("run"), 1);
      try {
        f(channel);
      } catch (...) {
        errors[self] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t self : {0, 1}) {
    if (errors[self]) failed(self, errors[self]);
  }
}

void Rethrow(uint64_t, std::exception_ptr error) { std::rethrow_exception(error); }

TEST(AgreementTest, TheLargestMarkWinsAndOnlyCommonPackagesAreUsed) {
  Disk disks[] = {Disk(1), Disk(2)};
  for (uint64_t self : {0, 1}) {
    CorrelationStore store = CorrelationStore::Create(disks[self].Open(), IdentityOf(self));
    const std::vector<uint64_t> numbers =
        self == 0 ? std::vector<uint64_t>{0, 1, 2, 3, 6} : std::vector<uint64_t>{1, 2, 3, 5, 6};
    for (uint64_t number : numbers) store.Append(number, Label(), PackageOf(number));
    store.Spend(self == 0 ? 1 : 3);
  }
  AtBoth(
      [&](net::Channel& channel) {
        CorrelationStore store = Reopen(disks[channel.self()], channel.self());
        const AgreedPackages agreed = AgreeOnPackages(channel, 2, store);
        EXPECT_EQ(agreed.usable, (std::vector<uint64_t>{3, 6}));
        EXPECT_EQ(agreed.next_number, 7u);
        EXPECT_EQ(store.mark(), 3u);
        const net::PhaseTraffic traffic = channel.traffic()[0];
        EXPECT_EQ(traffic.links[1 - channel.self()].bytes_sent,
                  kMarkStatementBytes + kPackageMapBytes);
        EXPECT_EQ(traffic.rounds, 2u);
      },
      Rethrow);
  EXPECT_EQ(Reopen(disks[0]).mark(), 3u) << "and it is durable";
}

// R8: crashes at random operations of either party, now and then a backup of one of them comes
// back.
TEST(AgreementTest, NothingIsUsedTwiceInAThousandRestarts) {
  constexpr int kRestarts = 1000;
  std::mt19937_64 random(5);
  Disk disks[] = {Disk(1), Disk(2)};
  Bytes backups[2];
  std::vector<std::multiset<uint64_t>> used(2);
  for (uint64_t self : {0, 1}) {
    CorrelationStore::Create(disks[self].Open(), IdentityOf(self));
    backups[self] = disks[self].durable();
  }
  int crashes = 0, restored = 0;
  for (int restart = 0; restart < kRestarts; ++restart) {
    for (uint64_t self : {0, 1}) disks[self].CrashAt(0);
    if (random() % 3 != 0) disks[random() % 2].CrashAt(1 + random() % 60);
    if (random() % 20 == 0) {
      const size_t self = random() % 2;
      disks[self].Restore(backups[self]);
      ++restored;
    }
    if (random() % 50 == 0) {
      const size_t self = random() % 2;
      backups[self] = disks[self].durable();
    }
    AtBoth(
        [&](net::Channel& channel) {
          const uint64_t self = channel.self();
          CorrelationStore store = Reopen(disks[self], self);
          const AgreedPackages agreed = AgreeOnPackages(channel, 2, store);
          for (uint64_t i = 0; i < 2; ++i) {
            const uint64_t number = agreed.next_number + i;
            store.Append(number, Label(), PackageOf(number, 600));
          }
          for (size_t i = 0; i < agreed.usable.size() && i < 2; ++i) {
            EXPECT_EQ(TakeTogether(channel, 2, store, agreed.usable[i], Label()),
                      PackageOf(agreed.usable[i], 600));
            used[self].insert(agreed.usable[i]);
          }
        },
        [&](uint64_t self, std::exception_ptr error) {
          try {
            std::rethrow_exception(error);
          } catch (const Crash&) {
            ++crashes;
            disks[self].LosePower();
          } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::kPeerLost) << e.message();
          }
        });
    // What a party that did not crash left unsynced is nothing.
    for (Disk& disk : disks) disk.LosePower();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(crashes, 300);
  EXPECT_GT(restored, 20);
  for (const auto& numbers : used) {
    EXPECT_GT(numbers.size(), 200u);
    EXPECT_EQ(numbers.size(), std::set<uint64_t>(numbers.begin(), numbers.end()).size());
  }
}

// One party crashes at every operation of its Take, and the other's file comes back from a backup.
// Whatever the other had in hand, so that it could have sent something under it, is not agreed on
// again.
TEST(AgreementTest, NobodyHasAPackageBeforeAllMarksAreDurable) {
  size_t unfinished = 0, agreed_again = 0;
  bool crashed = true;
  for (uint64_t crash_at = 1; crashed; ++crash_at) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(::testing::Message() << "operation " << crash_at << ", seed " << seed);
      Disk disks[] = {Disk(seed), Disk(seed + 100)};
      for (uint64_t self : {0, 1}) {
        CorrelationStore store = CorrelationStore::Create(disks[self].Open(), IdentityOf(self));
        for (uint64_t number : {0, 1}) store.Append(number, Label(), PackageOf(number));
      }
      const Bytes backup = disks[0].durable();
      bool has[2] = {false, false};
      crashed = false;
      AtBoth(
          [&](net::Channel& channel) {
            const uint64_t self = channel.self();
            CorrelationStore store = Reopen(disks[self], self);
            ASSERT_EQ(AgreeOnPackages(channel, 2, store).usable, (std::vector<uint64_t>{0, 1}));
            if (self == 1) disks[1].CrashAt(crash_at);
            has[self] = TakeTogether(channel, 2, store, 0, Label()) == PackageOf(0);
          },
          [&](uint64_t self, std::exception_ptr error) {
            try {
              std::rethrow_exception(error);
            } catch (const Crash&) {
              crashed = true;
              disks[1].LosePower();
            } catch (const Error& e) {
              EXPECT_EQ(self, 0u);
              EXPECT_EQ(e.code(), ErrorCode::kPeerLost) << e.message();
            }
          });
      EXPECT_EQ(has[0], !crashed) << "the own byte follows the whole Take";
      unfinished += has[0] ? 0 : 1;
      disks[0].Restore(backup);
      disks[1].CrashAt(0);
      AtBoth(
          [&](net::Channel& channel) {
            const uint64_t self = channel.self();
            CorrelationStore store = Reopen(disks[self], self);
            const std::vector<uint64_t> usable = AgreeOnPackages(channel, 2, store).usable;
            const bool again = std::find(usable.begin(), usable.end(), 0u) != usable.end();
            EXPECT_FALSE(again && (has[0] || has[1]));
            if (self == 0 && again) ++agreed_again;
          },
          Rethrow);
      if (::testing::Test::HasFailure()) return;
    }
  }
  // The window is there: crashes that left the other's old file the only word.
  EXPECT_GT(agreed_again, 0u);
  EXPECT_GT(unfinished, agreed_again);
}

TEST(AgreementTest, TakingTogetherCostsOneRound) {
  Disk disks[] = {Disk(1), Disk(2)};
  for (uint64_t self : {0, 1}) {
    CorrelationStore store = CorrelationStore::Create(disks[self].Open(), IdentityOf(self));
    store.Append(0, Label(), PackageOf(0));
  }
  AtBoth(
      [&](net::Channel& channel) {
        CorrelationStore store = Reopen(disks[channel.self()], channel.self());
        EXPECT_EQ(TakeTogether(channel, 2, store, 0, Label()), PackageOf(0));
        const net::PhaseTraffic traffic = channel.traffic()[0];
        EXPECT_EQ(traffic.links[1 - channel.self()].bytes_sent, kTakenBytes);
        EXPECT_EQ(traffic.rounds, 1u);
      },
      Rethrow);
}

TEST(AgreementTest, StoresOfOtherGenerationsDoNotMix) {
  Disk disks[] = {Disk(1), Disk(2)};
  for (uint64_t self : {0, 1}) {
    CorrelationStore::Create(disks[self].Open(), IdentityOf(self, static_cast<uint8_t>(1 + self)));
  }
  int failures = 0;
  AtBoth(
      [&](net::Channel& channel) {
        CorrelationStore store = Reopen(disks[channel.self()], channel.self());
        AgreeOnPackages(channel, 2, store);
      },
      [&](uint64_t, std::exception_ptr error) {
        EXPECT_EQ(CodeOf([&] { std::rethrow_exception(error); }), ErrorCode::kBadInput);
        ++failures;
      });
  EXPECT_EQ(failures, 2);
}

Bytes SwapBytes(net::Channel& channel, ByteView own) {
  const net::Send send{1 - channel.self(), own, 0, nullptr};
  Bytes theirs(own.size());
  net::Receive receive;
  receive.from = 1 - channel.self();
  receive.into = theirs;
  channel.Exchange({&send, 1}, {&receive, 1});
  return theirs;
}

// A mark beyond everything that was made, a number that no counter reaches, a map of packages that
// this party does not have.
TEST(AgreementTest, HostileStatements) {
  for (const bool high_mark : {false, true}) {
    Disk disk(1);
    CorrelationStore::Create(disk.Open(), IdentityOf(0));
    AtBoth(
        [&](net::Channel& channel) {
          if (channel.self() == 0) {
            CorrelationStore store = Reopen(disk);
            EXPECT_EQ(CodeOf([&] { AgreeOnPackages(channel, 2, store); }), ErrorCode::kPeerFault);
            return;
          }
          ByteWriter writer;
          writer.Raw(IdentityOf(0).generation);
          writer.U64(high_mark ? 5 : 0);
          writer.U64(high_mark ? 4 : UINT64_MAX);
          SwapBytes(channel, writer.bytes());
        },
        Rethrow);
  }
}

TEST(AgreementTest, PackagesThatOnlyThePeerClaimsAreNotUsable) {
  Disk disk(1);
  {
    CorrelationStore store = CorrelationStore::Create(disk.Open(), IdentityOf(0));
    store.Append(3, Label(), PackageOf(3));
  }
  AtBoth(
      [&](net::Channel& channel) {
        if (channel.self() == 0) {
          CorrelationStore store = Reopen(disk);
          EXPECT_EQ(AgreeOnPackages(channel, 2, store).usable, std::vector<uint64_t>{3});
          return;
        }
        ByteWriter writer;
        writer.Raw(IdentityOf(0).generation);
        writer.U64(2);
        writer.U64(4000);
        SwapBytes(channel, writer.bytes());
        const Bytes map = SwapBytes(channel, Bytes(kPackageMapBytes, 0xff));
        EXPECT_EQ(map[0], 2) << "number 3 above the mark 2";
      },
      Rethrow);
}

// What lies further from the mark than the map reaches waits until the mark has come closer.
TEST(AgreementTest, NumbersBeyondTheMap) {
  Disk disks[] = {Disk(1), Disk(2)};
  for (uint64_t self : {0, 1}) {
    CorrelationStore store = CorrelationStore::Create(disks[self].Open(), IdentityOf(self));
    for (uint64_t number : {8 * kPackageMapBytes - 1, 8 * kPackageMapBytes}) {
      store.Append(number, Label(), PackageOf(number, 40));
    }
  }
  for (const std::vector<uint64_t>& usable :
       {std::vector<uint64_t>{8 * kPackageMapBytes - 1},
        std::vector<uint64_t>{8 * kPackageMapBytes - 1, 8 * kPackageMapBytes}}) {
    AtBoth(
        [&](net::Channel& channel) {
          CorrelationStore store = Reopen(disks[channel.self()], channel.self());
          EXPECT_EQ(AgreeOnPackages(channel, 2, store).usable, usable);
          store.Spend(1);
        },
        Rethrow);
  }
}

// --- files

struct StoreFileTest : ::testing::Test {
  StoreFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "storeXXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~StoreFileTest() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
  std::string path() const { return (folder / "correlations").string(); }
};

TEST_F(StoreFileTest, OneUserAtATime) {
  {
    CorrelationStore store = CorrelationStore::Create(OpenStoreFile(path(), true), IdentityOf(0));
    store.Append(0, Label(), PackageOf(0));
    EXPECT_EQ(CodeOf([&] { OpenStoreFile(path(), false); }), ErrorCode::kUsage);
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  EXPECT_EQ(CodeOf([&] { OpenStoreFile(path(), true); }), ErrorCode::kUsage);
  CorrelationStore store = CorrelationStore::Open(OpenStoreFile(path(), false), IdentityOf(0));
  EXPECT_EQ(store.Take(0, Label()), PackageOf(0));
  EXPECT_EQ(CodeOf([&] { OpenStoreFile((folder / "none").string(), false); }), ErrorCode::kUsage);
}

TEST_F(StoreFileTest, OpenToOthersIsCompromised) {
  CorrelationStore::Create(OpenStoreFile(path(), true), IdentityOf(0));
  std::filesystem::permissions(path(), std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(CodeOf([&] { OpenStoreFile(path(), false); }), ErrorCode::kUsage);
}

TEST(CorrelationStoreErrorsTest, OtherPartiesAndDamage) {
  Disk disk(1);
  {
    CorrelationStore store = CorrelationStore::Create(disk.Open(), IdentityOf(0));
    store.Append(0, Label(), PackageOf(0));
    store.Append(1, Label(), PackageOf(1));
  }
  EXPECT_EQ(CodeOf([&] { CorrelationStore::Create(disk.Open(), IdentityOf(0)); }),
            ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { Reopen(disk, 1); }), ErrorCode::kBadInput);
  StoreIdentity others = IdentityOf(0), other_study = others, other_version = others;
  others.fingerprints[1] = std::string(64, 'c');
  other_study.study = "survey";
  other_version.study_hash.fill(4);
  for (const StoreIdentity& expected : {others, other_study, other_version}) {
    EXPECT_EQ(CodeOf([&] { CorrelationStore::Open(disk.Open(), expected); }), ErrorCode::kBadInput);
  }
  EXPECT_EQ(CorrelationStore::Open(disk.Open()).identity(), IdentityOf(0));
  // Whatever byte is damaged: an error, or packages less; never a package that is another.
  const Bytes image = disk.durable();
  std::mt19937_64 random(3);
  for (int i = 0; i < 400; ++i) {
    Bytes damaged = image;
    const size_t at = i < 200 ? random() % 300 : random() % damaged.size();
    damaged[at] ^= static_cast<uint8_t>(1 + random() % 255);
    if (i % 5 == 0) damaged.resize(random() % damaged.size());
    Disk copy(1);
    copy.Restore(std::move(damaged));
    try {
      CorrelationStore store = Reopen(copy);
      for (uint64_t number : store.Numbers()) {
        EXPECT_EQ(store.Take(number, Label()), PackageOf(number));
      }
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::kUsage || error.code() == ErrorCode::kBadInput ||
                  error.code() == ErrorCode::kRefused || error.code() == ErrorCode::kPeerFault)
          << error.message();
    }
  }
}

// After a failed write nothing more is handed out: what is on the disk is unknown.
TEST(CorrelationStoreErrorsTest, AFailedWriteEndsTheStore) {
  for (uint64_t operation = 1; operation <= 3; ++operation) {
    Disk disk(1);
    CorrelationStore store = CorrelationStore::Create(disk.Open(), IdentityOf(0));
    store.Append(0, Label(), PackageOf(0));
    disk.CrashAt(operation);
    EXPECT_THROW(store.Take(0, Label()), Crash);
    EXPECT_EQ(CodeOf([&] { store.Take(0, Label()); }), ErrorCode::kUsage);
    EXPECT_EQ(CodeOf([&] { store.Spend(5); }), ErrorCode::kUsage);
    EXPECT_EQ(CodeOf([&] { store.Append(9, Label(), {}); }), ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace partita::mpc::testing::correlation_store_test
