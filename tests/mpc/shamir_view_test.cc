// Exact privacy of the engine `shamir`: the real protocol code with every random tape over tiny
// fields, all instances at once as rows of columns; and statistics over the real field.
//
// A coalition's view is what its members read from tapes and receive in messages. Given its own
// inputs and outputs its distribution must not depend on the others' inputs (small_views.h). Where
// values are opened under statistical masks the exact distance is computed instead.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "mpc/compare.h"
#include "mpc/oracle_schedule.h"
#include "mpc/shamir_engine.h"
#include "net/memory_transport.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing::shamir_view_test {
namespace {

using shamir::Group;

// One random number of an instance: where the protocol reads it.
struct Digit {
  enum class Kind { kElement, kInteger, kBit };
  Group group = 0;
  Kind kind = Kind::kElement;
  size_t slot = 0;
  auto operator<=>(const Digit&) const = default;
};

// What a tape with a defect gives for a digit.
using Fault =
    std::function<uint8_t(const Digit& digit, const std::function<uint8_t(const Digit&)>& honest)>;

struct Case {
  size_t num_parties = 3;
  std::vector<PartyIndex> owners = {};  // of each scalar input
  std::vector<Int128> domain = {};      // the values that every input takes
  unsigned modulus = 0;
  int integer_bits = 0;
  // Elements, and bits after the first of a tape, are not enumerated but drawn: for what does not
  // depend on them.
  bool draw_elements = false;
  int statistical_bits = 0;
  // Gets one column per input; returns what it opened.
  std::function<std::vector<IntMatrix>(Engine&, const std::vector<IntMatrix>&)> body = {};
  Fault fault = {};
};

// All digits of all instances.
class Space {
 public:
  Space(const Case& c, size_t num_secrets) : c_(c), num_secrets_(num_secrets) {}

  void SetRows(size_t rows) { rows_ = rows; }

  void Read(Group group, uint64_t offset, std::span<uint8_t> out) {
    if (offset >= kBitTapeBase) {
      const uint64_t at = offset - kBitTapeBase, plane = rows_ / 8;
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] = 0;
        for (size_t bit = 0; bit < 8; ++bit) {
          const size_t row = (at + i) % plane * 8 + bit;
          const unsigned value =
              Get({group, Digit::Kind::kBit, static_cast<size_t>((at + i) / plane)}, row);
          out[i] = static_cast<uint8_t>(out[i] | value << bit);
        }
      }
      return;
    }
    const bool integer = offset >= shamir::kIntegerTapeBase;
    const uint64_t at = integer ? offset - shamir::kIntegerTapeBase : offset;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = Get({group, integer ? Digit::Kind::kInteger : Digit::Kind::kElement,
                    static_cast<size_t>((at + i) / rows_)},
                   (at + i) % rows_);
    }
  }

  // Returns the number of instances.
  size_t EndFinding() {
    finding_ = false;
    size_t count = num_secrets_;
    for (auto& [digit, stride] : strides_) {
      stride = count;
      count *= BaseOf(digit);
    }
    return count;
  }

  std::vector<Digit> digits() const {
    std::vector<Digit> digits;
    for (const auto& [digit, stride] : strides_) digits.push_back(digit);
    return digits;
  }

  uint8_t Get(const Digit& digit, size_t row) {
    if (finding_) {
      std::lock_guard lock(mutex_);
      if (!Drawn(digit)) strides_.try_emplace(digit, 0);
      return 0;
    }
    if (c_.fault) {
      return c_.fault(digit, [&](const Digit& asked) { return Honest(asked, row); });
    }
    return Honest(digit, row);
  }

 private:
  bool Drawn(const Digit& digit) const {
    return c_.draw_elements && (digit.kind == Digit::Kind::kElement ||
                                (digit.kind == Digit::Kind::kBit && digit.slot > 0));
  }
  size_t BaseOf(const Digit& digit) const {
    if (digit.kind == Digit::Kind::kElement) return c_.modulus;
    return size_t{1} << (digit.kind == Digit::Kind::kBit ? 1 : c_.integer_bits);
  }
  uint8_t Honest(const Digit& digit, size_t row) const {
    if (Drawn(digit)) {
      // SplitMix64 of what names the digit.
      uint64_t z = (row << 24 | digit.slot << 8 | digit.group) * 0x9E3779B97F4A7C15u +
                   (digit.kind == Digit::Kind::kBit ? 1 : 0);
      z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
      z = (z ^ z >> 27) * 0x94D049BB133111EBu;
      return static_cast<uint8_t>((z ^ z >> 31) % BaseOf(digit));
    }
    auto at = strides_.find(digit);
    if (at == strides_.end()) return 0;
    return static_cast<uint8_t>(row / at->second % BaseOf(digit));
  }

  const Case& c_;
  size_t num_secrets_, rows_ = 0;
  bool finding_ = true;
  std::mutex mutex_;
  std::map<Digit, size_t> strides_;
};

