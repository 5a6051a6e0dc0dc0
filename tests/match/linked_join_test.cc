// Lists linked by pseudonyms: equal to a join of sets, exact cost, parties that depart from the
// protocol, and what a party sees.
#include "match/linked_join.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "match/linked_join_steps.h"
#include "tests/match/linked_lists.h"

namespace partita::match::linked_join_test {
namespace {

using namespace linked_lists;  // NOLINT(google-build-using-namespace)

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows that match in the clear: by pass, a row index of each holder.
std::vector<std::set<std::vector<uint32_t>>> Expected(const Lists& lists, size_t passes) {
  std::vector<std::set<std::vector<uint32_t>>> matched(passes);
  std::vector<std::vector<bool>> used;
  for (const Rows& rows : lists) used.emplace_back(rows.size(), false);
  for (size_t pass = 0; pass < passes; ++pass) {
    std::vector<std::map<std::string, uint32_t>> by_key(lists.size());
    for (size_t holder = 0; holder < lists.size(); ++holder) {
      for (uint32_t row = 0; row < lists[holder].size(); ++row) {
        if (!used[holder][row] && !lists[holder][row][pass].empty())
          by_key[holder][lists[holder][row][pass]] = row;
      }
    }
    for (const auto& [key, row] : by_key[0]) {
      std::vector<uint32_t> group = {row};
      for (size_t holder = 1; holder < lists.size(); ++holder) {
        const auto found = by_key[holder].find(key);
        if (found != by_key[holder].end()) group.push_back(found->second);
      }
      if (group.size() == lists.size()) matched[pass].insert(group);
    }
    for (const std::vector<uint32_t>& group : matched[pass]) {
      for (size_t holder = 0; holder < lists.size(); ++holder) used[holder][group[holder]] = true;
    }
  }
  return matched;
}

LinkedJoinTask TaskOf(const Lists& lists, size_t passes, uint64_t minimum, uint64_t more = 2) {
  LinkedJoinTask task;
  for (const Rows& rows : lists) task.bounds.push_back(rows.size() + more);
  task.passes = passes;
  task.minimum = minimum;
  task.session = KeyOfName("session");
  return task;
}

void ExpectLinked(const Lists& lists, size_t passes, const Linked& run) {
  ASSERT_EQ(net::Describe(run.errors), "");
  const std::vector<std::set<std::vector<uint32_t>>> expected = Expected(lists, passes);
  std::vector<uint64_t> counts;
  for (const auto& matched : expected) counts.push_back(matched.size());
  const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  for (size_t party = 0; party < run.joins.size(); ++party) {
    EXPECT_EQ(run.joins[party].linked, total > 0);
    if (total > 0 || party == lists.size()) {
      EXPECT_EQ(run.joins[party].counts, counts);
    }
    EXPECT_EQ(run.joins[party].rows.size(), party < lists.size() ? total : 0);
  }
  size_t position = 0;
  for (const auto& matched : expected) {
    std::set<std::vector<uint32_t>> found;
    for (size_t i = 0; i < matched.size(); ++i, ++position) {
      std::vector<uint32_t> group;
      for (size_t holder = 0; holder < lists.size(); ++holder)
        group.push_back(run.joins[holder].rows.at(position));
      found.insert(group);
    }
    EXPECT_EQ(found, matched);
  }
  for (size_t holder = 1; holder < lists.size(); ++holder)
    EXPECT_EQ(run.joins[holder].common, run.joins[0].common);
}

TEST(LinkedJoinTest, IsTheJoinOfAllPairsOfSubsetsOfFourAndTriplesOfThree) {
  const std::vector<std::string> all = {"ada", "bo", "cy", "di"};
  for (unsigned a = 0; a < 16; ++a) {
    for (unsigned b = 0; b < 16; ++b) {
      const Lists lists = {RowsOf(SubsetOf(all, a)), RowsOf(SubsetOf(all, b))};
      ExpectLinked(lists, 1, Link(lists, TaskOf(lists, 1, 1, 1 + a % 2), static_cast<uint8_t>(b)));
    }
  }
  const std::vector<std::string> three = {"ada", "bo", "cy"};
  for (unsigned bits = 0; bits < 512; ++bits) {
    Lists lists;
    for (unsigned holder = 0; holder < 3; ++holder)
      lists.push_back(RowsOf(SubsetOf(three, bits >> (3 * holder) & 7U)));
    ExpectLinked(lists, 1, Link(lists, TaskOf(lists, 1, 1, 1), static_cast<uint8_t>(bits)));
  }
}

// Numbers first, then names: rows of either, of both and of neither.
TEST(LinkedJoinTest, ARowThatOnePassMatchedTakesNoPartInTheNext) {
  const Lists lists = {{{"1", "ada"}, {"2", "bo"}, {"", "cy"}, {"", ""}},
                       {{"1", "bo"}, {"2", "cy"}, {"9", "ada"}, {"", "di"}},
                       {{"", "cy"}, {"2", "bo"}, {"1", "ada"}}};
  const LinkedJoinTask task = TaskOf(lists, 2, 1);
  const Linked run = Link(lists, task);
  ExpectLinked(lists, 2, run);
  EXPECT_THAT(run.joins[0].counts, ElementsAre(2, 0));
  // With two of them, the names of what numbers left over.
  const Lists two = {lists[0], {{"1", "ada"}, {"7", "cy"}, {"8", "bo"}}};
  const Linked names = Link(two, TaskOf(two, 2, 1));
  ExpectLinked(two, 2, names);
  EXPECT_THAT(names.joins[0].counts, ElementsAre(1, 2));
}

TEST(LinkedJoinTest, CostsWhatIsDeclaredWhateverMatches) {
  for (const uint64_t minimum : {uint64_t{1}, uint64_t{500}}) {
    Lists lists(3);
    for (int i = 0; i < 3000; ++i) {
      for (int holder = 0; holder < 3; ++holder) {
        if (i % (holder + 2) == 0)
          lists[static_cast<size_t>(holder)].push_back({std::to_string(i), "n"});
      }
    }
    for (Rows& rows : lists) {
      for (size_t row = 0; row < rows.size(); ++row) rows[row][1] += std::to_string(row % 977);
    }
    // Names would repeat: only the first 977 have one.
    for (Rows& rows : lists) {
      for (size_t row = 977; row < rows.size(); ++row) rows[row][1].clear();
    }
    const LinkedJoinTask task = TaskOf(lists, 2, minimum == 1 ? 1 : 100'000, 11);
    const Linked run = Link(lists, task);
    ASSERT_EQ(net::Describe(run.errors), "");
    for (size_t from = 0; from < 4; ++from) {
      EXPECT_EQ(run.rounds[from], LinkedJoinRounds(task, from));
      for (size_t to = 0; to < 4; ++to) {
        const LinkedJoinTraffic declared = LinkedJoinTrafficBetween(task, from, to);
        EXPECT_EQ(run.traffic[from][to].bytes_sent, declared.bytes);
        EXPECT_EQ(run.traffic[from][to].messages_sent, declared.messages);
      }
    }
    EXPECT_EQ(LinkedJoinTrafficBetween(task, 0, 3).bytes, 16U * 2 * 1511);
    EXPECT_EQ(LinkedJoinTrafficBetween(task, 3, 0).bytes, 4U * (2 + 1511));
    EXPECT_EQ(LinkedJoinTrafficBetween(task, 0, 1).bytes, 32U);
  }
}

TEST(LinkedJoinTest, BelowTheMinimumHoldersLearnNothingMore) {
  const Lists lists = {RowsOf({"ada", "bo", "cy"}), RowsOf({"cy", "bo", "di"})};
  const Linked run = Link(lists, TaskOf(lists, 1, 3));
  ASSERT_EQ(net::Describe(run.errors), "");
  for (size_t holder = 0; holder < 2; ++holder) {
    EXPECT_FALSE(run.joins[holder].linked);
    EXPECT_TRUE(run.joins[holder].counts.empty());
    EXPECT_TRUE(run.joins[holder].rows.empty());
  }
  EXPECT_THAT(run.joins[2].counts, ElementsAre(2));
  ExpectLinked(lists, 1, Link(lists, TaskOf(lists, 1, 2)));
}

// ------------------------------------------------------------------- many random lists, steps alone

std::vector<LinkedJoin> LinkedInSteps(const Lists& lists, const std::vector<uint64_t>& bounds,
                                      size_t passes, crypto::RandomSource& random) {
  const crypto::Key key = crypto::RandomKey(random);
  std::vector<std::vector<std::vector<KeyedRow>>> keyed;
  for (const Rows& rows : lists) keyed.push_back(PassesOf(rows, passes));
  std::deque<PseudonymList> sides;
  std::vector<LinkedList> sent;
  std::vector<std::string> names;
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    sides.emplace_back(keyed[holder], lists[holder].size(), bounds[holder], key, random);
    LinkedList& list = sent.emplace_back();
    list.passes.resize(passes);
    for (uint64_t place = 0; place < bounds[holder]; ++place) {
      for (std::vector<Pseudonym>& pass : list.passes) pass.push_back(sides.back().Next());
    }
    names.push_back(fmt::format("h{}", holder));
  }
  const LinkedAnswers answers = LinkPseudonyms(sent, names, random);
  std::vector<LinkedJoin> joins(lists.size());
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    joins[holder].counts = answers.counts;
    joins[holder].rows = sides[holder].Rows(answers.counts, answers.positions[holder], "linker");
    joins[holder].common = sides[holder].Common(answers.counts, joins[holder].rows, key);
  }
  return joins;
}

TEST(LinkedJoinTest, NoRowIsLostOrDoubledInAThousandRuns) {
  std::mt19937_64 random(27);
  crypto::Prg stream = net::TestRandom(3);
  const auto below = [&](uint64_t n) { return random() % n; };
  for (int run = 0; run < 1000; ++run) {
    const size_t holders = 2 + below(4), passes = 1 + below(3);
    // 1 to 10^4 on a scale of factors; at times nobody, all, or none in common.
    const auto most = static_cast<uint64_t>(std::pow(10.0, static_cast<double>(below(401)) / 100));
    const uint64_t kind = below(8);
    Lists lists(holders);
    std::vector<uint64_t> bounds;
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
      bounds.push_back(size + below(3));
    }
    if (kind == 0) bounds[0] = 1;
    for (uint64_t& bound : bounds) bound = std::max<uint64_t>(bound, 1);
    const std::vector<LinkedJoin> joins = LinkedInSteps(lists, bounds, passes, stream);
    const auto expected = Expected(lists, passes);
    size_t position = 0;
    for (size_t pass = 0; pass < passes; ++pass) {
      ASSERT_EQ(joins[0].counts[pass], expected[pass].size()) << "run " << run;
      std::set<std::vector<uint32_t>> found;
      for (uint64_t i = 0; i < joins[0].counts[pass]; ++i, ++position) {
        std::vector<uint32_t> group;
        for (const LinkedJoin& join : joins) group.push_back(join.rows[position]);
        found.insert(group);
      }
      ASSERT_EQ(found, expected[pass]) << "run " << run;
    }
    for (const LinkedJoin& join : joins) {
      ASSERT_EQ(join.rows.size(), position);
      ASSERT_EQ(join.common, joins[0].common);
    }
    if (kind == 1) {
      ASSERT_EQ(position, most);
    }
    if (kind == 0 || kind == 2) {
      ASSERT_EQ(position, 0U);
    }
  }
}

