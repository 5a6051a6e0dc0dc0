// Exact privacy of products among five parties on the engine `shamir`, against every two of them,
// over F_7. Their random elements are too many to be tried one by one. But a view depends on those
// of a resharing only through an affine map that is the same for all inputs and all other random
// elements: given those, it is uniform on a coset of the map's image. So these are tried one by
// one, and views are compared as cosets. That the map is affine and the same is checked on random
// instances.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <random>

#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/sanitized.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing::shamir_five_view_test {
namespace {

using shamir::Group;

constexpr size_t kParties = 5;
constexpr unsigned kP = 7;
// Columns are whole cipher blocks.
constexpr size_t kMultiple = 16;

using Elements = std::vector<uint8_t>;

// A random element: on the tape of which group, the how manieth.
using Digit = std::pair<Group, size_t>;

// The values of all digits in every row; digits that are not there are noted and zero.
struct Tapes {
  size_t rows = 0;
  std::map<Digit, Elements> values;
  std::map<Digit, Elements> asked;  // and not there
  std::mutex mutex;
};

class RowTape : public Tape {
 public:
  RowTape(Tapes& tapes, Group group) : tapes_(tapes), group_(group) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    const std::lock_guard lock(tapes_.mutex);
    for (size_t i = 0; i < out.size(); ++i) {
      const Digit digit{group_, static_cast<size_t>((offset + i) / tapes_.rows)};
      const auto at = tapes_.values.find(digit);
      if (at == tapes_.values.end()) tapes_.asked[digit];
      out[i] = at == tapes_.values.end() ? 0 : at->second[(offset + i) % tapes_.rows];
    }
  }

 private:
  Tapes& tapes_;
  Group group_;
};

struct Seen {
  std::vector<std::vector<Elements>> view;  // by party and row
  std::vector<std::vector<Int128>> opened;  // by party and row; empty where nothing is learned
};

// x_0 of party 0 times x_1 of party 1, opened to `to`.
Seen RunProduct(Tapes& tapes, const std::array<Elements, 2>& inputs, PartyIndex to) {
  Transcript transcript;
  Seen seen;
  seen.opened.resize(kParties);
  RunOptions options{.kind = "shamir", .num_parties = kParties};
  options.make = [&](net::Channel& channel, ReleaseGate& gate) {
    const GroupTapes of_group = [&](Group group) -> std::unique_ptr<Tape> {
      return std::make_unique<RowTape>(tapes, group);
    };
    return std::make_unique<ShamirEngine<Field7, 3>>(channel, gate, of_group, 0);
  };
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  RunAll(options, [&](Engine& engine, size_t self) {
    std::vector<Shared> values;
    for (PartyIndex owner = 0; owner < 2; ++owner) {
      const IntMatrix column{{tapes.rows, 1}, {inputs[owner].begin(), inputs[owner].end()}};
      const PrivateMatrix input = Private(engine, owner, column, 0.5);
      values.push_back(engine.Input({&input, 1})[0]);
    }
    const Product product{Product::Kind::kElementwise, values[0], values[1]};
    const std::vector<Shared> result = engine.Multiply({&product, 1});
    seen.opened[self] = engine.Reveal("out", result, to)[0].values;
  }).ThrowIfFailed();

  seen.view.assign(kParties, std::vector<Elements>(tapes.rows));
  for (PartyIndex party = 0; party < kParties; ++party) {
    for (size_t row = 0; row < tapes.rows; ++row) {
      for (const auto& [digit, values] : tapes.values) {
        if (shamir::IsMember(digit.first, party)) seen.view[party][row].push_back(values[row]);
      }
    }
    for (PartyIndex from = 0; from < kParties; ++from) {
      for (const Bytes& message : transcript.Messages(from, party)) {
        EXPECT_EQ(message.size() % tapes.rows, 0u);
        for (size_t i = 0; i < message.size(); ++i) {
          seen.view[party][i % tapes.rows].push_back(message[i]);
        }
      }
    }
  }
  return seen;
}

// A basis of the span of vectors over F_7, each with a leading 1 where all others have 0.
class Span {
 public:
  void Add(Elements v) {
    Reduce(v);
    const auto lead = std::find_if(v.begin(), v.end(), [](uint8_t x) { return x != 0; });
    if (lead == v.end()) return;
    const auto at = static_cast<size_t>(lead - v.begin());
    unsigned inverse = 1;
    while (inverse * v[at] % kP != 1) ++inverse;
    for (uint8_t& x : v) x = static_cast<uint8_t>(x * inverse % kP);
    for (auto& [lead_of, vector] : basis_) Subtract(vector, v, vector[at]);
    basis_.emplace(at, std::move(v));
  }
  // The representative of v's coset.
  void Reduce(Elements& v) const {
    for (const auto& [at, vector] : basis_) Subtract(v, vector, v[at]);
  }
  size_t size() const { return basis_.size(); }