class SpaceTape : public Tape {
 public:
  SpaceTape(Space& space, Group group) : space_(space), group_(group) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override { space_.Read(group_, offset, out); }

 private:
  Space& space_;
  Group group_;
};

struct Views {
  size_t num_instances = 0, num_secrets = 0;
  std::vector<PartyIndex> owners;
  std::vector<Int128> domain;
  // By party, then instance.
  std::vector<std::vector<std::string>> view, output;
  // By receiver and sender: the elements of the last message that had some.
  std::map<std::pair<PartyIndex, PartyIndex>, std::vector<uint8_t>> last_elements;

  Int128 Input(size_t instance, size_t input) const {
    for (size_t i = 0; i < input; ++i) instance /= domain.size();
    return domain[instance % domain.size()];
  }
};

template <typename F, size_t kSlices>
void RunRows(const Case& c, Space& space, size_t rows, Transcript& transcript,
             std::vector<std::vector<IntMatrix>>& opened) {
  space.SetRows(rows);
  opened.assign(c.num_parties, {});
  std::vector<IntMatrix> inputs;
  size_t stride = 1;
  for (size_t i = 0; i < c.owners.size(); ++i, stride *= c.domain.size()) {
    IntMatrix column{{rows, 1}, {}};
    for (size_t row = 0; row < rows; ++row) {
      column.values.push_back(c.domain[row / stride % c.domain.size()]);
    }
    inputs.push_back(std::move(column));
  }
  RunOptions options;
  options.kind = "shamir";
  options.num_parties = c.num_parties;
  options.make = [&](net::Channel& channel, ReleaseGate& gate) {
    const GroupTapes tapes = [&](Group group) -> std::unique_ptr<Tape> {
      return std::make_unique<SpaceTape>(space, group);
    };
    return std::make_unique<ShamirEngine<F, kSlices>>(channel, gate, tapes, c.statistical_bits);
  };
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  RunAll(options, [&](Engine& engine, size_t self) {
    opened[self] = c.body(engine, inputs);
  }).ThrowIfFailed();
}

template <typename F, size_t kSlices>
Views Enumerate(Case c) {
  c.modulus = static_cast<unsigned>(F::kModulus);
  if (c.domain.empty()) {
    for (unsigned v = 0; v < c.modulus; ++v) c.domain.push_back(v);
  }
  Views views;
  views.owners = c.owners;
  views.domain = c.domain;
  views.num_secrets = 1;
  for (size_t i = 0; i < c.owners.size(); ++i) views.num_secrets *= c.domain.size();
  Space space(c, views.num_secrets);
  std::vector<std::vector<IntMatrix>> opened;
  Transcript finding, transcript;
  RunRows<F, kSlices>(c, space, 64, finding, opened);
  views.num_instances = space.EndFinding();
  if (views.num_instances > 2000000) throw std::logic_error("too many instances");
  const size_t rows = (views.num_instances + 63) / 64 * 64;
  RunRows<F, kSlices>(c, space, rows, transcript, opened);

  views.view.assign(c.num_parties, std::vector<std::string>(views.num_instances));
  views.output = views.view;
  for (PartyIndex party = 0; party < c.num_parties; ++party) {
    for (size_t i = 0; i < views.num_instances; ++i) {
      for (const IntMatrix& matrix : opened[party]) {
        if (!matrix.values.empty()) views.output[party][i] += ToString(matrix.values[i]) + " ";
      }
      for (const Digit& digit : space.digits()) {
        if (!shamir::IsMember(digit.group, party)) continue;
        views.view[party][i].push_back(static_cast<char>(space.Get(digit, i)));
      }
    }
    for (PartyIndex from = 0; from < c.num_parties; ++from) {
      for (const Bytes& message : transcript.Messages(from, party)) {
        // Elements before planes of bits, of which there are fewer than eight.
        const size_t elements = message.size() / rows;
        const size_t planes = message.size() % rows / (rows / 8);
        for (size_t i = 0; i < views.num_instances; ++i) {
          std::string& seen = views.view[party][i];
          for (size_t e = 0; e < elements; ++e) {
            seen.push_back(static_cast<char>(message[e * rows + i]));
          }
          for (size_t p = 0; p < planes; ++p) {
            const uint8_t byte = message[elements * rows + p * (rows / 8) + i / 8];
            seen.push_back(static_cast<char>(byte >> (i % 8) & 1));
          }
        }
        if (elements > 0) views.last_elements[{party, from}] = message;
      }
    }
  }
  return views;
}