// ------------------------------------------------------------------- parties that deviate

// What the first holder that finds something says of an answer, or how many rows were linked.
std::string AgainstLinker(const std::function<void(LinkedAnswers&)>& change) {
  const Lists lists = {RowsOf({"ada", "bo", "cy"}), RowsOf({"bo", "cy", "di"})};
  const LinkedJoinTask task = TaskOf(lists, 1, 2, 1);
  std::array<std::string, 2> said;
  net::RunChannels(net::MemoryParties(3), [&](net::Channel& channel) {
    const size_t self = channel.self();
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(30 + self));
    if (self < 2) {
      try {
        const LinkedJoin join =
            JoinByLinker(channel, task, PassesOf(lists[self], 1), lists[self].size(), random);
        CompareLinked(channel, task, join, random);
        said[self] = fmt::format("linked {}", join.rows.size());
      } catch (const Error& error) {
        EXPECT_THAT(error.code(), ::testing::AnyOf(ErrorCode::kPeerFault, ErrorCode::kPeerLost));
        if (error.code() == ErrorCode::kPeerFault) said[self] = error.message();
        throw;
      }
      return;
    }
    std::vector<LinkedList> sent(2);
    std::vector<net::Receive> receives(2);
    std::vector<Bytes> bytes(2);
    for (size_t holder = 0; holder < 2; ++holder) {
      bytes[holder].resize(4 * kPseudonymBytes);
      receives[holder].from = holder;
      receives[holder].into = bytes[holder];
    }
    channel.Exchange({}, receives);
    for (size_t holder = 0; holder < 2; ++holder) {
      sent[holder].passes.resize(1);
      for (size_t place = 0; place < 4; ++place) {
        Pseudonym name{};
        std::copy_n(bytes[holder].begin() + static_cast<ptrdiff_t>(place * kPseudonymBytes),
                    kPseudonymBytes, name.begin());
        sent[holder].passes[0].push_back(name);
      }
    }
    LinkedAnswers answers = LinkPseudonyms(sent, channel.names(), random);
    change(answers);
    std::vector<net::Send> sends(2);
    for (size_t holder = 0; holder < 2; ++holder) {
      ByteWriter writer;
      for (const uint64_t count : answers.counts) writer.U32(static_cast<uint32_t>(count));
      for (const uint32_t position : answers.positions[holder]) writer.U32(position);
      bytes[holder] = writer.Take();
      sends[holder].to = holder;
      sends[holder].bytes = bytes[holder];
    }
    channel.Exchange(sends, {});
  });
  return said[0].empty() ? said[1] : said[0];
}

