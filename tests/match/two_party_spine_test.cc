// Positions of two lists by exponents: equal to the union of sets in a common order, exact cost, peers
// that depart from the protocol, and what a party sees in a symbolic group.
#include "match/two_party_spine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"
#include "match/two_party_spine_steps.h"
#include "tests/net/parties.h"

namespace partita::match::two_party_spine_test {
namespace {

using ::testing::HasSubstr;

using Names = std::vector<std::string>;

crypto::Digest KeyOfName(const std::string& name) { return crypto::Sha256Of(AsBytes(name)); }

std::vector<crypto::Digest> KeysOf(const Names& names) {
  std::vector<crypto::Digest> keys;
  for (const std::string& name : names) keys.push_back(KeyOfName(name));
  return keys;
}

Names SubsetOf(const Names& all, unsigned bits) {
  Names names;
  for (size_t i = 0; i < all.size(); ++i) {
    if ((bits >> i & 1U) != 0) names.push_back(all[i]);
  }
  return names;
}

uint64_t CommonOf(const std::array<Names, 2>& lists) {
  const std::set<std::string> first(lists[0].begin(), lists[0].end());
  return static_cast<uint64_t>(std::count_if(
      lists[1].begin(), lists[1].end(), [&](const auto& name) { return first.contains(name); }));
}

TwoPartySpineTask TaskOf(size_t self, const std::array<uint64_t, 2>& bounds, uint64_t minimum = 1) {
  TwoPartySpineTask task;
  task.peer = 1 - self;
  task.own_bound = bounds[self];
  task.peer_bound = bounds[1 - self];
  task.minimum = minimum;
  task.session = KeyOfName("session");
  return task;
}

// Names at whose position both have a key; every key of each list once.
void ExpectAligned(const std::array<Names, 2>& lists, const std::array<uint64_t, 2>& bounds,
                   const std::array<std::vector<uint32_t>, 2>& keys) {
  const uint64_t common = CommonOf(lists);
  std::set<std::string> found;
  for (size_t party = 0; party < 2; ++party) {
    ASSERT_EQ(keys[party].size(), bounds[0] + bounds[1] - common);
    std::vector<uint32_t> there;
    for (const uint32_t key : keys[party]) {
      if (key != kNoRow) there.push_back(key);
    }
    std::sort(there.begin(), there.end());
    std::vector<uint32_t> all(lists[party].size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    ASSERT_EQ(there, all);
  }
  for (size_t position = 0; position < keys[0].size(); ++position) {
    const uint32_t a = keys[0][position], b = keys[1][position];
    if (a == kNoRow || b == kNoRow) continue;
    ASSERT_EQ(lists[0].at(a), lists[1].at(b));
    found.insert(lists[0][a]);
  }
  ASSERT_EQ(found.size(), common);
}

struct Aligned {
  std::array<TwoPartySpine, 2> spines;
  std::array<net::LinkTraffic, 2> sent;
  std::array<uint64_t, 2> rounds{};
  std::vector<std::optional<Error>> errors;
};

Aligned Align(const std::array<Names, 2>& lists, const std::array<uint64_t, 2>& bounds,
              uint64_t minimum = 1, uint8_t seed = 1) {
  Aligned run;
  run.errors = net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
    const size_t self = channel.self();
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(2 * seed + self));
    run.spines[self] =
        AlignTwoLists(channel, TaskOf(self, bounds, minimum), KeysOf(lists[self]), random);
    run.rounds[self] = channel.depth();
    for (const net::PhaseTraffic& phase : channel.traffic()) {
      run.sent[self].bytes_sent += phase.links[1 - self].bytes_sent;
      run.sent[self].messages_sent += phase.links[1 - self].messages_sent;
    }
  });
  return run;
}