// The number of (own inputs, own outputs) of the coalition for which the views' frequencies depend
// on the other inputs: 0 means private.
size_t NumLeaks(const Views& views, const std::vector<PartyIndex>& coalition) {
  struct Ways {
    std::map<std::string, std::map<std::string, size_t>> by_others;
  };
  std::map<std::string, Ways> by_known;
  for (size_t i = 0; i < views.num_instances; ++i) {
    std::string known, others, seen;
    for (size_t input = 0; input < views.owners.size(); ++input) {
      const bool own =
          std::find(coalition.begin(), coalition.end(), views.owners[input]) != coalition.end();
      (own ? known : others) += ToString(views.Input(i, input)) + ",";
    }
    for (PartyIndex party : coalition) {
      known += views.output[party][i] + ";";
      seen += views.view[party][i] + ";";
    }
    ++by_known[known].by_others[others][seen];
  }
  size_t leaks = 0;
  for (const auto& [known, ways] : by_known) {
    const auto& first = ways.by_others.begin()->second;
    for (const auto& [others, histogram] : ways.by_others) {
      // The same output may come about in more ways for some inputs: compare proportions.
      size_t total = 0, first_total = 0;
      for (const auto& [seen, count] : histogram) total += count;
      for (const auto& [seen, count] : first) first_total += count;
      bool same = histogram.size() == first.size();
      for (const auto& [seen, count] : histogram) {
        auto at = first.find(seen);
        same = same && at != first.end() && count * first_total == at->second * total;
      }
      if (!same) {
        ++leaks;
        break;
      }
    }
  }
  return leaks;
}

Shared InputOf(Engine& engine, PartyIndex owner, const IntMatrix& values, double bound = 0.5) {
  const PrivateMatrix input = Private(engine, owner, values, bound);
  return engine.Input({&input, 1})[0];
}

IntMatrix RevealOne(Engine& engine, const Shared& value, PartyIndex to) {
  return engine.Reveal("out", {&value, 1}, to)[0];
}

void ExpectPrivateForEach(const Views& views, size_t num_parties) {
  for (PartyIndex party = 0; party < num_parties; ++party) {
    EXPECT_EQ(NumLeaks(views, {party}), 0u) << party;
  }
}

// ---- one of three, over F_5

Case Sum() {
  Case c;
  c.owners = {0, 1};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const Shared sum = engine.Add(InputOf(engine, 0, x[0], 0.4), InputOf(engine, 1, x[1], 0.4));
    return std::vector{RevealOne(engine, engine.Scale(sum, 2), 2)};
  };
  return c;
}

TEST(ShamirViewTest, SumOpenedToOne) { ExpectPrivateForEach(Enumerate<Field5, 2>(Sum()), 3); }

// x_0 x_1, opened to party 2 or to everybody.
Case ProductTo(PartyIndex to) {
  Case c;
  c.owners = {0, 1};
  c.body = [to](Engine& engine, const std::vector<IntMatrix>& x) {
    const Product product{Product::Kind::kElementwise, InputOf(engine, 0, x[0]),
                          InputOf(engine, 1, x[1])};
    return std::vector{RevealOne(engine, engine.Multiply({&product, 1})[0], to)};
  };
  return c;
}

TEST(ShamirViewTest, ProductOpenedToOneAndToAll) {
  ExpectPrivateForEach(Enumerate<Field5, 2>(ProductTo(2)), 3);
  ExpectPrivateForEach(Enumerate<Field5, 2>(ProductTo(kEverybody)), 3);
}

// A private operand that is dealt for the product, and one that its owner multiplies itself.
TEST(ShamirViewTest, ProductsOfPrivateOperands) {
  Case c;
  c.owners = {1, 2};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const Product product{Product::Kind::kElementwise, Private(engine, 1, x[0], 0.5),
                          Private(engine, 2, x[1], 0.5)};
    return std::vector{RevealOne(engine, engine.Multiply({&product, 1})[0], 0)};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
}

// A resharing of which one party does not randomise its part.
TEST(ShamirViewTest, AResharingWithoutRandomnessIsCaught) {
  Case c = ProductTo(2);
  // The input of party 0 is read in slot 0, of party 1 in slot 1, the resharings in slot 2.
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.kind == Digit::Kind::kElement && digit.slot == 2 ? 0 : honest(digit);
  };
  const Views views = Enumerate<Field5, 2>(c);
  size_t leaks = 0;
  for (PartyIndex party = 0; party < 3; ++party) leaks += NumLeaks(views, {party});
  EXPECT_GT(leaks, 0u);
}