// The place of a holder's list that is at `position`; of none: one without, whichever.
uint32_t& PlaceOf(LinkedAnswers& answers, size_t holder, uint32_t position) {
  for (uint32_t& at : answers.positions[holder]) {
    if (at == position) return at;
  }
  throw std::logic_error("no such position");
}

TEST(LinkedJoinTest, ALinkerThatFollowsTheProtocolIsBelieved) {
  EXPECT_EQ(AgainstLinker([](LinkedAnswers&) {}), "linked 2");
}

TEST(LinkedJoinTest, AnswersThatCannotBeAreFound) {
  EXPECT_THAT(AgainstLinker([](LinkedAnswers& answers) { PlaceOf(answers, 0, 2) = 1; }),
              HasSubstr("sent no order of the rows that match"));
  EXPECT_THAT(AgainstLinker([](LinkedAnswers& answers) { PlaceOf(answers, 0, 2) = 3; }),
              HasSubstr("sent no order of the rows that match"));
  EXPECT_THAT(AgainstLinker([](LinkedAnswers& answers) { PlaceOf(answers, 0, 2) = 0; }),
              HasSubstr("sent no order of the rows that match"));
  EXPECT_THAT(AgainstLinker([](LinkedAnswers& answers) { answers.counts[0] = 0xffffffff; }),
              HasSubstr("matched more rows than there are"));
  // Below the minimum nobody links, whatever the linker says.
  EXPECT_THAT(AgainstLinker([](LinkedAnswers& answers) {
                answers.counts[0] = 1;
                for (size_t holder = 0; holder < 2; ++holder) PlaceOf(answers, holder, 2) = 0;
              }),
              HasSubstr("linked 1 rows, fewer than the minimum of 2"));
}

