// Private sums as their users run them: compute nodes as processes on the loopback interface,
// clients, a reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "net/https_client.h"
#include "sums/service/round_api.h"
#include "tests/cli/process.h"
#include "tests/cli/sum_folder.h"
#include "tests/paths.h"

namespace partita::testing::private_sum_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
using sums::KeptUpload;
using sums::NodeReceipt;

// For what must happen; how fast is not tested here.
constexpr std::chrono::minutes kPatience{10};

// The M compute nodes of a folder, as processes.
class RunningNodes {
 public:
  explicit RunningNodes(const SumFolder& folder) : folder_(folder) {
    for (uint16_t k = 0; k < folder.collection().contract.nodes; ++k) {
      processes_.emplace_back();
      Start(k);
    }
    for (auto& process : processes_) EXPECT_TRUE(process->WaitForStandardError("takes uploads"));
  }
  void Start(uint16_t k, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = folder_.ComputeArguments(k);
    arguments.insert(arguments.begin(), PartitaProgram());
    arguments.insert(arguments.end(), more.begin(), more.end());
    processes_[k] = std::make_unique<Process>(arguments);
  }
  Process& operator[](uint16_t k) { return *processes_[k]; }
  void Kill(uint16_t k) {
    processes_[k]->Kill(SIGKILL);
    processes_[k]->Wait();
  }
  // Every node takes no more uploads.
  void FreezeAll() {
    for (uint16_t k = 0; k < processes_.size(); ++k) {
      const ProcessResult result =
          Partita({"compute", folder_.collection_file(), "--as", folder_.node(k), "--folder",
                   folder_ / folder_.node(k), "--freeze"});
      EXPECT_EQ(result.exit_code, 0) << result.err;
    }
  }
  Json Status(uint16_t k) {
    const ProcessResult result =
        Partita({"compute", folder_.collection_file(), "--as", folder_.node(k), "--folder",
                 folder_ / folder_.node(k), "--status", "--format", "json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out)["data"];
  }

 private:
  const SumFolder& folder_;
  std::vector<std::unique_ptr<Process>> processes_;
};

ProcessResult Aggregate(const SumFolder& folder, std::vector<std::string> more = {},
                        const std::string& wait = "10m") {
  std::vector<std::string> arguments = {"aggregate", folder.collection_file(),
                                        "--folder",  folder / "analyst",
                                        "--format",  "json",
                                        "--wait",    wait};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return Partita(arguments);
}

std::vector<NodeReceipt> Send(const SumFolder& folder, uint32_t client, const KeptUpload& upload) {
  SilentProgress progress;
  return sums::SendUpload(folder.collection(), folder.credential(client), upload, kPatience,
                          progress);
}

// One node's answer to an upload.
std::string PostTo(const SumFolder& folder, uint16_t k, const Bytes& body,
                   const std::string& bearer = "", const crypto::Identity& identity = {}) {
  SilentProgress progress;
  sums::RoundClient client(folder.collection(), k, identity);
  const net::HttpResponse response = client.Post("uploads", bearer, body, progress);
  return std::to_string(response.status) + " " + net::BodyText(response);
}

void ExpectSum(const SumFolder& folder, const Json& data, const std::vector<KeptUpload>& uploads) {
  std::vector<Int128> sum(folder.collection().contract.dimension);
  for (const KeptUpload& upload : uploads) {
    const std::vector<Int128> value = folder.ValueOf(upload);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
  }
  EXPECT_EQ(data["clients"], uploads.size());
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(data["grid"][i], ToString(sum[i]));
}

std::string Encoded(const std::vector<NodeReceipt>& receipts) {
  std::string text;
  for (const NodeReceipt& receipt : receipts) text += receipt.answer + " ";
  return text;
}

TEST(PrivateSumTest, ThreeNodesManyClientsDropoutsAndACrash) {
  constexpr uint32_t kClients = 120;
  SumFolder folder({.clients = kClients, .max_drop = 40});
  RunningNodes nodes(folder);
  std::vector<KeptUpload> counted;
  // Two of the clients use the program, and try again.
  for (uint32_t client = 0; client < 2; ++client) {
    const std::vector<std::string> submit = {
        "client",
        "submit",
        folder.collection_file(),
        "--row",
        folder.row_file(client),
        "--key",
        folder / ("client" + std::to_string(client) + "/client.key"),
        "--format",
        "json"};
    const ProcessResult first = Partita(submit);
    EXPECT_EQ(first.exit_code, 0) << first.err << first.out;
    EXPECT_EQ(Json::parse(first.out)["data"]["nodes"][1]["answer"], "accepted");
    const ProcessResult second = Partita(submit);
    EXPECT_EQ(second.exit_code, 0) << second.err << second.out;
    EXPECT_EQ(Json::parse(second.out)["data"]["drawn"], false);
    EXPECT_EQ(Json::parse(second.out)["data"]["nodes"][1]["answer"], "retried");
    counted.push_back(folder.Keep(client));
  }
  std::vector<KeptUpload> uploads;
  for (uint32_t client = 0; client < kClients; ++client) uploads.push_back(folder.Keep(client));
  // 20 clients never arrive, 10 at node 0 only, the others everywhere while node 1 is killed and
  // started again.
  std::atomic<uint32_t> next{2};
  std::vector<std::thread> senders;
  for (int thread = 0; thread < 4; ++thread) {
    senders.emplace_back([&] {
      for (uint32_t client = next++; client < kClients - 30; client = next++) {
        for (const NodeReceipt& receipt : Send(folder, client, uploads[client])) {
          EXPECT_TRUE(receipt.acknowledged) << receipt.problem;
        }
      }
    });
  }
  nodes.Kill(1);
  nodes.Start(1);
  for (std::thread& sender : senders) sender.join();
  for (uint32_t client = 2; client < kClients - 30; ++client) counted.push_back(uploads[client]);
  for (uint32_t client = kClients - 30; client < kClients - 20; ++client) {
    EXPECT_EQ(PostTo(folder, 0, uploads[client].envelopes[0]), "200 accepted");
  }
  EXPECT_EQ(nodes.Status(0)["counts"]["accepted"], kClients - 20);
  EXPECT_EQ(Encoded(Send(folder, 5, uploads[5])), "retried retried retried ");
  nodes.FreezeAll();
  const ProcessResult result = Aggregate(folder, {"--output", folder / "sum.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const Json data = Json::parse(result.out)["data"];
  ExpectSum(folder, data, counted);
  EXPECT_EQ(data["statement"]["rows"][0]["adversary"]["kind"], "outside-analyst");
  EXPECT_EQ(Encoded(Send(folder, kClients - 1, uploads[kClients - 1])), "late late late ");
  // The same bytes after another crash, and a graceful end.
  SilentProgress progress;
  const auto publication = [&](uint16_t k) {
    std::map<uint16_t, sums::RoundClient> one;
    one.emplace(k, sums::RoundClient(folder.collection(), k, folder.reader_identity()));
    return sums::GatherFrom(
               one, "publication", 1 << 16, Deadline::After(kPatience), [](const std::string&) {},
               progress)
        .at(k);
  };
  const Bytes before = publication(2);
  nodes.Kill(2);
  nodes.Start(2, {"--format", "jsonl"});
  EXPECT_EQ(publication(2), before);
  for (uint16_t k = 0; k < 3; ++k) {
    nodes[k].Kill(SIGTERM);
    const ProcessResult end = nodes[k].Wait();
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_THAT(end.out, HasSubstr(k == 2 ? "\"clients\":90"
                                          : "published its part of the sum over 90 clients"));
  }
}

TEST(PrivateSumTest, TokensAdmitUntilTheyExpire) {
  SumFolder folder(
      {.clients = 5, .nodes = 2, .max_drop = 2, .max_collude = 0, .admission = "tokens"});
  // Client 4's token is over.
  for (uint16_t k = 0; k < 2; ++k) {
    sums::AdmissionList list = sums::LoadAdmissionList(folder / (folder.node(k) + "/clients.txt"));
    for (sums::AdmittedClient& client : list.clients) {
      if (client.client == folder.credential(4).token->client) client.valid_until = 1'000'000'000;
    }
    std::ofstream(folder / (folder.node(k) + "/clients.txt")) << FormatAdmissionList(list);
  }
  RunningNodes nodes(folder);
  std::vector<KeptUpload> counted;
  for (uint32_t client = 0; client < 3; ++client) {
    counted.push_back(folder.Keep(client));
    EXPECT_EQ(Encoded(Send(folder, client, counted.back())), "accepted accepted ");
  }
  const KeptUpload upload = folder.Keep(3);
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[0]), "401 no-credential");
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[0], "abc"), "403 wrong-credential");
  // Without a credential nothing is read.
  EXPECT_EQ(PostTo(folder, 0, Bytes(7, 0xff)), "401 no-credential");
  // What one node was shown is of no use at another, and nobody uploads for somebody else.
  const sums::ClientToken& token = *folder.credential(3).token;
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[0], BearerOf(token, "node1")),
            "403 wrong-credential");
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[0], BearerOf(*folder.credential(0).token, "node0")),
            "403 wrong-credential");
  EXPECT_EQ(Encoded(Send(folder, 4, folder.Keep(4))), "expired expired ");
  const Json counts = nodes.Status(0)["counts"];
  EXPECT_EQ(counts["no-credential"], 2);
  EXPECT_EQ(counts["wrong-credential"], 3);
  EXPECT_EQ(counts["expired"], 1);
  EXPECT_EQ(counts["accepted"], 3);
  nodes.FreezeAll();
  const ProcessResult result = Aggregate(folder);
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  ExpectSum(folder, Json::parse(result.out)["data"], counted);
}