// Two dealings that read the same interval: their difference tells the difference of the secrets.
TEST(ShamirViewTest, RandomnessUsedTwiceIsCaught) {
  Case c;
  c.owners = {0};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    IntMatrix squares = x[0];
    for (Int128& v : squares.values) v *= v;
    const PrivateMatrix inputs[] = {Private(engine, 0, x[0], 0.5),
                                    Private(engine, 0, squares, 0.5)};
    engine.Input(inputs);
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
  c.fault = [](const Digit& digit, const auto& honest) {
    Digit asked = digit;
    asked.slot = 0;
    return honest(asked);
  };
  EXPECT_GT(NumLeaks(Enumerate<Field5, 2>(c), {2}), 0u);
}

// A share from a tape that is never 0 makes the leading coefficient tell of the secret.
TEST(ShamirViewTest, ARandomElementThatIsNeverZeroIsCaught) {
  Case c;
  c.owners = {0};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    InputOf(engine, 0, x[0]);
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    const uint8_t value = honest(digit);
    return value == 0 ? uint8_t{1} : value;
  };
  EXPECT_GT(NumLeaks(Enumerate<Field5, 2>(c), {2}), 0u);
}

// What opening a product's own polynomial would tell, without a resharing: party 0 of three sees
// f_x g_y at all points, given x y.
TEST(ShamirViewTest, AProductOpenedAsItIsIsCaught) {
  using F = Field5;
  std::map<int, std::map<std::pair<int, int>, std::map<std::array<int, 5>, int>>> seen;
  for (int x = 0; x < 5; ++x) {
    for (int y = 0; y < 5; ++y) {
      for (int a = 0; a < 5; ++a) {
        for (int b = 0; b < 5; ++b) {
          auto share = [](int secret, int slope, int point) {
            return F::Reduce(static_cast<UInt128>(secret + slope * point));
          };
          std::array<int, 5> view = {share(x, a, 1), share(y, b, 1), 0, 0, 0};
          for (int point = 1; point <= 3; ++point) {
            view[static_cast<size_t>(point) + 1] = F::Mul(share(x, a, point), share(y, b, point));
          }
          ++seen[F::Mul(static_cast<uint8_t>(x), static_cast<uint8_t>(y))][{x, y}][view];
        }
      }
    }
  }
  bool depends = false;
  for (const auto& [product, by_inputs] : seen) {
    for (const auto& [inputs, views] : by_inputs) {
      depends = depends || views != by_inputs.begin()->second;
    }
  }
  EXPECT_TRUE(depends);
}

// ---- bits, over GF(4)

SharedBits BitsOf(Engine& engine, PartyIndex owner, const IntMatrix& column) {
  BitMatrix bits = MakeBits(column.shape, 1);
  for (size_t i = 0; i < column.values.size(); ++i) SetBit(bits, 0, i, column.values[i] != 0);
  if (engine.self() != owner) bits.words.clear();
  const PrivateBits input{owner, std::move(bits)};
  return engine.InputBits({&input, 1})[0];
}

IntMatrix OpenedColumn(const BitMatrix& bits) {
  IntMatrix column;
  if (bits.words.empty()) return column;
  column.shape = bits.shape;
  for (size_t i = 0; i < bits.shape.size(); ++i)
    column.values.push_back(GetBit(bits, 0, i) ? 1 : 0);
  return column;
}

Case AndTo(PartyIndex to) {
  Case c;
  c.owners = {0, 1};
  c.domain = {0, 1};
  c.body = [to](Engine& engine, const std::vector<IntMatrix>& x) {
    const BitProduct product{BitsOf(engine, 0, x[0]), BitsOf(engine, 1, x[1])};
    const SharedBits result = engine.And({&product, 1})[0];
    return std::vector{OpenedColumn(engine.RevealBits("out", {&result, 1}, to)[0])};
  };
  return c;
}

TEST(ShamirViewTest, AndOfBits) {
  ExpectPrivateForEach(Enumerate<Field5, 2>(AndTo(2)), 3);
  ExpectPrivateForEach(Enumerate<Field5, 2>(AndTo(kEverybody)), 3);
  Case c = AndTo(2);
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.slot >= 4 ? 0 : honest(digit);  // two slots for each input, then the resharings
  };
  const Views views = Enumerate<Field5, 2>(c);
  EXPECT_GT(NumLeaks(views, {0}) + NumLeaks(views, {1}) + NumLeaks(views, {2}), 0u);
}