// The list has one place of padding: it may be the one that is made to match.
TEST(LinkedJoinTest, RowsOfDifferentPeopleThatAreJoinedAreFoundByTheirHolders) {
  const auto swapped = AgainstLinker([](LinkedAnswers& answers) {
    uint32_t &first = PlaceOf(answers, 1, 1), &second = PlaceOf(answers, 1, 2);
    std::swap(first, second);
  });
  EXPECT_THAT(swapped, HasSubstr("not of the same people at all holders"));
  std::set<std::string> said;
  for (size_t place = 0; place < 4; ++place) {
    const std::string result = AgainstLinker([&](LinkedAnswers& answers) {
      uint32_t& other = answers.positions[0][place];
      if (other != 0) return;
      PlaceOf(answers, 0, 2) = 0;
      other = 2;
    });
    if (result != "linked 2") said.insert(result);
  }
  ASSERT_EQ(said.size(), 2U);
  EXPECT_THAT(*said.begin(), HasSubstr("matched what has no key"));
  EXPECT_THAT(*said.rbegin(), HasSubstr("not of the same people at all holders"));
}

// A match that is left out is not noticed: the header says so.
TEST(LinkedJoinTest, AMatchThatIsLeftOutIsNotNoticed) {
  EXPECT_EQ(AgainstLinker([](LinkedAnswers& answers) {
              answers.counts[0] = 0;
              for (auto& positions : answers.positions) positions.assign(positions.size(), 0);
            }),
            "linked 0");
}

