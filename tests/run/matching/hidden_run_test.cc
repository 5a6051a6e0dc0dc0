// A matching at level hidden by a linker, from approvals to results: positions of which the join's have
// a row of every holder, what it costs, says and records, and whatever fails on the way.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "tests/run/matching/linked_people.h"

namespace partita::run::hidden_run_test {
namespace {

using linked_people::ErrorsOf;
using linked_people::Flat;
using linked_people::Group;
using linked_people::JoinedAt;
using linked_people::JoinOf;
using linked_people::People;
using linked_people::PeopleOf;
using linked_people::WriteAll;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MatchEnd;
using testing::MatchingGroup;
using ::testing::Not;
using testing::OfAll;

std::string ExactFile(size_t holders, uint64_t minimum = 1) {
  return linked_people::LinkedFile(holders,
                                   fmt::format("level = \"hidden\"\nminimum = {}\n", minimum));
}
std::string NobodyFile(size_t holders) {
  return linked_people::LinkedFile(holders, "level = \"hidden\"\ncount = \"nobody\"\n");
}

TEST(HiddenRunTest, RandomTablesOfTwoToFiveHoldersGiveTheJoinAsPlanned) {
  std::mt19937_64 random(16);
  for (size_t holders = 2; holders <= 5; ++holders) {
    for (int trial = 0; trial < 4; ++trial) {
      const bool exact = trial % 2 == 0;
      MatchingGroup group(exact ? ExactFile(holders) : NobodyFile(holders));
      OfAll<People> lists;
      uint64_t all = 0;
      for (size_t holder = 0; holder < holders; ++holder) {
        lists.push_back(linked_people::RandomPeople(20 + random() % 30, random));
        all += 50 + 10 * holder;
      }
      WriteAll(group, lists);
      group.ApproveAll();
      const OfAll<MatchEnd> ends = group.Run();
      ASSERT_EQ(ErrorsOf(ends), "");
      const std::set<Group> expected = JoinOf(lists);
      const bool linked = !exact || !expected.empty();
      EXPECT_EQ(JoinedAt(ends, holders), expected);
      for (size_t holder = 0; holder < holders; ++holder) {
        const MatchedRows& matched = ends[holder].outcome->matched;
        EXPECT_EQ(ends[holder].outcome->linked, linked);
        EXPECT_EQ(matched.level, exact ? match::Level::kHiddenExact : match::Level::kHiddenNobody);
        EXPECT_EQ(matched.record, ends[0].outcome->matched.record);
        EXPECT_EQ(matched.rows.size(),
                  exact ? linked ? all - (holders - 1) * expected.size() : 0 : all);
        // Neither counts of passes nor, unless it opens, the number of all.
        const std::vector<uint64_t> known =
            exact && linked ? std::vector<uint64_t>{expected.size()} : std::vector<uint64_t>{};
        EXPECT_EQ(matched.counts, known);
        const PastMatchings past = group.Past(holder);
        ASSERT_EQ(past.all().size(), 1U);
        EXPECT_EQ(past.all()[0].counts, known);
        if (!linked) continue;
        // Reads back as it was written.
        const MatchedRows again = DecodeMatchedRows(EncodeMatchedRows(matched));
        EXPECT_EQ(again.rows, matched.rows);
        EXPECT_EQ(again.level, matched.level);
        EXPECT_EQ(again.counts, matched.counts);
      }
      EXPECT_TRUE(ends[holders].outcome->matched.rows.empty());
      EXPECT_EQ(ends[holders].outcome->matched.counts.size(), 2U);
      linked_people::ExpectAsPlanned(group, ends);
    }
  }
}

TEST(HiddenRunTest, BelowTheHighestMinimumHoldersLearnThatTheyAreFewer) {
  for (const uint64_t minimum : {2U, 3U}) {
    MatchingGroup group(ExactFile(3));
    WriteAll(group, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4}), PeopleOf({3, 2, 9})});
    for (size_t party = 0; party < 4; ++party)
      group.Approve(party, 1, party == 1 ? minimum : uint64_t{1});
    const OfAll<MatchEnd> ends = group.Run();
    ASSERT_EQ(ErrorsOf(ends), "");
    for (size_t party = 0; party < 4; ++party) {
      EXPECT_EQ(ends[party].outcome->minimum, minimum);
      EXPECT_EQ(ends[party].outcome->linked, minimum == 2);
      if (party == 3) continue;
      EXPECT_EQ(ends[party].outcome->matched.rows.empty(), minimum == 3);
      EXPECT_EQ(group.Past(party).all()[0].counts.empty(), minimum == 3);
    }
    linked_people::ExpectAsPlanned(group, ends);
  }
}

