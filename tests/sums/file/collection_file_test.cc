// Collection files: what they say, what they promise, and every mistake with its place.
#include "sums/file/collection_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <functional>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/certificate.h"
#include "sums/protocol/sum_statement.h"
#include "tests/study/mistake.h"
#include "tests/thorough.h"

namespace partita::sums::collection_file_test {
namespace {

using study::Edited;
using ::testing::HasSubstr;

// One certificate per name, for the whole program.
const crypto::Identity& IdentityOf(const std::string& name) {
  static std::map<std::string, crypto::Identity> identities;
  auto [place, is_new] = identities.try_emplace(name);
  if (is_new) place->second = crypto::MakeIdentity({.name = name});
  return place->second;
}

std::string BoxKey(char digit) { return std::string(63, '0') + digit; }

std::string Node(const std::string& name, char digit) {
  return "[[node]]\nname = \"" + name + "\"\naddress = \"" + name +
         ".example.org:7500\"\nbox_key = \"9" + BoxKey(digit).substr(1) +
         "\"\ncertificate = \"\"\"\n" + crypto::FormatCertificate(*IdentityOf(name).certificate) +
         "\"\"\"\n";
}

// Lines 1 to 15, then the nodes.
std::string Text() {
  return "collection = 1\nname = \"steps\"\nepoch = 3\ndeadline = \"2026-12-01T18:00:00Z\"\n"
         "[clients]\nplanned = 1000\nmax_drop = 200\nmax_collude = 50\nadmission = \"registered\"\n"
         "[sum]\ndimension = 4\nbound = 2.0\n"
         "[privacy]\nepsilon = 1.0\ndelta = 1e-6\nnoise_from = \"clients\"\n" +
         Node("north", '1') + Node("south", '2');
}

CollectionFile Parse(const std::string& text) { return ParseCollectionFile(text, "c.toml"); }

TEST(CollectionFileTest, SaysWhatItSays) {
  const CollectionFile collection = Parse(Text());
  EXPECT_EQ(collection.name, "steps");
  EXPECT_EQ(collection.epoch, 3U);
  EXPECT_EQ(FormatUtc(collection.deadline), "2026-12-01T18:00:00Z");
  const Contract& contract = collection.contract;
  EXPECT_EQ(contract.clients, 1000U);
  EXPECT_EQ(contract.max_drop, 200U);
  EXPECT_EQ(contract.max_collude, 50U);
  EXPECT_EQ(contract.dimension, 4U);
  EXPECT_EQ(contract.nodes, 2U);
  EXPECT_EQ(contract.clip.bound, 2.0);
  EXPECT_EQ(contract.clip.fraction_bits, 24);
  EXPECT_EQ(contract.ring, RingBits::k64);
  EXPECT_EQ(contract.noise_source, NoiseSource::kClients);
  EXPECT_EQ(collection.nodes[1].name, "south");
  EXPECT_EQ(collection.nodes[1].fingerprint, crypto::Fingerprint(*IdentityOf("south").certificate));
  EXPECT_EQ(NodeIndexByName(collection, "south"), 1U);
  EXPECT_THROW(NodeIndexByName(collection, "west"), Error);
}

// The time that this process spent computing, in seconds: others on the machine do not count.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// However much or little noise there is, in grid units or beside the bound. With hardly any nothing
// is protected: that is said at once, instead of an epsilon in the billions.
TEST(CollectionFileTest, PlansAreQuickForAnyNoise) {
  int unlimited = 0, limited = 0, refused = 0;
  for (const char* source : {"clients", "nodes"}) {
    for (const char* dimension : {"1", "3", "1000"}) {
      for (const char* bound : {"1", "100"}) {
        double before = HUGE_VAL;
        for (const char* noise :
             Cases<const char*>({"1e-6", "1e-4", "1", "1e5"}, {"1e-3", "0.1", "30", "1e3"})) {
          std::string text =
              Edited(Text(), "epsilon = 1.0", std::string("noise_stddev = ") + noise);
          text = Edited(text, "\"clients\"", std::string("\"") + source + "\"");
          text = Edited(text, "dimension = 4", std::string("dimension = ") + dimension);
          text = Edited(text, "bound = 2.0", std::string("bound = ") + bound);
          SCOPED_TRACE(text.substr(0, 400));
          const double began = CpuSeconds();
          CollectionPlan plan;
          try {
            plan = PlanCollection(Parse(text));
          } catch (const Error& error) {  // shares of less than four grid units
            EXPECT_THAT(error.what(), HasSubstr("too small to add up"));
            ++refused;
          }
          EXPECT_LE(CpuSeconds() - began, 2);
          if (plan.statement.rows.empty()) continue;
          const privacy::PrivacyLoss& loss = plan.statement.rows[0].loss;
          const double epsilon = loss.infinite ? HUGE_VAL : loss.epsilon_upper;
          EXPECT_LE(epsilon, before);
          before = epsilon;
          (loss.infinite ? unlimited : limited) += 1;
          const std::string reason = plan.statement.rows[0].reason;
          EXPECT_EQ(reason.find("too little noise") != std::string::npos, loss.infinite) << reason;
        }
      }
    }
  }
  EXPECT_LE(refused, 6);
  EXPECT_GT(unlimited, 10);
  EXPECT_GT(limited, Thorough() ? 50 : 10);
}

// The promised epsilon holds for N - T_drop uploads, and is not given away either.
TEST(CollectionFileTest, NoiseIsSizedForThePromise) {
  for (const char* source : {"clients", "nodes"}) {
    const CollectionFile collection =
        Parse(Edited(Text(), "\"clients\"", "\"" + std::string(source) + "\""));
    const privacy::PrivacyLoss loss = ChargedLoss(collection.contract, 800, collection.delta);
    EXPECT_LE(loss.epsilon_upper, 1.0) << source;
    EXPECT_GT(loss.epsilon_upper, 1.0 - 1e-5) << source;
  }
  const CollectionFile fixed = Parse(Edited(Text(), "epsilon = 1.0", "noise_stddev = 12.5"));
  EXPECT_EQ(fixed.contract.variance, privacy::VarianceOfStddev(12.5 * 0x1p24));
}

TEST(CollectionFileTest, HashBindsWhatMattersAndNothingElse) {
  const auto hash = [](const std::string& text) { return Parse(text).contract.study; };
  const auto study = hash(Text());
  EXPECT_EQ(hash(Text()), study);
  const std::vector<std::pair<std::string, std::string>> same = {
      {"epoch = 3", "epoch = 4"},
      {"2026-12-01", "2027-12-01"},
      {"epoch = 3", "title = \"Steps\""},
      {"north.example.org", "elsewhere.example.org"},
      {"planned = 1000", "# comment\nplanned = 1000"}};
  for (const auto& [from, to] : same) EXPECT_EQ(hash(Edited(Text(), from, to)), study) << to;
  const std::vector<std::pair<std::string, std::string>> other = {
      {"\"steps\"", "\"stairs\""},
      {"planned = 1000", "planned = 1001"},
      {"max_drop = 200", "max_drop = 199"},
      {"max_collude = 50", "max_collude = 49"},
      {"\"registered\"", "\"tokens\""},
      {"dimension = 4", "dimension = 5"},
      {"bound = 2.0", "bound = 2.5"},
      {"bound = 2.0", "bound = 2.0\nfraction_bits = 25"},
      {"bound = 2.0", "bound = 2.0\nring_bits = 128"},
      {"epsilon = 1.0", "epsilon = 1.1"},
      {"delta = 1e-6", "delta = 1e-7"},
      {"\"clients\"", "\"nodes\""},
      {BoxKey('1').substr(1), BoxKey('3').substr(1)},
      {"collection = 1", "reader = [{name = \"a\", fingerprint = \"" + std::string(64, 'a') +
                             "\"}]\ncollection = 1"}};
  for (const auto& [from, to] : other) EXPECT_NE(hash(Edited(Text(), from, to)), study) << to;
}

TEST(CollectionFileTest, MistakesAreFoundWithTheirPlace) {
  const std::vector<study::Mistake> mistakes = {
      {"collection = 1", "collection = 2", "1:14", "cannot read format 2", "collection = 1"},
      {"collection = 1\n", "", "1:1", "needs the key 'collection'", "collection = 1"},
      {"\"steps\"", "\"Steps\"", "2:8", "is no study name", "small letters"},
      {"epoch = 3", "epoch = -1", "3:9", "must not be negative", "1, 2, 3"},
      {"\"2026-12-01T18:00:00Z\"", "\"tomorrow\"", "4:12", "is no time: 'tomorrow'", "UTC"},
      {"\"2026-12-01T18:00:00Z\"", "2026-12-01T18:00:00Z", "4:12", "must be text", "quotes"},
      {"planned", "plannd", "6:1", "unknown key 'plannd'", "did you mean 'planned'"},
      {"planned = 1000", "planned = 0", "6:11", "'planned' must be from 2", "admitted"},
      {"max_drop = 200", "max_drop = 1000", "7:12", "'max_drop' must be from 0 to 999", "upload"},
      {"max_drop = 200\n", "", "5:1", "needs the key 'max_drop'", "max_drop = 200"},
      {"max_collude = 50", "max_collude = 799", "6:11", "must be above", "more clients"},
      {"\"registered\"", "\"anyone\"", "9:13", "cannot be 'anyone'", "tokens"},
      {"dimension = 4", "dimension = 0", "11:13", "'dimension' must be from 1", "numbers"},
      {"bound = 2.0", "bound = 0", "12:9", "'bound' is out of range", "L2 norm"},
      {"bound = 2.0", "bound = nan", "12:9", "'bound' is out of range", "L2 norm"},
      {"bound = 2.0", "bound = 2.0\nring_bits = 96", "13:13", "must be 64 or 128", "64"},
      {"bound = 2.0", "bound = 2.0\nfraction_bits = 60", "14:1", "do not fit 64 bits", "128"},
      {"bound = 2.0", "bound = 1e-3", "13:1", "", ""},
      {"epsilon = 1.0", "epsilon = 0", "14:11", "'epsilon' is out of range", "around 1"},
      {"epsilon = 1.0\n", "", "13:1", "needs 'epsilon' or 'noise_stddev'", "epsilon = 1.0"},
      {"epsilon = 1.0", "epsilon = 1.0\nnoise_stddev = 3", "15:16", "and not both", "epsilon"},
      {"delta = 1e-6", "delta = 1", "15:9", "'delta' is out of range", "1e-15"},
      {"noise_from = \"clients\"", "noise_from = \"server\"", "16:14", "cannot be 'server'",
       "nodes"},
      {"\"north\"", "\"North\"", "18:8", "is no party name", "small letters"},
      {"\"north\"", "\"west\"", "21:15", "was made for 'north'", "collection node west"},
      {"north.example.org:7500", "north.example.org", "19:11", "is no address", "HOST:PORT"},
      {"north.example.org:7500", "north.example.org:0", "19:11", "is no address", "HOST:PORT"},
      {"9" + BoxKey('1').substr(1), "9", "20:11", "64 small hexadecimal", "collection node"},
      {"9" + BoxKey('1').substr(1), std::string(64, '0'), "20:11", "no valid key", "collection"},
      {"-----BEGIN CERTIFICATE-----", "-----BEGIN-----", "21:15", "is no certificate", "cert.pem"},
  };
  study::ExpectMistakes([](const std::string& text) { Parse(text); }, "c.toml", Text(), mistakes);
}

// Gaussian noise needs a delta, Laplace noise has none.
TEST(CollectionFileTest, OnlyGaussianNoiseHasADelta) {
  const std::string nodes = Text().substr(Text().find("[[node]]"));
  const std::string laplace = Edited(Text().substr(0, Text().find("[sum]")), "1000", "1100") +
                              "[privacy]\nepsilon = 1.0\nnoise_from = \"clients\"\n"
                              "[regression]\noutcome = \"y\"\npredictors = [\"x\"]\n"
                              "noise = \"laplace\"\n"
                              "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = 0\n"
                              "upper = 1\n"
                              "[[variable]]\nname = \"y\"\ntype = \"numeric\"\nlower = 0\n"
                              "upper = 1\n" +
                              nodes;
  const CollectionFile pure = Parse(laplace);
  EXPECT_FALSE(pure.delta.has_value());
  const CollectionPlan plan = PlanCollection(pure);
  for (const privacy::StatementRow& row : plan.statement.rows) {
    if (row.loss.infinite) continue;
    EXPECT_EQ(row.loss.delta, 0);
    EXPECT_LE(row.loss.epsilon_upper, 1 + 1e-9);
  }
  const auto parse = [](const std::string& text) { Parse(text); };
  study::ExpectMistake(parse, "c.toml",
                       Edited(laplace, "epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-6"),
                       {"", "delta", "12:9", "is pure: it has no delta", "remove it"});
  study::ExpectMistake(parse, "c.toml", Edited(laplace, "laplace", "gaussian"),
                       {"", "no delta", "10:1", "needs the key 'delta'", "delta = 1e-6"});
}

TEST(CollectionFileTest, NodesAndReadersAreDifferentPeople) {
  const auto refused = [](const std::string& text, const std::string& what) {
    try {
      Parse(text);
      ADD_FAILURE() << "accepted: " << what;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(what));
    }
  };
  const std::string head = Text().substr(0, Text().find("[[node]]"));
  refused(head + Node("north", '1'), "with 1 compute nodes");
  refused(head + Node("north", '1') + Node("north", '2'), "have the same name");
  refused(head + Node("north", '1') + Node("south", '1'), "have the same box_key");
  refused(Edited(Text(), "south.example.org", "north.example.org"), "have the same address");
  const std::string reader =
      "[[reader]]\nname = \"analyst\"\nfingerprint = \"" + std::string(64, 'a') + "\"\n";
  EXPECT_EQ(Parse(Text() + reader).readers.size(), 1U);
  refused(Text() + reader + reader, "is there twice");
  refused(Text() + Edited(reader, std::string(64, 'a'),
                          crypto::Fingerprint(*IdentityOf("north").certificate)),
          "is a compute node");
  refused(Text() + Edited(reader, "aaaa", "aaa"), "is no fingerprint");
}

TEST(CollectionFileTest, PlanCountsBytesAndStatesThePromise) {
  const CollectionFile collection = Parse(Text());
  const CollectionPlan plan = PlanCollection(collection);
  // 8 bytes per number or a seed of 32, and 139 around them (sums/protocol/README.md).
  EXPECT_EQ(plan.upload_bytes, (std::vector<size_t>{4 * 8 + 139, 32 + 139}));
  EXPECT_GT(plan.client_seconds, 0);
  const std::string text = CollectionPlanText(collection, plan);
  for (const char* part : {"800 of 1,000 clients", "outside analyst", "1 compute nodes",
                           "2 compute nodes", "171 B to north"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace partita::sums::collection_file_test
