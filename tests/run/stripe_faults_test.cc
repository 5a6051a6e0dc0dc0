// A party that stops at any event of any stripe, in the stripe or beside it: every party ends with an
// error, and nobody waits for it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/method/stripes.h"
#include "run/party/party.h"
#include "run/party/stripe_port.h"
#include "tests/net/stopping_transport.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"

namespace partita::run::stripe_faults_test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStripes = 2;
constexpr size_t kRows = kStripes * kMinRowsOfStripe;
constexpr uint64_t kNever = ~uint64_t{0};

std::string StudyText(const std::string& engine) {
  std::string toml = "partita = 1\nname = \"faults\"\n";
  const bool three = engine != "dealer";
  for (const std::string& party : three ? std::vector<std::string>{"north", "south", "west"}
                                        : std::vector<std::string>{"north", "south"}) {
    toml += fmt::format(
        "[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [\"{}\"]\nrows = [\"all\"]\n",
        party, party == "north" ? ", \"receiver\"" : "", party.substr(0, 1));
  }
  if (!three) toml += "[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  toml += fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n", kRows);
  for (const std::string& name :
       three ? std::vector<std::string>{"n", "s", "w"} : std::vector<std::string>{"n", "s"}) {
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n",
                        name);
  }
  return toml + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"{}\"\n"
                    "stripes = {}\n[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\n"
                    "release = [\"moments\"]\nfunction = \"sem\"\nmodel = \"n ~ s\"\n",
                    engine, kStripes);
}

// Where one party stops.
struct Stop {
  size_t party = 0, stripe = 0;
  uint64_t event = 0;   // of the stripe's connections
  bool before = false;  // instead: before it has any
};

class StripeFaultsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = testing::MakeTemporaryFolder("stripe_faults");
    study_ = methods::PrepareStudy(methods::ParseStudyFile(StudyText(GetParam()), "study.toml"));
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-4, 4);
    for (const study::Party& party : study_->parties) {
      std::ofstream csv(Table(party.name));
      csv << "id," << party.name.substr(0, 1) << "\n";
      for (size_t r = 0; r < kRows; ++r) csv << "k" << r << "," << uniform(random) << "\n";
    }
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path Table(const std::string& party) const { return folder_ / (party + ".csv"); }

  // What every party ended with.
  std::vector<std::optional<Error>> Run(const Stop& stop) {
    const std::vector<std::string> names = PartyNames(*study_);
    crypto::SystemRandom setup;
    auto transports = net::MakeMemoryTransports(names, setup);
    StripesInMemory stripes(names, setup);
    std::vector<std::optional<Error>> errors(names.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
        crypto::SystemRandom random;
        SilentProgress progress;
        try {
          const std::unique_ptr<Approvals> approvals = UnsignedApprovals(random);
          PartyInput input{i, Table(names[i]), {}, approvals.get()};
          const StripeConnector connect = stripes.Connector(i, {});
          input.stripes = [&, i](size_t stripe, const std::string& tag,
                                 Progress& own) -> std::unique_ptr<net::Transport> {
            if (i != stop.party || stripe != stop.stripe) return connect(stripe, tag, own);
            if (stop.before) throw Error(ErrorCode::kInternal, "stopped by the test");
            return std::make_unique<net::StoppingTransport>(connect(stripe, tag, own), stop.event);
          };
          RunParty(
              *study_, input, [&](bool) { return std::move(transport); }, random, progress);
        } catch (const Error& error) {
          errors[i] = error;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  // Whether it stopped at all.
  bool ExpectAllEnd(const Stop& stop) {
    SCOPED_TRACE(fmt::format("party {}, stripe {}, event {}", stop.party, stop.stripe, stop.event));
    const std::vector<std::optional<Error>> errors = Run(stop);
    if (!errors[stop.party]) {
      for (const auto& error : errors) EXPECT_FALSE(error) << error->message();
      return false;
    }
    EXPECT_EQ(errors[stop.party]->message(), "stopped by the test");
    for (size_t i = 0; i < errors.size(); ++i) {
      if (!errors[i]) {
        ADD_FAILURE() << "party " << i << " has a result";
        continue;
      }
      EXPECT_NE(errors[i]->code(), ErrorCode::kTimeout) << errors[i]->message();
      if (i != stop.party) {
        EXPECT_EQ(errors[i]->code(), ErrorCode::kPeerLost) << errors[i]->message();
      }
    }
    return true;
  }

  fs::path folder_;
  std::unique_ptr<const Study> study_;
};

INSTANTIATE_TEST_SUITE_P(Engines, StripeFaultsTest, ::testing::Values("dealer", "replicated"),
                         [](const auto& engine) { return engine.param; });

TEST_P(StripeFaultsTest, AtEveryEventOfEveryStripe) {
  for (size_t party = 0; party < study_->parties.size(); ++party) {
    for (size_t stripe = 0; stripe < kStripes; ++stripe) {
      uint64_t event = 0;
      while (ExpectAllEnd({party, stripe, event})) {
        ++event;
        if (HasFailure()) return;
      }
      if (HasFailure()) return;
    }
  }
}

// Somebody who waits for a stripe notices on the connections of the run that nobody will come.
TEST_P(StripeFaultsTest, BeforeAStripeHasConnections) {
  for (size_t party = 0; party < study_->parties.size(); ++party) {
    for (size_t stripe = 0; stripe < kStripes; ++stripe)
      EXPECT_TRUE(ExpectAllEnd({party, stripe, kNever, true}));
  }
}

}  // namespace
}  // namespace partita::run::stripe_faults_test
