// Rounds whose other compute nodes, readers' nodes or stores do not do what they should: what is
// refused, and what the ledger is charged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <thread>

#include "methods/dca/closing.h"
#include "methods/dca/upload.h"
#include "net/https_server.h"
#include "net/roster.h"
#include "runtime/collect_sum.h"
#include "runtime/compute_run.h"
#include "runtime/open_spool.h"
#include "runtime/round_api.h"
#include "runtime/round_charge.h"
#include "tests/cli/sum_folder.h"

namespace partita::runtime::round_faults_test {
namespace {

using methods::dca::AcceptedSet;
using methods::dca::Closing;
using partita::testing::SumFolder;
using privacy::ledger::SqliteLedger;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kFromNodes[] = "noise_stddev = 4.0\ndelta = 1e-6\nnoise_from = \"nodes\"";

// A compute node that shows what it is told to.
class FakeNode {
 public:
  FakeNode(const SumFolder& folder, uint16_t k, std::map<std::string, Bytes> shown)
      : shown_(std::move(shown)),
        server_(Listen(folder.collection().nodes[k].address), folder.node_identity(k), {}, 1,
                [this](const net::HttpRequest& request, const net::HttpReply& reply) {
                  const std::string what = request.target.substr(request.target.rfind('/') + 1);
                  const auto found = shown_.find(what);
                  if (found == shown_.end()) return reply(net::TextResponse(409, kNotYet));
                  net::HttpResponse response;
                  response.body = found->second;
                  reply(std::move(response));
                }) {}

 private:
  static net::Listener Listen(const std::string& address) {
    const net::Address parsed = net::ParseAddress(address);
    return net::Listen(parsed.host, parsed.port);
  }

  std::map<std::string, Bytes> shown_;
  net::HttpsServer server_;
};

class RoundFaultsTest : public ::testing::Test {
 protected:
  static partita::testing::SumOptions Options(const std::string& noise = {}) {
    partita::testing::SumOptions options{.clients = 4, .nodes = 2, .max_drop = 1, .max_collude = 0};
    if (!noise.empty()) options.noise = noise;
    return options;
  }

  // All clients' uploads, and the set that they make.
  static AcceptedSet Uploads(const SumFolder& folder, const std::filesystem::path& import) {
    std::ofstream stream(import, std::ios::binary);
    AcceptedSet set;
    for (uint32_t client = 0; client < 4; ++client) {
      const Bytes envelope = folder.Keep(client).envelopes[0];
      ByteWriter writer;
      writer.U32(static_cast<uint32_t>(envelope.size()));
      stream.write(reinterpret_cast<const char*>(writer.bytes().data()), 4);
      stream.write(reinterpret_cast<const char*>(envelope.data()),
                   static_cast<std::streamsize>(envelope.size()));
      const methods::dca::UploadHeader header = methods::dca::ParseEnvelope(envelope).header;
      set.push_back({header.client, header.upload});
    }
    std::ranges::sort(set);
    return set;
  }

  static LedgerOptions OpenAccount(const SumFolder& folder) {
    const std::filesystem::path file = folder / "ledger.sqlite";
    SqliteLedger::Create({.file = file});
    privacy::ledger::Policy policy;
    policy.table = "steps";
    policy.outside.epsilon = "50";
    policy.outside.delta = "1e-4";
    policy.outside.adjacency = privacy::Adjacency::kReplace;
    crypto::SystemRandom random;
    SqliteLedger({.file = file}).OpenAccount(policy, random, {"steward", 0});
    return {file, "steps"};
  }
  static uint64_t Spent(const LedgerOptions& ledger) {
    return SqliteLedger({.file = ledger.file}).StandingOf(ledger.table).studies_spent;
  }

  static Closing ClosingOf(const SumFolder& folder, uint16_t node, const AcceptedSet& set) {
    const study::CollectionFile& collection = folder.collection();
    return {collection.contract.study, collection.epoch, node, static_cast<uint32_t>(set.size()),
            SetHash(collection.contract.study, collection.epoch, set)};
  }