TEST(LinkedJoinTest, APseudonymTwiceIsAFaultOfItsHolder) {
  LinkedList once, twice;
  once.passes = {{Pseudonym{1}, Pseudonym{2}}};
  twice.passes = {{Pseudonym{3}, Pseudonym{3}}};
  crypto::Prg random = net::TestRandom(4);
  const std::vector<LinkedList> lists = {once, twice};
  const std::vector<std::string> names = {"north", "south"};
  try {
    LinkPseudonyms(lists, names, random);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("'south'"), HasSubstr("a pseudonym twice")));
  }
}

// ------------------------------------------------------------------- what a party sees

// Gives out permutations by one number: a word below its base is the next digit, so that all numbers
// are all permutations.
class Tape : public crypto::RandomSource {
 public:
  Tape(uint32_t number, std::vector<uint32_t> bases) : number_(number), bases_(std::move(bases)) {}
  void Fill(std::span<uint8_t> out) override {
    std::fill(out.begin(), out.end(), uint8_t{0});
    if (out.size() == sizeof(crypto::Digest)) {  // a random key, unlike all others
      static uint32_t keys = 0;
      ++keys;
      std::copy_n(reinterpret_cast<const uint8_t*>(&keys), sizeof(keys), out.begin());
      return;
    }
    const uint32_t base = bases_[calls_++ % bases_.size()];
    // A word below 2^64 modulo the base would be drawn again.
    out[0] = static_cast<uint8_t>(base + number_ % base);
    number_ /= base;
  }

 private:
  uint32_t number_;
  std::vector<uint32_t> bases_;
  size_t calls_ = 0;
};
constexpr uint32_t kPlaces = 3, kOrders = 6;

// Numbers by first appearance, which is all that a pseudo-random function tells who lacks its key.
class View {
 public:
  void Add(const Pseudonym& name) {
    text_ += std::to_string(seen_.try_emplace(name, seen_.size()).first->second) + ",";
  }
  void Add(const std::string& what) { text_ += what + ";"; }
  const std::string& text() const { return text_; }

 private:
  std::map<Pseudonym, size_t> seen_;
  std::string text_;
};

struct Seen {
  LinkedAnswers answers;
  std::string linkers;               // view
  std::vector<std::string> holders;  // views: what came back, by own row
};

// One run of lists of three places each, by orders of the holders and of the linker.
Seen Look(const Lists& lists, size_t passes, uint64_t minimum, const std::vector<uint32_t>& orders,
          uint32_t linkers_order) {
  const crypto::Key key;
  std::vector<std::vector<std::vector<KeyedRow>>> keyed;
  for (const Rows& rows : lists) keyed.push_back(PassesOf(rows, passes));
  std::vector<Tape> tapes;
  for (const uint32_t order : orders) tapes.emplace_back(order, std::vector<uint32_t>{3, 2});
  std::deque<PseudonymList> sides;
  std::vector<LinkedList> sent;
  std::vector<std::string> names(lists.size(), "h");
  Seen seen;
  View linker;
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    sides.emplace_back(keyed[holder], lists[holder].size(), kPlaces, key, tapes[holder]);
    LinkedList& list = sent.emplace_back();
    list.passes.resize(passes);
    for (uint32_t place = 0; place < kPlaces; ++place) {
      for (std::vector<Pseudonym>& pass : list.passes) {
        pass.push_back(sides.back().Next());
        linker.Add(pass.back());
      }
    }
  }
  seen.linkers = linker.text();
  // Of six, permutations of up to three take each remainder equally often.
  Tape tape(linkers_order, {6});
  seen.answers = LinkPseudonyms(sent, names, tape);
  const bool linked = seen.answers.total() >= minimum;
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    View view;
    for (const uint64_t count : seen.answers.counts) view.Add(linked ? std::to_string(count) : "0");
    for (const uint32_t position : seen.answers.positions[holder])
      view.Add(linked ? std::to_string(position) : "0");
    seen.holders.push_back(view.text());
  }
  return seen;
}

