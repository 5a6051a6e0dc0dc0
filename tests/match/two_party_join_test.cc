// The join of two lists: equal to a join of sets, exact cost, peers that depart from the protocol, and
// what a party sees.
#include "match/two_party_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>

#include "base/int128.h"
#include "match/two_party_join_steps.h"
#include "tests/net/parties.h"

namespace partita::match::two_party_join_test {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

crypto::Digest KeyOfName(const std::string& name) { return crypto::Sha256Of(AsBytes(name)); }

std::vector<crypto::Digest> KeysOf(const Names& names) {
  std::vector<crypto::Digest> keys;
  for (const std::string& name : names) keys.push_back(KeyOfName(name));
  return keys;
}

struct Joined {
  std::array<TwoPartyJoin, 2> joins;
  std::array<net::LinkTraffic, 2> traffic;  // of each with the other
  std::array<uint64_t, 2> rounds{};
  std::vector<std::optional<Error>> errors;
};

TwoPartyJoinTask TaskOf(size_t party, const std::array<uint64_t, 2>& bounds, uint64_t minimum) {
  return {1 - party, bounds[party], bounds[1 - party], minimum, KeyOfName("session")};
}

Joined Join(const std::array<Names, 2>& lists, const std::array<uint64_t, 2>& bounds,
            uint64_t minimum = 0, uint8_t seed = 1) {
  Joined run;
  run.errors = net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
    const size_t self = channel.self();
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(2 * seed + self));
    const std::vector<crypto::Digest> keys = KeysOf(lists[self]);
    run.joins[self] = JoinTwoLists(channel, TaskOf(self, bounds, minimum), keys, random);
    run.rounds[self] = channel.depth();
    for (const net::PhaseTraffic& phase : channel.traffic()) {
      run.traffic[self].bytes_sent += phase.links[1 - self].bytes_sent;
      run.traffic[self].messages_sent += phase.links[1 - self].messages_sent;
    }
  });
  return run;
}

Names Matched(const Names& list, const TwoPartyJoin& join) {
  Names names;
  for (const uint32_t row : join.rows) names.push_back(list.at(row));
  return names;
}

// Both have the same people in the same order: those in both lists.
void ExpectJoined(const Joined& run, const std::array<Names, 2>& lists) {
  ASSERT_EQ(net::Describe(run.errors), "");
  std::set<std::string> first(lists[0].begin(), lists[0].end());
  std::set<std::string> both;
  for (const std::string& name : lists[1]) {
    if (first.contains(name)) both.insert(name);
  }
  for (size_t self = 0; self < 2; ++self) {
    EXPECT_EQ(run.joins[self].count, both.size());
    ASSERT_TRUE(run.joins[self].linked);
    const Names names = Matched(lists[self], run.joins[self]);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), both);
    EXPECT_EQ(names.size(), both.size());
  }
  EXPECT_EQ(Matched(lists[0], run.joins[0]), Matched(lists[1], run.joins[1]));
}

Names SubsetOf(const Names& all, unsigned bits) {
  Names names;
  for (size_t i = 0; i < all.size(); ++i) {
    if ((bits >> i & 1U) != 0) names.push_back(all[i]);
  }
  return names;
}

TEST(TwoPartyJoinTest, IsTheJoinOfAllPairsOfSubsetsOfFour) {
  const Names all = {"ada", "bo", "cy", "di"};
  for (unsigned a = 0; a < 16; ++a) {
    for (unsigned b = 0; b < 16; ++b) {
      const std::array<Names, 2> lists = {SubsetOf(all, a), SubsetOf(all, b)};
      ExpectJoined(Join(lists, {4 + a % 3, 4 + b % 2}, 0, static_cast<uint8_t>(a * 7 + b)), lists);
    }
  }
}

