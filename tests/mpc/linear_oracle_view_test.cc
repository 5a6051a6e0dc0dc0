// The privacy of linear oracles by enumeration (views.h): the centre learns W S, the parties
// nothing but the kinds of evaluations, and the enumeration notices when a defect is planted.
#include <gtest/gtest.h>

#include "mpc/linear_oracle.h"
#include "mpc/ring.h"
#include "tests/mpc/sanitized.h"
#include "tests/mpc/small_views.h"
#include "tests/thorough.h"

namespace partita::mpc::testing::linear_oracle_view_test {
namespace {

using Coalition = std::vector<size_t>;

IntMatrix OneValue(const PrivateMatrix& matrix) {
  IntMatrix value{{1, 1}, {0}};
  matrix.read(0, 1, value.values.data());
  return value;
}

// Party `centre` asks `evaluations` times about the sum of a value of every other party; inputs are
// those values, then the weights.
ViewCase Oracle(const std::string& engine, size_t num_parties, PartyIndex centre,
                size_t evaluations) {
  ViewCase c{.engine = engine, .num_parties = num_parties};
  for (PartyIndex party = 0; party < num_parties; ++party) {
    if (party != centre) c.owners.push_back(party);
  }
  c.owners.resize(c.owners.size() + evaluations, centre);
  c.domain = {0, 1, 3};
  c.body = [=](Engine& e, const InstanceInputs& in) {
    std::vector<PrivateMatrix> held;
    for (size_t i = 0; i + 1 < num_parties; ++i) held.push_back(in.Column(i));
    const std::vector<Shared> shares = e.Input(held);
    Shared sum = shares[0];
    for (size_t i = 1; i < shares.size(); ++i) sum = e.Add(sum, shares[i]);
    std::vector<IntMatrix> opened;
    const OracleTask task = {centre, 0, 0, {{"out", 1, evaluations}}};
    e.RunOracle(sum, task, [&](const OracleEvaluate& evaluate) {
      for (size_t i = 0; i < evaluations; ++i) {
        opened.push_back(evaluate(0, OneValue(in.Column(num_parties - 1 + i))));
      }
    });
    return opened;
  };
  return c;
}

std::vector<Coalition> Coalitions(const ViewCase& c) {
  std::vector<Coalition> coalitions;
  for (size_t bits = 1; bits + 1 < (size_t{1} << c.num_parties); ++bits) {
    Coalition coalition;
    for (size_t party = 0; party < c.num_parties; ++party) {
      if ((bits >> party & 1) != 0) coalition.push_back(party);
    }
    if (c.engine == "dealer" || coalition.size() == 1) coalitions.push_back(coalition);
  }
  if (c.engine == "dealer") coalitions.push_back({c.num_parties});  // the dealer alone
  return coalitions;
}

size_t LeaksOf(const Views& views, const ViewCase& c) {
  size_t leaks = 0;
  for (const Coalition& coalition : Coalitions(c)) leaks += NumLeaks(views, coalition);
  return leaks;
}

size_t AllLeaks(const ViewCase& c) { return LeaksOf(EnumerateOneByOne<Ring4>(c), c); }

TEST(LinearOracleViewTest, OneEvaluationOfTwoPartiesAndADealer) {
  for (PartyIndex centre : {0, 1}) EXPECT_EQ(AllLeaks(Oracle("dealer", 2, centre, 1)), 0u);
}

TEST(LinearOracleViewTest, TwoEvaluationsOfTwoPartiesAndADealer) {
  if (kSanitized) GTEST_SKIP() << "eight thousand runs";
  ViewCase c = Oracle("dealer", 2, 1, 2);
  c.domain = {1, 2};
  EXPECT_EQ(AllLeaks(c), 0u);
}

TEST(LinearOracleViewTest, OneEvaluationOfThreePartiesAndADealer) {
  if (kSanitized) GTEST_SKIP() << "nine thousand runs, or thirty";
  ViewCase c = Oracle("dealer", 3, 0, 1);
  if (!Thorough()) c.domain = {1, 2};
  EXPECT_EQ(AllLeaks(c), 0u);
}

TEST(LinearOracleViewTest, ReplicatedOracle) {
  if (kSanitized) GTEST_SKIP() << "seven thousand runs for each centre";
  for (const PartyIndex centre : Cases<PartyIndex>({1}, {0, 2}))
    EXPECT_EQ(AllLeaks(Oracle("replicated", 3, centre, 1)), 0u);
}

TEST(LinearOracleViewFaultTest, EveryRandomElementOfTheDealersOracleIsNeeded) {
  ViewCase c = Oracle("dealer", 2, 0, 1);
  const std::vector<Digit> digits = EnumerateOneByOne<Ring4>(c).digits;
  ASSERT_EQ(digits.size(), 3u);  // b, A and C
  for (const Digit& digit : digits) {
    c.constant = {digit};
    EXPECT_GT(AllLeaks(c), 0u) << digit.low << digit.high << " at " << digit.slot;
  }
}

TEST(LinearOracleViewFaultTest, EveryRandomElementOfTheReplicatedOracleIsNeeded) {
  if (kSanitized) GTEST_SKIP() << "thousands of runs";
  ViewCase c = Oracle("replicated", 3, 0, 1);
  c.domain = {0, 1};
  const std::vector<Digit> digits = EnumerateOneByOne<Ring4>(c).digits;
  ASSERT_EQ(digits.size(), 4u);  // the masks of two inputs, U and z
  for (const Digit& digit : digits) {
    c.constant = {digit};
    EXPECT_GT(AllLeaks(c), 0u) << digit.low << digit.high << " at " << digit.slot;
  }
}

// Rule R-c: the same row of A, or of C, for two evaluations.
TEST(LinearOracleViewFaultTest, TheSameRowsTwice) {
  if (kSanitized) GTEST_SKIP() << "thousands of runs";
  ViewCase c = Oracle("dealer", 2, 0, 2);
  c.domain = {0, 1};
  const Views honest_views = EnumerateOneByOne<Ring4>(c);
  const std::vector<Digit>& digits = honest_views.digits;
  ASSERT_EQ(digits.size(), 5u);
  EXPECT_EQ(LeaksOf(honest_views, c), 0u);
  for (size_t i = 0; i + 1 < digits.size(); ++i) {
    if (digits[i + 1].slot != digits[i].slot + 1) continue;  // two rows of A, or two of C
    c.fault = [&](const Digit& digit, const auto& honest) -> uint8_t {
      return honest(digit == digits[i + 1] ? digits[i] : digit);
    };
    EXPECT_GT(AllLeaks(c), 0u) << digits[i].low << digits[i].high;
  }
}

}  // namespace
}  // namespace partita::mpc::testing::linear_oracle_view_test