TEST(PrivateSumTest, CertificatesAdmitClients) {
  SumFolder folder(
      {.clients = 3, .nodes = 2, .max_drop = 1, .max_collude = 0, .admission = "certificates"});
  RunningNodes nodes(folder);
  std::vector<KeptUpload> counted;
  for (uint32_t client = 0; client < 2; ++client) {
    counted.push_back(folder.Keep(client));
    EXPECT_EQ(Encoded(Send(folder, client, counted.back())), "accepted accepted ");
  }
  const KeptUpload upload = folder.Keep(2);
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[0]), "401 no-credential");
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[0], "", *folder.credential(1).identity),
            "403 wrong-credential");
  nodes.FreezeAll();
  const ProcessResult result = Aggregate(folder);
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  ExpectSum(folder, Json::parse(result.out)["data"], counted);
}

TEST(PrivateSumTest, HostileUploadsAreCountedByReason) {
  SumFolder folder({.clients = 4, .nodes = 2, .max_drop = 1, .max_collude = 0});
  RunningNodes nodes(folder);
  const KeptUpload upload = folder.Keep(0);
  EXPECT_EQ(PostTo(folder, 0, Bytes(7, 0xff)), "400 malformed");
  EXPECT_EQ(PostTo(folder, 0, {}), "400 malformed");
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[1]), "422 wrong-node");
  EXPECT_EQ(PostTo(folder, 0, Bytes(1 << 20, 0)), "413 oversized");
  Bytes damaged = upload.envelopes[0];
  damaged.back() ^= 1;
  EXPECT_EQ(PostTo(folder, 0, damaged), "403 unauthentic");
  Bytes stranger = upload.envelopes[0];
  stranger[4 + 1 + 32] ^= 1;
  EXPECT_EQ(PostTo(folder, 0, stranger), "403 unknown-client");
  EXPECT_EQ(PostTo(folder, 0, upload.envelopes[0]), "200 accepted");
  const Json counts = nodes.Status(0)["counts"];
  EXPECT_EQ(counts["malformed"], 2);
  EXPECT_EQ(counts["wrong-node"], 1);
  EXPECT_EQ(counts["http-oversized"], 1);
  EXPECT_EQ(counts["unauthentic"], 1);
  EXPECT_EQ(counts["unknown-client"], 1);
  EXPECT_EQ(counts["accepted"], 1);
}