TEST(TwoPartySpineTest, AlignsAllPairsOfSubsetsOfFourAtTheDeclaredCost) {
  const Names all = {"ada", "bo", "cy", "di"};
  for (unsigned bits = 0; bits < 256; ++bits) {
    const std::array<Names, 2> lists = {SubsetOf(all, bits & 15U), SubsetOf(all, bits >> 4)};
    const std::array<uint64_t, 2> bounds = {lists[0].size() + 1, lists[1].size() + bits % 3};
    if (bounds[1] == 0) continue;
    const uint64_t minimum = 1 + bits % 2, common = CommonOf(lists);
    const Aligned run = Align(lists, bounds, minimum, static_cast<uint8_t>(bits));
    ASSERT_EQ(net::Describe(run.errors), "");
    for (size_t party = 0; party < 2; ++party) {
      EXPECT_EQ(run.spines[party].count, common);
      EXPECT_EQ(run.spines[party].linked, common >= minimum);
      const TwoPartySpineTraffic declared =
          TwoPartySpineTrafficOf(TaskOf(party, bounds, minimum), common);
      EXPECT_EQ(run.sent[party].bytes_sent, declared.bytes);
      EXPECT_EQ(run.sent[party].messages_sent, declared.messages);
      // The second party is not told whether its last message came.
      EXPECT_EQ(run.rounds[party], declared.rounds - (common >= minimum && party == 1 ? 1 : 0));
    }
    EXPECT_EQ(run.spines[0].common, run.spines[1].common);
    if (common < minimum) {
      EXPECT_TRUE(run.spines[0].keys.empty());
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAligned(lists, bounds, {run.spines[0].keys, run.spines[1].keys}));
  }
}

// ------------------------------------------------------------------- symbols

// A base with the exponents on it, of which quotients are formed: equal exactly where elements of a large
// group are.
struct Symbolic {
  using Scalar = std::map<uint32_t, int>;  // of the numbers drawn, their powers
  struct Element {
    uint32_t base = 0;
    std::map<uint32_t, int> exponents;
    auto operator<=>(const Element&) const = default;
  };
  static constexpr size_t kBytes = 4;

  static inline uint32_t drawn = 0;
  static inline std::map<Bytes, uint32_t> hashed;
  static inline std::map<Element, uint32_t> numbers;
  static inline std::vector<Element> elements;

  static void Forget() {
    drawn = 0;
    hashed.clear();
    numbers.clear();
    elements.clear();
  }
  static Scalar RandomScalar(crypto::RandomSource&) { return {{++drawn, 1}}; }
  static void Multiply(Scalar& product, const Scalar& by, int sign) {
    for (const auto& [number, power] : by) {
      product[number] += sign * power;
      if (product[number] == 0) product.erase(number);
    }
  }
  static Scalar Ratio(Scalar a, const Scalar& b) {
    Multiply(a, b, -1);
    return a;
  }
  static Element Hash(ByteView message) {
    const auto [found, added] =
        hashed.try_emplace(Bytes(message.begin(), message.end()), hashed.size());
    return {static_cast<uint32_t>(found->second), {}};
  }
  static Element Times(Element element, const Scalar& scalar) {
    Multiply(element.exponents, scalar, 1);
    return element;
  }
  static std::array<uint8_t, kBytes> Encode(const Element& element) {
    const auto [found, added] =
        numbers.try_emplace(element, static_cast<uint32_t>(elements.size()));
    if (added) elements.push_back(element);
    const uint32_t number = found->second;
    return {static_cast<uint8_t>(number), static_cast<uint8_t>(number >> 8), 0, 0};
  }
  static std::optional<Element> Decode(ByteView bytes) {
    return elements.at(static_cast<size_t>(bytes[0]) + 256 * static_cast<size_t>(bytes[1]));
  }
  static std::optional<std::array<uint8_t, kBytes>> RaisedEncoding(ByteView bytes,
                                                                   const Scalar& scalar) {
    return Encode(Times(*Decode(bytes), scalar));
  }
};
using Steps = SpineSteps<Symbolic>;

// Permutations by the digits of one number, of these bases in turn.
class Tape : public crypto::RandomSource {
 public:
  Tape(uint64_t number, std::vector<uint32_t> bases) : number_(number), bases_(std::move(bases)) {}
  void Fill(std::span<uint8_t> out) override {
    std::fill(out.begin(), out.end(), uint8_t{0});
    if (out.size() == sizeof(crypto::Digest)) {  // a random key, unlike all others
      static uint32_t keys = 0;
      ++keys;
      std::copy_n(reinterpret_cast<const uint8_t*>(&keys), sizeof(keys), out.begin());
      return;
    }
    const uint32_t base = bases_.at(calls_++);
    // A word below 2^64 modulo the base would be drawn again.
    out[0] = static_cast<uint8_t>(base + number_ % base);
    number_ /= base;
  }

 private:
  uint64_t number_;
  std::vector<uint32_t> bases_;
  size_t calls_ = 0;
};

