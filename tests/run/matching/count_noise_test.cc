// Noise on the number of matches: its law, what it costs, that one person changes the number by at most
// 1, and runs of both protocols with it, from the file to the ledger.
#include "run/matching/count_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "run/matching/matching_charge.h"
#include "run/matching/matching_protocol.h"
#include "tests/net/parties.h"
#include "tests/privacy/sampling/goodness.h"
#include "tests/run/matching/linked_people.h"

namespace partita::run::count_noise_test {
namespace {

using linked_people::ErrorsOf;
using linked_people::Flat;
using linked_people::PeopleOf;
using linked_people::WriteAll;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::MatchEnd;
using testing::MatchingGroup;
using ::testing::Not;
using testing::OfAll;

// Of k about 0, cut to +-half.
double CutMass(double epsilon, int64_t half, int64_t k) {
  if (std::abs(k) > half) return 0;
  double all = 0;
  for (int64_t i = -half; i <= half; ++i)
    all += std::exp(-epsilon * static_cast<double>(std::abs(i)));
  return std::exp(-epsilon * static_cast<double>(std::abs(k))) / all;
}

TEST(CountNoiseTest, DeltaIsTheDistanceOfTheCutLawFromItsShiftBothWays) {
  for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 3.0}) {
    for (int64_t pool = 2; pool <= 400; pool += 2) {
      const int64_t half = pool / 2;
      double up = 0, down = 0;
      for (int64_t k = -half; k <= half + 1; ++k) {
        const double p = CutMass(epsilon, half, k), q = CutMass(epsilon, half, k - 1);
        // Equal up to rounding inside.
        if (p > std::exp(epsilon) * q * (1 + 1e-9)) up += p - std::exp(epsilon) * q;
        if (q > std::exp(epsilon) * p * (1 + 1e-9)) down += q - std::exp(epsilon) * p;
      }
      const double delta = PoolDelta(epsilon, static_cast<uint64_t>(pool));
      EXPECT_NEAR(delta / up, 1, 1e-9) << epsilon << " " << pool;
      EXPECT_NEAR(delta / down, 1, 1e-9) << epsilon << " " << pool;
    }
  }
}

TEST(CountNoiseTest, PoolsAreTheSmallestOfTheDelta) {
  EXPECT_EQ(PoolSize({0.5, 1e-9}), 78U);
  EXPECT_EQ(PoolSize({0.1, 1e-9}), 356U);
  EXPECT_EQ(PoolSize({0.5, 0}), 0U);  // a linker draws without one
  EXPECT_EQ(PoolSize({}), 0U);
  for (const double epsilon : {kLeastCountEpsilon, 0.3, 2.0, kMostCountEpsilon}) {
    for (const double delta : {kLeastCountDelta, 1e-9, kMostCountDelta}) {
      const uint64_t pool = PoolSize({epsilon, delta});
      EXPECT_EQ(pool % 2, 0U);
      EXPECT_LE(PoolDelta(epsilon, pool), delta);
      if (pool > 2) {
        EXPECT_GT(PoolDelta(epsilon, pool - 2), delta);
      }
    }
  }
}

// False alarm 1e-6 each.
TEST(CountNoiseTest, DrawsFollowTheirLaws) {
  crypto::Prg random = net::TestRandom(41);
  constexpr int kDraws = 20'000;
  const CountNoise pair = {0.8, 1e-6};
  const auto half = static_cast<int64_t>(PoolSize(pair) / 2);
  const auto cut = [&](int64_t k) { return CutMass(pair.epsilon, half, k); };
  const privacy::IntegerCells cells = privacy::MakeCells(cut, -half, half, kDraws);
  std::vector<uint64_t> counts(cells.probabilities.size(), 0);
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t pooled = DrawPooled(pair, random);
    ASSERT_LE(pooled, PoolSize(pair));
    ++counts[cells.CellOf(static_cast<double>(static_cast<int64_t>(pooled) - half))];
  }
  EXPECT_FALSE(privacy::ChiSquare(counts, cells.probabilities).rejected());

  const CountNoise linker = {0.8, 0};
  const double a = std::exp(-linker.epsilon);
  const auto whole = [&](int64_t k) {
    return (1 - a) / (1 + a) * std::pow(a, static_cast<double>(std::abs(k)));
  };
  const privacy::IntegerCells tails = privacy::MakeCells(whole, -200, 200, kDraws);
  counts.assign(tails.probabilities.size(), 0);
  for (int i = 0; i < kDraws; ++i)
    ++counts[tails.CellOf(static_cast<double>(DrawCountNoise(linker, random)))];
  EXPECT_FALSE(privacy::ChiSquare(counts, tails.probabilities).rejected());
}