 private:
  static void Subtract(Elements& from, const Elements& what, unsigned times) {
    for (size_t i = 0; i < from.size(); ++i) {
      from[i] = static_cast<uint8_t>((from[i] + (kP - times) * what[i]) % kP);
    }
  }
  std::map<size_t, Elements> basis_;
};

const std::array<uint8_t, 3> kDomain = {0, 1, 5};
constexpr size_t kRandomRows = 4000;

// All rows that are run: every input and every random element of the inputs' dealing, the
// resharing's at zero; then each of the resharing's alone at one; then random ones.
struct Enumeration {
  std::array<Elements, 2> inputs;
  Tapes tapes;
  std::vector<Digit> of_resharing;
  size_t num_exact = 0;
};

// The input of party 0 is dealt from slot 0, of party 1 from slot 1, resharings from slot 2.
// constant: random elements of the resharing that are always zero.
void Fill(const std::vector<Digit>& digits, const std::vector<Digit>& constant, Enumeration& all) {
  std::vector<Digit> of_inputs;
  for (const Digit& digit : digits) {
    const bool fixed = std::find(constant.begin(), constant.end(), digit) != constant.end();
    if (digit.second < 2) of_inputs.push_back(digit);
    if (digit.second == 2 && !fixed) all.of_resharing.push_back(digit);
    ASSERT_LE(digit.second, 2u);
  }
  ASSERT_EQ(of_inputs.size(), 4u);
  std::mt19937_64 random(5);
  auto add_row = [&](size_t number, auto resharing) {
    for (Elements& input : all.inputs) {
      input.push_back(kDomain[number % kDomain.size()]);
      number /= kDomain.size();
    }
    for (const Digit& digit : of_inputs) {
      all.tapes.values[digit].push_back(static_cast<uint8_t>(number % kP));
      number /= kP;
    }
    for (const Digit& digit : constant) all.tapes.values[digit].push_back(0);
    for (size_t k = 0; k < all.of_resharing.size(); ++k) {
      all.tapes.values[all.of_resharing[k]].push_back(resharing(k));
    }
    ++all.tapes.rows;
  };
  all.num_exact = kDomain.size() * kDomain.size() * kP * kP * kP * kP;
  for (size_t number = 0; number < all.num_exact; ++number) {
    add_row(number, [](size_t) { return uint8_t{0}; });
  }
  for (size_t one = 0; one < all.of_resharing.size(); ++one) {
    add_row(0, [&](size_t k) { return static_cast<uint8_t>(k == one ? 1 : 0); });
  }
  for (size_t i = 0; i < kRandomRows || all.tapes.rows % kMultiple != 0; ++i) {
    add_row(random() % all.num_exact, [&](size_t) { return static_cast<uint8_t>(random() % kP); });
  }
}

Elements Joined(const Seen& seen, const std::vector<PartyIndex>& coalition, size_t row) {
  Elements joined;
  for (PartyIndex party : coalition) {
    const Elements& view = seen.view[party][row];
    joined.insert(joined.end(), view.begin(), view.end());
  }
  return joined;
}

class FiveParties {
 public:
  FiveParties(PartyIndex to, const std::vector<Digit>& constant) {
    Tapes finding;
    finding.rows = kMultiple;
    RunProduct(finding, {Elements(kMultiple, 0), Elements(kMultiple, 0)}, to);
    for (const auto& [digit, nothing] : finding.asked) digits_.push_back(digit);
    Fill(digits_, constant, all_);
    seen_ = RunProduct(all_.tapes, all_.inputs, to);
    EXPECT_TRUE(all_.tapes.asked.empty());
  }

  const std::vector<Digit>& digits() const { return digits_; }
  const Seen& seen() const { return seen_; }
  const Enumeration& all() const { return all_; }

  // For how many of what the coalition knows (own inputs and outputs) the distribution of its view
  // depends on the others' inputs.
  size_t NumLeaks(const std::vector<PartyIndex>& coalition) const {
    const Span image = ImageOf(coalition);
    std::map<std::string, std::map<std::string, std::map<Elements, size_t>>> ways;
    for (size_t row = 0; row < all_.num_exact; ++row) {
      std::string known, others;
      for (PartyIndex owner = 0; owner < 2; ++owner) {
        const bool own = std::find(coalition.begin(), coalition.end(), owner) != coalition.end();
        (own ? known : others) += std::to_string(all_.inputs[owner][row]) + ",";
      }
      for (PartyIndex party : coalition) {
        if (!seen_.opened[party].empty()) known += ToString(seen_.opened[party][row]) + ";";
      }
      Elements coset = Joined(seen_, coalition, row);
      image.Reduce(coset);
      ++ways[known][others][coset];
    }
    size_t leaks = 0;
    for (const auto& [known, by_others] : ways) {
      const auto& first = by_others.begin()->second;
      leaks += std::any_of(by_others.begin(), by_others.end(),
                           [&](const auto& other) { return other.second != first; })
                   ? 1
                   : 0;
    }
    return leaks;
  }