std::vector<uint32_t> BasesOf(const std::vector<uint64_t>& sizes) {
  std::vector<uint32_t> bases;
  for (const uint64_t size : sizes) {
    for (uint64_t i = size; i > 1; --i) bases.push_back(static_cast<uint32_t>(i));
  }
  return bases;
}
uint64_t OrdersOf(const std::vector<uint64_t>& sizes) {
  uint64_t orders = 1;
  for (const uint32_t base : BasesOf(sizes)) orders *= base;
  return orders;
}

// All that `viewer` can tell of elements: it takes off what exponents it knows itself, and compares.
class View {
 public:
  View(uint32_t first, uint32_t last) : first_(first), last_(last) {}
  void Add(Symbolic::Element element) {
    std::erase_if(element.exponents, [this](const auto& exponent) {
      return exponent.first >= first_ && exponent.first <= last_;
    });
    text_ += std::to_string(seen_.try_emplace(element, seen_.size()).first->second) + ",";
  }
  void Add(const EncodedList<Symbolic>& list) {
    for (const auto& element : list) Add(*Symbolic::Decode(element));
    text_ += ";";
  }
  const std::string& text() const { return text_; }

 private:
  uint32_t first_, last_;  // numbers that it drew
  std::map<Symbolic::Element, size_t> seen_;
  std::string text_;
};

struct Seen {
  std::array<std::vector<uint32_t>, 2> keys;
  std::array<std::string, 2> views;
};

// One run, all messages in order, of which each party's view is what it receives, after the points of its
// own keys, which it knows.
Seen Look(const std::array<Names, 2>& lists, const std::array<uint64_t, 2>& bounds,
          uint64_t minimum, const std::array<uint64_t, 2>& orders) {
  Symbolic::Forget();
  const crypto::Digest salt = KeyOfName("salt");
  const uint64_t positions = bounds[0] + bounds[1] - CommonOf(lists);
  const std::array<std::vector<crypto::Digest>, 2> keys = {KeysOf(lists[0]), KeysOf(lists[1])};
  const std::array<TwoPartySpineTask, 2> tasks = {TaskOf(0, bounds, minimum),
                                                  TaskOf(1, bounds, minimum)};
  std::array<Tape, 2> tapes = {Tape(orders[0], BasesOf({bounds[0], bounds[1], positions})),
                               Tape(orders[1], BasesOf({bounds[1], bounds[0], positions}))};
  Steps first(tasks[0], "second", keys[0], tapes[0]), second(tasks[1], "first", keys[1], tapes[1]);
  std::array<View, 2> views = {View(1, 3), View(4, 6)};
  for (size_t party = 0; party < 2; ++party) {
    for (const crypto::Digest& key : keys[party]) {
      ByteWriter message;
      message.Raw(salt);
      message.Raw(key);
      views[party].Add(Symbolic::Hash(message.bytes()));
    }
  }
  std::array<Steps*, 2> sides = {&first, &second};
  for (size_t party = 0; party < 2; ++party) {
    EncodedList<Symbolic> listed, named;
    for (uint64_t i = 0; i < bounds[party]; ++i) listed.push_back(sides[party]->NextListed(salt));
    for (uint64_t i = 0; i < bounds[party]; ++i) named.push_back(sides[party]->NextNamed());
    for (const auto& element : listed) sides[1 - party]->TakeListed(element);
    for (const auto& element : named) sides[1 - party]->TakeNamed(element);
    views[1 - party].Add(listed);
    views[1 - party].Add(named);
  }
  for (Steps* side : sides) side->CheckLists();
  for (size_t party = 0; party < 2; ++party) {
    for (const auto& element : sides[1 - party]->raised()) sides[party]->TakeReturned(element);
    for (const auto& element : sides[1 - party]->named()) sides[party]->TakeOwnName(element);
    views[party].Add(sides[1 - party]->raised());
    views[party].Add(sides[1 - party]->named());
  }
  for (Steps* side : sides) side->CheckReturned();
  const uint64_t count = first.Unite();
  EXPECT_EQ(second.Unite(), count);
  EXPECT_EQ(count, CommonOf(lists));
  Seen seen;
  if (count >= minimum) {
    EncodedList<Symbolic> converted;
    for (size_t i = 0; i < first.positions(); ++i) converted.push_back(first.NextConverted());
    for (const auto& element : converted) second.TakeConverted(element);
    views[1].Add(converted);
    for (const auto& element : second.names()) first.TakeName(element);
    views[0].Add(second.names());
    seen.keys = {first.Keys(), second.Keys()};
  }
  seen.views = {views[0].text(), views[1].text()};
  return seen;
}