// Random bits are uniform to each party before they are opened, and so is what they mask.
TEST(ShamirViewTest, RandomBitsMask) {
  Case c;
  c.owners = {0};
  c.domain = {0, 1};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    crypto::SystemRandom own;
    const SharedBits masked =
        engine.Xor(BitsOf(engine, 0, x[0]), engine.RandomBits(x[0].shape, 1, own));
    engine.RevealBits("out", {&masked, 1}, kEverybody);
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
}

// A bit becomes a field element. The opened b ^ d and the products of shared random bits, all
// enumerated.
TEST(ShamirViewTest, BitsToTheField) {
  Case c;
  c.owners = {1};
  c.domain = {0, 1};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const SharedBits bits = BitsOf(engine, 1, x[0]);
    engine.ToRing({&bits, 1});
    return std::vector<IntMatrix>{};
  };
  ExpectPrivateForEach(Enumerate<Field5, 2>(c), 3);
  // The dealer's bit always 0: the group's members know d.
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.group == 0b100 ? 0 : honest(digit);
  };
  EXPECT_GT(NumLeaks(Enumerate<Field5, 2>(c), {0}), 0u);
}

// ---- two of five, over F_7

TEST(ShamirViewTest, TwoOfFiveLearnNothingOfASum) {
  Case c;
  c.num_parties = 5;
  c.owners = {0, 3};
  c.domain = {0, 1, 5};
  c.body = [](Engine& engine, const std::vector<IntMatrix>& x) {
    const Shared sum = engine.Add(InputOf(engine, 0, x[0]), InputOf(engine, 3, x[1]));
    return std::vector{RevealOne(engine, sum, 1)};
  };
  const Views views = Enumerate<Field7, 3>(c);
  for (PartyIndex a = 0; a < 5; ++a) {
    EXPECT_EQ(NumLeaks(views, {a}), 0u);
    for (PartyIndex b = 0; b < a; ++b) EXPECT_EQ(NumLeaks(views, {a, b}), 0u) << a << " " << b;
  }
  // Three are one too many, which shows that the views are complete.
  EXPECT_GT(NumLeaks(views, {1, 2, 4}), 0u);
}

// Four parties tolerate one, with a resharing by three of them. F_7 has room for every tape.
TEST(ShamirViewTest, OneOfFourLearnsNothingOfAProduct) {
  Case c = ProductTo(3);
  c.num_parties = 4;
  c.domain = {0, 1, 5};
  ExpectPrivateForEach(Enumerate<Field7, 3>(c), 4);
  // The input of party 0 is read in slot 0, of party 1 in slot 1, the resharings in slot 2.
  c.fault = [](const Digit& digit, const auto& honest) -> uint8_t {
    return digit.kind == Digit::Kind::kElement && digit.slot == 2 ? 0 : honest(digit);
  };
  const Views views = Enumerate<Field7, 3>(c);
  size_t leaks = 0;
  for (PartyIndex party = 0; party < 4; ++party) leaks += NumLeaks(views, {party});
  EXPECT_GT(leaks, 0u);
}

// ---- the linear oracle of three parties, over F_5

// One run for every weight and its dealing's random element; in each, columns for every value, the
// random element of its dealing, and the term that the two who reply have in common.
class OracleTape : public Tape {
 public:
  static constexpr size_t kColumns = 125, kRuns = 25;
  OracleTape(PartyIndex owner, PartyIndex centre, bool honest, Group group)
      : owner_(owner), centre_(centre), honest_(honest), group_(group) {}
  static uint8_t Value(size_t column) { return static_cast<uint8_t>(column % 5); }
  static uint8_t Weight(size_t run) { return static_cast<uint8_t>(run % 5); }
  // What the group knows of one instance.
  std::string Known(size_t run, size_t column) const {
    std::string known;
    if (group_ == PairWithNext(owner_)) known.push_back(Dealt(column));
    if (group_ == PairWithNext(centre_)) known.push_back(static_cast<char>(run / 5));
    if (!shamir::IsMember(group_, centre_)) known.push_back(Common(column));
    return known;
  }
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    // Intervals are whole cipher blocks: the value's dealing, the weight's, the common term.
    constexpr size_t kLong = 128, kShort = 16, kRun = 2 * kLong + kShort;
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t run = (offset + i) / kRun, at = (offset + i) % kRun;
      out[i] = at < kLong            ? static_cast<uint8_t>(Dealt(at))
               : at < kLong + kShort ? static_cast<uint8_t>(run / 5)
                                     : static_cast<uint8_t>(Common(at - kLong - kShort));
    }
  }

 private:
  static Group PairWithNext(PartyIndex party) {
    return Group{1} << party | Group{1} << (party + 1) % 3;
  }
  static char Dealt(size_t column) { return static_cast<char>(column / 5 % 5); }
  char Common(size_t column) const { return honest_ ? static_cast<char>(column / 25 % 5) : '\0'; }

  PartyIndex owner_, centre_;
  bool honest_;
  Group group_;
};

