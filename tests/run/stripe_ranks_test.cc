// Parties with several ranks, as threads: the same numbers to the bit and the same messages as with one
// process each, and ranks that fail.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/method/stripes.h"
#include "run/party/party.h"
#include "run/party/stripe_port.h"
#include "run/ranks/stripes_of_ranks.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"

namespace partita::run::stripe_ranks_test {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStripes = 6;
constexpr size_t kRows = kStripes * kMinRowsOfStripe + 5;

std::string StudyText(const std::string& engine) {
  std::string toml = "partita = 1\nname = \"ranks\"\n";
  for (const std::string party : {"north", "south", "west"}) {
    toml += fmt::format(
        "[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [\"{}\"]\nrows = [\"all\"]\n",
        party, party == "north" ? ", \"receiver\"" : "", party.substr(0, 1));
  }
  if (engine == "dealer") toml += "[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  toml += fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n", kRows);
  for (const std::string name : {"n", "s", "w"}) {
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n",
                        name);
  }
  return toml + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"complete\"\n[engine]\nname = \"{}\"\n"
                    "stripes = {}\n[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\n"
                    "release = [\"moments\"]\nfunction = \"sem\"\nmodel = \"n ~ s + w\"\n",
                    engine, kStripes);
}

// Messages between the ranks of one party.
struct Mail {
  explicit Mail(size_t size) : queues(size, std::vector<std::deque<Bytes>>(size)) {}
  std::mutex mutex;
  std::vector<std::vector<std::deque<Bytes>>> queues;  // [to][from]
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(Mail& mail, size_t rank) : mail_(mail), rank_(rank) {}
  size_t rank() const override { return rank_; }
  size_t size() const override { return mail_.queues.size(); }
  std::string Host() const override { return "here"; }
  void Send(size_t to, ByteView bytes) override {
    const std::lock_guard lock(mail_.mutex);
    mail_.queues[to][rank_].emplace_back(bytes.begin(), bytes.end());
  }
  std::optional<Bytes> TryReceive(size_t from) override {
    const std::lock_guard lock(mail_.mutex);
    std::deque<Bytes>& queue = mail_.queues[rank_][from];
    if (queue.empty()) return std::nullopt;
    Bytes first = std::move(queue.front());
    queue.pop_front();
    return first;
  }

 private:
  Mail& mail_;
  size_t rank_;
};

// Ends a rank that waits for orders when its party has ended.
class UntilEnd : public SilentProgress {
 public:
  explicit UntilEnd(const std::atomic<bool>& ended) : ended_(ended) {}
  void CheckCancelled() override {
    if (ended_) throw Error(ErrorCode::kCancelled, "the party has ended");
  }

 private:
  const std::atomic<bool>& ended_;
};

struct End {
  std::optional<PartyOutcome> outcome;
  std::optional<Error> error;
};

// A rank of a party that fails at a stripe.
struct Fault {
  size_t party = ~size_t{0}, rank = 0, stripe = 0;
};

class StripeRanksTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = testing::MakeTemporaryFolder("stripe_ranks");
    study_ = methods::PrepareStudy(methods::ParseStudyFile(StudyText(GetParam()), "study.toml"));
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-4, 4);
    for (const study::Party& party : study_->parties) {
      std::ofstream csv(Table(party.name));
      csv << "id," << party.name.substr(0, 1) << "\n";
      for (size_t r = 0; r < kRows; ++r) {
        csv << "k" << r << ",";
        if (r % 97 != party.name.size()) csv << uniform(random);  // some are missing
        csv << "\n";
      }
    }
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path Table(const std::string& party) const { return folder_ / (party + ".csv"); }

  // ranks: by party.
  std::vector<End> Run(const std::vector<size_t>& ranks, const Fault& fault = {}) {
    const std::vector<std::string> names = PartyNames(*study_);
    crypto::SystemRandom setup;
    auto transports = net::MakeMemoryTransports(names, setup);
    StripesInMemory stripes(names, setup);
    const auto connector = [&](size_t party, size_t rank) -> StripeConnector {
      return [&fault, inner = stripes.Connector(party, {}), party, rank](
                 size_t stripe, const std::string& tag,
                 Progress& progress) -> std::unique_ptr<net::Transport> {
        if (party == fault.party && rank == fault.rank && stripe == fault.stripe)
          throw Error(ErrorCode::kStorage, "stopped by the test", "a hint");
        return inner(stripe, tag, progress);
      };
    };
    std::vector<End> ends(names.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
        crypto::SystemRandom random;
        SilentProgress progress;
        Mail mail(ranks[i]);
        std::atomic<bool> ended = false;
        std::vector<std::thread> others;
        for (size_t rank = 1; rank < ranks[i]; ++rank) {
          others.emplace_back([&, rank] {
            ThreadRanks own(mail, rank);
            UntilEnd until(ended);
            try {
              while (true) {
                const RankOrder order = DecodeOrder(ReceiveFrom(own, 0, until));
                const auto study = methods::PrepareStudy(
                    methods::ParseStudyFile(order.setup.study_text, order.setup.study_name));
                own.Send(0, EncodeReport(RunOrder(*study, order, rank, ranks[i], connector(i, rank),
                                                  until)));
              }
            } catch (const Error& error) {
              EXPECT_EQ(error.code(), ErrorCode::kCancelled) << error.message();
            }
          });
        }
        ThreadRanks first(mail, 0);
        try {
          const std::unique_ptr<Approvals> approvals = UnsignedApprovals(random);
          PartyInput input{i, Table(names[i]), {}, approvals.get()};
          input.stripes = connector(i, 0);
          if (ranks[i] > 1) {
            input.ranks = &first;
            crypto::Identity identity;
            net::Roster roster;
            for (size_t p = 0; p < names.size(); ++p) {
              const crypto::Identity other = crypto::MakeIdentity({.name = names[p]});
              roster.push_back({names[p], fmt::format("127.0.0.1:{}", 7400 + p),
                                crypto::Fingerprint(*other.certificate)});
              if (p == i) identity = other;
            }
            input.rank_setup = std::make_shared<const RankSetup>(RankSetup{study_->file.text,
                                                                           "study.toml",
                                                                           identity,
                                                                           roster,
                                                                           i,
                                                                           std::chrono::seconds(60),
                                                                           {}});
          }
          ends[i].outcome = RunParty(
              *study_, input, [&](bool) { return std::move(transport); }, random, progress);
        } catch (const Error& error) {
          ends[i].error = error;
        }
        ended = true;
        for (std::thread& other : others) other.join();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  fs::path folder_;
  std::unique_ptr<const Study> study_;
};

INSTANTIATE_TEST_SUITE_P(Engines, StripeRanksTest,
                         ::testing::Values("dealer", "replicated", "shamir"),
                         [](const auto& engine) { return engine.param; });

TEST_P(StripeRanksTest, AnyNumberOfRanksGivesTheSameBitsAndMessages) {
  const std::vector<End> alone = Run({1, 1, 1, 1});
  for (const std::vector<size_t>& ranks :
       std::vector<std::vector<size_t>>{{1, 2, 3, 1}, {6, 1, 4, 2}, {9, 9, 9, 9}}) {
    const std::vector<End> ends = Run(ranks);
    for (size_t i = 0; i < ends.size(); ++i) {
      ASSERT_FALSE(ends[i].error) << ends[i].error->message();
      ASSERT_FALSE(alone[i].error) << alone[i].error->message();
      const auto &a = ends[i].outcome->traffic, &b = alone[i].outcome->traffic;
      ASSERT_EQ(a.size(), b.size());
      for (size_t p = 0; p < a.size(); ++p) {
        EXPECT_EQ(a[p].phase, b[p].phase);
        EXPECT_EQ(a[p].rounds, b[p].rounds) << a[p].phase;
        for (size_t peer = 0; peer < a[p].links.size(); ++peer) {
          EXPECT_EQ(a[p].links[peer].messages_sent, b[p].links[peer].messages_sent) << a[p].phase;
          EXPECT_EQ(a[p].links[peer].bytes_sent, b[p].links[peer].bytes_sent) << a[p].phase;
          EXPECT_EQ(a[p].links[peer].bytes_received, b[p].links[peer].bytes_received);
        }
      }
    }
    const auto& own = testing::MleResultsOf(*ends[0].outcome);
    const auto& other = testing::MleResultsOf(*alone[0].outcome);
    ASSERT_EQ(own.size(), 1u);
    ASSERT_TRUE(own[0].moments && other[0].moments);
    EXPECT_EQ(own[0].moments->groups[0].n, other[0].moments->groups[0].n);
    EXPECT_TRUE(own[0].moments->groups[0].mean == other[0].moments->groups[0].mean);
    EXPECT_TRUE(own[0].moments->groups[0].covariance == other[0].moments->groups[0].covariance);
  }
}

TEST_P(StripeRanksTest, AFailedRankEndsTheRunEverywhereAndIsNamed) {
  const std::vector<size_t> ranks = {1, 2, 3, 2};
  for (size_t party = 0; party < study_->parties.size(); ++party) {
    for (size_t stripe = 0; stripe < kStripes; ++stripe) {
      const size_t rank = stripe % ranks[party];
      SCOPED_TRACE(fmt::format("party {}, stripe {}", party, stripe));
      const std::vector<End> ends = Run(ranks, {party, rank, stripe});
      for (size_t i = 0; i < ends.size(); ++i) {
        ASSERT_TRUE(ends[i].error) << "party " << i << " has a result";
        if (i != party) {
          EXPECT_EQ(ends[i].error->code(), ErrorCode::kPeerLost) << ends[i].error->message();
        }
      }
      const Error& own = *ends[party].error;
      EXPECT_EQ(own.code(), ErrorCode::kStorage) << own.message();
      EXPECT_EQ(own.message(),
                rank == 0 ? "stopped by the test"
                          : fmt::format("rank {} of this party: stopped by the test", rank));
    }
  }
}

TEST(RankOrderTest, StripesOfRanksAreAllStripesOnce) {
  for (size_t ranks = 1; ranks < 9; ++ranks) {
    std::vector<size_t> count(20);
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (const size_t stripe : StripesOfRank(rank, ranks, count.size())) ++count[stripe];
    }
    EXPECT_EQ(count, std::vector<size_t>(20, 1));
  }
}

TEST(RankOrderTest, NamesTellTheStripe) {
  EXPECT_EQ(StripeOfName(StripeName(17, "0123456789abcdef")), 17u);
  for (const std::string name : {"", "stripe-", "stripe--1", "stripe-7", "other-7-a", "stripe-x-a",
                                 "stripe-99999999999999999999999-a"})
    EXPECT_EQ(StripeOfName(name), std::nullopt) << name;
}

}  // namespace
}  // namespace partita::run::stripe_ranks_test