// All lists of distinct keys out of five at two holders: one row replaced, added or taken away changes the
// join by one row out and one in, the number by 1. With more lists too, since the others do not change.
TEST(CountNoiseTest, OneRowChangesTheNumberByAtMostOne) {
  int most = 0;
  for (unsigned other = 0; other < 32; ++other) {
    for (unsigned own = 0; own < 32; ++own) {
      for (unsigned next = 0; next < 32; ++next) {
        const int out = __builtin_popcount(own & ~next), in = __builtin_popcount(next & ~own);
        if (out > 1 || in > 1) continue;
        most = std::max(
            most, std::abs(__builtin_popcount(own & other) - __builtin_popcount(next & other)));
      }
    }
  }
  EXPECT_EQ(most, 1);
}

TEST(CountNoiseTest, KeysOfPoolsAreOneAtBothAndOfTheirOwner) {
  const std::vector<crypto::Digest> first = PoolKeys(0, 6, 2), second = PoolKeys(1, 6, 5);
  EXPECT_EQ(first.size(), 8U);
  EXPECT_EQ(second.size(), 11U);
  const std::set<crypto::Digest> a(first.begin(), first.end()), b(second.begin(), second.end());
  EXPECT_EQ(a.size(), 8U);
  EXPECT_EQ(b.size(), 11U);
  const auto common = std::count_if(first.begin(), first.end(),
                                    [&](const crypto::Digest& key) { return b.contains(key); });
  EXPECT_EQ(common, 2 + 5);
}

// ------------------------------------------------------------------- runs

std::string PairFile(const std::string& more = "", uint64_t minimum = 1,
                     const std::string& noise = "epsilon = 4\ndelta = 1e-5\n") {
  return fmt::format(
      "matching = 1\nname = \"cohort\"\nkeys = [[\"nid\"]]\nlevel = \"hidden\"\ncount = \"noisy\"\n"
      "{}minimum = {}\n{}"
      "[[column]]\nname = \"nid\"\nrule = \"digits\"\nlength = 4\n"
      "[[party]]\nname = \"clinic\"\nrows = 20\n[[party]]\nname = \"registry\"\nrows = 30\n",
      noise, minimum, more);
}
std::string LinkerFile(uint64_t minimum = 1, const std::string& noise = "epsilon = 0.5\n") {
  return PairFile("", minimum, noise) + "[[party]]\nname = \"trust\"\nrole = \"linker\"\n";
}

// Ten people, five of them in both lists.
const OfAll<linked_people::People>& Lists() {
  static const OfAll<linked_people::People> lists = {PeopleOf({1, 2, 3, 4, 5, 6, 7}),
                                                     PeopleOf({3, 4, 5, 6, 7, 8, 9, 10})};
  return lists;
}
constexpr int64_t kCommon = 5;

