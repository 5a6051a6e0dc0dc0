// Level hidden by a linker: positions of all rows at which exactly the join has a row of every
// holder, exact cost, linkers that depart from the protocol, and what a holder sees.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "match/linked_join.h"
#include "match/linked_join_steps.h"
#include "tests/match/linked_lists.h"

namespace partita::match::linked_spine_test {
namespace {

using namespace linked_lists;  // NOLINT(google-build-using-namespace)

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A row of every holder.
using Group = std::vector<uint32_t>;

// What the passes find, in the clear.
std::set<Group> JoinOf(const Lists& lists, size_t passes) {
  std::set<Group> joined;
  std::vector<std::set<uint32_t>> used(lists.size());
  for (size_t pass = 0; pass < passes; ++pass) {
    std::map<std::string, std::map<size_t, uint32_t>> by_key;
    for (size_t holder = 0; holder < lists.size(); ++holder) {
      for (uint32_t row = 0; row < lists[holder].size(); ++row) {
        const std::string& key = lists[holder][row][pass];
        if (!key.empty() && !used[holder].contains(row)) by_key[key][holder] = row;
      }
    }
    for (const auto& [key, rows] : by_key) {
      if (rows.size() < lists.size()) continue;
      Group group;
      for (const auto& [holder, row] : rows) {
        group.push_back(row);
        used[holder].insert(row);
      }
      joined.insert(group);
    }
  }
  return joined;
}

LinkedJoinTask TaskOf(const std::vector<uint64_t>& bounds, size_t passes, Level level,
                      uint64_t minimum = 1) {
  LinkedJoinTask task;
  task.bounds = bounds;
  task.passes = passes;
  task.level = level;
  task.minimum = level == Level::kHiddenNobody ? 0 : minimum;
  task.session = KeyOfName("session");
  return task;
}

std::vector<uint64_t> BoundsOf(const Lists& lists, uint64_t more) {
  std::vector<uint64_t> bounds;
  for (const Rows& rows : lists) bounds.push_back(rows.size() + more);
  return bounds;
}

// Rows at whose position all holders have one; every row with a key once, and no other.
void ExpectSpine(const Lists& lists, const std::vector<uint64_t>& bounds,
                 const std::set<Group>& joined, Level level,
                 const std::vector<std::vector<uint32_t>>& rows) {
  const uint64_t all = std::accumulate(bounds.begin(), bounds.end(), uint64_t{0});
  const uint64_t spine =
      level == Level::kHiddenNobody ? all : all - (lists.size() - 1) * joined.size();
  std::set<Group> found;
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    ASSERT_EQ(rows[holder].size(), spine);
    std::vector<uint32_t> there;
    for (const uint32_t row : rows[holder]) {
      if (row != kNoRow) there.push_back(row);
    }
    std::sort(there.begin(), there.end());
    std::vector<uint32_t> keyed;
    for (uint32_t row = 0; row < lists[holder].size(); ++row) {
      const Row& keys = lists[holder][row];
      if (std::any_of(keys.begin(), keys.end(), [](const auto& key) { return !key.empty(); }))
        keyed.push_back(row);
    }
    ASSERT_EQ(there, keyed);
  }
  for (size_t position = 0; position < spine; ++position) {
    Group group;
    for (size_t holder = 0; holder < lists.size(); ++holder) {
      if (rows[holder][position] != kNoRow) group.push_back(rows[holder][position]);
    }
    if (group.size() == lists.size()) found.insert(group);
  }
  ASSERT_EQ(found, joined);
}

void ExpectLinked(const Lists& lists, const LinkedJoinTask& task, uint8_t seed) {
  const Linked run = Link(lists, task, seed);
  ASSERT_EQ(net::Describe(run.errors), "");
  const std::set<Group> joined = JoinOf(lists, task.passes);
  const bool linked = joined.size() >= task.minimum;
  std::vector<std::vector<uint32_t>> rows;
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    const LinkedJoin& join = run.joins[holder];
    EXPECT_EQ(join.linked, linked);
    EXPECT_EQ(join.common, run.joins[0].common);
    rows.push_back(join.rows);
    // Nothing of passes.
    if (linked && task.level == Level::kHiddenExact) {
      EXPECT_THAT(join.counts, ElementsAre(joined.size()));
    } else {
      EXPECT_TRUE(join.counts.empty());
    }
    if (!linked) {
      EXPECT_TRUE(join.rows.empty());
    }
  }
  if (linked) ExpectSpine(lists, task.bounds, joined, task.level, rows);
  for (size_t from = 0; from <= lists.size(); ++from) {
    EXPECT_EQ(run.rounds[from], LinkedJoinRounds(task, from));
    for (size_t to = 0; to <= lists.size(); ++to) {
      const LinkedJoinTraffic declared = LinkedJoinTrafficBetween(task, from, to);
      EXPECT_EQ(run.traffic[from][to].bytes_sent, declared.bytes);
      EXPECT_EQ(run.traffic[from][to].messages_sent, declared.messages);
    }
  }
}

