// A compute node that is several processes over one database: front ends that take uploads, and a
// worker that helps to add them up, beside nodes that keep their uploads in files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/sum_folder.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::testing::private_sum_postgres_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
using sums::SharedServer;

std::string DatabaseUrl() {
  const std::string database = SharedServer().MakeDatabase();
  return "postgresql://spool@/" + database + "?host=" + SharedServer().folder().string();
}

std::vector<std::string> WithProgram(std::vector<std::string> arguments,
                                     std::vector<std::string> more = {}) {
  arguments.insert(arguments.begin(), PartitaProgram());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(PrivateSumPostgresTest, OneNodeOfSeveralProcesses) {
  constexpr uint32_t kClients = 30;
  const SumFolder folder({.clients = kClients, .max_drop = 5});
  const std::string url = DatabaseUrl();
  std::vector<std::unique_ptr<Process>> nodes;
  nodes.push_back(
      std::make_unique<Process>(WithProgram(folder.ComputeArguments(0), {"--spool", url})));
  nodes.push_back(std::make_unique<Process>(
      WithProgram(folder.ComputeArguments(0), {"--spool", url, "--listen", FreeAddress()})));
  for (const uint16_t k : {uint16_t{1}, uint16_t{2}}) {
    nodes.push_back(std::make_unique<Process>(WithProgram(folder.ComputeArguments(k))));
  }
  for (auto& node : nodes) ASSERT_TRUE(node->WaitForStandardError("takes uploads"));
  Process worker({PartitaProgram(), "compute-worker", folder.collection_file(), "--as",
                  folder.node(0), "--folder", folder / folder.node(0), "--spool", url, "--format",
                  "json"});

  std::vector<Int128> sum(folder.collection().contract.dimension);
  SilentProgress progress;
  for (uint32_t client = 0; client < kClients; ++client) {
    const sums::KeptUpload upload = folder.Keep(client);
    for (const sums::NodeReceipt& receipt :
         sums::SendUpload(folder.collection(), folder.credential(client), upload,
                          std::chrono::minutes(10), progress)) {
      EXPECT_EQ(receipt.answer, "accepted");
    }
    const std::vector<Int128> value = folder.ValueOf(upload);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
  }
  for (uint16_t k = 0; k < 3; ++k) {
    const ProcessResult frozen =
        Partita({"compute", folder.collection_file(), "--as", folder.node(k), "--folder",
                 folder / folder.node(k), "--freeze"});
    EXPECT_EQ(frozen.exit_code, 0) << frozen.err;
  }
  // Both processes of node 0 publish.
  for (auto& node : nodes) ASSERT_TRUE(node->WaitForStandardError("published its sum"));
  const ProcessResult aggregate =
      Partita({"aggregate", folder.collection_file(), "--folder", folder / "analyst", "--format",
               "json", "--wait", "10m"});
  ASSERT_EQ(aggregate.exit_code, 0) << aggregate.err;
  const Json data = Json::parse(aggregate.out)["data"];
  EXPECT_EQ(data["clients"], kClients);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(data["grid"][i], ToString(sum[i]));
  const ProcessResult helped = worker.Wait();
  EXPECT_EQ(helped.exit_code, 0) << helped.err;
  EXPECT_GE(Json::parse(helped.out)["data"]["chunks"], 0);
}

TEST(PrivateSumPostgresTest, AnotherNodesDatabaseIsRefusedAndPasswordsAreNotShown) {
  const SumFolder folder;
  const std::string url = DatabaseUrl();
  {
    Process node(WithProgram(folder.ComputeArguments(0), {"--spool", url}));
    ASSERT_TRUE(node.WaitForStandardError("takes uploads"));
    node.Kill(SIGINT);
    node.Wait();
  }
  std::vector<std::string> other = folder.ComputeArguments(1);
  other.insert(other.end(), {"--spool", url});
  const ProcessResult refused = Partita(other);
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("node"));

  std::vector<std::string> absent = folder.ComputeArguments(0);
  absent.insert(absent.end(), {"--spool", "postgres://spool:secretword@127.0.0.1:1/none"});
  const ProcessResult unreachable = Partita(absent);
  EXPECT_NE(unreachable.exit_code, 0);
  EXPECT_THAT(unreachable.err, ::testing::Not(HasSubstr("secretword")));

  const ProcessResult worker =
      Partita({"compute-worker", folder.collection_file(), "--as", folder.node(0), "--folder",
               folder / folder.node(0), "--spool", folder / "uploads.sqlite"});
  EXPECT_EQ(worker.exit_code, 2);
  EXPECT_THAT(worker.err, HasSubstr("postgres://"));
}

}  // namespace
}  // namespace partita::testing::private_sum_postgres_test
