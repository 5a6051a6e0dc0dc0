// A party that sends wrong shares, through whole studies on the engine `shamir`: corrected and
// named in the outcome while fewer than a third of the parties lie, otherwise the end of the run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/party/party.h"
#include "tests/run/lying_transport.h"
#include "tests/run/results.h"

namespace partita::run::lying_party_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct End {
  std::optional<PartyOutcome> outcome;
  std::optional<Error> error;
};

// Every phase of this party's links has the plan's messages and bytes.
void ExpectPlannedBytes(const PartyOutcome& outcome, size_t self) {
  for (const study::PlanPhase& planned : outcome.plan.phases) {
    for (const net::PhaseTraffic& counted : outcome.traffic) {
      if (counted.phase != planned.name) continue;
      for (const study::PlanLink& link : planned.links) {
        if (link.from != fmt::format("p{}", self)) continue;
        const net::LinkTraffic& sent = counted.links.at(std::stoul(link.to.substr(1)));
        EXPECT_EQ(sent.messages_sent, link.messages) << planned.name;
        EXPECT_EQ(sent.bytes_sent, link.bytes) << planned.name;
      }
    }
  }
}

// A study of holders p0 (the receiver), p1, ... with ten rows of x1, x2, x3 each.
class LyingPartyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "/partita-lying-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void WriteStudy(size_t num_parties, const std::string& threshold = "") {
    std::string parties, rows, variables;
    for (size_t p = 0; p < num_parties; ++p) {
      parties += fmt::format("[[party]]\nname = \"p{}\"\nroles = [{}]\nrows = [\"b{}\"]\n", p,
                             p == 0 ? "\"holder\", \"receiver\"" : "\"holder\"", p);
      rows += fmt::format("[[rows]]\nname = \"b{}\"\ncount = 10\n", p);
      std::ofstream table(Table(p));
      table << "id,x1,x2,x3\n";
      for (size_t i = 0; i < 10; ++i) {
        const double k = static_cast<double>(p * 10 + i);
        const double x1 = std::fmod(k * 37, 41) / 10 - 2, x2 = std::fmod(k * 23 + 5, 43) / 10 - 2;
        const double noise = std::fmod(k * 29 + 11, 31) / 10 - 1.5;
        table << fmt::format("{},{:.1f},{:.1f},{:.6f}\n", 100 + p * 10 + i, x1, x2,
                             0.5 * x1 - 0.25 * x2 + noise);
      }
    }
    for (const char* name : {"x1", "x2", "x3"}) {
      variables += fmt::format(
          "[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -10\nupper = 10\n", name);
    }
    std::ofstream(folder_ / "study.toml")
        << "partita = 1\nname = \"lies\"\ntitle = \"Wrong shares\"\n"
        << parties << rows << variables
        << "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"shamir\"\n"
        << threshold
        << "[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = "
           "[\"moments\"]\n"
           "function = \"sem\"\nmodel = \"\"\"\nx3 ~ x1 + x2\n\"\"\"\n";
  }

  // All parties as threads; `liars` send wrong shares when the moments are opened.
  std::vector<End> Run(const std::set<size_t>& liars) {
    const methods::mle::MleStudy study =
        methods::mle::PrepareMleStudy(methods::LoadStudyFile(folder_ / "study.toml"));
    crypto::SystemRandom setup;
    auto transports = net::MakeMemoryTransports(PartyNames(study), setup);
    std::vector<End> ends(transports.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (liars.contains(i)) {
        transports[i] =
            std::make_unique<partita::testing::LyingTransport>(std::move(transports[i]), "release");
      }
      threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
        crypto::SystemRandom random;
        SilentProgress progress;
        try {
          const std::unique_ptr<Approvals> approvals = UnsignedApprovals(random);
          const PartyInput input{i, Table(i), {}, approvals.get()};
          ends[i].outcome = RunParty(
              study, input, [&](bool) { return std::move(transport); }, random, progress);
        } catch (const Error& error) {
          ends[i].error = error;
        }
        transport.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  std::filesystem::path Table(size_t party) const {
    return folder_ / fmt::format("p{}.csv", party);
  }

  std::filesystem::path folder_;
};

TEST_F(LyingPartyTest, OneOfFourIsCorrectedAndNamedInTheOutcome) {
  WriteStudy(4);
  const std::vector<End> honest = Run({});
  for (const size_t liar : {1, 3}) {
    const std::vector<End> ends = Run({liar});
    for (size_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(honest[i].outcome && ends[i].outcome)
          << i << " " << (ends[i].error ? ends[i].error->message() : "");
      EXPECT_THAT(honest[i].outcome->corrected, IsEmpty());
      // The moments open to the receiver only.
      if (i > 0) {
        EXPECT_THAT(ends[i].outcome->corrected, IsEmpty());
      }
    }
    EXPECT_THAT(ends[0].outcome->corrected, ElementsAre(fmt::format("p{}", liar)));
    ASSERT_EQ(testing::MleResultsOf(*ends[0].outcome).size(), 1u);
    const auto& got = testing::MleResultsOf(*ends[0].outcome)[0].fit.estimates;
    const auto& wanted = testing::MleResultsOf(*honest[0].outcome)[0].fit.estimates;
    ASSERT_EQ(got.size(), wanted.size());
    ASSERT_FALSE(got.empty());
    for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(got[k].estimate, wanted[k].estimate) << k;
  }
}

// A lower threshold: two of seven are corrected, one of five, where the largest corrects nobody.
// Messages are those of the plan, which says who must not pool.
TEST_F(LyingPartyTest, AThresholdInTheStudyFileCorrectsMore) {
  struct Case {
    size_t parties, threshold;
    std::set<size_t> liars;
    std::vector<std::string> named;
  };
  for (const Case& c : {Case{5, 1, {4}, {"p4"}}, Case{7, 2, {2, 5}, {"p2", "p5"}}}) {
    SCOPED_TRACE(c.parties);
    WriteStudy(c.parties, fmt::format("threshold = {}\n", c.threshold));
    const std::vector<End> honest = Run({}), ends = Run(c.liars);
    for (size_t i = 0; i < c.parties; ++i) {
      ASSERT_TRUE(honest[i].outcome && ends[i].outcome)
          << i << " " << (ends[i].error ? ends[i].error->message() : "");
      ExpectPlannedBytes(*honest[i].outcome, i);
    }
    EXPECT_THAT(ends[0].outcome->corrected, ::testing::ElementsAreArray(c.named));
    const auto& got = testing::MleResultsOf(*ends[0].outcome).at(0).fit.estimates;
    const auto& wanted = testing::MleResultsOf(*honest[0].outcome).at(0).fit.estimates;
    for (size_t k = 0; k < wanted.size(); ++k) EXPECT_EQ(got[k].estimate, wanted[k].estimate) << k;

    const study::Plan& plan = honest[0].outcome->plan;
    EXPECT_EQ(plan.threshold, c.threshold);
    EXPECT_THAT(
        plan.assumptions,
        Contains(HasSubstr(fmt::format("Here {} of {} parties may collude and learn "
                                       "nothing of the others' inputs; {} together see "
                                       "everything. Up to {} wrong shares",
                                       c.threshold, c.parties, c.threshold + 1, c.threshold))));
    const std::string beyond = fmt::format("any {} computing parties together", c.threshold + 1);
    EXPECT_TRUE(std::any_of(plan.privacy.begin(), plan.privacy.end(),
                            [&](const auto& row) { return row.adversary == beyond; }));
  }
}

// More lies than can be corrected: the receiver says so and names nobody; all stop.
TEST_F(LyingPartyTest, MoreLiesThanCanBeCorrectedEndTheRun) {
  for (const auto& [parties, liars] :
       {std::pair{size_t{4}, std::set<size_t>{1, 3}}, std::pair{size_t{3}, std::set<size_t>{2}},
        std::pair{size_t{5}, std::set<size_t>{4}}}) {
    SCOPED_TRACE(parties);
    WriteStudy(parties);
    const std::vector<End> ends = Run(liars);
    for (size_t i = 0; i < parties; ++i) {
      ASSERT_TRUE(ends[i].error.has_value()) << i;
      EXPECT_FALSE(ends[i].outcome.has_value()) << i;
    }
    EXPECT_EQ(ends[0].error->code(), ErrorCode::kPeerFault) << ends[0].error->message();
    for (const size_t liar : liars) {
      EXPECT_EQ(ends[0].error->message().find(fmt::format("p{}", liar)), std::string::npos)
          << ends[0].error->message();
    }
  }
}

}  // namespace
}  // namespace partita::run::lying_party_test