TEST(LinkedSpineTest, HasTheJoinOfAllPairsOfSubsetsOfFourAndTriplesOfThreeAtTheDeclaredCost) {
  const std::vector<std::string> all = {"ada", "bo", "cy", "di"};
  for (unsigned bits = 0; bits < 256; ++bits) {
    const Lists lists = {RowsOf(SubsetOf(all, bits & 15U)), RowsOf(SubsetOf(all, bits >> 4))};
    const Level level = bits % 3 == 0 ? Level::kHiddenNobody : Level::kHiddenExact;
    ExpectLinked(lists, TaskOf(BoundsOf(lists, 1 + bits % 2), 1, level, 1 + bits % 2),
                 static_cast<uint8_t>(bits));
  }
  const std::vector<std::string> three = {"ada", "bo", "cy"};
  for (unsigned bits = 0; bits < 512; ++bits) {
    Lists lists;
    for (unsigned holder = 0; holder < 3; ++holder)
      lists.push_back(RowsOf(SubsetOf(three, bits >> (3 * holder) & 7U)));
    const Level level = bits % 3 == 0 ? Level::kHiddenNobody : Level::kHiddenExact;
    ExpectLinked(lists, TaskOf(BoundsOf(lists, 1), 1, level), static_cast<uint8_t>(bits));
  }
}

TEST(LinkedSpineTest, ARowThatOnePassMatchedTakesNoPartInTheNext) {
  const Lists lists = {{{"1", "ada"}, {"2", "bo"}, {"", "cy"}, {"", ""}},
                       {{"1", "ada"}, {"7", "cy"}, {"8", "bo"}}};
  for (const Level level : {Level::kHiddenExact, Level::kHiddenNobody})
    ExpectLinked(lists, TaskOf(BoundsOf(lists, 2), 2, level), 3);
}

// ------------------------------------------------------------------- many random lists, steps alone