TEST(TwoPartySpineTest, NoRowIsLostOrDoubledInThreeHundredRuns) {
  std::mt19937_64 random(31);
  for (int run = 0; run < 300; ++run) {
    const uint64_t most = 1 + random() % 60, kind = random() % 6;
    std::array<Names, 2> lists;
    std::array<uint64_t, 2> bounds{};
    for (size_t party = 0; party < 2; ++party) {
      const uint64_t size = kind == 0 && party == 0 ? 0 : kind == 1 ? most : 1 + random() % most;
      std::vector<uint64_t> people(kind == 1 ? most : most + most / 2 + 1);
      std::iota(people.begin(), people.end(), kind == 2 ? party * 1000 : 0);
      std::shuffle(people.begin(), people.end(), random);
      for (uint64_t i = 0; i < size; ++i) lists[party].push_back(std::to_string(people[i]));
      bounds[party] = std::max<uint64_t>(size + random() % 3, 1);
    }
    const uint64_t common = CommonOf(lists);
    const Seen seen = Look(lists, bounds, 1, {random() >> 1, random() >> 1});
    if (common > 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectAligned(lists, bounds, seen.keys)) << "run " << run;
    }
    if (kind == 1) {
      ASSERT_EQ(common, most);
    }
    if (kind == 0 || kind == 2) {
      ASSERT_EQ(common, 0U);
    }
  }
}

// For all lists of the other that have as many keys in common with one's own, or fewer than the minimum:
// one law of all that a party sees, over the orders that the other draws, whatever its own.
TEST(TwoPartySpineTest, APartysViewDependsOnTheNumberOfMatchesAlone) {
  const Names all = {"ada", "bo", "cy"};
  const std::array<uint64_t, 2> bounds = {2, 2};
  for (const size_t viewer : {0, 1}) {
    for (const uint64_t minimum : {uint64_t{1}, uint64_t{2}}) {
      for (unsigned own = 0; own < 8; ++own) {
        if (SubsetOf(all, own).size() > 2) continue;
        for (const uint64_t order : {uint64_t{0}, uint64_t{3}, uint64_t{7}}) {
          using Law = std::map<std::string, double>;
          std::map<uint64_t, Law> by_leakage;
          for (unsigned other = 0; other < 8; ++other) {
            if (SubsetOf(all, other).size() > 2) continue;
            std::array<Names, 2> lists;
            lists[viewer] = SubsetOf(all, own);
            lists[1 - viewer] = SubsetOf(all, other);
            const uint64_t common = CommonOf(lists);
            const uint64_t others = OrdersOf({2, 2, 4 - common});
            Law law;
            for (uint64_t drawn = 0; drawn < others; ++drawn) {
              std::array<uint64_t, 2> orders{};
              orders[viewer] = order;
              orders[1 - viewer] = drawn;
              const Seen seen = Look(lists, bounds, minimum, orders);
              // A dyadic or third part of the whole: sums are exact enough to compare.
              law[seen.views[viewer]] += 1.0 / static_cast<double>(others);
              if (common >= minimum && drawn == 0) {
                ASSERT_NO_FATAL_FAILURE(ExpectAligned(lists, bounds, seen.keys));
              }
            }
            const auto [first, added] = by_leakage.try_emplace(common, law);
            ASSERT_EQ(first->second.size(), law.size());
            for (const auto& [view, share] : law)
              EXPECT_NEAR(first->second[view], share, 1e-9) << view;
          }
        }
      }
    }
  }
}

