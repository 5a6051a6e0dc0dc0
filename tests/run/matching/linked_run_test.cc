// A matching by a linker from approvals to results, for two to five holders: the join of all tables,
// what it costs, what it refuses, and whatever fails on the way.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "run/approval/approval_uses.h"
#include "tests/run/matching/linked_people.h"

namespace partita::run::linked_run_test {
namespace {

using linked_people::ErrorsOf;
using linked_people::ExpectAsPlanned;
using linked_people::Group;
using linked_people::JoinedAt;
using linked_people::JoinOf;
using linked_people::People;
using linked_people::PeopleOf;
using linked_people::RandomPeople;
using linked_people::TableOf;
using linked_people::With;
using linked_people::WriteAll;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::MatchEnd;
using testing::MatchingGroup;
using ::testing::Not;
using testing::OfAll;

std::string FileOf(size_t holders, uint64_t minimum = 1) {
  return linked_people::LinkedFile(holders, fmt::format("minimum = {}\n", minimum));
}

TEST(LinkedRunTest, RandomTablesOfTwoToFiveHoldersGiveTheJoinAsPlanned) {
  std::mt19937_64 random(16);
  size_t matched_runs = 0;
  for (size_t holders = 2; holders <= 5; ++holders) {
    for (int trial = 0; trial < 6; ++trial) {
      MatchingGroup group(FileOf(holders));
      EXPECT_EQ(group.names().back(), "trust");
      OfAll<People> lists;
      for (size_t holder = 0; holder < holders; ++holder)
        lists.push_back(RandomPeople(1 + random() % 50, random));
      WriteAll(group, lists);
      group.ApproveAll();
      const OfAll<MatchEnd> ends = group.Run();
      ASSERT_EQ(ErrorsOf(ends), "");
      const std::set<Group> expected = JoinOf(lists);
      EXPECT_EQ(JoinedAt(ends, holders), expected);
      for (size_t holder = 0; holder < holders; ++holder) {
        const MatchingOutcome& outcome = *ends[holder].outcome;
        EXPECT_EQ(outcome.linked, !expected.empty());
        EXPECT_EQ(outcome.matched.rows.size(), expected.size());
        EXPECT_EQ(outcome.matched.record, ends[0].outcome->matched.record);
        EXPECT_EQ(outcome.matched.common, ends[0].outcome->matched.common);
        EXPECT_EQ(outcome.matched.linker, "trust");
        EXPECT_EQ(outcome.matched.partners.size(), holders - 1);
        EXPECT_THAT(outcome.matched.partners, Not(Contains(group.Name(holder))));
        const PastMatchings past = group.Past(holder);
        ASSERT_EQ(past.all().size(), 1U);
        EXPECT_EQ(past.all()[0].counts, outcome.matched.counts);
        EXPECT_EQ(past.all()[0].linker, "trust");
        EXPECT_EQ(past.all()[0].partners.size(), holders - 1);
      }
      EXPECT_TRUE(ends[holders].outcome->matched.rows.empty());
      ExpectAsPlanned(group, ends);
      matched_runs += expected.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(matched_runs, 12U);
}

// Holders learn that they are fewer, and no number; the sizes of messages do not show it.
TEST(LinkedRunTest, BelowTheHighestMinimumOnlyTheLinkerKnowsTheNumber) {
  for (const uint64_t minimum : {2U, 3U}) {
    MatchingGroup group(FileOf(3));
    WriteAll(group, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4}), PeopleOf({3, 2, 9})});
    for (size_t party = 0; party < 4; ++party)
      group.Approve(party, 1, party == 1 ? minimum : uint64_t{1});
    const OfAll<MatchEnd> ends = group.Run();
    ASSERT_EQ(ErrorsOf(ends), "");
    for (size_t party = 0; party < 4; ++party) {
      const MatchingOutcome& outcome = *ends[party].outcome;
      EXPECT_EQ(outcome.minimum, minimum);
      EXPECT_EQ(outcome.linked, minimum == 2);
      EXPECT_EQ(outcome.matched.rows.size(), minimum == 2 && party < 3 ? 2U : 0U);
      const bool knows = minimum == 2 || party == 3;
      EXPECT_EQ(outcome.matched.counts.empty(), !knows);
      if (party < 3) {
        EXPECT_EQ(group.Past(party).all().size(), 1U);
        EXPECT_EQ(group.Past(party).all()[0].counts.empty(), minimum == 3);
      }
    }
    ExpectAsPlanned(group, ends);
  }
}

// Before its first pseudonym leaves, a holder has the run in its record and its approval is used.
TEST(LinkedRunTest, TheRunIsEnteredBeforeAPseudonymLeaves) {
  MatchingGroup group(FileOf(2));
  WriteAll(group, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  group.ApproveAll();
  std::atomic<int> lists = 0;
  const size_t own = 50 * 2 * 16;  // places, passes, bytes of a pseudonym
  const OfAll<MatchEnd> ends =
      group.Run([&](size_t party, auto transport) -> std::unique_ptr<net::Transport> {
        if (party != 0) return transport;
        return std::make_unique<net::FaultTransport>(
            std::move(transport), [&](size_t to, size_t, const Bytes& frame) {
              if (to == 2 && frame.size() == net::kFrameHeaderBytes + own) {
                ++lists;
                EXPECT_EQ(group.Past(0).all().size(), 1U);
                const study::SignedApproval document =
                    study::ParseApproval(ReadApprovalFile(group.Approval(0), "clinic"), "approval");
                EXPECT_EQ(ApprovalUses(UsesPath(group.Approval(0)), document.approval), 1U);
              }
              return std::vector<Bytes>{frame};
            });
      });
  ASSERT_EQ(ErrorsOf(ends), "");
  EXPECT_EQ(lists, 1);
}

// Any party stops before a write or after a read, whichever: no holder comes to a number of matches
// that others' records do not show a run for, and every other that fails has a typed reason.
TEST(LinkedRunTest, WhateverStopsWhereverTheRecordsHaveWhatWasLearnt) {
  const OfAll<People> lists = {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})};
  const auto uses_are_entered = [](MatchingGroup& group, const OfAll<MatchEnd>&) {
    for (size_t holder = 0; holder < 2; ++holder) {
      const study::SignedApproval document =
          study::ParseApproval(ReadApprovalFile(group.Approval(holder), "x"), "approval");
      EXPECT_EQ(ApprovalUses(UsesPath(group.Approval(holder)), document.approval),
                group.Past(holder).all().size());
    }
  };
  for (size_t stopping = 0; stopping < 3; ++stopping) {
    EXPECT_GT(linked_people::StopEverywhere(FileOf(2), lists, stopping, nullptr, uses_are_entered),
              0U);
  }
}