// Who may ask for what before and after the freeze.
TEST(PrivateSumTest, NothingIsShownToStrangers) {
  SumFolder folder({.clients = 4,
                    .nodes = 2,
                    .max_drop = 2,
                    .max_collude = 0,
                    .noise = "noise_stddev = 4.0\ndelta = 1e-6\nnoise_from = \"nodes\""});
  RunningNodes nodes(folder);
  SilentProgress progress;
  const crypto::Identity stranger = crypto::MakeIdentity({.name = "node1"});
  const auto ask = [&](const crypto::Identity& who, const std::string& what) -> std::string {
    try {
      sums::RoundClient client(folder.collection(), 0, who);
      return client.Get(what, 1 << 16, progress) ? "shown" : "not yet";
    } catch (const Error& error) {
      return error.code() == ErrorCode::kRefused ? "refused" : error.what();
    }
  };
  for (const std::string what : {"status", "set", "closing", "publication"}) {
    EXPECT_EQ(ask({}, what), "refused") << what;
    EXPECT_EQ(ask(stranger, what), "refused") << what;
  }
  EXPECT_EQ(ask(folder.reader_identity(), "set"), "refused");
  EXPECT_EQ(ask(folder.reader_identity(), "status"), "shown");
  for (const std::string what : {"set", "closing", "publication"}) {
    EXPECT_EQ(ask(folder.node_identity(1), what), "not yet") << what;
  }
  sums::RoundClient other(folder.collection(), 0, folder.node_identity(1));
  EXPECT_EQ(other.Post("freeze", "", {}, progress).status, 403U);
  for (uint32_t client = 0; client < 2; ++client) {
    EXPECT_EQ(Encoded(Send(folder, client, folder.Keep(client))), "accepted accepted ");
  }
  nodes.FreezeAll();
  const ProcessResult result = Aggregate(folder);
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  // Nodes added noise: the sum is not that of the rows, but near it (40 deviations).
  const Json data = Json::parse(result.out)["data"];
  EXPECT_EQ(data["clients"], 2);
  const double difference = data["values"][1].get<double>() - folder.row(0)[1] - folder.row(1)[1];
  EXPECT_NE(difference, 0);
  EXPECT_LT(std::abs(difference), 40 * data["noise_stddev"].get<double>());
}

