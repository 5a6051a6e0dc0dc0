// The service of one compute node in this process: a disk that fills up, a queue that is full.
#include "sums/service/compute_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/utc_time.h"
#include "net/roster.h"
#include "sums/service/round_api.h"
#include "sums/spool/sqlite_spool.h"
#include "tests/cli/sum_folder.h"
#include "tests/privacy/ledger/crash_vfs.h"

namespace partita::sums::compute_service_test {
namespace {

using privacy::ledger::CrashDisk;

constexpr char kDisk[] = "dca-service";

// Node 0 of a folder, on a disk in memory.
class Node0 {
 public:
  Node0(
      const partita::testing::SumFolder& folder, const QueueLimits& limits,
      std::function<void()> before_judging = [] {})
      : folder_(folder),
        list_(LoadAdmissionList(folder / "node0/clients.txt")),
        directory_(MakeDirectory(folder.collection(), list_, 0, folder.box(0), 1)),
        spool_("spool", folder.collection().contract.study, folder.collection().epoch),
        node_({{folder.collection().contract, folder.collection().epoch, 0, folder.box(0)},
               folder.node_identity(0),
               CertificatesOf(folder.collection()),
               1},
              directory_, spool_, random_),
        queue_(
            [this, before_judging](std::span<const ByteView> uploads) {
              before_judging();
              return node_.Accept(uploads);
            },
            limits),
        service_(folder.collection(), 0, list_, node_, queue_, board_),
        server_(Listen(folder), folder.node_identity(0), {}, 1,
                [this](net::HttpRequest request, const net::HttpReply& reply) {
                  service_.Handle(std::move(request), reply);
                }) {}

  // What node 0 answers to an upload of `client`, by a clock that shows `time`.
  std::string PostAt(uint32_t client, const std::string& time) {
    SilentProgress progress;
    const CollectionNode& node = folder_.collection().nodes[0];
    net::HttpsClient to({node.name, node.address, node.fingerprint}, {});
    net::HttpRequest request;
    request.method = "POST";
    request.target = RoundPath(folder_.collection(), "uploads");
    request.body = folder_.Keep(client).envelopes[0];
    request.time = time;
    const net::HttpResponse response =
        to.Send(request, std::chrono::minutes(10), kMaxWordBytes, progress);
    return std::to_string(response.status) + " " + net::BodyText(response);
  }
  // By a right one.
  std::string Post(uint32_t client) {
    SilentProgress progress;
    RoundClient to(folder_.collection(), 0, {});
    const net::HttpResponse response =
        to.Post("uploads", "", folder_.Keep(client).envelopes[0], progress);
    return std::to_string(response.status) + " " + net::BodyText(response);
  }
  nlohmann::json Status() const { return nlohmann::json::parse(service_.StatusJson(true)); }
  // As node 0 answers it to somebody.
  nlohmann::json StatusFor(const crypto::Identity& who) const {
    SilentProgress progress;
    RoundClient to(folder_.collection(), 0, who);
    const Bytes text = to.Get("status", kMaxStatusBytes, progress).value_or(Bytes());
    return nlohmann::json::parse(text.begin(), text.end());
  }
  ComputeService& service() { return service_; }
  const UploadQueue& queue() const { return queue_; }

 private:
  static net::Listener Listen(const partita::testing::SumFolder& folder) {
    const net::Address address = net::ParseAddress(folder.collection().nodes[0].address);
    return net::Listen(address.host, address.port);
  }

  const partita::testing::SumFolder& folder_;
  const AdmissionList list_;
  const ClientDirectory directory_;
  crypto::SystemRandom random_;
  SqliteSpool spool_;
  ComputeNode node_;
  RoundBoard board_;
  UploadQueue queue_;
  ComputeService service_;
  net::HttpsServer server_;
};

class ComputeServiceTest : public ::testing::Test {
 protected:
  ComputeServiceTest()
      : disk_(kDisk), folder_({.clients = 8, .nodes = 2, .max_drop = 2, .max_collude = 0}) {
    sqlite3_vfs_register(sqlite3_vfs_find(kDisk), 1);
  }