// Where nobody learns the number nobody tests one: an approval cannot ask for it.
TEST(HiddenRunTest, NobodyTestsAMinimumWhereNobodyLearnsTheNumber) {
  MatchingGroup group(NobodyFile(2));
  WriteAll(group, {PeopleOf({1}), PeopleOf({2})});
  try {
    group.Approve(0, 1, 5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("nobody tests a minimum"));
  }
  group.ApproveAll();
  const OfAll<MatchEnd> ends = group.Run();
  ASSERT_EQ(ErrorsOf(ends), "");
  EXPECT_TRUE(ends[0].outcome->linked);
  EXPECT_EQ(ends[0].outcome->matched.rows.size(), 110U);
}

// Any party stops before a write or after a read, whichever: every other has a typed reason or a
// result, and no holder a number of matches without an entry in all records.
TEST(HiddenRunTest, WhateverStopsWhereverTheRecordsHaveWhatWasLearnt) {
  const OfAll<People> lists = {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})};
  for (size_t stopping = 0; stopping < 3; ++stopping)
    EXPECT_GT(linked_people::StopEverywhere(ExactFile(2), lists, stopping), 0U);
}

// One byte of a message changes on its way. It is noticed, unless it was a pseudonym, which then is
// nobody's, or a position that the linker might have given: then joined rows are others, as the plan
// says of a linker that matches wrongly. The two holders never end with different records.
TEST(HiddenRunTest, AChangedByteIsNoticedOrChangesWhatIsJoined) {
  MatchingGroup group(ExactFile(2));
  const OfAll<People> lists = {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})};
  WriteAll(group, lists);
  for (size_t holder = 0; holder < 2; ++holder) group.Past(holder).SetLimit("", 1000);
  group.ApproveAll(1000);
  const std::set<Group> all = JoinOf(lists);
  const std::vector<std::pair<size_t, size_t>> links = {{1, 0}, {1, 2}, {2, 0}, {2, 1}};
  for (const auto& link : links) {
    const size_t from = link.first, to = link.second;
    for (const size_t byte : {size_t{0}, size_t{4}}) {
      const auto look = [&](const OfAll<MatchEnd>& ends, size_t size, size_t) {
        const bool pseudonym = to == 2 && size == 60 * 2 * 16;
        const bool position = from == 2 && size == 4 * (1 + 50 + 10 * to) && byte == 4;
        if (!pseudonym && !position) {
          EXPECT_NE(ErrorsOf(ends), "");
          return;
        }
        if (!ends[0].outcome || !ends[1].outcome) return;
        EXPECT_EQ(ends[0].outcome->matched.record, ends[1].outcome->matched.record);
        const std::set<Group> found = JoinedAt(ends, 2);
        if (pseudonym) {
          EXPECT_TRUE(std::includes(all.begin(), all.end(), found.begin(), found.end()));
        }
      };
      linked_people::ChangeByteEverywhere(group, from, to, byte, look);
    }
  }
}