TEST(PrivateSumTest, TooFewAreNotOpened) {
  SumFolder folder({.clients = 6, .nodes = 2, .max_drop = 2, .max_collude = 0});
  RunningNodes nodes(folder);
  for (uint32_t client = 0; client < 3; ++client) Send(folder, client, folder.Keep(client));
  nodes.FreezeAll();
  for (uint16_t k = 0; k < 2; ++k) {
    EXPECT_TRUE(nodes[k].WaitForStandardError("3 uploads are too few"));
  }
  EXPECT_EQ(Aggregate(folder, {}, "1s").exit_code, 4);
  for (uint16_t k = 0; k < 2; ++k) {
    nodes[k].Kill(SIGTERM);
    EXPECT_EQ(nodes[k].Wait().exit_code, 5);
  }
}

TEST(PrivateSumTest, ChargesTheLedgerOnce) {
  SumFolder folder({.clients = 4, .nodes = 2, .max_drop = 1, .max_collude = 0});
  const std::string ledger = folder / "ledger.sqlite";
  ASSERT_EQ(
      Partita({"ledger", "open", ledger, "--table", "steps", "--epsilon", "3", "--delta", "1e-5"})
          .exit_code,
      0);
  RunningNodes nodes(folder);
  nodes.Kill(0);
  nodes.Start(0, {"--ledger", ledger});
  for (uint32_t client = 0; client < 4; ++client) {
    EXPECT_EQ(Encoded(Send(folder, client, folder.Keep(client))), "accepted accepted ");
  }
  nodes.FreezeAll();
  ASSERT_EQ(Aggregate(folder).exit_code, 0);
  nodes.Kill(0);
  nodes.Start(0, {"--ledger", ledger});
  // The reader keeps the same ledger: one round, one charge.
  const ProcessResult result = Aggregate(folder, {"--ledger", ledger});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(Json::parse(result.out)["data"]["ledger"]["table"], "steps");
  const ProcessResult show = Partita({"ledger", "show", ledger, "--format", "json"});
  const Json standing = Json::parse(show.out)["data"]["tables"][0];
  EXPECT_EQ(standing["studies_spent"], 1);
  EXPECT_EQ(standing["studies_open"], 0);
  // A budget that is too small opens nothing.
  const std::string small = folder / "small.sqlite";
  Partita({"ledger", "open", small, "--table", "t", "--epsilon", "0.1", "--delta", "1e-6"});
  EXPECT_EQ(Aggregate(folder, {"--ledger", small}).exit_code, 6);
}