TEST(TwoPartyJoinTest, LongerListsAndTheirCost) {
  std::array<Names, 2> lists;
  for (int i = 0; i < 3000; ++i) {
    if (i % 2 == 0) lists[0].push_back("p" + std::to_string(i));
    if (i % 3 == 0) lists[1].push_back("p" + std::to_string(2999 - i));
  }
  const std::array<uint64_t, 2> bounds = {2200, 1000};
  const Joined run = Join(lists, bounds, 10);
  ExpectJoined(run, lists);
  for (size_t self = 0; self < 2; ++self) {
    const TwoPartyJoinTraffic traffic = TwoPartyJoinTrafficOf(TaskOf(self, bounds, 10));
    EXPECT_EQ(run.traffic[self].bytes_sent, traffic.bytes);
    EXPECT_EQ(run.traffic[self].messages_sent, traffic.messages);
    EXPECT_EQ(run.rounds[self], traffic.rounds);
  }
  EXPECT_EQ(TwoPartyJoinTrafficOf(TaskOf(0, bounds, 10)).bytes,
            32U + 32 * 2200 + 32 + 32 * 1000 + 1 + 4 * 1000);
}

TEST(TwoPartyJoinTest, BelowTheMinimumNobodyLinks) {
  const std::array<Names, 2> lists = {Names{"ada", "bo", "cy"}, Names{"cy", "bo", "di"}};
  const Joined run = Join(lists, {3, 3}, 3);
  ASSERT_EQ(net::Describe(run.errors), "");
  for (const TwoPartyJoin& join : run.joins) {
    EXPECT_EQ(join.count, 2U);
    EXPECT_FALSE(join.linked);
    EXPECT_TRUE(join.rows.empty());
  }
  EXPECT_EQ(run.rounds[0], 5U);
  ExpectJoined(Join(lists, {3, 3}, 2), lists);
}

// One bit is not enough, whoever says it.
TEST(TwoPartyJoinTest, BothHaveToSayThatTheMinimumIsReached) {
  const std::array<Names, 2> lists = {Names{"ada", "bo"}, Names{"bo", "cy"}};
  for (const size_t strict : {0U, 1U}) {
    std::array<TwoPartyJoin, 2> joins;
    const auto errors = net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
      const size_t self = channel.self();
      crypto::Prg random = net::TestRandom(static_cast<uint8_t>(40 + self));
      const TwoPartyJoinTask task = TaskOf(self, {2, 2}, self == strict ? 2 : 1);
      joins[self] = JoinTwoLists(channel, task, KeysOf(lists[self]), random);
    });
    ASSERT_EQ(net::Describe(errors), "");
    for (const TwoPartyJoin& join : joins) EXPECT_FALSE(join.linked);
  }
}

// ------------------------------------------------------------------- peers that deviate

void Swap(net::Channel& channel, net::PartyIndex peer, ByteView out, std::span<uint8_t> in) {
  net::Send send;
  send.to = peer;
  send.bytes = out;
  net::Receive receive;
  receive.from = peer;
  receive.into = in;
  channel.Exchange({&send, 1}, {&receive, 1});
}

using Element = Encoded<Ristretto>;
using List = std::vector<Element>;

ByteView BytesOf(const List& list) {
  return {reinterpret_cast<const uint8_t*>(list.data()), list.size() * sizeof(Element)};
}

// What party 1 does otherwise, in a protocol of two keys each.
struct Cheat {
  std::function<void(List& own, const List& theirs)> list = [](List&, const List&) {};
  std::function<void(List& result, const List& own, const List& theirs)> result =
      [](List&, const List&, const List&) {};
  std::function<void(crypto::Digest& hash)> hash = [](crypto::Digest&) {};
  bool returns_ours = false;  // waits for our result and sends it back
  bool copies_hash = false;   // waits for our hash and sends it back
  std::array<uint8_t, 8> places = {0, 0, 0, 0, 1, 0, 0, 0};
};