Views EnumerateOracle(PartyIndex owner, PartyIndex centre, bool honest) {
  constexpr size_t kColumns = OracleTape::kColumns, kRuns = OracleTape::kRuns;
  IntMatrix values{{1, kColumns}, {}};
  for (size_t c = 0; c < kColumns; ++c) values.values.push_back(OracleTape::Value(c));
  Transcript transcript;
  RunOptions options;
  options.kind = "shamir";
  options.num_parties = 3;
  options.make = [&](net::Channel& channel, ReleaseGate& gate) {
    const GroupTapes tapes = [=](Group group) -> std::unique_ptr<Tape> {
      return std::make_unique<OracleTape>(owner, centre, honest, group);
    };
    return std::make_unique<ShamirEngine<Field5, 2>>(channel, gate, tapes, 0);
  };
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  const OracleTask task{centre, 0, 0, {{"out", 1, 1}}};
  std::vector<IntMatrix> opened(kRuns);
  RunAll(options, [&](Engine& engine, size_t) {
    for (size_t run = 0; run < kRuns; ++run) {
      const Shared value = InputOf(engine, owner, values, 0.4);
      engine.RunOracle(value, task, [&](const OracleEvaluate& evaluate) {
        opened[run] = evaluate(0, {{1, 1}, {OracleTape::Weight(run)}});
      });
    }
  }).ThrowIfFailed();
  Views views;
  views.owners = {owner, centre};
  views.domain = {0, 1, 2, 3, 4};
  views.num_secrets = 25;
  views.num_instances = kRuns * kColumns;
  views.view.assign(3, std::vector<std::string>(views.num_instances));
  views.output = views.view;
  std::map<std::pair<PartyIndex, PartyIndex>, std::vector<Bytes>> received;
  for (PartyIndex from = 0; from < 3; ++from) {
    for (PartyIndex to = 0; to < 3; ++to) received[{from, to}] = transcript.Messages(from, to);
  }
  for (size_t i = 0; i < views.num_instances; ++i) {
    // The value, the weight, and the random numbers, lowest digit first.
    const size_t rest = i / 25, run = i / 5 % 5 + rest / 25 * 5;
    const size_t column = i % 5 + rest % 25 * 5;
    views.output[centre][i] = ToString(opened[run].values[column]);
    for (PartyIndex party = 0; party < 3; ++party) {
      std::string& seen = views.view[party][i];
      for (PartyIndex peer = 0; peer < 3; ++peer) {
        if (peer == party) continue;
        const OracleTape tape(owner, centre, honest, Group{1} << party | Group{1} << peer);
        seen += tape.Known(run, column);
        const std::vector<Bytes>& messages = received.at({peer, party});
        const size_t each = messages.size() / kRuns;
        for (size_t m = run * each; m < (run + 1) * each; ++m) {
          const size_t size = messages[m].size();
          if (size == kColumns) seen.push_back(static_cast<char>(messages[m][column]));
          if (size == kOracleHeadBytes + 1) seen.push_back(static_cast<char>(messages[m].back()));
        }
      }
    }
  }
  return views;
}

TEST(ShamirViewTest, TheOracleTellsTheCentreItsProductsAndTheOthersNothing) {
  for (PartyIndex owner = 0; owner < 3; ++owner) {
    for (PartyIndex centre = 0; centre < 3; ++centre) {
      SCOPED_TRACE(std::to_string(owner) + " " + std::to_string(centre));
      const Views views = EnumerateOracle(owner, centre, true);
      ExpectPrivateForEach(views, 3);
      for (size_t i = 0; i < views.num_instances; ++i) {
        const Int128 product = views.Input(i, 0) * views.Input(i, 1);
        ASSERT_EQ(views.output[centre][i], ToString(Field5::ToSigned(Field5::FromSigned(product))));
      }
    }
  }
}

TEST(ShamirViewTest, OracleRepliesWithoutACommonTermAreCaught) {
  EXPECT_GT(NumLeaks(EnumerateOracle(1, 0, false), {0}), 0u);
}

// ---- statistical masks, over the field of 127 elements