// The protocol alone, without files: what each holder finds.
OfAll<MatchingFound> Found(const MatchingFile& file, uint8_t seed) {
  OfAll<MatchingFound> found(2);
  const size_t parties = file.Names().size();
  const auto errors = net::RunChannels(net::MemoryParties(parties), [&](net::Channel& channel) {
    const size_t self = channel.self();
    crypto::Key key;
    key.Expose()[0] = seed;
    key.Expose()[1] = static_cast<uint8_t>(self + 1);
    crypto::Prg own(key);
    SilentProgress progress;
    MatchingTask task;
    task.file = &file;
    task.party = self;
    task.minimum = file.minimum;
    task.progress = &progress;
    task.counted = [](uint64_t) {};
    match::KeyList list;
    if (self < 2) {
      match::KeyCells cells;
      cells.columns.resize(1);
      for (const linked_people::Person& person : Lists()[self]) {
        cells.lines.push_back(cells.lines.size() + 2);
        cells.columns[0].push_back(fmt::format("{:04}", person.nid));
      }
      list = match::MakeKeyList(file.parties[self].keys, cells);
      task.list = &list;
    }
    MatchingFound mine = MatchByProtocol(channel, task, own);
    if (self < 2) found[self] = std::move(mine);
  });
  EXPECT_EQ(net::Describe(errors), "");
  return found;
}

// People at whose position both have a row.
std::set<int> JoinedIn(const OfAll<MatchingFound>& found) {
  std::set<int> joined;
  for (size_t i = 0; i < found[0].rows.size(); ++i) {
    const uint32_t a = found[0].rows[i], b = found[1].rows.at(i);
    if (a == match::kNoRow || b == match::kNoRow) continue;
    EXPECT_EQ(Lists()[0].at(a).nid, Lists()[1].at(b).nid);
    joined.insert(Lists()[0][a].nid);
  }
  return joined;
}

TEST(CountNoiseTest, TwoHoldersSeeTheNumberWithTheNoiseOfBothAndJoinThePeopleAlone) {
  const MatchingFile file = MatchingGroup::Parse(PairFile());
  const auto half = static_cast<int64_t>(PoolSize(file.noise) / 2);
  ASSERT_GT(half, 0);
  // Of both noises, and cut at 0 and 20.
  std::map<int64_t, double> law;
  for (int64_t a = -half; a <= half; ++a) {
    for (int64_t b = -half; b <= half; ++b)
      law[std::clamp(kCommon + a + b, int64_t{0}, int64_t{20})] +=
          CutMass(file.noise.epsilon, half, a) * CutMass(file.noise.epsilon, half, b);
  }
  constexpr int kRuns = 150;
  // Below, at and above.
  std::vector<uint64_t> counts(3, 0);
  std::vector<double> shares(3, 0);
  const auto cell = [](int64_t count) -> size_t {
    return count < kCommon ? 0 : count == kCommon ? 1 : 2;
  };
  for (const auto& [count, share] : law) shares[cell(count)] += share;
  std::set<uint64_t> seen;
  for (int run = 0; run < kRuns; ++run) {
    const OfAll<MatchingFound> found = Found(file, static_cast<uint8_t>(run));
    ASSERT_EQ(found[0].counts, found[1].counts);
    ASSERT_EQ(found[0].counts.size(), 1U);
    ++counts[cell(static_cast<int64_t>(found[0].counts[0]))];
    ASSERT_TRUE(found[0].linked);
    EXPECT_EQ(JoinedIn(found), (std::set<int>{3, 4, 5, 6, 7}));
    // Positions follow from the noisy number.
    EXPECT_EQ(found[0].rows.size(), 20U + 30U + 4 * 2 * static_cast<uint64_t>(half) -
                                        (found[0].counts[0] + 2 * static_cast<uint64_t>(half)));
    // Of real rows all have a place, of pools none.
    for (size_t holder = 0; holder < 2; ++holder) {
      const auto absent =
          std::count(found[holder].rows.begin(), found[holder].rows.end(), match::kNoRow);
      EXPECT_EQ(found[holder].rows.size() - static_cast<size_t>(absent), Lists()[holder].size());
    }
    seen.insert(found[0].counts[0]);
  }
  EXPECT_GT(seen.size(), 1U);
  EXPECT_FALSE(privacy::ChiSquare(counts, shares).rejected());
}