TEST(PrivateSumTest, MistakesOfUsersAreExplained) {
  SumFolder folder({.clients = 4, .nodes = 2, .max_drop = 1, .max_collude = 0});
  const auto expect = [](const ProcessResult& result, int code, const std::string& text) {
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  std::vector<std::string> wrong = folder.ComputeArguments(0);
  wrong[3] = "node1";
  expect(Partita(wrong), 2, "is not the certificate of compute node node1");
  wrong[3] = "node7";
  expect(Partita(wrong), 2, "there is no compute node 'node7'");
  expect(Partita({"compute", folder.collection_file(), "--as", "node0", "--folder",
                  folder / "node0", "--spool", "mysql://here"}),
         2, "postgres://");
  const std::string key = folder / "client0/client.key";
  std::ofstream(folder / "short.txt") << "1 2";
  expect(Partita({"client", "submit", folder.collection_file(), "--key", key, "--row",
                  folder / "short.txt"}),
         7, "holds 2 numbers, the collection sums 3");
  std::ofstream(folder / "nan.txt") << "1, nan, 2";
  expect(Partita({"client", "submit", folder.collection_file(), "--key", key, "--row",
                  folder / "nan.txt"}),
         7, "value 2 in");
  expect(Partita({"client", "submit", folder.collection_file(), "--key", key, "--table",
                  folder / "short.txt"}),
         2, "has no [regression]");
  expect(Partita({"client", "submit", folder.collection_file(), "--key", key, "--table",
                  folder / "short.txt", "--row", folder / "short.txt"}),
         2, "--table");
  // Nobody is there.
  const ProcessResult lonely = Partita({"client", "submit", folder.collection_file(), "--key", key,
                                        "--row", folder.row_file(0), "--wait", "300ms"});
  EXPECT_EQ(lonely.exit_code, 3);
  EXPECT_THAT(lonely.out, HasSubstr("0 of 2 compute nodes have the upload"));
  expect(Partita({"aggregate", folder.collection_file(), "--folder", folder / "analyst", "--wait",
                  "200ms"}),
         4, "no closing of node0, node1");
}

// The commands of docs/private-sums.md, in their order, at ports that are free.
TEST(PrivateSumTest, TheTutorialRuns) {
  std::ifstream page(SourcePath("docs/private-sums.md"));
  std::string script = "set -eu\nexport PATH=" + BinaryPath("bin") +
                       ":$PATH\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    const bool fence = line.starts_with("```");
    if (inside && !fence) script += line + "\n";
    if (fence) inside = line == "```sh";
  }
  for (const char* port : {"127.0.0.1:7501", "127.0.0.1:7502", "127.0.0.1:7503"}) {
    const size_t at = script.find(port);
    ASSERT_NE(at, std::string::npos);
    script.replace(at, std::string(port).size(), FreeAddress());
  }
  SumFolder folder({.clients = 4, .nodes = 2, .max_drop = 1, .max_collude = 0});
  const std::string place = folder / "tutorial";
  script = "mkdir " + place + "\ncd " + place + "\n" + script;
  const ProcessResult result = Process({"/bin/bash", "-c", script}).Wait();
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("sums over 4 of 5 clients"));
  EXPECT_THAT(result.out, HasSubstr("north published its part of the sum over 4 clients"));
  std::ifstream sum(folder / "tutorial/sum.json");
  EXPECT_EQ(Json::parse(sum)["clients"], 4);
}

}  // namespace
}  // namespace partita::testing::private_sum_test