// What party 0, which follows the protocol, says.
std::string Against(const Cheat& cheat) {
  const Names names = {"ada", "bo"};
  std::string said = "nothing";
  net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(9 + channel.self()));
    const TwoPartyJoinTask task = TaskOf(channel.self(), {2, 2}, 1);
    if (channel.self() == 0) {
      try {
        const TwoPartyJoin join = JoinTwoLists(channel, task, KeysOf(names), random);
        said = "joined " + std::to_string(join.rows.size());
      } catch (const Error& error) {
        said = error.message();
        throw;
      }
      return;
    }
    crypto::Digest nonce{}, their_nonce{};
    Swap(channel, 0, nonce, their_nonce);
    const crypto::Digest salt = JoinSalt(task, channel.names(), 1, nonce, their_nonce);
    const crypto::RistrettoScalar scalar = crypto::RandomScalar(random);
    List own, theirs(2), result(2), returned(2);
    for (const std::string& name : names) {
      ByteWriter message;
      message.Raw(salt);
      message.Raw(KeyOfName(name));
      own.push_back(crypto::RistrettoPoint::Hash(message.bytes()).Times(scalar).bytes());
    }
    const auto swap_lists = [&](const List& out, List& in) {
      Swap(channel, 0, BytesOf(out),
           {reinterpret_cast<uint8_t*>(in.data()), in.size() * sizeof(Element)});
    };
    // The own list may depend on the other: this peer waits for it where the transport lets it.
    cheat.list(own, theirs);
    swap_lists(own, theirs);
    for (size_t i = 0; i < 2; ++i) {
      const auto point = crypto::RistrettoPoint::Decode(theirs[i]);
      result[i] = point->Times(scalar).bytes();
    }
    cheat.result(result, own, theirs);
    crypto::Digest hash = ResultHash(channel.names()[1], salt, BytesOf(result)), their_hash{};
    cheat.hash(hash);
    if (cheat.copies_hash) {
      net::Receive receive;
      receive.from = 0;
      receive.into = their_hash;
      channel.Exchange({}, {&receive, 1});
      net::Send send;
      send.to = 0;
      send.bytes = their_hash;
      channel.Exchange({&send, 1}, {});
    } else {
      Swap(channel, 0, hash, their_hash);
    }
    if (cheat.returns_ours) {
      net::Receive receive;
      receive.from = 0;
      receive.into = {reinterpret_cast<uint8_t*>(returned.data()), 2 * sizeof(Element)};
      channel.Exchange({}, {&receive, 1});
      net::Send send;
      send.to = 0;
      send.bytes = BytesOf(returned);
      channel.Exchange({&send, 1}, {});
    } else {
      swap_lists(result, returned);
    }
    const std::array<uint8_t, 1> bit = {1};
    std::array<uint8_t, 1> their_bit{};
    Swap(channel, 0, bit, their_bit);
    Bytes their_places(8);
    Swap(channel, 0, cheat.places, their_places);
  });
  return said;
}

TEST(TwoPartyJoinTest, APeerThatFollowsTheProtocolIsBelieved) {
  EXPECT_EQ(Against({}), "joined 2");
}