TEST(LinkedSpineTest, NoRowIsLostOrDoubledInAThousandRuns) {
  std::mt19937_64 random(27);
  crypto::Prg stream = net::TestRandom(3);
  const auto below = [&](uint64_t n) { return random() % n; };
  size_t nobody = 0, everybody = 0;
  for (int run = 0; run < 1000; ++run) {
    const size_t holders = 2 + below(4), passes = 1 + below(2);
    // 1 to 300 on a scale of factors, at times to 10^4; at times nobody, all, or none in common.
    const uint64_t scale = below(run % 20 == 0 ? 401 : 251);
    const auto most = static_cast<uint64_t>(std::pow(10.0, static_cast<double>(scale) / 100));
    const uint64_t kind = below(8);
    Lists lists(holders);
    for (size_t holder = 0; holder < holders; ++holder) {
      uint64_t size = kind == 0 && holder == 0 ? 0 : 1 + below(most);
      if (kind == 1) size = most;
      std::vector<uint64_t> people(kind == 1 ? most : most + most / 2 + 1);
      std::iota(people.begin(), people.end(), kind == 2 ? holder * 100'000 : 0);
      std::shuffle(people.begin(), people.end(), random);
      for (uint64_t i = 0; i < size; ++i) {
        Row row;
        for (size_t pass = 0; pass < passes; ++pass)
          row.push_back(kind != 1 && below(9) == 0 ? "" : std::to_string(people[i]));
        lists[holder].push_back(row);
      }
    }
    const std::vector<uint64_t> bounds = BoundsOf(lists, 1 + below(3));
    const Level level = below(2) == 0 ? Level::kHiddenExact : Level::kHiddenNobody;
    const LinkedJoinTask task = TaskOf(bounds, passes, level);
    const crypto::Key key = crypto::RandomKey(stream);
    std::vector<std::vector<std::vector<KeyedRow>>> keyed;
    for (const Rows& rows : lists) keyed.push_back(PassesOf(rows, passes));
    std::deque<PseudonymList> sides;
    std::vector<LinkedList> sent;
    for (size_t holder = 0; holder < holders; ++holder) {
      sides.emplace_back(keyed[holder], lists[holder].size(), bounds[holder], key, stream);
      sent.emplace_back().passes.resize(passes);
      for (uint64_t place = 0; place < bounds[holder]; ++place) {
        for (std::vector<Pseudonym>& pass : sent.back().passes) pass.push_back(sides.back().Next());
      }
    }
    const std::vector<std::string> names(holders, "h");
    LinkedAnswers answers = LinkPseudonyms(sent, names, stream);
    MakeSpine(task.Positions(answers.total()), answers, stream);
    std::vector<std::vector<uint32_t>> rows;
    for (size_t holder = 0; holder < holders; ++holder)
      rows.push_back(sides[holder].Spine(*answers.spine, answers.positions[holder], "linker"));
    const std::set<Group> joined = JoinOf(lists, passes);
    ASSERT_NO_FATAL_FAILURE(ExpectSpine(lists, bounds, joined, level, rows)) << "run " << run;
    nobody += joined.empty() ? 1 : 0;
    everybody += joined.size() == most ? 1 : 0;
  }
  EXPECT_GT(nobody, 100U);
  EXPECT_GT(everybody, 50U);
}

// ------------------------------------------------------------------- linkers that deviate

std::string FaultOf(const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
    EXPECT_THAT(error.message(), HasSubstr("'trust'"));
    return error.message();
  }
  return "accepted";
}

TEST(LinkedSpineTest, ALengthThatNoNumberOfMatchesHasIsFound) {
  const LinkedJoinTask exact = TaskOf({10, 20, 30}, 1, Level::kHiddenExact, 4);
  const auto said = [](const LinkedJoinTask& task, uint64_t spine) {
    return FaultOf([&] { RequireSpine(task, spine, "trust"); });
  };
  for (uint64_t spine = 0; spine <= 70; ++spine) {
    // 60 less twice 4 to 10 matches.
    const bool good = spine == 0 || (spine >= 40 && spine <= 52 && spine % 2 == 0);
    EXPECT_EQ(said(exact, spine) == "accepted", good) << spine;
    if (good && spine > 0) {
      EXPECT_EQ(RequireSpine(exact, spine, "trust"), (60 - spine) / 2);
    }
  }
  const LinkedJoinTask nobody = TaskOf({10, 20, 30}, 1, Level::kHiddenNobody);
  for (uint64_t spine = 0; spine <= 70; ++spine)
    EXPECT_EQ(said(nobody, spine) == "accepted", spine == 60) << spine;
}