// Messages of an earlier run, a message twice, or two in the other order, of a holder and of the
// linker, to a holder and to the linker: who gets it has no result.
TEST(LinkedRunTest, ReplayedDoubledAndReorderedMessagesGiveNothing) {
  MatchingGroup group(FileOf(2));
  WriteAll(group, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  for (size_t holder = 0; holder < 2; ++holder) group.Past(holder).SetLimit("", 1000);
  group.ApproveAll(1000);
  const std::vector<std::pair<size_t, size_t>> links = {{1, 0}, {1, 2}, {2, 0}};
  for (const auto& [from, to] : links)
    linked_people::DisorderEverywhere(
        group, from, to,
        {linked_people::Disorder::kReplay, linked_people::Disorder::kDouble,
         linked_people::Disorder::kSwap});
}

// One byte of a message changes on its way: it is noticed, unless it was a pseudonym, which then is
// nobody's; all holders that end well have one result.
TEST(LinkedRunTest, AChangedByteIsNoticedOrCostsAMatch) {
  MatchingGroup group(FileOf(2));
  const OfAll<People> lists = {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})};
  WriteAll(group, lists);
  for (size_t holder = 0; holder < 2; ++holder) group.Past(holder).SetLimit("", 1000);
  group.ApproveAll(1000);
  const std::set<Group> all = JoinOf(lists);
  const std::vector<std::pair<size_t, size_t>> links = {{1, 0}, {1, 2}, {2, 0}, {2, 1}};
  for (const auto& link : links) {
    const size_t to = link.second;
    const auto look = [&](const OfAll<MatchEnd>& ends, size_t size, size_t) {
      const bool pseudonym = to == 2 && size == 60 * 2 * 16;
      if (!pseudonym) {
        EXPECT_NE(ErrorsOf(ends), "");
      } else if (ends[0].outcome && ends[1].outcome) {
        const std::set<Group> found = JoinedAt(ends, 2);
        EXPECT_TRUE(std::includes(all.begin(), all.end(), found.begin(), found.end()));
        EXPECT_EQ(ends[0].outcome->matched.record, ends[1].outcome->matched.record);
      }
    };
    linked_people::ChangeByteEverywhere(group, link.first, to, 3, look);
  }
}