TEST(TwoPartyJoinTest, PeersThatDepartFromTheProtocolAreFound) {
  Cheat cheat;
  cheat.list = [](List& own, const List&) { own[1] = own[0]; };
  EXPECT_THAT(Against(cheat), HasSubstr("listed an element twice"));
  cheat = {};
  cheat.list = [](List& own, const List&) { own[1].fill(0xff); };
  EXPECT_THAT(Against(cheat), HasSubstr("no element of the group"));
  cheat = {};
  cheat.list = [](List& own, const List&) { own[1].fill(0); };  // the identity
  EXPECT_THAT(Against(cheat), HasSubstr("no element of the group"));
  cheat = {};
  cheat.result = [](List& result, const List&, const List&) { result[1] = result[0]; };
  EXPECT_THAT(Against(cheat), HasSubstr("returned an element twice"));
  cheat = {};
  cheat.result = [](List& result, const List& own, const List&) { result[1] = own[1]; };
  EXPECT_THAT(Against(cheat), HasSubstr("returned an element of the lists"));
  cheat = {};
  cheat.result = [](List& result, const List&, const List& theirs) { result[0] = theirs[1]; };
  EXPECT_THAT(Against(cheat), HasSubstr("returned an element of the lists"));
  cheat = {};
  cheat.hash = [](crypto::Digest& hash) { hash[0] ^= 1; };
  EXPECT_THAT(Against(cheat), HasSubstr("other than what it had hashed"));
  cheat = {};
  cheat.places = {0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(Against(cheat), HasSubstr("no permutation"));
  cheat.places = {0, 0, 0, 0, 2, 0, 0, 0};
  EXPECT_THAT(Against(cheat), HasSubstr("no permutation"));
}

// A peer that waits for our result and returns it would have everything match; it has promised
// another result before.
TEST(TwoPartyJoinTest, OurOwnResultIsNotTakenBack) {
  Cheat cheat;
  // Not the list of ours, whose result could be the same, and in the same order.
  cheat.list = [](List& own, const List&) {
    own[1] = crypto::RistrettoPoint::Hash(AsBytes("nobody")).bytes();
  };
  cheat.returns_ours = true;
  EXPECT_THAT(Against(cheat), HasSubstr("other than what it had hashed"));
  // Nor if it promises the same: the hash names its sender.
  cheat.copies_hash = true;
  EXPECT_THAT(Against(cheat), HasSubstr("other than what it had hashed"));
}

// What the header says of the minimum: a peer with an exponent for each key finds which of them match
// in the other's result, and the other sees no match.
TEST(TwoPartyJoinTest, APeerWithManyExponentsLinksItsListBelowTheMinimum) {
  const Names ours = {"ada", "bo", "cy"}, theirs = {"cy", "di", "ada"};
  Names found;
  TwoPartyJoin join;
  net::RunChannels(net::MemoryParties(2), [&](net::Channel& channel) {
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(70 + channel.self()));
    const TwoPartyJoinTask task = TaskOf(channel.self(), {3, 3}, 3);
    if (channel.self() == 0) {
      join = JoinTwoLists(channel, task, KeysOf(ours), random);
      return;
    }
    crypto::Digest nonce{}, their_nonce{}, their_hash{};
    Swap(channel, 0, nonce, their_nonce);
    const crypto::Digest salt = JoinSalt(task, channel.names(), 1, nonce, their_nonce);
    std::vector<crypto::RistrettoScalar> exponents;
    List own, list(3), result, returned(3);
    for (const std::string& name : theirs) {
      exponents.push_back(crypto::RandomScalar(random));
      ByteWriter message;
      message.Raw(salt);
      message.Raw(KeyOfName(name));
      own.push_back(crypto::RistrettoPoint::Hash(message.bytes()).Times(exponents.back()).bytes());
    }
    const auto swap_lists = [&](const List& out, List& in) {
      Swap(channel, 0, BytesOf(out),
           {reinterpret_cast<uint8_t*>(in.data()), in.size() * sizeof(Element)});
    };
    swap_lists(own, list);
    for (const Element& element : list)
      result.push_back(crypto::RistrettoPoint::Decode(element)->Times(exponents[0]).bytes());
    Swap(channel, 0, ResultHash(channel.names()[1], salt, BytesOf(result)), their_hash);
    swap_lists(result, returned);
    for (size_t j = 0; j < theirs.size(); ++j) {
      for (const Element& element : list) {
        const Element raised = crypto::RistrettoPoint::Decode(element)->Times(exponents[j]).bytes();
        if (std::find(returned.begin(), returned.end(), raised) != returned.end())
          found.push_back(theirs[j]);
      }
    }
    const std::array<uint8_t, 1> bit = {0};
    std::array<uint8_t, 1> their_bit{};
    Swap(channel, 0, bit, their_bit);
  });
  EXPECT_EQ(found, (Names{"cy", "ada"}));
  EXPECT_LE(join.count, 1U);
  EXPECT_FALSE(join.linked);
}

TEST(TwoPartyJoinTest, SaltsAreOfOneRunOfOneMatching) {
  const Names names = {"clinic", "registry"};
  const crypto::Digest a = KeyOfName("a"), b = KeyOfName("b");
  TwoPartyJoinTask task = TaskOf(0, {2, 2}, 1), peers = TaskOf(1, {2, 2}, 1);
  const crypto::Digest salt = JoinSalt(task, names, 0, a, b);
  EXPECT_EQ(JoinSalt(peers, names, 1, b, a), salt);
  EXPECT_NE(JoinSalt(task, names, 0, a, a), salt);
  EXPECT_NE(JoinSalt(task, names, 0, b, b), salt);
  EXPECT_NE(JoinSalt(task, {"clinic", "other"}, 0, a, b), salt);
  task.session = a;
  EXPECT_NE(JoinSalt(task, names, 0, a, b), salt);
}