TEST(CountNoiseTest, ALinkersNoiseIsTheLawsAndThePositionsTellNothing) {
  const MatchingFile file = MatchingGroup::Parse(LinkerFile());
  const double a = std::exp(-file.noise.epsilon);
  std::map<int64_t, double> law;
  for (int64_t k = -200; k <= 200; ++k) {
    const int64_t told = std::clamp(kCommon + k, int64_t{0}, int64_t{20});
    law[told < 1 ? 0 : told] += (1 - a) / (1 + a) * std::pow(a, static_cast<double>(std::abs(k)));
  }
  constexpr int kRuns = 250;
  // Below the minimum, 1 to 3, 4, 5, 6, 7 to 9, more.
  const auto cell = [](int64_t count) -> size_t {
    if (count == 0) return 0;
    if (count < 4) return 1;
    return count < 7 ? static_cast<size_t>(count - 2) : count < 10 ? 5 : 6;
  };
  std::vector<uint64_t> counts(7, 0);
  std::vector<double> shares(7, 0);
  for (const auto& [count, share] : law) shares[cell(count)] += share;
  for (int run = 0; run < kRuns; ++run) {
    const OfAll<MatchingFound> found = Found(file, static_cast<uint8_t>(run));
    ASSERT_EQ(found[0].counts, found[1].counts);
    ASSERT_EQ(found[0].linked, !found[0].counts.empty());
    ++counts[cell(found[0].linked ? static_cast<int64_t>(found[0].counts[0]) : 0)];
    if (!found[0].linked) continue;
    EXPECT_EQ(found[0].rows.size(), 50U);
    EXPECT_EQ(JoinedIn(found), (std::set<int>{3, 4, 5, 6, 7}));
  }
  EXPECT_FALSE(privacy::ChiSquare(counts, shares).rejected());
}

TEST(CountNoiseTest, AHolderIsChargedBeforeItsListLeavesWhateverStopsTheRun) {
  for (const std::string& text : {PairFile(), LinkerFile()}) {
    const size_t parties = MatchingGroup::Parse(text).Names().size();
    uint64_t charged_and_stopped = 0;
    const auto open = [](MatchingGroup& group) {
      for (size_t holder = 0; holder < 2; ++holder) group.OpenLedger(holder, "20");
    };
    const auto look = [&](MatchingGroup& group, const OfAll<MatchEnd>& ends) {
      for (size_t holder = 0; holder < 2; ++holder) {
        const privacy::ledger::Standing account = group.Account(holder);
        const bool entered = !group.Past(holder).all().empty();
        EXPECT_EQ(account.studies_spent, entered ? 1U : 0U);
        EXPECT_EQ(account.spent.outside.rdp > 0, entered);
        EXPECT_EQ(account.spent.insider.rdp > 0, entered);
        // Of two holders a delta is charged, too.
        EXPECT_EQ(account.spent.outside.delta > 0, entered && parties == 2);
        EXPECT_TRUE(account.reservations.empty());
        charged_and_stopped += entered && ends[1].error ? 1 : 0;
      }
      if (ends[1].error || !ends[1].outcome->linked) return;
      EXPECT_EQ(ErrorsOf(ends), "");
      const MatchedRows& matched = ends[0].outcome->matched;
      EXPECT_EQ(matched.level, match::Level::kHiddenNoisy);
      EXPECT_EQ(matched.record, ends[1].outcome->matched.record);
      const MatchedRows again = DecodeMatchedRows(EncodeMatchedRows(matched));
      EXPECT_EQ(again.counts, matched.counts);
      EXPECT_EQ(again.level, match::Level::kHiddenNoisy);
    };
    EXPECT_GT(linked_people::StopEverywhere(text, Lists(), 1, open, look, 3), 0U);
    EXPECT_GT(charged_and_stopped, 0U);
  }
}