using Law = std::map<std::string, int>;

// How the rows of the lists hang together, for who may not know which rows they are: of every row the
// numbers of its keys by first appearance, lists without order.
std::set<std::vector<std::string>> PatternsOf(const Lists& lists, size_t passes) {
  // All orders of the three places of every list, canonically numbered: equal sets if and only if the
  // lists have one pattern.
  std::set<std::vector<std::string>> patterns;
  std::vector<uint32_t> order(lists.size(), 0);
  const std::vector<std::vector<uint32_t>> all = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                  {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (;;) {
    std::map<std::string, size_t> numbers;
    std::vector<std::string> pattern;
    for (size_t holder = 0; holder < lists.size(); ++holder) {
      for (const uint32_t row : all[order[holder]]) {
        for (size_t pass = 0; pass < passes; ++pass) {
          std::string name = row < lists[holder].size() ? lists[holder][row][pass] : "";
          name = name.empty() ? fmt::format("none {} {} {}", holder, row, pass)
                              : fmt::format("{} of {}", name, pass);
          pattern.push_back(
              std::to_string(numbers.try_emplace(name, numbers.size()).first->second));
        }
      }
    }
    patterns.insert(pattern);
    size_t at = 0;
    while (at < order.size() && ++order[at] == kOrders) order[at++] = 0;
    if (at == order.size()) return patterns;
  }
}

// For all lists of at most three of some keys: what the linker sees has one law for all lists that
// have the same pattern, over the orders of the holders.
void ExpectLinkersView(const std::vector<Lists>& cases, size_t passes, size_t patterns) {
  std::map<std::set<std::vector<std::string>>, Law> by_pattern;
  for (const Lists& lists : cases) {
    Law law;
    std::vector<uint32_t> order(lists.size(), 0);
    for (bool more = true; more;) {
      ++law[Look(lists, passes, 1, order, 0).linkers];
      size_t at = 0;
      while (at < order.size() && ++order[at] == kOrders) order[at++] = 0;
      more = at < order.size();
    }
    const auto [first, added] = by_pattern.try_emplace(PatternsOf(lists, passes), law);
    EXPECT_EQ(first->second, law);
  }
  EXPECT_EQ(by_pattern.size(), patterns);
}

TEST(LinkedJoinTest, TheLinkerSeesThePatternAlone) {
  const std::vector<std::string> all = {"ada", "bo", "cy", "di"};
  std::vector<Lists> pairs;
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto first = SubsetOf(all, bits & 15U), second = SubsetOf(all, bits >> 4);
    if (first.size() > 3 || second.size() > 3) continue;
    pairs.push_back({RowsOf(first), RowsOf(second)});
  }
  // By how many are in both: the lengths of the lists do not show.
  ExpectLinkersView(pairs, 1, 4);
  std::vector<Lists> triples;
  for (unsigned bits = 0; bits < 512; bits += 7) {
    Lists lists;
    for (unsigned holder = 0; holder < 3; ++holder)
      lists.push_back(RowsOf(SubsetOf({"ada", "bo", "cy"}, bits >> (3 * holder) & 7U)));
    triples.push_back(lists);
  }
  std::set<std::set<std::vector<std::string>>> different;
  for (const Lists& lists : triples) different.insert(PatternsOf(lists, 1));
  ExpectLinkersView(triples, 1, different.size());
}