  CrashDisk disk_;
  partita::testing::SumFolder folder_;
};

// Whatever operation the disk refuses: no acknowledgement, a word to try again, and then success.
TEST_F(ComputeServiceTest, AFullDiskIsTriedAgain) {
  Node0 node(folder_, {});
  EXPECT_EQ(node.Post(0), "200 accepted");
  uint64_t failures = 0;
  for (uint32_t client = 1; client < 6; ++client) {
    disk_.FailAt(client, CrashDisk::Failure::kNoSpace);
    const std::string answer = node.Post(client);
    if (disk_.failed() && answer == "503 store") {
      ++failures;
      const std::string again = node.Post(client);
      EXPECT_TRUE(again == "200 accepted" || again == "200 retried") << again;
    } else {
      EXPECT_EQ(answer, "200 accepted");
    }
  }
  EXPECT_GE(failures, 1U);
  EXPECT_EQ(node.Status()["counts"]["store"], failures);
  EXPECT_EQ(node.Status()["queue"]["failures"], failures);
  EXPECT_THAT(node.Status()["queue"]["failure"].get<std::string>(),
              ::testing::HasSubstr("upload store failed"));
  // What the store says may hold paths: only those who run the node see it.
  EXPECT_TRUE(node.StatusFor(folder_.node_identity(0))["queue"].contains("failure"));
  for (const crypto::Identity& who : {folder_.node_identity(1), folder_.reader_identity()}) {
    const nlohmann::json status = node.StatusFor(who);
    EXPECT_EQ(status["queue"]["failures"], failures);
    EXPECT_EQ(status.dump().find("upload store failed"), std::string::npos) << status;
  }
  for (uint32_t client = 0; client < 6; ++client) EXPECT_EQ(node.Post(client), "200 retried");
}

// Refused before it is judged, whichever of the two clocks is wrong; then the same bytes count.
TEST_F(ComputeServiceTest, AClockThatIsOffIsTold) {
  Node0 node(folder_, {});
  const int64_t now = NowUtc();
  for (const int64_t off : {-3600, 3600, -86400 * 365}) {
    EXPECT_EQ(node.PostAt(0, FormatUtc(now + off)), "422 clock-skew");
  }
  EXPECT_EQ(node.PostAt(0, "yesterday"), "422 clock-skew");
  EXPECT_EQ(node.Status()["counts"]["clock-skew"], 4);
  EXPECT_EQ(node.Status()["counts"]["accepted"], 0);
  EXPECT_EQ(node.Post(0), "200 accepted");
  EXPECT_EQ(node.PostAt(0, ""), "200 retried");
  EXPECT_EQ(node.PostAt(1, ""), "200 accepted");
  EXPECT_EQ(node.Status()["counts"]["clock-skew"], 4);
}

TEST(RoundApiTest, ClocksAgreeWithinTheAllowance) {
  const int64_t now = 1'800'000'000;
  for (const int64_t off : {int64_t{0}, kClockAllowanceSeconds, -kClockAllowanceSeconds}) {
    EXPECT_TRUE(ClocksAgree(FormatUtc(now + off), now)) << off;
  }
  for (const int64_t off : {kClockAllowanceSeconds + 1, -kClockAllowanceSeconds - 1, -now}) {
    EXPECT_FALSE(ClocksAgree(FormatUtc(now + off), now)) << off;
  }
  for (const char* text : {"", "1800000000", "2027-01-15", "2027-01-15T08:00:00", "\xff"}) {
    EXPECT_FALSE(ClocksAgree(text, now)) << text;
  }
}

// A client is told what to do about it, and does not ask again for ever.
TEST_F(ComputeServiceTest, AClientIsToldOfClocksThatDisagree) {
  std::vector<std::unique_ptr<net::HttpsServer>> servers;
  std::atomic<int> asked{0};
  for (uint16_t k = 0; k < 2; ++k) {
    const net::Address address = net::ParseAddress(folder_.collection().nodes[k].address);
    servers.push_back(std::make_unique<net::HttpsServer>(
        net::Listen(address.host, address.port), folder_.node_identity(k), net::HttpsLimits(), 1,
        [&](const net::HttpRequest& request, const net::HttpReply& reply) {
          ++asked;
          EXPECT_TRUE(ClocksAgree(request.time, NowUtc()));
          reply(net::TextResponse(422, kClockSkew));
        }));
  }
  SilentProgress progress;
  for (const NodeReceipt& receipt : SendUpload(folder_.collection(), folder_.credential(0),
                                               folder_.Keep(0), std::chrono::hours(1), progress)) {
    EXPECT_FALSE(receipt.acknowledged);
    EXPECT_EQ(receipt.answer, "clock-skew");
    EXPECT_THAT(receipt.problem, ::testing::HasSubstr("differ by more than 5 minutes"));
  }
  EXPECT_EQ(asked, 2);
}

// Whatever is asked, by whomever, while the disk fails or not: what is refused is refused by one
// word, which names nothing of the node's host.
TEST_F(ComputeServiceTest, EveryRefusalIsOneWord) {
  Node0 node(folder_, {});
  const CollectionNode& at = folder_.collection().nodes[0];
  const std::string round = RoundPath(folder_.collection(), "");
  SilentProgress progress;
  uint64_t refused = 0;
  const Bytes good = folder_.Keep(0).envelopes[0];
  for (const crypto::Identity& who :
       {crypto::Identity(), folder_.node_identity(1), folder_.reader_identity()}) {
    for (const std::string method : {"GET", "POST", "DELETE"}) {
      for (const std::string& target :
           {round + "uploads", round + "set", round + "closing", round + "publication",
            round + "freeze", round + "etc/passwd", std::string("/v1/rounds/x/1/set")}) {
        for (const Bytes& body : {Bytes(), Bytes(100, 'x'), good}) {
          disk_.FailAt(1, CrashDisk::Failure::kNoSpace);
          net::HttpsClient to({at.name, at.address, at.fingerprint}, who);
          net::HttpRequest request;
          request.method = method;
          request.target = target;
          request.body = body;
          const net::HttpResponse response =
              to.Send(request, std::chrono::minutes(10), kMaxWordBytes, progress);
          if (response.status == 200) continue;
          ++refused;
          EXPECT_THAT(net::BodyText(response), ::testing::MatchesRegex("[a-z-]+"))
              << method << " " << target;
          EXPECT_EQ(response.content_type, "text/plain");
        }
      }
    }
  }
  EXPECT_GE(refused, 100U);
}

// Before anything of a body is read.
TEST_F(ComputeServiceTest, UploadsWithoutCredentialAreScreened) {
  const partita::testing::SumFolder folder(
      {.clients = 8, .nodes = 2, .max_drop = 2, .max_collude = 0, .admission = "tokens"});
  Node0 node(folder, {});
  net::HttpRequest request;
  request.method = "POST";
  request.target = RoundPath(folder.collection(), "uploads");
  std::optional<net::HttpResponse> refusal = node.service().Screen(request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 401U);
  EXPECT_EQ(node.Status()["counts"]["no-credential"], 1);
  request.bearer = "any";
  EXPECT_FALSE(node.service().Screen(request));
  request.target = "/v1/rounds/other/1/uploads";
  refusal = node.service().Screen(request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 404U);
}

TEST_F(ComputeServiceTest, AFullQueueSaysSo) {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int calls = 0;
  QueueLimits limits;
  limits.uploads = 1;
  limits.workers = 1;
  Node0 node(folder_, limits, [&] {
    std::unique_lock lock(mutex);
    ++calls;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  });
  std::vector<std::string> answers(2);
  std::thread first([&] { answers[0] = node.Post(0); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return calls == 1; });
  }
  std::thread second([&] { answers[1] = node.Post(1); });
  while (node.queue().Now().waiting == 0) std::this_thread::yield();
  EXPECT_EQ(node.Post(2), "503 full");
  {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  first.join();
  second.join();
  EXPECT_EQ(answers, (std::vector<std::string>{"200 accepted", "200 accepted"}));
  EXPECT_EQ(node.Post(2), "200 accepted");
  EXPECT_EQ(node.Status()["counts"]["full"], 1);
}

}  // namespace
}  // namespace partita::sums::compute_service_test