TEST(LinkedSpineTest, PositionsThatCannotBeAreFound) {
  const auto keyed = PassesOf(RowsOf({"ada", "bo"}), 1);
  crypto::Prg random = net::TestRandom(5);
  const PseudonymList list(keyed, 2, 3, crypto::Key(), random);
  const auto said = [&](uint32_t spine, const std::vector<uint32_t>& positions) {
    return FaultOf([&] { list.Spine(spine, positions, "trust"); });
  };
  EXPECT_EQ(said(4, {4, 1, 2}), "accepted");
  EXPECT_EQ(said(0, {0, 0, 0}), "accepted");
  for (const std::vector<uint32_t>& positions :
       std::vector<std::vector<uint32_t>>{{1, 2, 1}, {0, 1, 2}, {1, 2, 5}, {1, UINT32_MAX, 2}})
    EXPECT_THAT(said(4, positions), HasSubstr("sent no positions"));
  EXPECT_THAT(said(0, {0, 1, 0}), HasSubstr("a spine that has none"));
}

// A linker that tells two holders different numbers, and holders with different keys.
TEST(LinkedSpineTest, DifferentNumbersOfPositionsAreFoundByTheHolders) {
  const Lists lists = {RowsOf({"ada", "bo"}), RowsOf({"bo", "cy"})};
  const LinkedJoinTask task = TaskOf(BoundsOf(lists, 1), 1, Level::kHiddenExact);
  for (const bool differ : {false, true}) {
    size_t found = 0;
    const auto errors = net::RunChannels(net::MemoryParties(3), [&](net::Channel& channel) {
      const size_t self = channel.self();
      crypto::Prg random = net::TestRandom(static_cast<uint8_t>(30 + self));
      if (self < 2) {
        const LinkedJoin join =
            JoinByLinker(channel, task, PassesOf(lists[self], 1), lists[self].size(), random);
        CompareLinked(channel, task, join, random);
        return;
      }
      std::vector<Bytes> bytes(2, Bytes(3 * kPseudonymBytes));
      std::vector<net::Receive> receives(2);
      std::vector<net::Send> sends(2);
      for (size_t holder = 0; holder < 2; ++holder) {
        receives[holder].from = holder;
        receives[holder].into = bytes[holder];
      }
      channel.Exchange({}, receives);
      for (size_t holder = 0; holder < 2; ++holder) {
        ByteWriter writer;
        writer.U32(differ && holder == 1 ? 4 : 5);
        for (uint32_t position = 1; position <= 3; ++position) writer.U32(position);
        bytes[holder] = writer.Take();
        sends[holder].to = holder;
        sends[holder].bytes = bytes[holder];
      }
      channel.Exchange(sends, {});
    });
    for (const std::optional<Error>& error : errors) {
      found += error && error->code() == ErrorCode::kPeerFault &&
                       error->message().find("different numbers of positions") != std::string::npos
                   ? 1
                   : 0;
    }
    EXPECT_EQ(found > 0, differ) << net::Describe(errors);
  }
}

// ------------------------------------------------------------------- what a holder sees

// Gives out all permutations by one number: a word below its base is the next digit.
class Tape : public crypto::RandomSource {
 public:
  Tape(uint64_t number, std::vector<uint64_t> bases) : number_(number), bases_(std::move(bases)) {}
  void Fill(std::span<uint8_t> out) override {
    std::fill(out.begin(), out.end(), uint8_t{0});
    const uint64_t base = bases_.at(calls_++);
    // A word below 2^64 modulo the base would be drawn again.
    out[0] = static_cast<uint8_t>(base + number_ % base);
    number_ /= base;
  }
  bool used() const { return calls_ == bases_.size(); }

 private:
  uint64_t number_;
  std::vector<uint64_t> bases_;
  size_t calls_ = 0;
};

using Law = std::map<std::vector<uint32_t>, uint64_t>;