// Messages of an earlier run, or a message twice: who gets it has no result.
TEST(HiddenRunTest, ReplayedAndDoubledMessagesGiveNothing) {
  MatchingGroup group(ExactFile(2));
  WriteAll(group, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  for (size_t holder = 0; holder < 2; ++holder) group.Past(holder).SetLimit("", 1000);
  group.ApproveAll(1000);
  const std::vector<std::pair<size_t, size_t>> links = {{1, 0}, {1, 2}, {2, 0}};
  for (const auto& [from, to] : links)
    linked_people::DisorderEverywhere(
        group, from, to, {linked_people::Disorder::kReplay, linked_people::Disorder::kDouble});
}

TEST(HiddenRunTest, ThePlanSaysWhatIsHiddenAndFromWhom) {
  const MatchingFile exact = MatchingGroup::Parse(ExactFile(3, 20));
  const MatchingPlan plan = PlanMatching(exact);
  EXPECT_THAT(
      Flat(MatchingPlanText(exact, plan)),
      AllOf(
          HasSubstr("Level hidden: no holder learns which of its rows match; all learn how many "
                    "do"),
          HasSubstr("trust and any one holder together know which of that holder's rows are in all "
                    "lists"),
          HasSubstr("A linker that matches wrongly is not noticed"),
          HasSubstr("tells the number of matches to everybody who gets the study file"),
          HasSubstr("No holder can see by how many people two joins differ")));
  EXPECT_THAT(
      plan.learns[0],
      AllOf(Contains(HasSubstr("how many people are in all lists, all passes together, if at "
                               "least 20 are")),
            Contains(HasSubstr("not which of its own rows match: each gets a position that "
                               "is drawn out of at most 180"))));
  EXPECT_THAT(plan.learns[3], Contains(HasSubstr("which rows of different lists have one key")));
  const MatchingFile nobody = MatchingGroup::Parse(NobodyFile(3));
  const MatchingPlan silent = PlanMatching(nobody);
  EXPECT_THAT(silent.learns[0],
              AllOf(Contains(HasSubstr("nothing of how many people are in all lists")),
                    Not(Contains(HasSubstr("minimum")))));
  EXPECT_THAT(Flat(MatchingPlanText(nobody, silent)),
              AllOf(HasSubstr("or how many"), Not(HasSubstr("tells the number of matches"))));
}

TEST(HiddenRunTest, FilesThatAskForWhatIsNotThereSayWhat) {
  const auto refusal = [](const std::string& more, bool linked = true) -> std::string {
    std::string text = linked_people::LinkedFile(2, more);
    const std::string linker = "[[party]]\nname = \"trust\"\nrole = \"linker\"\n";
    if (!linked) text.erase(text.find(linker), linker.size());
    try {
      PlanMatching(MatchingGroup::Parse(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("level = \"hidden\"\ncount = \"exact\"\nminimum = 5\n"), "accepted");
  EXPECT_THAT(refusal("level = \"hidden\"\ncount = {epsilon = 0.5, delta = 1e-9}\n"),
              HasSubstr("'count' is \"exact\", \"noisy\" or \"nobody\""));
  EXPECT_THAT(refusal("level = \"hidden\"\ncount = \"nobody\"\nminimum = 5\n"),
              HasSubstr("'minimum' is not for count = \"nobody\""));
  EXPECT_THAT(refusal("count = \"exact\"\n"), HasSubstr("'count' is for level \"hidden\""));
  EXPECT_THAT(refusal("level = \"open\"\n"), HasSubstr("level"));
  EXPECT_THAT(refusal("level = \"hidden\"\n", false), HasSubstr("with several passes"));
  EXPECT_THAT(refusal("level = \"hidden\"\ncount = \"nobody\"\n", false),
              HasSubstr("asks for count = \"nobody\" and names no linker"));
}

// ------------------------------------------------------------------- two holders by themselves

std::string PairFile(uint64_t minimum) {
  return fmt::format(
      "matching = 1\nname = \"cohort\"\nkeys = [[\"nid\"]]\nlevel = \"hidden\"\nminimum = {}\n"
      "[[column]]\nname = \"nid\"\nrule = \"digits\"\nlength = 4\n"
      "[[party]]\nname = \"clinic\"\nrows = 50\n[[party]]\nname = \"registry\"\nrows = 60\n",
      minimum);
}

// Numbers that both lists have.
std::set<Group> PairsOf(const OfAll<People>& lists) {
  std::set<Group> pairs;
  for (uint32_t a = 0; a < lists[0].size(); ++a) {
    for (uint32_t b = 0; b < lists[1].size(); ++b) {
      if (lists[0][a].nid >= 0 && lists[0][a].nid == lists[1][b].nid) pairs.insert({a, b});
    }
  }
  return pairs;
}

TEST(HiddenPairTest, RandomTablesGiveTheJoinAtNoMoreThanThePlannedCost) {
  std::mt19937_64 random(17);
  for (int trial = 0; trial < 8; ++trial) {
    MatchingGroup group(PairFile(trial < 6 ? 1 : 40));
    const OfAll<People> lists = {linked_people::RandomPeople(1 + random() % 50, random),
                                 linked_people::RandomPeople(1 + random() % 60, random)};
    WriteAll(group, lists);
    group.ApproveAll();
    const OfAll<MatchEnd> ends = group.Run();
    ASSERT_EQ(ErrorsOf(ends), "");
    const std::set<Group> expected = PairsOf(lists);
    const bool linked = expected.size() >= group.file(0).minimum;
    for (size_t party = 0; party < 2; ++party) {
      const MatchingOutcome& outcome = *ends[party].outcome;
      EXPECT_EQ(outcome.linked, linked);
      EXPECT_EQ(outcome.matched.rows.size(), linked ? 110 - expected.size() : 0);
      EXPECT_THAT(outcome.matched.counts, ElementsAre(expected.size()));
      EXPECT_EQ(outcome.matched.record, ends[0].outcome->matched.record);
      EXPECT_THAT(group.Past(party).all().at(0).counts, ElementsAre(expected.size()));
      const match::TwoPartySpineTraffic exact =
          match::TwoPartySpineTrafficOf(SpineTaskOf(group.file(party), party), expected.size());
      for (size_t i = 0; i < outcome.traffic.size(); ++i) {
        const MatchingPhase& planned = group.plan(party).phases.at(i);
        const net::LinkTraffic& counted = outcome.traffic[i].links[1 - party];
        ASSERT_EQ(outcome.traffic[i].phase, planned.name);
        EXPECT_LE(counted.bytes_sent, planned.sends[party][1 - party].bytes);
        if (planned.name == kSpinePhase) {
          EXPECT_EQ(counted.bytes_sent, exact.bytes);
          EXPECT_EQ(counted.messages_sent, exact.messages);
        } else {
          EXPECT_EQ(counted.bytes_sent, planned.sends[party][1 - party].bytes);
        }
        if (linked) {
          EXPECT_EQ(outcome.traffic[i].rounds, planned.rounds[party]) << planned.name;
        }
      }
    }
    if (linked) {
      EXPECT_EQ(JoinedAt(ends, 2), expected);
    }
  }
}

TEST(HiddenPairTest, WhateverStopsWhereverTheRecordsHaveWhatWasLearnt) {
  const OfAll<People> lists = {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})};
  for (size_t stopping = 0; stopping < 2; ++stopping)
    EXPECT_GT(linked_people::StopEverywhere(PairFile(1), lists, stopping), 0U);
}

// One byte of a message changes on its way: nobody who gets it has a result, but for an element that
// becomes another one of the group, which is nobody's.
TEST(HiddenPairTest, AChangedByteIsNoticedOrCostsAMatch) {
  MatchingGroup group(PairFile(1));
  const OfAll<People> lists = {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})};
  WriteAll(group, lists);
  for (size_t party = 0; party < 2; ++party) group.Past(party).SetLimit("", 1000);
  group.ApproveAll(1000);
  const std::set<Group> all = PairsOf(lists);
  const auto look = [&](const OfAll<MatchEnd>& ends, size_t, size_t) {
    if (!ends[0].outcome || !ends[1].outcome || !ends[0].outcome->linked) return;
    const std::set<Group> found = JoinedAt(ends, 2);
    EXPECT_TRUE(std::includes(all.begin(), all.end(), found.begin(), found.end()));
    EXPECT_LT(found.size(), all.size());
    EXPECT_EQ(ends[0].outcome->matched.record, ends[1].outcome->matched.record);
  };
  for (const size_t from : {size_t{0}, size_t{1}})
    linked_people::ChangeByteEverywhere(group, from, 1 - from, 3, look);
}

TEST(HiddenPairTest, ThePlanSaysWhatAPartyThatDeviatesLearns) {
  const MatchingFile file = MatchingGroup::Parse(PairFile(20));
  const MatchingPlan plan = PlanMatching(file);
  EXPECT_THAT(
      Flat(MatchingPlanText(file, plan)),
      AllOf(HasSubstr("neither learns which of its rows match, if both follow the protocol"),
            HasSubstr("A party that does not follow the protocol can find which of its own "
                      "rows match, as at level matched-ids, and the other does not notice"),
            HasSubstr("how many people match is seen by whoever watches the network"),
            HasSubstr("Messages, at most")));
  EXPECT_THAT(plan.learns[0],
              Contains(HasSubstr("how many people are in both lists, whatever the minimum")));
}

}  // namespace
}  // namespace partita::run::hidden_run_test