// What opens a value of two bits, sign included (the bound 0 stands for it), under a mask of one.
enum class MaskUse { kRescale, kDecompose };

Case Masked(MaskUse use, size_t num_parties, int integer_bits, int statistical_bits, Fault fault) {
  Case c;
  c.num_parties = num_parties;
  c.owners = {0};
  c.domain = {-2, -1, 0, 1};  // |x| < 2^(k-1) with k = 2
  c.integer_bits = integer_bits;
  c.draw_elements = true;
  c.statistical_bits = statistical_bits;
  c.fault = std::move(fault);
  c.body = [use](Engine& engine, const std::vector<IntMatrix>& x) {
    Shared value = InputOf(engine, 0, x[0], 0);
    const size_t width = 1;
    if (use == MaskUse::kRescale) {
      value.fraction_bits = 1;
      engine.Rescale({&value, 1}, 0);
    } else {
      engine.Decompose({&value, 1}, {&width, 1});
    }
    return std::vector<IntMatrix>{};
  };
  return c;
}

// Largest distance between the distributions of c and of what t parties know of the mask, over all
// pairs of values of x and all coalitions.
template <typename F, size_t kSlices>
double MaskDistance(const Case& c) {
  const Views views = Enumerate<F, kSlices>(c);
  const size_t n = c.num_parties, t = ShamirThreshold(n);
  // The digits of the mask that a party knows come first in its view; shares, which are drawn,
  // are replaced by c.
  const size_t known = n == 3 && c.statistical_bits == 0 ? 3 : 2;
  std::vector<typename F::Word> points;
  for (PartyIndex i = 1; i <= t + 1; ++i) points.push_back(PointOf<F>(i));
  const auto at_zero = LagrangeAt<F>(points, 0);
  auto opened = [&](size_t instance) {  // as party 0 computes it
    uint8_t sum = 0;
    for (PartyIndex i = 1; i <= t + 1; ++i) {
      sum = F::Add(sum, F::Mul(at_zero[i - 1], views.last_elements.at({0, i})[instance]));
    }
    return sum;
  };
  double largest = 0;
  for (Group coalition = 1; coalition < Group{1} << n; ++coalition) {
    if (static_cast<size_t>(std::popcount(coalition)) != t) continue;
    std::map<Int128, std::map<std::string, double>> by_value;
    for (size_t i = 0; i < views.num_instances; ++i) {
      std::string seen;
      for (PartyIndex party = 0; party < n; ++party) {
        if (shamir::IsMember(coalition, party)) seen += views.view[party][i].substr(0, known);
      }
      seen.push_back(static_cast<char>(opened(i)));
      by_value[views.Input(i, 0)][seen] += 1;
    }
    const double each =
        static_cast<double>(views.num_instances) / static_cast<double>(c.domain.size());
    double worst = 0;
    for (const auto& [x, p] : by_value) {
      for (const auto& [y, q] : by_value) {
        double distance = 0;
        for (const auto& [seen, count] : p) {
          auto at = q.find(seen);
          distance += std::max(0.0, count - (at == q.end() ? 0 : at->second));
        }
        worst = std::max(worst, distance / each);
      }
    }
    EXPECT_GT(worst, 0) << "coalition " << coalition;
    largest = std::max(largest, worst);
  }
  return largest;
}

const Fault kNoIntegers = [](const Digit& digit, const auto& honest) -> uint8_t {
  return digit.kind == Digit::Kind::kInteger ? 0 : honest(digit);
};
const Fault kNoLowBits = [](const Digit& digit, const auto& honest) -> uint8_t {
  return digit.kind == Digit::Kind::kBit && digit.slot == 0 ? 0 : honest(digit);
};

// h = mask bits 6 - m 1 - ceil(log2 3) 2 = 3; s = mask bits 6 - ceil(log2 3) - k = 2, and
// 2^(k-m) / 2^h = 2 / 8.
TEST(ShamirViewTest, TheDistanceOfStatisticalMasksIsWhatIsDeclared) {
  for (MaskUse use : {MaskUse::kRescale, MaskUse::kDecompose}) {
    auto distance = [use](const Fault& fault) {
      return MaskDistance<FieldOf7Bits, 2>(Masked(use, 3, 3, 0, fault));
    };
    EXPECT_LE(distance(nullptr), std::ldexp(1.0, -2));
    EXPECT_GT(distance(kNoIntegers), std::ldexp(1.0, -2));
    EXPECT_GT(distance(kNoLowBits), std::ldexp(1.0, -2));
  }
}