// The header says so: one that returns some of the other's elements under another exponent finds by
// their names which of its own rows they are, and the other sees a smaller number of matches.
TEST(TwoPartySpineTest, APartyThatDepartsFromTheProtocolLearnsOfSingleRowsUnnoticed) {
  Symbolic::Forget();
  const crypto::Digest salt = KeyOfName("salt");
  const std::array<Names, 2> lists = {Names{"ada", "bo", "cy"}, Names{"ada", "bo", "di"}};
  const std::array<std::vector<crypto::Digest>, 2> keys = {KeysOf(lists[0]), KeysOf(lists[1])};
  const TwoPartySpineTask honest = TaskOf(0, {3, 3});
  Tape tape(0, BasesOf({3, 3, 5}));
  Steps first(honest, "second", keys[0], tape);
  // The second party by hand, in the order of its keys: s = 4, r = 5, b = 6, and another exponent, 7.
  const Symbolic::Scalar s = {{104, 1}}, r = {{105, 1}}, b = {{106, 1}}, odd = {{107, 1}};
  const auto with = [](const Encoded<Symbolic>& element, const Symbolic::Scalar& scalar) {
    return Symbolic::Encode(Symbolic::Times(*Symbolic::Decode(element), scalar));
  };
  EncodedList<Symbolic> points, listed, named;
  for (const crypto::Digest& key : keys[1]) {
    ByteWriter message;
    message.Raw(salt);
    message.Raw(key);
    points.push_back(Symbolic::Encode(Symbolic::Hash(message.bytes())));
  }
  for (int i = 0; i < 3; ++i) listed.push_back(first.NextListed(salt));
  for (int i = 0; i < 3; ++i) named.push_back(first.NextNamed());
  for (const auto& point : points) first.TakeListed(with(point, s));
  for (const auto& point : points) first.TakeNamed(with(point, b));
  first.CheckLists();
  // One element of the three, a match: which of its own rows that is it does not know yet.
  size_t marked = 0;
  while (with(listed[marked], s) != with(first.raised()[0], {}) &&
         with(listed[marked], s) != with(first.raised()[1], {}) &&
         with(listed[marked], s) != with(first.raised()[2], {}))
    ++marked;
  for (size_t i = 0; i < 3; ++i) first.TakeReturned(with(listed[i], i == marked ? odd : s));
  for (const auto& element : named) first.TakeOwnName(with(element, r));
  const EncodedList<Symbolic> names_of_second = first.named();
  first.CheckReturned();
  EXPECT_EQ(first.Unite(), 1U);
  EncodedList<Symbolic> converted, names;
  for (size_t i = 0; i < first.positions(); ++i) converted.push_back(first.NextConverted());
  // Its own names, by row, under the first one's exponent r, after taking off b.
  std::set<Encoded<Symbolic>> under_odd;
  for (const auto& element : converted) under_odd.insert(with(element, Symbolic::Ratio({}, odd)));
  std::vector<size_t> learnt;
  for (size_t row = 0; row < 3; ++row) {
    if (under_odd.contains(with(names_of_second[row], Symbolic::Ratio({}, b))))
      learnt.push_back(row);
  }
  EXPECT_EQ(learnt.size(), 1U);  // ada or bo
  EXPECT_LT(learnt.front(), 2U);
  // It names all, the doubled person too, and nothing is noticed.
  std::set<Encoded<Symbolic>> all;
  for (const auto& element : converted) all.insert(with(element, Symbolic::Ratio(r, s)));
  for (const auto& name : all) first.TakeName(name);
  EXPECT_NO_THROW(first.Keys());
}

// ------------------------------------------------------------------- faults

std::string FaultOf(const std::function<void()>& step) {
  try {
    step();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
    return error.message();
  }
  return "none";
}

// What the first party says of changed messages of the second.
struct Changes {
  std::function<void(EncodedList<Symbolic>& listed, EncodedList<Symbolic>& named)> lists =
      [](auto&, auto&) {};
  std::function<void(EncodedList<Symbolic>& returned, EncodedList<Symbolic>& named,
                     const EncodedList<Symbolic>& own)>
      results = [](auto&, auto&, const auto&) {};
  std::function<void(EncodedList<Symbolic>& names)> names = [](auto&) {};
};
std::string Against(const Changes& changes) {
  Symbolic::Forget();
  const crypto::Digest salt = KeyOfName("salt");
  const std::array<std::vector<crypto::Digest>, 2> keys = {KeysOf({"ada", "bo"}),
                                                           KeysOf({"bo", "cy"})};
  const std::array<TwoPartySpineTask, 2> tasks = {TaskOf(0, {3, 3}), TaskOf(1, {3, 3})};
  Tape tape0(1, BasesOf({3, 3, 5})), tape1(2, BasesOf({3, 3, 5}));
  Steps first(tasks[0], "second", keys[0], tape0), second(tasks[1], "first", keys[1], tape1);
  return FaultOf([&] {
    EncodedList<Symbolic> own, listed, named;
    for (int i = 0; i < 3; ++i) {
      own.push_back(first.NextListed(salt));
      listed.push_back(second.NextListed(salt));
    }
    for (int i = 0; i < 3; ++i) {
      second.TakeListed(own[static_cast<size_t>(i)]);
      second.TakeNamed(first.NextNamed());
      named.push_back(second.NextNamed());
    }
    changes.lists(listed, named);
    for (const auto& element : listed) first.TakeListed(element);
    for (const auto& element : named) first.TakeNamed(element);
    first.CheckLists();
    EncodedList<Symbolic> returned = second.raised(), own_names = second.named();
    changes.results(returned, own_names, own);
    for (const auto& element : returned) first.TakeReturned(element);
    for (const auto& element : own_names) first.TakeOwnName(element);
    for (const auto& element : first.raised()) second.TakeReturned(element);
    for (const auto& element : first.named()) second.TakeOwnName(element);
    first.CheckReturned();
    first.Unite();
    second.Unite();
    for (size_t i = 0; i < first.positions(); ++i) second.TakeConverted(first.NextConverted());
    EncodedList<Symbolic> names = second.names();
    changes.names(names);
    for (const auto& element : names) first.TakeName(element);
    first.Keys();
  });
}