  // Runs node 0 on the imported uploads, freezes it, and returns how it ended: "" or the error.
  std::string RunNode0(const SumFolder& folder, const LedgerOptions& ledger) {
    ComputeOptions options;
    options.node = "node0";
    options.files = FilesIn(folder / "node0");
    options.clients = folder / "node0/clients.txt";
    options.spool = folder / "node0.uploads";
    options.import = folder / "import";
    options.ledger = ledger;
    options.linger = std::chrono::milliseconds(0);
    std::string problem;
    std::atomic<bool> ended{false};
    std::thread running([&] {
      SilentProgress progress;
      try {
        RunComputeNode(
            folder.collection(), options, [](const std::string&) {}, progress);
      } catch (const Error& error) {
        problem = error.message();
      }
      ended = true;
    });
    // A freeze that comes before the node listens reaches nobody.
    for (bool asked = false; !asked && !ended;) {
      try {
        SilentProgress progress;
        AskToFreeze(folder.collection(), 0, folder.node_identity(0), progress);
        asked = true;
      } catch (const Error&) {
        std::this_thread::yield();
      }
    }
    running.join();
    return problem;
  }
};

TEST_F(RoundFaultsTest, EverySetIsChargedOnce) {
  const SumFolder folder(Options());
  const LedgerOptions ledger = OpenAccount(folder);
  Closing closing = ClosingOf(folder, 0, {});
  closing.count = 4;
  const auto charge = [&] {
    return ChargeRound(folder.collection(), closing, ledger, "test").reservation;
  };
  EXPECT_FALSE(IsSpent(folder.collection(), closing.set_hash, ledger));
  const uint64_t first = charge();
  EXPECT_TRUE(IsSpent(folder.collection(), closing.set_hash, ledger));
  EXPECT_EQ(charge(), first);
  EXPECT_EQ(Spent(ledger), 1U);
  // Of another set of the same study and epoch, of the same size.
  closing.set_hash[0] ^= 1;
  EXPECT_FALSE(IsSpent(folder.collection(), closing.set_hash, ledger));
  EXPECT_NE(charge(), first);
  EXPECT_EQ(Spent(ledger), 2U);
}

// A closing of another set, which its node signed: nothing is opened, and nothing charged for it.
TEST_F(RoundFaultsTest, OtherClosingsAreRefusedBeforeTheCharge) {
  const SumFolder folder(Options());
  const LedgerOptions ledger = OpenAccount(folder);
  const AcceptedSet set = Uploads(folder, folder / "import");
  Closing other = ClosingOf(folder, 1, set);
  other.set_hash[5] ^= 1;
  const FakeNode node1(folder, 1,
                       {{"set", methods::dca::EncodeSet(set)},
                        {"closing", SignClosing(other, folder.node_identity(1))}});
  EXPECT_THAT(RunNode0(folder, ledger), HasSubstr("with different sets"));
  EXPECT_EQ(Spent(ledger), 0U);
}

// A store that has forgotten the round, and the peers' messages of the first time.
TEST_F(RoundFaultsTest, NodesDoNotDrawTheirNoiseTwiceForOneCharge) {
  const SumFolder folder(Options(kFromNodes));
  const LedgerOptions ledger = OpenAccount(folder);
  const AcceptedSet set = Uploads(folder, folder / "import");
  const FakeNode node1(
      folder, 1,
      {{"set", methods::dca::EncodeSet(set)},
       {"closing", SignClosing(ClosingOf(folder, 1, set), folder.node_identity(1))}});
  EXPECT_EQ(RunNode0(folder, ledger), "");
  std::filesystem::remove(folder / "node0.uploads");
  EXPECT_THAT(RunNode0(folder, ledger), HasSubstr("the upload store knows nothing of it"));
  EXPECT_EQ(Spent(ledger), 1U);
}

// Where clients add the noise the same set has the same noise: the same sum again, for nothing.
TEST_F(RoundFaultsTest, AForgottenStoreOfClientsNoiseOpensTheSameSum) {
  const SumFolder folder(Options());
  const LedgerOptions ledger = OpenAccount(folder);
  const AcceptedSet set = Uploads(folder, folder / "import");
  const FakeNode node1(
      folder, 1,
      {{"set", methods::dca::EncodeSet(set)},
       {"closing", SignClosing(ClosingOf(folder, 1, set), folder.node_identity(1))}});
  EXPECT_EQ(RunNode0(folder, ledger), "");
  std::filesystem::remove(folder / "node0.uploads");
  EXPECT_EQ(RunNode0(folder, ledger), "");
  EXPECT_EQ(Spent(ledger), 1U);
}

// All compute nodes publish another sum of as many clients than they closed.
TEST_F(RoundFaultsTest, ReadersTakeTheSumThatWasClosed) {
  const SumFolder folder(Options());
  AcceptedSet set(4), other(4);
  for (size_t i = 0; i < 4; ++i) {
    set[i].client[0] = static_cast<uint8_t>(i);
    other[i].client[0] = static_cast<uint8_t>(i + 1);
  }
  const methods::dca::Contract& contract = folder.collection().contract;
  const auto collect = [&](const AcceptedSet& published, uint64_t epochs_later) -> std::string {
    std::vector<std::unique_ptr<FakeNode>> nodes;
    for (uint16_t k = 0; k < 2; ++k) {
      methods::dca::Publication publication{ClosingOf(folder, k, published),
                                            Bytes(contract.dimension * WordBytes(contract))};
      publication.closing.epoch += epochs_later;
      std::map<std::string, Bytes> shown;
      shown["closing"] = SignClosing(ClosingOf(folder, k, set), folder.node_identity(k));
      shown["publication"] = SignPublication(publication, folder.node_identity(k));
      nodes.push_back(std::make_unique<FakeNode>(folder, k, std::move(shown)));
    }
    SilentProgress progress;
    try {
      CollectSum(
          folder.collection(), folder.reader_identity(), std::nullopt, seconds(60),
          [](const std::string&) {}, progress);
      return "";
    } catch (const Error& error) {
      return error.message();
    }
  };
  EXPECT_EQ(collect(set, 0), "");
  EXPECT_THAT(collect(other, 0), HasSubstr("published another sum than they closed"));
  EXPECT_THAT(collect(set, 1), HasSubstr("published another sum than they closed"));
}

TEST(RequestTimeTest, GrowsWithTheBytes) {
  EXPECT_EQ(RequestTime(0), seconds(60));
  EXPECT_EQ(RequestTime(size_t{1} << 20), seconds(60 + 16));
}

TEST(OpenSpoolTest, ConnectionStringsAreNoFiles) {
  for (const std::string where :
       {"host=/nowhere dbname=x password=secret", " dbname = x password=secret host=/nowhere",
        "postgres://user:secret@localhost/x"}) {
    try {
      OpenSpool(where, {}, {}, 1);
      ADD_FAILURE() << "opened " << where;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("password"));
      EXPECT_EQ(error.message().find("secret"), std::string::npos);
    }
    EXPECT_FALSE(std::filesystem::exists(where));
  }
  const SumFolder folder({.clients = 4, .nodes = 2, .max_drop = 1, .max_collude = 0});
  const std::filesystem::path file = folder / "a=b";
  OpenSpool(file, {}, {}, 1);
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace partita::runtime::round_faults_test