// The law of what the linker answers `holder`, whose list is in a known order, over all orders that
// the linker draws; from which everything follows that the holder sees of others but their shares of the key.
Law AnswersTo(size_t holder, const Lists& lists, const LinkedJoinTask& task) {
  crypto::Prg stream = net::TestRandom(9);
  std::vector<LinkedList> sent;
  std::vector<std::vector<std::vector<KeyedRow>>> keyed;
  for (const Rows& rows : lists) keyed.push_back(PassesOf(rows, 1));
  for (size_t h = 0; h < lists.size(); ++h) {
    PseudonymList side(keyed[h], lists[h].size(), task.bounds[h], crypto::Key(), stream);
    sent.emplace_back().passes.resize(1);
    for (uint64_t place = 0; place < task.bounds[h]; ++place)
      sent.back().passes[0].push_back(side.Next());
  }
  const uint64_t matches = JoinOf(lists, 1).size();
  std::vector<uint64_t> bases;
  uint64_t orders = 1;
  for (uint64_t i = matches; i > 1; --i) bases.push_back(i);
  for (uint64_t i = task.Positions(matches); i > 1; --i) bases.push_back(i);
  for (const uint64_t base : bases) orders *= base;
  const std::vector<std::string> names(lists.size(), "h");
  Law law;
  for (uint64_t order = 0; order < orders; ++order) {
    Tape tape(order, bases);
    LinkedAnswers answers = LinkPseudonyms(sent, names, tape);
    MakeSpine(task.Positions(answers.total()), answers, tape);
    EXPECT_TRUE(tape.used());
    const bool linked = answers.total() >= task.minimum;
    std::vector<uint32_t> seen = {linked ? *answers.spine : 0};
    for (const uint32_t position : answers.positions[holder]) seen.push_back(linked ? position : 0);
    ++law[seen];
  }
  // As shares of a whole: numbers of orders differ.
  for (auto& [seen, count] : law) {
    EXPECT_EQ(5040 * count % orders, 0U);
    count = 5040 * count / orders;
  }
  return law;
}

// For all lists of the other that have as many in common with it: one law. With "nobody": for all.
TEST(LinkedSpineTest, AHoldersViewDependsOnTheNumberOfMatchesAlone) {
  const std::vector<std::string> all = {"ada", "bo", "cy"};
  for (const Level level : {Level::kHiddenExact, Level::kHiddenNobody}) {
    for (const uint64_t minimum : {uint64_t{1}, uint64_t{2}}) {
      std::map<uint64_t, Law> by_leakage;
      for (unsigned bits = 0; bits < 64; ++bits) {
        const auto own = SubsetOf(all, bits & 7U), other = SubsetOf(all, bits >> 3);
        if (own.size() > 2) continue;
        const Lists lists = {RowsOf(own), RowsOf(other)};
        const uint64_t matches = JoinOf(lists, 1).size();
        const uint64_t leaked = level == Level::kHiddenNobody ? 0
                                : matches < minimum           ? 99
                                                              : matches;
        const Law law = AnswersTo(0, lists, TaskOf({2, 3}, 1, level, minimum));
        const auto [first, added] = by_leakage.try_emplace(leaked, law);
        EXPECT_EQ(first->second, law);
      }
      const size_t kinds = level == Level::kHiddenNobody ? 1 : minimum == 1 ? 3 : 2;
      EXPECT_EQ(by_leakage.size(), kinds);
      // Every choice of places is as likely as any other.
      for (const auto& [leaked, law] : by_leakage) {
        for (const auto& [seen, count] : law) EXPECT_EQ(count, law.begin()->second);
        if (leaked == 0) {
          EXPECT_EQ(law.size(), 5U * 4U);
        }
      }
    }
  }
}

// Of three: who is in one of the others' lists only does not show, only how many are in all.
TEST(LinkedSpineTest, OverlapsOfFewerThanAllListsDoNotShow) {
  const std::vector<std::string> all = {"ada", "bo"};
  std::map<uint64_t, Law> by_leakage;
  for (unsigned bits = 0; bits < 64; ++bits) {
    Lists lists;
    for (unsigned holder = 0; holder < 3; ++holder)
      lists.push_back(RowsOf(SubsetOf(all, bits >> (2 * holder) & 3U)));
    const Law law = AnswersTo(1, lists, TaskOf({2, 2, 2}, 1, Level::kHiddenExact));
    const auto [first, added] = by_leakage.try_emplace(JoinOf(lists, 1).size(), law);
    EXPECT_EQ(first->second, law);
  }
  EXPECT_EQ(by_leakage.size(), 3U);
}

}  // namespace
}  // namespace partita::match::linked_spine_test
