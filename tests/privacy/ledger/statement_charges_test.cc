#include "privacy/ledger/statement_charges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace partita::privacy::ledger::statement_charges_test {
namespace {

// Who is charged, by the epsilons of the rows: each row has its own.
std::vector<double> Charged(uint32_t coalition, bool every_party = false,
                            const std::vector<int>& unlimited = {}) {
  const Adversary all[] = {{AdversaryKind::kOutsideAnalyst, "", 0, false},  // 1
                           {AdversaryKind::kParty, "north", 0, false},      // 2
                           {AdversaryKind::kParty, "south", 0, false},      // 3
                           {AdversaryKind::kCoalition, "", 2, false},       // 4
                           {AdversaryKind::kCoalition, "", 3, false},       // 5
                           {AdversaryKind::kDealer, "", 0, false},          // 6
                           {AdversaryKind::kParty, "north", 1, true},       // 7
                           {AdversaryKind::kCoalition, "", 2, true},        // 8
                           {AdversaryKind::kBatchObserver, "", 0, false}};
  Statement statement;
  for (const Adversary& adversary : all) {
    StatementRow row;
    row.adversary = adversary;
    row.adjacency = Adjacency::kAddRemove;
    row.loss.epsilon_lower = 0;
    row.loss.epsilon_upper = static_cast<double>(statement.rows.size() + 1);
    row.reason = "of the noise";
    statement.rows.push_back(row);
  }
  for (const int row : unlimited) statement.rows[static_cast<size_t>(row - 1)].loss.infinite = true;
  std::vector<double> epsilons;
  for (const Charge& charge :
       ChargesOf(statement, {"sums", 1e-6, coalition, "use more noise", every_party})) {
    const auto& loss = std::get<ApproximateDp>(charge.mechanism);
    EXPECT_EQ(charge.release, "sums");
    EXPECT_EQ(charge.adjacency, Adjacency::kAddRemove);
    EXPECT_EQ(charge.count, 1u);
    EXPECT_EQ(loss.delta, 1e-6);
    EXPECT_EQ(charge.adversary.kind, all[static_cast<size_t>(loss.epsilon - 1)].kind);
    epsilons.push_back(loss.epsilon);
  }
  return epsilons;
}

using ::testing::ElementsAre;

TEST(StatementChargesTest, OutsideDealerAndTheCoalition) {
  EXPECT_THAT(Charged(0), ElementsAre(1, 6));
  EXPECT_THAT(Charged(1), ElementsAre(1, 2, 6));
  EXPECT_THAT(Charged(1, true), ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(Charged(2), ElementsAre(1, 4, 6));
  EXPECT_THAT(Charged(2, true), ElementsAre(1, 4, 6));
  EXPECT_THAT(Charged(3), ElementsAre(1, 5, 6));
  EXPECT_THAT(Charged(4), ElementsAre(1, 6));
}

TEST(StatementChargesTest, WhatNothingLimitsIsRefused) {
  try {
    Charged(2, false, {4});
    FAIL() << "charged";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_EQ(error.message(), "nothing limits what any 2 parties together learns: of the noise");
    EXPECT_EQ(error.hint(), "use more noise");
  }
  EXPECT_THROW(Charged(0, false, {1}), Error);
  EXPECT_THROW(Charged(0, false, {6}), Error);
  // Of those who are not charged it does not matter.
  EXPECT_THAT(Charged(1, false, {3, 4, 5, 7, 8, 9}), ElementsAre(1, 2, 6));
  EXPECT_THROW(Charged(1, true, {3}), Error);
}

}  // namespace
}  // namespace partita::privacy::ledger::statement_charges_test
