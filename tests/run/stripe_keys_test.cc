// Whether stripes and attempts mask with anything twice: the same rows in every stripe of two attempts, over
// connections that all have the same secret, and what is sent of them has no eight bytes in common. On a
// network every connection has a secret of its own as well; here the run id alone keeps keys apart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/method/stripes.h"
#include "run/party/party.h"
#include "run/party/stripe_port.h"
#include "tests/mpc/transcript.h"
#include "tests/run/reference_study.h"

namespace partita::run::stripe_keys_test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStripes = 2, kAttempts = 2;
constexpr size_t kRows = kStripes * kMinRowsOfStripe;

std::string StudyText(const std::string& engine) {
  std::string toml = "partita = 1\nname = \"keys\"\n";
  std::vector<std::string> parties = {"north", "south"};
  if (engine == "replicated" || engine == "shamir") parties.push_back("west");
  for (const std::string& party : parties) {
    toml += fmt::format(
        "[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [\"{}\"]\nrows = [\"all\"]\n",
        party, party == "north" ? ", \"receiver\"" : "", party.substr(0, 1));
  }
  if (engine == "dealer") toml += "[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  toml += fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n", kRows);
  for (const std::string& party : parties) {
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n",
                        party.substr(0, 1));
  }
  return toml + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"{}\"\n"
                    "stripes = {}\n[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\n"
                    "release = [\"moments\"]\nfunction = \"sem\"\nmodel = \"n ~ s\"\n",
                    engine, kStripes);
}

// Recorded, with a secret that is the pair's for ever.
class SameSecret : public mpc::testing::RecordingTransport {
 public:
  SameSecret(std::unique_ptr<net::Transport> inner, mpc::testing::Transcript& transcript)
      : RecordingTransport(std::move(inner), transcript), secrets_(names().size()) {
    for (size_t peer = 0; peer < secrets_.size(); ++peer) {
      secrets_[peer].Expose().fill(static_cast<uint8_t>(1 + std::min(self(), peer)));
      secrets_[peer].Expose()[0] = static_cast<uint8_t>(std::max(self(), peer));
    }
  }
  const crypto::Key& PairwiseSecret(net::PartyIndex peer) const override { return secrets_[peer]; }

 private:
  std::vector<crypto::Key> secrets_;
};

// Every stripe has the rows of the first.
double Cell(size_t row, size_t party) {
  const size_t at = row % kMinRowsOfStripe;
  return static_cast<double>((at * (7 + 4 * party) + at * at % (5 + party)) % 81) / 10 - 4;
}

// What the parties sent each other in one stripe, in pieces of eight bytes.
std::set<uint64_t> PiecesOf(const mpc::testing::Transcript& stripe, size_t parties) {
  std::set<uint64_t> pieces;
  for (size_t from = 0; from < parties; ++from) {
    for (size_t to = 0; to < parties; ++to) {
      for (const Bytes& message : stripe.Messages(from, to)) {
        for (size_t at = 0; at + 8 <= message.size(); at += 8) {
          uint64_t piece = 0;
          std::memcpy(&piece, message.data() + at, sizeof piece);
          pieces.insert(piece);
        }
      }
    }
  }
  return pieces;
}

class StripeKeysTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Engines, StripeKeysTest,
                         ::testing::Values("dealer", "replicated", "shamir", "ot"),
                         [](const auto& engine) { return engine.param; });

TEST_P(StripeKeysTest, NothingIsMaskedAlikeTwice) {
  const auto study =
      methods::PrepareStudy(methods::ParseStudyFile(StudyText(GetParam()), "study.toml"));
  const std::vector<std::string> names = PartyNames(*study);
  const fs::path folder = testing::MakeTemporaryFolder("stripe_keys");
  for (size_t i = 0; i < names.size(); ++i) {
    std::ofstream csv(folder / (names[i] + ".csv"));
    csv << "id," << names[i].substr(0, 1) << "\n";
    for (size_t row = 0; row < kRows; ++row) csv << fmt::format("k{:05},{}\n", row, Cell(row, i));
  }
  std::map<std::pair<size_t, size_t>, mpc::testing::Transcript> sent;  // by attempt and stripe
  for (size_t attempt = 0; attempt < kAttempts; ++attempt) {
    for (size_t stripe = 0; stripe <= kStripes; ++stripe) sent[{attempt, stripe}];
    crypto::SystemRandom setup;
    auto transports = net::MakeMemoryTransports(names, setup);
    StripesInMemory stripes(names, setup);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
        crypto::SystemRandom random;
        SilentProgress progress;
        try {
          const std::unique_ptr<Approvals> approvals = UnsignedApprovals(random);
          PartyInput input{i, folder / (names[i] + ".csv"), {}, approvals.get()};
          const StripeConnector connect = stripes.Connector(i, {});
          input.stripes = [&, connect](size_t stripe, const std::string& tag,
                                       Progress& own) -> std::unique_ptr<net::Transport> {
            return std::make_unique<SameSecret>(connect(stripe, tag, own),
                                                sent.at({attempt, stripe}));
          };
          const Connector connect_run = [&](bool) -> std::unique_ptr<net::Transport> {
            return std::make_unique<SameSecret>(std::move(transport), sent.at({attempt, kStripes}));
          };
          RunParty(*study, input, connect_run, random, progress);
        } catch (const Error& error) {
          ADD_FAILURE() << names[i] << ": " << error.message();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  fs::remove_all(folder);
  std::vector<std::set<uint64_t>> pieces;
  for (size_t attempt = 0; attempt < kAttempts; ++attempt) {
    for (size_t stripe = 0; stripe < kStripes; ++stripe) {
      pieces.push_back(PiecesOf(sent.at({attempt, stripe}), names.size()));
      EXPECT_GT(pieces.back().size(), kMinRowsOfStripe) << "fewer than there are cells of a column";
      for (size_t before = 0; before + 1 < pieces.size(); ++before) {
        size_t alike = 0;
        for (const uint64_t piece : pieces.back()) alike += pieces[before].contains(piece) ? 1 : 0;
        EXPECT_EQ(alike, 0u) << "stripe " << stripe << " of attempt " << attempt
                             << " and, in the order of time, number " << before;
      }
    }
  }
}

}  // namespace
}  // namespace partita::run::stripe_keys_test