// ------------------------------------------------------------------- many random lists, steps alone

// Numbers modulo a prime, multiplied: as commutative as exponents, and fast. For joins, not secrets.
struct Modular {
  using Scalar = uint64_t;
  using Element = uint64_t;
  static constexpr size_t kBytes = 8;
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

  static uint64_t Reduced(ByteView bytes) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return 1 + value % (kPrime - 1);
  }
  static Scalar RandomScalar(crypto::RandomSource& random) {
    std::array<uint8_t, kBytes> bytes{};
    random.Fill(bytes);
    return Reduced(bytes);
  }
  static Element Hash(ByteView message) { return Reduced(crypto::Sha256Of(message)); }
  static Element Times(Element element, Scalar scalar) {
    return static_cast<uint64_t>(UInt128{element} * scalar % kPrime);
  }
  static std::array<uint8_t, kBytes> Encode(Element element) {
    std::array<uint8_t, kBytes> bytes{};
    std::memcpy(bytes.data(), &element, kBytes);
    return bytes;
  }
  static std::optional<Element> Decode(ByteView bytes) {
    Element element = 0;
    std::memcpy(&element, bytes.data(), kBytes);
    return element;
  }
  static std::optional<std::array<uint8_t, kBytes>> RaisedEncoding(ByteView bytes, Scalar scalar) {
    return Encode(Times(*Decode(bytes), scalar));
  }
};

// What each links, all messages in order.
std::array<std::vector<uint32_t>, 2> LinkedInSteps(const std::array<Names, 2>& lists,
                                                   const std::array<uint64_t, 2>& bounds,
                                                   crypto::RandomSource& random) {
  const std::array<std::vector<crypto::Digest>, 2> keys = {KeysOf(lists[0]), KeysOf(lists[1])};
  const std::array<TwoPartyJoinTask, 2> tasks = {TaskOf(0, bounds, 0), TaskOf(1, bounds, 0)};
  const crypto::Digest salt = KeyOfName("salt");
  JoinSteps<Modular> first(tasks[0], "second", keys[0], random),
      second(tasks[1], "first", keys[1], random);
  for (uint64_t i = 0; i < bounds[0]; ++i) second.TakePeers(first.NextOwn(salt));
  for (uint64_t i = 0; i < bounds[1]; ++i) first.TakePeers(second.NextOwn(salt));
  for (auto* side : {&first, &second}) side->CheckLists();
  for (const auto& element : second.raised()) first.TakeReturned(element);
  for (const auto& element : first.raised()) second.TakeReturned(element);
  for (auto* side : {&first, &second}) side->CheckReturned();
  const auto linked = [](JoinSteps<Modular>& own, const JoinSteps<Modular>& peer) {
    return own.Link(own.Common(), peer.raised_order());
  };
  return {linked(first, second), linked(second, first)};
}