TEST(TwoPartySpineTest, RepeatedReflectedAndMissingElementsAreFound) {
  using List = EncodedList<Symbolic>;
  EXPECT_EQ(Against({}), "none");
  EXPECT_THAT(Against({.lists = [](List& listed, List&) { listed[1] = listed[0]; }}),
              HasSubstr("listed an element twice"));
  EXPECT_THAT(Against({.lists = [](List&, List& named) { named[1] = named[0]; }}),
              HasSubstr("listed an element twice"));
  EXPECT_THAT(Against({.lists = [](List& listed, List& named) { named[1] = listed[0]; }}),
              HasSubstr("listed an element twice"));
  EXPECT_THAT(
      Against({.results = [](List& returned, List&, const List&) { returned[1] = returned[0]; }}),
      HasSubstr("returned an element twice"));
  EXPECT_THAT(
      Against({.results = [](List& returned, List&, const List& own) { returned[1] = own[0]; }}),
      HasSubstr("or one of the lists"));
  EXPECT_THAT(Against({.results = [](List&, List& named, const List&) { named[2] = named[0]; }}),
              HasSubstr("returned an element twice"));
  EXPECT_THAT(Against({.names = [](List& names) { names[1] = names[0]; }}),
              HasSubstr("named two people alike"));
  // Of five names three are this party's.
  int missed = 0;
  for (size_t i = 0; i < 5; ++i) {
    const std::string said = Against({.names = [i](List& names) {
      names[i] = Symbolic::Encode({99, {}});
    }});
    missed += said.find("left out a name") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(missed, 3);
}

// A peer that waits for the result and returns it as its own: the hash keeps it from that.
TEST(TwoPartySpineTest, AResultThatWasNotHashedBeforeIsFound) {
  const std::array<Names, 2> lists = {Names{"ada", "bo"}, Names{"cy", "di"}};
  std::string said;
  net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
    const size_t self = channel.self();
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(40 + self));
    if (self == 0) {
      try {
        AlignTwoLists(channel, TaskOf(0, {2, 2}), KeysOf(lists[0]), random);
      } catch (const Error& error) {
        said = error.message();
        throw;
      }
      return;
    }
    const auto swap = [&](Bytes out, size_t in, bool send_first) {
      Bytes taken(in);
      net::Send send;
      send.to = 0;
      send.bytes = out;
      net::Receive receive;
      receive.from = 0;
      receive.into = taken;
      if (send_first) {
        channel.Exchange({&send, 1}, {&receive, 1});
      } else {
        channel.Exchange({}, {&receive, 1});
      }
      return taken;
    };
    swap(Bytes(32), 32, true);
    Bytes list;
    for (int i = 0; i < 4; ++i) {
      const auto point = crypto::RistrettoPoint::Draw(random);
      list.insert(list.end(), point.bytes().begin(), point.bytes().end());
    }
    swap(list, 128, true);
    swap(Bytes(32), 32, true);
    const Bytes theirs = swap({}, 128, false);
    net::Send send;
    send.to = 0;
    send.bytes = theirs;
    channel.Exchange({&send, 1}, {});
  });
  EXPECT_THAT(said, HasSubstr("other than what it had hashed"));
}

}  // namespace
}  // namespace partita::match::two_party_spine_test