// b = 5, integers of b - m = 4 bits: at most 2^-5, of one of three and of two of five parties.
TEST(ShamirViewTest, TheDistanceOfUniformMasksIsWhatIsDeclared) {
  for (MaskUse use : {MaskUse::kRescale, MaskUse::kDecompose}) {
    auto of_three = [use](const Fault& fault) {
      return MaskDistance<FieldOf5Bits, 2>(Masked(use, 3, 4, 40, fault));
    };
    EXPECT_LE(of_three(nullptr), std::ldexp(1.0, -5));
    EXPECT_GT(of_three(kNoIntegers), std::ldexp(1.0, -5));
    EXPECT_GT(of_three(kNoLowBits), std::ldexp(1.0, -5));
    // The dealer's integer alone: the first group knows the mask's high bits.
    EXPECT_GT(of_three([](const Digit& digit, const auto& honest) -> uint8_t {
                return digit.group == 0b100 && digit.kind == Digit::Kind::kInteger ? 0
                                                                                   : honest(digit);
              }),
              std::ldexp(1.0, -5));
  }
  Case of_five = Masked(MaskUse::kRescale, 5, 4, 40, nullptr);
  of_five.domain = {-2, 1};
  EXPECT_LE((MaskDistance<FieldOf5Bits, 3>(of_five)), std::ldexp(1.0, -5));
}

// ---- two worlds, over the real field

// Party 2's messages while parties 0 and 1 multiply, cut, compare and convert values at opposite
// ends of their ranges. Every byte of every message is compared between the worlds (two-sample
// chi-square over its 256 values), all with false-alarm probability 1e-6 together.
TEST(ShamirViewTest, TwoWorldsLookAlike) {
  constexpr size_t kRows = 20000;
  auto messages = [](Int128 x, Int128 y) {
    Transcript transcript;
    RunOptions options{.kind = "shamir", .num_parties = 3, .make = MakeShamirEngine};
    options.wrap = [&](std::unique_ptr<net::Transport> inner) {
      return std::make_unique<RecordingTransport>(std::move(inner), transcript);
    };
    const IntMatrix a{{kRows, 1}, std::vector<Int128>(kRows, x)};
    const IntMatrix b{{kRows, 1}, std::vector<Int128>(kRows, y)};
    RunAll(options, [&](Engine& engine, size_t) {
      const Shared left = InputOf(engine, 0, a, 1 << 20), right = InputOf(engine, 1, b, 1 << 20);
      const Product product{Product::Kind::kElementwise, left, right};
      Shared result = engine.Multiply({&product, 1})[0];
      result.fraction_bits = 3;
      result.bound = std::ldexp(1.0, 37);
      engine.Rescale({&result, 1}, 0);
    }).ThrowIfFailed();
    std::vector<Bytes> received;
    for (PartyIndex from : {0, 1}) {
      for (Bytes& message : transcript.Messages(from, 2)) received.push_back(std::move(message));
    }
    return received;
  };
  const auto low = messages(-(1 << 20), 1 << 20), high = messages(0, 0);
  ASSERT_EQ(low.size(), high.size());
  size_t tests = 0;
  for (const Bytes& message : low) tests += message.size() / kRows;
  // Chi-square with 255 degrees of freedom by Wilson and Hilferty: about normal. One beyond 6 has
  // probability 1e-9, and the cube root's error in the tail is below a factor of 7 for 128 tests.
  ASSERT_LE(tests, 128u);
  const double z = 6;
  for (size_t m = 0; m < low.size(); ++m) {
    ASSERT_EQ(low[m].size(), high[m].size());
    const size_t width = 16;
    ASSERT_EQ(low[m].size() % (width * kRows), 0u);
    for (size_t part = 0; part < low[m].size() / (width * kRows); ++part) {
      for (size_t byte = 0; byte < width; ++byte) {
        std::array<double, 256> in_low{}, in_high{};
        for (size_t row = 0; row < kRows; ++row) {
          const size_t at = (part * kRows + row) * width + byte;
          ++in_low[low[m][at]];
          ++in_high[high[m][at]];
        }
        double chi_square = 0, degrees = -1;
        for (size_t v = 0; v < 256; ++v) {
          const double sum = in_low[v] + in_high[v], gap = in_low[v] - in_high[v];
          if (sum == 0) continue;
          chi_square += gap * gap / sum;
          ++degrees;
        }
        const double normal = (std::cbrt(chi_square / degrees) - (1 - 2 / (9 * degrees))) /
                              std::sqrt(2 / (9 * degrees));
        EXPECT_LT(normal, z) << "message " << m << ", part " << part << ", byte " << byte;
      }
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::shamir_view_test