// What a party shows is held to what it said in the hello: a linker no table, a holder its own.
TEST(LinkedRunTest, ALinkerWithATableAndAHolderWithoutAreRefused) {
  MatchingGroup group(FileOf(2));
  WriteAll(group, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  group.ApproveAll(9);
  for (const size_t odd : {size_t{1}, size_t{2}}) {
    study::SignedApproval document =
        study::ParseApproval(ReadApprovalFile(group.Approval(odd), group.Name(odd)), "approval");
    if (odd == 1) document.approval.commitment = {};
    if (odd == 2) document.approval.commitment[0] = 1;
    const Bytes encoded =
        study::EncodeApproval(study::SignApproval(document.approval, group.identity(odd)));
    const OfAll<MatchEnd> ends = group.Run(With(odd, [&](size_t to, size_t, const Bytes& frame) {
      Bytes changed = frame;
      if (to == 0 && frame.size() == net::kFrameHeaderBytes + study::kApprovalBytes)
        std::copy(encoded.begin(), encoded.end(), changed.begin() + net::kFrameHeaderBytes);
      return std::vector<Bytes>{changed};
    }));
    ASSERT_TRUE(ends[0].error);
    EXPECT_EQ(ends[0].error->code(), ErrorCode::kRefused);
    EXPECT_THAT(ends[0].error->message(), HasSubstr("does not bring the table that it approved"));
    EXPECT_TRUE(group.Past(0).all().empty());
  }
}

// Every holder's record may stop a run: partners and linker are told no reason of it.
TEST(LinkedRunTest, ALimitOfAnyHolderStopsAll) {
  MatchingGroup group(FileOf(3));
  WriteAll(group, {PeopleOf({1, 2}), PeopleOf({2, 3}), PeopleOf({2, 4})});
  group.ApproveAll(9);
  group.Past(2).SetLimit("registry", 1);
  ASSERT_EQ(ErrorsOf(group.Run()), "");
  // A list of other people is another source; one that keeps one person is not.
  group.Write(2, TableOf(PeopleOf({2, 5, 6})));
  group.Approve(2);
  const OfAll<MatchEnd> ends = group.Run();
  ASSERT_TRUE(ends[2].error);
  EXPECT_EQ(ends[2].error->code(), ErrorCode::kRefused);
  EXPECT_THAT(ends[2].error->message(), HasSubstr("1 times with registry"));
  for (const size_t other : {0U, 1U, 3U}) {
    ASSERT_TRUE(ends[other].error);
    EXPECT_THAT(ends[other].error->message(), Not(HasSubstr("registry in")));
    EXPECT_THAT(ends[other].error->message(), Not(HasSubstr("limit")));
  }
  EXPECT_EQ(group.Past(0).all().size(), 1U);
  group.Write(2, TableOf(PeopleOf({7, 8})));
  group.Approve(2);
  const OfAll<MatchEnd> others = group.Run();
  ASSERT_EQ(ErrorsOf(others), "");
}

TEST(LinkedRunTest, ThePlanSaysWhatTheLinkerLearnsAndWithAHolderCanFind) {
  const MatchingFile file = ParseMatchingFile(FileOf(3, 20), "m.toml");
  const MatchingPlan plan = PlanMatching(file);
  const std::string flat = linked_people::Flat(MatchingPlanText(file, plan));
  EXPECT_THAT(
      flat,
      AllOf(HasSubstr("clinic, registry and office find which of their rows are the same person, "
                      "by pseudonyms that trust compares"),
            HasSubstr("trust, the linker"),
            HasSubstr("no key: pseudonyms under a key that it does not have"),
            HasSubstr("50 of clinic, 60 of registry, 70 of office"),
            HasSubstr("how many people are in every choice of the lists"),
            HasSubstr("trust and any one holder together can try any key against the lists of all "
                      "others"),
            HasSubstr("A linker that leaves out matches is not noticed"),
            HasSubstr("In one such run clinic can learn of up to 100 people whether they are in "
                      "the lists of all others")));
  EXPECT_EQ(plan.learns.size(), 4U);
  EXPECT_THAT(plan.learns[0], Contains(HasSubstr("if at least 20 are, all passes together")));
  EXPECT_THAT(plan.learns[3], Not(Contains(HasSubstr("which of its own rows"))));
}

}  // namespace
}  // namespace partita::run::linked_run_test