TEST(LinkedJoinTest, TheLinkerSeesHowPassesHangTogetherAndNoMore) {
  const Rows one = {{"1", "ada"}, {"2", "bo"}}, other = {{"2", "cy"}, {"1", "di"}},
             names = {{"", "ada"}, {"3", "bo"}}, both = {{"1", "ada"}},
             crossed = {{"1", "bo"}, {"2", "ada"}}, renamed = {{"7", "x"}, {"8", "y"}};
  std::vector<Lists> cases;
  for (const Rows& a : {one, other, names, both, crossed, renamed}) {
    for (const Rows& b : {one, other, names, both, crossed, renamed}) cases.push_back({a, b});
  }
  std::set<std::set<std::vector<std::string>>> different;
  for (const Lists& lists : cases) different.insert(PatternsOf(lists, 2));
  EXPECT_GT(different.size(), 5U);
  ExpectLinkersView(cases, 2, different.size());
}

// For all lists of the others: what comes back to a holder has one law, over the orders of the linker,
// for all that have the same of its own keys in common, or fewer than the minimum.
TEST(LinkedJoinTest, AHoldersViewDependsOnWhatMatchesAlone) {
  const std::vector<std::string> all = {"ada", "bo", "cy", "di"};
  const std::vector<std::string> own = {"ada", "bo", "cy"};
  for (const uint64_t minimum : {uint64_t{1}, uint64_t{3}}) {
    for (const uint32_t order : {0U, 3U, 5U}) {
      std::map<std::vector<std::string>, Law> by_leakage;
      for (unsigned bits = 0; bits < 256; ++bits) {
        const auto second = SubsetOf(all, bits & 15U), third = SubsetOf(all, bits >> 4);
        if (second.size() > 3 || third.size() > 3) continue;
        std::vector<std::string> leaked;
        for (const std::string& name : own) {
          const auto in = [&](const std::vector<std::string>& list) {
            return std::find(list.begin(), list.end(), name) != list.end();
          };
          if (in(second) && in(third)) leaked.push_back(name);
        }
        if (leaked.size() < minimum) leaked.clear();
        Law law;
        for (uint32_t linker = 0; linker < 36; ++linker) {
          const Lists lists = {RowsOf(own), RowsOf(second), RowsOf(third)};
          ++law[Look(lists, 1, minimum, {order, bits % kOrders, (bits / 7) % kOrders}, linker)
                    .holders[0]];
        }
        const auto [first, added] = by_leakage.try_emplace(leaked, law);
        EXPECT_EQ(first->second, law);
      }
      EXPECT_EQ(by_leakage.size(), minimum == 1 ? 8U : 2U);
    }
  }
}

// Padding and rows without a key take what keys take: one draw and one hash.
TEST(LinkedJoinTest, PaddingLooksLikeKeysAndDiffersEveryTime) {
  const auto keyed = PassesOf({{"ada", ""}, {"bo", "x"}}, 2);
  crypto::Prg random = net::TestRandom(5);
  std::set<Pseudonym> names;
  for (int run = 0; run < 2; ++run) {
    PseudonymList list(keyed, 2, 6, crypto::Key(), random);
    for (int i = 0; i < 12; ++i) names.insert(list.Next());
  }
  // Three keys are the same under one key, everything else is new.
  EXPECT_EQ(names.size(), 24U - 3U);
}

TEST(LinkedJoinTest, AnotherKeyOrSessionMakesOtherPseudonymsAndCommon) {
  const auto keyed = PassesOf({{"ada"}}, 1);
  crypto::Prg random = net::TestRandom(6);
  crypto::Key other;
  other.Expose()[5] = 1;
  PseudonymList list(keyed, 1, 1, crypto::Key(), random), again(keyed, 1, 1, other, random);
  EXPECT_NE(list.Next(), again.Next());
  const std::vector<uint64_t> counts = {1};
  const std::vector<uint32_t> rows = {0};
  EXPECT_NE(list.Common(counts, rows, crypto::Key()), list.Common(counts, rows, other));
}

}  // namespace
}  // namespace partita::match::linked_join_test
