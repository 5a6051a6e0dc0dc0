// Rounds whose other compute nodes, readers' nodes or stores do not do what they should: what is
// refused, and what the ledger is charged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "net/https_server.h"
#include "net/roster.h"
#include "sums/protocol/closing.h"
#include "sums/protocol/upload.h"
#include "sums/service/collect_sum.h"
#include "sums/service/compute_run.h"
#include "sums/service/open_spool.h"
#include "sums/service/round_api.h"
#include "sums/service/round_charge.h"
#include "tests/cli/sum_folder.h"

namespace partita::sums::round_faults_test {
namespace {

using partita::testing::SumFolder;
using privacy::ledger::SqliteLedger;
using run::LedgerOptions;
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
      const UploadHeader header = ParseEnvelope(envelope).header;
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
    const CollectionFile& collection = folder.collection();
    return {collection.contract.study, collection.epoch, node, static_cast<uint32_t>(set.size()),
            SetHash(collection.contract.study, collection.epoch, set)};
  }

  static void Sql(const std::filesystem::path& file, const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(database);
  }
  // The words that node 0's store says it published: in what comes before its signature.
  static Bytes PublishedWords(const SumFolder& folder) {
    const CollectionFile& collection = folder.collection();
    const std::optional<Bytes> publication =
        OpenSpool(folder / "node0.uploads", {}, collection.contract.study, collection.epoch)
            ->publication();
    return OpenPublication(publication.value(), collection.contract, CertificatesOf(collection))
        .words;
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

TEST_F(RoundFaultsTest, ARoundIsChargedOnce) {
  const SumFolder folder(Options());
  const LedgerOptions ledger = OpenAccount(folder);
  Agreement agreement{4, {1}};
  const auto charge = [&] {
    return ChargeRound(folder.collection(), agreement, ledger, "test").reservation;
  };
  const uint64_t first = charge();
  EXPECT_EQ(charge(), first);
  EXPECT_EQ(Spent(ledger), 1U);
  // Other closings of the same study and epoch, of as many clients.
  agreement.hash[0] ^= 1;
  try {
    charge();
    ADD_FAILURE() << "charged for other closings";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_THAT(error.message(), HasSubstr("was opened for other closings"));
  }
  EXPECT_EQ(Spent(ledger), 1U);
  // Another epoch is another round.
  CollectionFile next = folder.collection();
  ++next.epoch;
  EXPECT_NE(ChargeRound(next, agreement, ledger, "test").reservation, first);
  EXPECT_EQ(Spent(ledger), 2U);
}

// A closing of another set, which its node signed: nothing is opened, and nothing charged for it.
TEST_F(RoundFaultsTest, OtherClosingsAreRefusedBeforeTheCharge) {
  const SumFolder folder(Options());
  const LedgerOptions ledger = OpenAccount(folder);
  const AcceptedSet set = Uploads(folder, folder / "import");
  Closing other = ClosingOf(folder, 1, set);
  other.set_hash[5] ^= 1;
  const FakeNode node1(
      folder, 1,
      {{"set", EncodeSet(set)}, {"closing", SignClosing(other, folder.node_identity(1))}});
  EXPECT_THAT(RunNode0(folder, ledger), HasSubstr("with different sets"));
  EXPECT_EQ(Spent(ledger), 0U);
}

// A store that is put back to what it was before the publication, and one that has forgotten the
// round: the same words, whoever adds the noise, for one charge.
TEST_F(RoundFaultsTest, RestoredStoresPublishTheSameWords) {
  for (const std::string noise : {kFromNodes, ""}) {
    const SumFolder folder(Options(noise));
    const LedgerOptions ledger = OpenAccount(folder);
    const AcceptedSet set = Uploads(folder, folder / "import");
    const FakeNode node1(
        folder, 1,
        {{"set", EncodeSet(set)},
         {"closing", SignClosing(ClosingOf(folder, 1, set), folder.node_identity(1))}});
    std::set<Bytes> published;
    EXPECT_EQ(RunNode0(folder, ledger), "");
    published.insert(PublishedWords(folder));
    for (int restart = 0; restart < 3; ++restart) {
      Sql(folder / "node0.uploads", "UPDATE round SET publication = NULL");
      EXPECT_EQ(RunNode0(folder, ledger), "");
      published.insert(PublishedWords(folder));
      Sql(folder / "node0.uploads", "UPDATE round SET publication = NULL, closing = NULL");
      EXPECT_EQ(RunNode0(folder, ledger), "");
      published.insert(PublishedWords(folder));
      std::filesystem::remove(folder / "node0.uploads");
      EXPECT_EQ(RunNode0(folder, ledger), "");
      published.insert(PublishedWords(folder));
    }
    EXPECT_EQ(published.size(), 1U) << "sums for one charge";
    EXPECT_EQ(Spent(ledger), 1U);
  }
}

// A store without one of the uploads, and a peer that agrees to anything: the ledger remembers.
TEST_F(RoundFaultsTest, AStoreOfOtherUploadsOpensNothingMore) {
  for (const std::string noise : {kFromNodes, ""}) {
    const SumFolder folder(Options(noise));
    const LedgerOptions ledger = OpenAccount(folder);
    AcceptedSet set = Uploads(folder, folder / "import");
    for (const bool first : {true, false}) {
      const FakeNode node1(
          folder, 1,
          {{"set", EncodeSet(set)},
           {"closing", SignClosing(ClosingOf(folder, 1, set), folder.node_identity(1))}});
      const std::string problem = RunNode0(folder, ledger);
      if (first) {
        EXPECT_EQ(problem, "");
      } else {
        EXPECT_THAT(problem, HasSubstr("was opened for other closings"));
      }
      std::filesystem::remove(folder / "node0.uploads");
      set.pop_back();
    }
    EXPECT_EQ(Spent(ledger), 1U);
  }
}

// All compute nodes publish another sum of as many clients than they closed.
TEST_F(RoundFaultsTest, ReadersTakeTheSumThatWasClosed) {
  const SumFolder folder(Options());
  AcceptedSet set(4), other(4);
  for (size_t i = 0; i < 4; ++i) {
    set[i].client[0] = static_cast<uint8_t>(i);
    other[i].client[0] = static_cast<uint8_t>(i + 1);
  }
  const Contract& contract = folder.collection().contract;
  const auto collect = [&](const AcceptedSet& published, uint64_t epochs_later) -> std::string {
    std::vector<std::unique_ptr<FakeNode>> nodes;
    std::vector<Closing> closings;
    for (uint16_t k = 0; k < 2; ++k) {
      closings.push_back(ClosingOf(folder, k, published));
      closings.back().epoch += epochs_later;
    }
    for (uint16_t k = 0; k < 2; ++k) {
      const Publication publication{closings[k], RequireAgreement(closings, 2).hash,
                                    Bytes(contract.dimension * WordBytes(contract))};
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
}  // namespace partita::sums::round_faults_test
