// Servers, front ends and workers that are killed, disks that fill up, backups that come back: what
// was acknowledged is there, nothing counts twice, and the sum is the same.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "sums/protocol/node_secrets.h"
#include "sums/protocol/sum_worker.h"
#include "sums/spool/spool_sum.h"
#include "tests/sums/protocol/cut_put.h"
#include "tests/sums/protocol/postgres_server.h"
#include "tests/sums/protocol/rounds.h"

namespace partita::sums::postgres_crash_test {
namespace {

// Runs `work` in a process of its own, which must end by itself or be killed.
template <typename Work>
pid_t Fork(const Work& work) {
  const pid_t process = fork();
  if (process != 0) return process;
  try {
    work();
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

bool EndedWell(pid_t process) {
  int status = 1;
  waitpid(process, &status, 0);
  return status == 0;
}

// Everything that `spool` holds, by client.
std::map<ClientId, uint8_t> Held(Spool& spool) {
  std::map<ClientId, uint8_t> held;
  std::optional<ClientId> after;
  for (auto page = spool.Shares(after, 1 << 20); !page.empty();
       page = spool.Shares(after, 1 << 20)) {
    for (const StoredShare& share : page) held[share.client] = share.request[0];
    after = page.back().client;
  }
  return held;
}

TEST(PostgresCrashTest, WhatWasAcknowledgedSurvivesAKilledServer) {
  PostgresServer server;
  const std::string database = server.MakeDatabase();
  PostgresSettings settings = server.Settings(database);
  settings.reconnect_for = std::chrono::milliseconds(50);
  PostgresSpool spool(settings, {}, 1);
  for (uint32_t kill = 0; kill < 3; ++kill) {
    for (uint32_t i = 0; i < 5; ++i) {
      EXPECT_EQ(PutOne(spool, Share(5 * kill + i, 1)), PutResult::kStored);
    }
    server.Kill();
    ExpectError(ErrorCode::kUnreachable, [&] { PutOne(spool, Share(99, 1)); });
    server.Start();
    EXPECT_EQ(spool.Accepted().size(), 5 * (kill + 1));
  }
  spool.Freeze();
  server.Kill();
  server.Start();
  EXPECT_TRUE(spool.frozen());
  spool.RecordClosing(Bytes{1});
  server.Kill();
  server.Start();
  EXPECT_EQ(spool.closing(), Bytes{1});
  spool.RecordPublication(Bytes{2});
  server.Kill();
  server.Start();
  EXPECT_EQ(spool.RecordPublication(Bytes{3}), Bytes{2});
}

TEST(PostgresCrashTest, CarelessServersAreRefused) {
  PostgresServer server;
  const PostgresSettings settings = server.Settings(server.MakeDatabase());
  for (const char* careless : {"fsync", "full_page_writes"}) {
    server.Stop();
    server.Start({{careless, "off"}});
    ExpectError(ErrorCode::kBadInput, [&] { PostgresSpool(settings, {}, 1); });
  }
}

// The server is killed again and again under three front ends, which connect again by themselves.
TEST(PostgresCrashTest, FrontEndsOutliveTheServer) {
  constexpr uint32_t kFrontEnds = 3;
  constexpr uint32_t kKills = 8;
  PostgresServer server;
  PostgresSettings settings = server.Settings(server.MakeDatabase());
  settings.reconnect_for = std::chrono::seconds(120);
  PostgresSpool spool(settings, {}, 1);
  std::atomic<uint32_t> batches = 0;
  std::atomic<bool> stop = false;
  std::array<std::vector<ClientId>, kFrontEnds> acknowledged;
  std::vector<std::thread> threads;
  for (uint32_t front_end = 0; front_end < kFrontEnds; ++front_end) {
    threads.emplace_back([&, front_end] {
      PostgresSpool own(settings, {}, 1);
      for (uint32_t client = front_end; !stop; client += 4 * kFrontEnds) {
        std::vector<StoredShare> batch;
        for (uint32_t i = 0; i < 4; ++i) batch.push_back(Share(client + i * kFrontEnds, 1));
        for (const PutResult result : own.Put(batch)) {
          EXPECT_TRUE(result == PutResult::kStored || result == PutResult::kIdentical);
        }
        for (const StoredShare& share : batch) acknowledged[front_end].push_back(share.client);
        ++batches;
      }
    });
  }
  for (uint32_t kill = 0; kill < kKills; ++kill) {
    const uint32_t until = batches + 5 + 7 * kill;
    while (batches < until) std::this_thread::yield();
    server.Kill();
    server.Start();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const std::map<ClientId, uint8_t> held = Held(spool);
  size_t count = 0;
  for (const std::vector<ClientId>& own : acknowledged) {
    count += own.size();
    for (const ClientId& client : own) EXPECT_TRUE(held.contains(client));
  }
  EXPECT_EQ(held.size(), count);
}

// More than fit one answer of the server.
TEST(PostgresCrashTest, LargeSetsComeWhole) {
  constexpr uint32_t kMany = 70000;
  PostgresSpool spool(SharedServer().Settings(SharedServer().MakeDatabase()), {}, 1);
  std::vector<StoredShare> batch;
  AcceptedSet expected;
  for (uint32_t client = 0; client < kMany; ++client) {
    batch.push_back(Share(client, static_cast<uint8_t>(client)));
    expected.push_back({batch.back().client, batch.back().upload});
  }
  spool.Put(batch);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(spool.Accepted(), expected);
}

// Front ends are killed at any point; what they had told their clients is there.
TEST(PostgresCrashTest, KilledFrontEndsLoseNothing) {
  constexpr int kProcesses = 20;
  const std::string database = SharedServer().MakeDatabase();
  PostgresSpool spool(SharedServer().Settings(database), {}, 1);
  std::set<uint32_t> acknowledged;
  for (int process = 0; process < kProcesses; ++process) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t front_end = Fork([&] {
      close(told[0]);
      PostgresSpool own(SharedServer().Settings(database), {}, 1);
      // The processes put the same clients, with the same bytes.
      for (uint32_t client = 0;; ++client) {
        PutOne(own, Share(client, 1));
        if (write(told[1], &client, sizeof(client)) != sizeof(client)) _exit(1);
      }
    });
    close(told[1]);
    uint32_t client = 0;
    // From none to some: each process gets further than the last.
    for (int i = 0; i <= process * 3; ++i) {
      ASSERT_EQ(read(told[0], &client, sizeof(client)), static_cast<ssize_t>(sizeof(client)));
      acknowledged.insert(client);
    }
    kill(front_end, SIGKILL);
    waitpid(front_end, nullptr, 0);
    while (read(told[0], &client, sizeof(client)) == sizeof(client)) acknowledged.insert(client);
    close(told[0]);
  }
  const std::map<ClientId, uint8_t> held = Held(spool);
  for (const uint32_t client : acknowledged) EXPECT_TRUE(held.contains(IdOf(client)));
  // Nothing of the dead holds up the freeze.
  spool.Freeze();
  EXPECT_GE(spool.Accepted().size(), acknowledged.size());
}

TEST(PostgresCrashTest, ConnectionsCutAtEveryThirdByte) {
  EXPECT_GT(CutPutEverywhere(SharedServer(), SharedServer().MakeDatabase(), 3), 300);
}

// Workers are killed in their chunks; the others take these over and come to the same words.
TEST(PostgresCrashTest, KilledWorkersAreReplaced) {
  constexpr uint16_t kNode = 1;
  World world(SmallContract(200, 5, 2), true);
  Clients clients(world);
  const PostgresSettings settings = SharedServer().Settings(SharedServer().MakeDatabase());
  const NodeRound round = world.Settings(kNode).round;
  PostgresSpool spool(settings, world.contract.study, kEpoch);
  crypto::SystemRandom random;
  ComputeNode node(world.Settings(kNode), world.directories[kNode], spool, random);
  for (uint32_t client = 0; client < 200; ++client) node.Accept(clients.Upload(client)[kNode]);
  const AcceptedSet agreed = node.Freeze();
  spool.RecordClosing(SealSet(round, agreed));
  const MaskedSum expected = SumShares(spool, StoreKey(round), world.contract, kNode, agreed, 1);
  WorkerSettings worker;
  worker.threads = 2;
  worker.chunk_uploads = 2;
  worker.lease = std::chrono::milliseconds(300);
  worker.poll = std::chrono::milliseconds(10);
  spool.CutChunks(200, 2);
  for (const uint32_t left : {95U, 80U, 60U, 40U, 20U}) {
    const pid_t process = Fork([&] {
      PostgresSpool own(settings, world.contract.study, kEpoch);
      crypto::SystemRandom own_random;
      HelpToSum(own, round, worker, own_random);
    });
    while (spool.OpenChunks() > left) std::this_thread::yield();
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  const pid_t helper = Fork([&] {
    PostgresSpool own(settings, world.contract.study, kEpoch);
    crypto::SystemRandom own_random;
    HelpToSum(own, round, worker, own_random);
  });
  const MaskedSum sum = SumWithWorkers(spool, round, agreed, worker, random);
  EXPECT_TRUE(std::ranges::equal(sum.words(), expected.words()));
  EXPECT_TRUE(EndedWell(helper));
}

// A disk of the server's own that is small.
class SmallDisk {
 public:
  SmallDisk() {
    std::string name = "/tmp/partita_disk_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for a disk");
    path_ = name;
    if (mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=96m,mode=0755") != 0) {
      throw std::runtime_error("only root can mount a small disk");
    }
  }
  ~SmallDisk() {
    umount2(path_.c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Uploads until the disk is full; then there is room again. Needs root, for the disk.
TEST(PostgresCrashTest, AFullDiskAcknowledgesNothingThatIsNotThere) {
  const SmallDisk disk;
  PostgresServer server({}, disk.path());
  PostgresSettings settings = server.Settings(server.MakeDatabase());
  settings.reconnect_for = std::chrono::milliseconds(0);
  std::set<ClientId> acknowledged;
  uint32_t client = 0;
  int refusals = 0;
  std::optional<PostgresSpool> spool;
  spool.emplace(settings, StudyHash{}, 1);
  for (const std::filesystem::path ballast = disk.path() / "ballast"; refusals < 3; ++client) {
    std::vector<StoredShare> batch;
    for (uint32_t i = 0; i < 64; ++i) batch.push_back(Share(100000 * i + client, 1, 8192));
    try {
      spool->Put(batch);
      for (const StoredShare& share : batch) acknowledged.insert(share.client);
      if (client == 3) {
        // Somebody else takes what is left but 24 MB.
        const auto space = std::filesystem::space(disk.path());
        const int file = open(ballast.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ASSERT_EQ(posix_fallocate(file, 0, static_cast<off_t>(space.available) - (24 << 20)), 0);
        close(file);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnreachable) << error.what();
      ++refusals;
    }
  }
  std::filesystem::remove(disk.path() / "ballast");
  if (HasEnded(server.pid())) {  // it ends itself if it cannot write its log
    waitpid(server.pid(), nullptr, 0);
    server.Start();
  }
  settings.reconnect_for = std::chrono::seconds(60);
  spool.emplace(settings, StudyHash{}, 1);
  const std::map<ClientId, uint8_t> held = Held(*spool);
  EXPECT_GT(acknowledged.size(), 300U);
  for (const ClientId& one : acknowledged) EXPECT_TRUE(held.contains(one));
  EXPECT_EQ(PutOne(*spool, Share(99999, 1)), PutResult::kStored);
}

// A backup of the round's beginning is put back by recovery, as administrators do, after the round
// was closed: the node refuses the database that has forgotten it.
TEST(PostgresCrashTest, ARestoredBackupIsRefused) {
  PostgresServer server;
  const PostgresSettings settings = server.Settings(server.MakeDatabase());
  {
    PostgresSpool spool(settings, {}, 1);
    PutOne(spool, Share(1, 1));
  }
  server.Stop();
  const std::filesystem::path backup = server.folder() / "backup";
  ASSERT_EQ(std::system(("cp -a " + server.data().string() + " " + backup.string()).c_str()), 0);
  server.Start();
  {
    PostgresSpool spool(settings, {}, 1);
    spool.Freeze();
    spool.RecordClosing(Bytes{1});
  }
  server.Stop();
  std::filesystem::remove_all(server.data());
  std::filesystem::rename(backup, server.data());
  ASSERT_EQ(std::system(("cp -a " + (server.data() / "PG_VERSION").string() + " " +
                         (server.data() / "recovery.signal").string())
                            .c_str()),
            0);
  // No connections before the recovery is done.
  server.Start({{"restore_command", "false"}, {"hot_standby", "off"}});
  ExpectError(ErrorCode::kRefused, [&] { PostgresSpool(settings, {}, 1); });
  // What the operator's page says to do: abandon what is open, then accept the place.
  postgres::Session owner = OpenSpoolSession(settings.connection, std::chrono::seconds(60));
  owner.Execute("UPDATE partita_dca.round SET frozen = true WHERE publication IS NULL");
  owner.Execute(
      "UPDATE partita_dca.spool SET system = (SELECT system_identifier FROM pg_control_system()), "
      "timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)");
  PostgresSpool spool(settings, {}, 1);
  EXPECT_EQ(PutOne(spool, Share(2, 1)), PutResult::kFrozen);
}

}  // namespace
}  // namespace partita::sums::postgres_crash_test
