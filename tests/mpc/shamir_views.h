// What coalitions see of the engine `shamir`: the real protocol code with every random tape over tiny
// fields, all instances at once as rows of columns.
//
// A coalition's view is what its members read from tapes and receive in messages. Given its own
// inputs and outputs its distribution must not depend on the others' inputs (small_views.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing::shamir_views {

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
inline size_t NumLeaks(const Views& views, const std::vector<PartyIndex>& coalition) {
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

inline Shared InputOf(Engine& engine, PartyIndex owner, const IntMatrix& values,
                      double bound = 0.5) {
  const PrivateMatrix input = Private(engine, owner, values, bound);
  return engine.Input({&input, 1})[0];
}

inline IntMatrix RevealOne(Engine& engine, const Shared& value, PartyIndex to) {
  return engine.Reveal("out", {&value, 1}, to)[0];
}

inline void ExpectPrivateForEach(const Views& views, size_t num_parties) {
  for (PartyIndex party = 0; party < num_parties; ++party) {
    EXPECT_EQ(NumLeaks(views, {party}), 0u) << party;
  }
}

}  // namespace partita::mpc::testing::shamir_views