TEST(TwoPartyJoinTest, NoRowIsLostOrDoubledInAThousandRuns) {
  std::mt19937_64 random(27);
  crypto::Prg stream = net::TestRandom(8);
  for (int run = 0; run < 1000; ++run) {
    // 1 to 10^4 on a scale of factors; at times nobody, all, or none in common.
    const auto most =
        static_cast<uint64_t>(std::pow(10.0, static_cast<double>(random() % 401) / 100));
    const uint64_t kind = random() % 8;
    std::array<Names, 2> lists;
    std::array<uint64_t, 2> bounds{};
    for (size_t party = 0; party < 2; ++party) {
      const uint64_t size = kind == 0 && party == 0 ? 0 : kind == 1 ? most : 1 + random() % most;
      std::vector<uint64_t> people(kind == 1 ? most : most + most / 2 + 1);
      std::iota(people.begin(), people.end(), kind == 2 ? party * 100'000 : 0);
      std::shuffle(people.begin(), people.end(), random);
      for (uint64_t i = 0; i < size; ++i) lists[party].push_back(std::to_string(people[i]));
      bounds[party] = std::max<uint64_t>(size + random() % 3, 1);
    }
    const auto rows = LinkedInSteps(lists, bounds, stream);
    std::set<std::string> both;
    const std::set<std::string> first(lists[0].begin(), lists[0].end());
    for (const std::string& name : lists[1]) {
      if (first.contains(name)) both.insert(name);
    }
    ASSERT_EQ(rows[0].size(), both.size()) << "run " << run;
    ASSERT_EQ(rows[1].size(), both.size()) << "run " << run;
    std::set<std::string> found;
    for (size_t i = 0; i < rows[0].size(); ++i) {
      ASSERT_EQ(lists[0][rows[0][i]], lists[1][rows[1][i]]) << "run " << run;
      found.insert(lists[0][rows[0][i]]);
    }
    ASSERT_EQ(found, both) << "run " << run;
    if (kind == 1) {
      ASSERT_EQ(found.size(), most);
    }
    if (kind == 0 || kind == 2) {
      ASSERT_TRUE(found.empty());
    }
  }
}

// ------------------------------------------------------------------- what a party sees

// Elements as a base with the exponents on it: equal exactly where elements of a large group are.
struct Symbolic {
  using Scalar = uint32_t;
  struct Element {
    uint32_t base = 0;
    std::multiset<uint32_t> exponents;
    bool operator<(const Element& other) const {
      return std::tie(base, exponents) < std::tie(other.base, other.exponents);
    }
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
  static inline int hashes = 0, multiplications = 0;
  static Scalar RandomScalar(crypto::RandomSource&) { return ++drawn; }
  static Element Hash(ByteView message) {
    ++hashes;
    const auto [found, added] =
        hashed.try_emplace(Bytes(message.begin(), message.end()), hashed.size());
    return {static_cast<uint32_t>(found->second), {}};
  }
  static Element Times(Element element, Scalar scalar) {
    ++multiplications;
    element.exponents.insert(scalar);
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
  static std::optional<std::array<uint8_t, kBytes>> RaisedEncoding(ByteView bytes, Scalar scalar) {
    return Encode(Times(*Decode(bytes), scalar));
  }
};

// Gives out the digits of one number, so that all tapes are those numbers.
class Tape : public crypto::RandomSource {
 public:
  explicit Tape(uint32_t number) : number_(number) {}
  void Fill(std::span<uint8_t> out) override {
    std::fill(out.begin(), out.end(), uint8_t{0});
    if (out.size() == sizeof(crypto::Digest)) {  // a random key, unlike all others
      static uint32_t keys = 0;
      ++keys;
      std::memcpy(out.data(), &keys, sizeof(keys));
      return;
    }
    // The permutations of three: below 3, then below 2, twice.
    const uint32_t base = calls_++ % 2 == 0 ? 3 : 2;
    // A word below 2^64 modulo the base would be drawn again.
    out[0] = static_cast<uint8_t>(base + number_ % base);
    number_ /= base;
  }

 private:
  uint32_t number_;
  uint32_t calls_ = 0;
};
constexpr uint32_t kTapes = 36;

// Numbers by first appearance, which is all that elements of a large group tell.
class View {
 public:
  void Add(const std::string& what) { text_ += what + ";"; }
  void Add(const Encoded<Symbolic>& element) {
    text_ += std::to_string(seen_.try_emplace(element, seen_.size()).first->second) + ",";
  }
  const std::string& text() const { return text_; }

 private:
  std::map<Encoded<Symbolic>, size_t> seen_;
  std::string text_;
};

// What party 0 sees of one run in which all follow the protocol, with its keys by name: its list in
// order, the other's, its own raised, what the other returned, the permutation after two ones.
std::string ViewOf(const std::array<Names, 2>& lists, uint64_t minimum, uint32_t tape,
                   uint32_t peers_tape) {
  Symbolic::Forget();
  const crypto::Digest salt = KeyOfName("salt");
  const std::array<std::vector<crypto::Digest>, 2> keys = {KeysOf(lists[0]), KeysOf(lists[1])};
  const std::array<TwoPartyJoinTask, 2> tasks = {TaskOf(0, {3, 3}, minimum),
                                                 TaskOf(1, {3, 3}, minimum)};
  Tape own(tape), peers(peers_tape);
  JoinSteps<Symbolic> self(tasks[0], "peer", keys[0], own), peer(tasks[1], "self", keys[1], peers);
  EncodedList<Symbolic> own_list, peer_list;
  for (int i = 0; i < 3; ++i) {
    own_list.push_back(self.NextOwn(salt));
    peer_list.push_back(peer.NextOwn(salt));
  }
  for (int i = 0; i < 3; ++i) {
    self.TakePeers(peer_list[static_cast<size_t>(i)]);
    peer.TakePeers(own_list[static_cast<size_t>(i)]);
  }
  self.CheckLists();
  for (const auto& element : peer.raised()) self.TakeReturned(element);
  for (const auto& element : self.raised()) peer.TakeReturned(element);
  self.CheckReturned();
  View view;
  for (const auto& element : own_list) view.Add(element);
  for (const auto& element : peer_list) view.Add(element);
  for (size_t i = 0; i < 3; ++i) view.Add(self.raised()[self.raised_order()[i]]);
  for (const auto& element : self.returned()) view.Add(element);
  const std::vector<uint32_t> common = self.Common();
  view.Add("count " + std::to_string(common.size()));
  if (common.size() < minimum) return view.text();
  const std::vector<uint32_t>& places = peer.raised_order();
  for (const uint32_t place : places) view.Add(std::to_string(place));
  std::set<std::string> matched;
  for (const uint32_t row : self.Link(common, places)) matched.insert(lists[0][row]);
  for (const std::string& name : matched) view.Add(name);
  return view.text();
}

// The list is sent while it is made, so that padding must take the time of keys.
TEST(TwoPartyJoinTest, PaddingTakesTheWorkOfKeys) {
  Symbolic::Forget();
  const std::vector<crypto::Digest> keys = KeysOf({"ada"});
  const TwoPartyJoinTask task = TaskOf(0, {3, 3}, 1);
  Tape tape(7);
  JoinSteps<Symbolic> steps(task, "peer", keys, tape);
  for (int i = 1; i <= 3; ++i) {
    Symbolic::hashes = Symbolic::multiplications = 0;
    steps.NextOwn(KeyOfName("salt"));
    EXPECT_EQ(Symbolic::hashes, 1) << i;
    EXPECT_EQ(Symbolic::multiplications, 1) << i;
  }
}

// Over all permutations of the other, whatever the own ones are.
std::map<std::string, int> Views(const std::array<Names, 2>& lists, uint64_t minimum,
                                 uint32_t tape) {
  std::map<std::string, int> views;
  for (uint32_t peers = 0; peers < kTapes; ++peers) ++views[ViewOf(lists, minimum, tape, peers)];
  return views;
}

// For all lists of at most three of five keys: what a party sees has one law for all lists of the
// other that have the same of its own keys (or, below the minimum, as many).
TEST(TwoPartyJoinTest, AViewDependsOnWhatMatchesAlone) {
  const Names all = {"ada", "bo", "cy", "di", "ed"};
  for (const uint64_t minimum : {uint64_t{1}, uint64_t{3}}) {
    for (const Names& own : {Names{"ada", "bo", "cy"}, Names{"ada", "bo"}, Names{}}) {
      for (const uint32_t tape : {0U, 17U, 35U}) {
        std::map<Names, std::map<std::string, int>> by_leakage;
        size_t cases = 0;
        for (unsigned bits = 0; bits < 32; ++bits) {
          const Names peers = SubsetOf(all, bits);
          if (peers.size() > 3) continue;
          Names leaked;
          for (const std::string& name : own) {
            if (std::find(peers.begin(), peers.end(), name) != peers.end()) leaked.push_back(name);
          }
          if (leaked.size() < minimum) leaked = Names(leaked.size(), "somebody");
          const std::map<std::string, int> views = Views({own, peers}, minimum, tape);
          const auto [first, added] = by_leakage.try_emplace(leaked, views);
          EXPECT_EQ(first->second, views) << ::testing::PrintToString(peers);
          ++cases;
        }
        EXPECT_EQ(cases, 26U);
        if (own.size() == 3) {
          EXPECT_EQ(by_leakage.size(), minimum == 1 ? 8U : 4U);
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita::match::two_party_join_test