TEST(CountNoiseTest, ThePriceThatAStewardIsShownIsWhatARunTakes) {
  for (const std::string& text : {PairFile(), LinkerFile()}) {
    MatchingGroup group(text);
    WriteAll(group, Lists());
    group.ApproveAll();
    for (size_t holder = 0; holder < 2; ++holder) group.OpenLedger(holder, "20");
    const LedgerPrice price =
        PriceOfMatching(MatchingGroup::Parse(text), {group.Home(0) / "ledger", "people"});
    ASSERT_EQ(ErrorsOf(group.Run()), "");
    const privacy::ledger::Standing account = group.Account(0);
    const auto percent = [](uint64_t part, uint64_t whole) {
      return 100 * static_cast<double>(part) / static_cast<double>(whole);
    };
    EXPECT_GT(account.spent.outside.rdp, 0U);
    EXPECT_NEAR(price.outside_percent,
                percent(account.spent.outside.rdp, account.outside.budget.rdp), 1e-9);
    EXPECT_NEAR(price.insider_percent,
                percent(account.spent.insider.rdp, account.insider->budget.rdp), 1e-9);
    EXPECT_THAT(PriceText(price), AllOf(HasSubstr("Matching '"), HasSubstr("' fits the policy"),
                                        HasSubstr("Matchings of this price that fit: ")));
  }
}

TEST(CountNoiseTest, WithoutABudgetNoListLeaves) {
  MatchingGroup group(PairFile());
  WriteAll(group, Lists());
  group.ApproveAll();
  group.OpenLedger(0, "20");
  OfAll<MatchEnd> ends = group.Run();
  ASSERT_TRUE(ends[0].error && ends[1].error);
  EXPECT_THAT(ends[1].error->message(), HasSubstr("no privacy ledger is named"));
  EXPECT_THAT(ends[0].error->message(), Not(HasSubstr("no privacy ledger is named")));
  group.OpenLedger(1, "0.5");
  ends = group.Run();
  ASSERT_TRUE(ends[1].error);
  EXPECT_EQ(ends[1].error->code(), ErrorCode::kBudget);
  for (size_t holder = 0; holder < 2; ++holder) {
    EXPECT_EQ(group.Account(holder).studies_spent, 0U);
    EXPECT_TRUE(group.Past(holder).all().empty());
  }
}

// An exact number is an exact release of who names a ledger; of what opens no number nothing is entered.
TEST(CountNoiseTest, AnExactNumberIsEnteredIfAHolderNamesALedger) {
  std::string text = PairFile("", 1, "");
  text.replace(text.find("\"noisy\""), 7, "\"exact\"");
  MatchingGroup group(text);
  WriteAll(group, Lists());
  group.ApproveAll();
  group.OpenLedger(0, "20");
  ASSERT_EQ(ErrorsOf(group.Run()), "");
  EXPECT_EQ(group.Account(0).spent.exact, 1U);
  EXPECT_EQ(group.Account(0).spent.outside.rdp, 0U);

  text.replace(text.find("level = \"hidden\"\ncount = \"exact\"\n"), 32, "");
  MatchingGroup open(text);
  WriteAll(open, Lists());
  open.ApproveAll();
  open.OpenLedger(0, "20");
  const OfAll<MatchEnd> ends = open.Run();
  ASSERT_TRUE(ends[0].error);
  EXPECT_THAT(ends[0].error->message(), HasSubstr("nothing is entered into a ledger"));
}

// The minimum is compared with the noisy number: five people, and a minimum that only noise reaches.
TEST(CountNoiseTest, TheMinimumIsOfTheNoisyNumber) {
  for (const bool linker : {false, true}) {
    const MatchingFile file =
        MatchingGroup::Parse(linker ? LinkerFile(6, "epsilon = 0.5\n")
                                    : PairFile("", 6, "epsilon = 0.5\ndelta = 1e-5\n"));
    int reached = 0;
    for (uint8_t run = 0; run < 12; ++run) {
      const OfAll<MatchingFound> found = Found(file, static_cast<uint8_t>(90 + run));
      const bool linked = found[0].linked;
      EXPECT_EQ(found[1].linked, linked);
      reached += linked ? 1 : 0;
      if (!linked) {
        EXPECT_TRUE(found[0].rows.empty());
      }
      if (!found[0].counts.empty()) {
        EXPECT_EQ(found[0].counts[0] >= 6, linked);
      }
    }
    // Each below with probability above 0.3 and reached with one above 0.3.
    EXPECT_GT(reached, 0);
    EXPECT_LT(reached, 12);
  }
}