  // Random rows are what the map says of them.
  void ExpectAffine(const std::vector<PartyIndex>& coalition) const {
    const std::vector<Elements> columns = ColumnsOf(coalition);
    std::map<std::vector<uint8_t>, size_t> exact;  // inputs and their digits, to their row
    for (size_t row = 0; row < all_.num_exact; ++row) exact[NameOf(row)] = row;
    const size_t first = all_.num_exact + columns.size();
    for (size_t row = first; row < all_.tapes.rows; ++row) {
      Elements expected = Joined(seen_, coalition, exact.at(NameOf(row)));
      for (size_t k = 0; k < columns.size(); ++k) {
        const unsigned times = all_.tapes.values.at(all_.of_resharing[k])[row];
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] = static_cast<uint8_t>((expected[i] + times * columns[k][i]) % kP);
        }
      }
      ASSERT_EQ(Joined(seen_, coalition, row), expected) << row;
    }
  }

 private:
  std::vector<uint8_t> NameOf(size_t row) const {
    std::vector<uint8_t> name = {all_.inputs[0][row], all_.inputs[1][row]};
    for (const auto& [digit, values] : all_.tapes.values) {
      if (digit.second < 2) name.push_back(values[row]);
    }
    return name;
  }
  // What one more of every element of the resharing adds to the view.
  std::vector<Elements> ColumnsOf(const std::vector<PartyIndex>& coalition) const {
    const Elements zero = Joined(seen_, coalition, 0);
    std::vector<Elements> columns;
    for (size_t k = 0; k < all_.of_resharing.size(); ++k) {
      Elements column = Joined(seen_, coalition, all_.num_exact + k);
      for (size_t i = 0; i < column.size(); ++i) {
        column[i] = static_cast<uint8_t>((column[i] + kP - zero[i]) % kP);
      }
      columns.push_back(std::move(column));
    }
    return columns;
  }
  Span ImageOf(const std::vector<PartyIndex>& coalition) const {
    Span image;
    for (Elements& column : ColumnsOf(coalition)) image.Add(std::move(column));
    return image;
  }

  std::vector<Digit> digits_;
  Enumeration all_;
  Seen seen_;
};

TEST(ShamirFiveViewTest, TwoLearnNothingOfAProductButWhatIsOpened) {
  if (kSanitized) GTEST_SKIP() << "a million views to reduce";
  for (const PartyIndex to : {PartyIndex{4}, kEverybody}) {
    const FiveParties five(to, {});
    // Two for each input, two for each of the five dealings of the resharing.
    EXPECT_EQ(five.digits().size(), 14u);
    for (PartyIndex party = 0; party < kParties; ++party) {
      const bool learns = to == kEverybody || to == party;
      ASSERT_EQ(!five.seen().opened[party].empty(), learns);
      for (size_t row = 0; learns && row < five.all().tapes.rows; ++row) {
        const unsigned product = five.all().inputs[0][row] * five.all().inputs[1][row] % kP;
        const Int128 opened = five.seen().opened[party][row];
        ASSERT_TRUE((opened + kP) % kP == product) << row;
      }
    }
    for (PartyIndex a = 0; a < kParties; ++a) {
      EXPECT_EQ(five.NumLeaks({a}), 0u) << a;
      for (PartyIndex b = 0; b < a; ++b) {
        five.ExpectAffine({b, a});
        EXPECT_EQ(five.NumLeaks({b, a}), 0u) << b << " and " << a;
      }
    }
    // Three are one too many, which shows that the views are complete.
    EXPECT_GT(five.NumLeaks({2, 3, 4}), 0u);
  }
}

// Without the random elements of its resharings, some pair learns more than the product.
TEST(ShamirFiveViewTest, AResharingWithoutRandomnessIsCaught) {
  if (kSanitized) GTEST_SKIP() << "a million views to reduce";
  const FiveParties honest(kEverybody, {});
  std::vector<Digit> constant;
  for (const Digit& digit : honest.digits()) {
    if (digit.second == 2) constant.push_back(digit);
  }
  ASSERT_EQ(constant.size(), 10u);
  const FiveParties broken(kEverybody, constant);
  size_t leaks = 0;
  for (PartyIndex a = 0; a < kParties; ++a) {
    for (PartyIndex b = 0; b < a; ++b) leaks += broken.NumLeaks({b, a});
  }
  EXPECT_GT(leaks, 0u);
}

}  // namespace
}  // namespace partita::mpc::testing::shamir_five_view_test