TEST(CountNoiseTest, ThePlanSaysAgainstWhomItProtects) {
  const MatchingFile pair = MatchingGroup::Parse(PairFile("", 5, "epsilon = 0.5\n"));
  const MatchingPlan plan = PlanMatching(pair);
  EXPECT_THAT(Flat(MatchingPlanText(pair, plan)),
              AllOf(HasSubstr("both learn how many do, with noise"),
                    HasSubstr("Each holder lists a random number of 78 keys"),
                    HasSubstr("can leave out the keys by which the other's noise counts"),
                    HasSubstr("What the number of matches says of one person")));
  EXPECT_THAT(plan.learns[0], Contains(HasSubstr("with noise that registry drew (epsilon 0.5, "
                                                 "delta 1e-09), if clinic follows the protocol")));
  ASSERT_TRUE(plan.privacy);
  ASSERT_EQ(plan.privacy->rows.size(), 3U);
  for (const privacy::StatementRow& row : plan.privacy->rows) {
    EXPECT_FALSE(row.loss.infinite);
    EXPECT_EQ(row.loss.epsilon_upper, 0.5);
    EXPECT_EQ(row.loss.delta, 1e-9);
  }
  const MatchingFile linked = MatchingGroup::Parse(LinkerFile());
  const MatchingPlan by_linker = PlanMatching(linked);
  ASSERT_EQ(by_linker.privacy->rows.size(), 4U);
  EXPECT_TRUE(by_linker.privacy->rows[3].loss.infinite);  // the linker
  for (size_t row = 0; row < 3; ++row) EXPECT_EQ(by_linker.privacy->rows[row].loss.delta, 0);
  EXPECT_THAT(by_linker.learns[0],
              Contains(HasSubstr("with noise that trust draws (epsilon 0.5)")));
  // It is part of what is signed.
  const std::vector<std::string> none(2);
  EXPECT_NE(TermsOfMatching(pair, plan, none).plan_hash,
            TermsOfMatching(
                pair, PlanMatching(MatchingGroup::Parse(PairFile("", 5, "epsilon = 0.6\n"))), none)
                .plan_hash);
}

TEST(CountNoiseTest, FilesThatAskForWhatCannotBeSayWhat) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      PlanMatching(MatchingGroup::Parse(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_NE(error.hint(), "");
      return error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(PairFile()), "accepted");
  EXPECT_EQ(refusal(LinkerFile()), "accepted");
  EXPECT_THAT(refusal(PairFile("", 1, "")), HasSubstr("epsilon"));
  EXPECT_THAT(refusal(PairFile("", 1, "epsilon = 0\n")), HasSubstr("'epsilon' must be from"));
  EXPECT_THAT(refusal(PairFile("", 1, "epsilon = 1\ndelta = 0.1\n")),
              HasSubstr("'delta' must be from"));
  EXPECT_THAT(refusal(LinkerFile(1, "epsilon = 1\ndelta = 1e-9\n")),
              HasSubstr("a linker's noise has no 'delta'"));
  EXPECT_THAT(refusal(PairFile("duplicates = \"leave-out\"\n")),
              HasSubstr("one person could change the number by more than 1"));
  std::string passes = LinkerFile();
  passes.replace(passes.find("[[\"nid\"]]"), 9, "[[\"nid\"], [\"nid\"]]");
  EXPECT_THAT(refusal(passes), Not(HasSubstr("accepted")));
  std::string exact = PairFile();
  exact.replace(exact.find("\"noisy\""), 7, "\"exact\"");
  EXPECT_THAT(refusal(exact), HasSubstr("'epsilon' is for count = \"noisy\""));
}

}  // namespace
}  // namespace partita::run::count_noise_test
