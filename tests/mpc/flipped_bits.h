// What a flipped bit of a message does today, engine by engine: bits of every message of small
// computations are changed, one at a time, and each run ends in one of three ways. Engines promise
// nothing against parties that deviate, so wrong results are expected, counted, and pinned: they
// are the measure for protection that is to come, and a change that makes more of them shows.
//
// All randomness but that of base transfers is fixed, so the counts are exact. Only payload is
// changed: headers are checked by the channel (frame_test.cc).
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <tuple>

#include "crypto/hash.h"
#include "mpc/compare.h"
#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"
#include "tests/net/fault_transport.h"

namespace partita::mpc::testing::flipped_bits {

inline crypto::Key FixedKey(std::string_view purpose, uint64_t a, uint64_t b) {
  return crypto::Key(crypto::Sha256().Field(purpose).U64(a).U64(b).Finish());
}

inline TapeFactory FixedTapes(const net::Channel& channel) {
  return [self = channel.self()](PartyIndex peer) {
    return KeyTape(FixedKey("pair", std::min(self, peer), std::max(self, peer)));
  };
}

class FixedRandom : public crypto::RandomSource {
 public:
  explicit FixedRandom(uint64_t party) : tape_(KeyTape(FixedKey("own", party, 0))) {}
  void Fill(std::span<uint8_t> out) override {
    tape_->Read(offset_, out);
    offset_ += out.size();
  }

 private:
  std::unique_ptr<Tape> tape_;
  uint64_t offset_ = 0;
};

// An engine with the randomness that it borrows.
class OtEngineWithRandom : private FixedRandom, public OtEngine<Ring128> {
 public:
  OtEngineWithRandom(net::Channel& channel, ReleaseGate& gate)
      : FixedRandom(channel.self()),
        OtEngine(channel, gate, FixedTapes(channel), static_cast<FixedRandom&>(*this)) {}
};

inline std::unique_ptr<Engine> MakeFixed(const std::string& kind, net::Channel& channel,
                                         ReleaseGate& gate) {
  if (kind == "replicated") {
    return std::make_unique<ReplicatedEngine<Ring128>>(channel, gate, FixedTapes(channel));
  }
  if (kind == "shamir") {
    return std::make_unique<ShamirEngine<Field127, 2>>(
        channel, gate, [](shamir::Group group) { return KeyTape(FixedKey("group", group, 0)); });
  }
  if (kind == "ot") return std::make_unique<OtEngineWithRandom>(channel, gate);
  if (channel.self() + 1 == channel.num_parties()) {
    return std::make_unique<DealerNode<Ring128>>(channel, FixedTapes(channel));
  }
  return std::make_unique<DealerEngine<Ring128>>(channel, gate, FixedTapes(channel));
}

// What one process learns.
using Learned = std::vector<Int128>;
using Computation = std::function<Learned(Engine& engine)>;

inline const IntMatrix kA{{1, 1}, {1234}}, kB{{1, 1}, {-771}};
inline constexpr double kBound = 16;
inline constexpr int kBits = 8;

inline Shared InputOf(Engine& engine, PartyIndex owner) {
  const PrivateMatrix matrix = Private(engine, owner, owner == 0 ? kA : kB, kBound, kBits);
  return engine.Input({&matrix, 1}).front();
}

inline Learned Open(Engine& engine, const Shared& value, PartyIndex to) {
  return engine.Reveal("out", {&value, 1}, to).front().values;
}

inline const std::map<std::string, Computation> kComputations = {
    {"input, to one", [](Engine& engine) { return Open(engine, InputOf(engine, 1), 0); }},
    {"product",
     [](Engine& engine) {
       const Product product{Product::Kind::kElementwise, InputOf(engine, 0), InputOf(engine, 1)};
       return Open(engine, engine.Multiply({&product, 1}).front(), kEverybody);
     }},
    {"truncation",
     [](Engine& engine) {
       const Shared value = InputOf(engine, 1);
       return Open(engine, engine.Rescale({&value, 1}, kBits / 2).front(), kEverybody);
     }},
    {"comparison",
     [](Engine& engine) {
       const Shared value = InputOf(engine, 1);
       const SharedBits negative = IsNegative(engine, {&value, 1}).front();
       const BitMatrix bit = engine.RevealBits("out", {&negative, 1}, kEverybody).front();
       return bit.words.empty() ? Learned{} : Learned{GetBit(bit, 0, 0) ? 1 : 0};
     }},
};

// A byte of a message.
struct Place {
  size_t from = 0, to = 0, number = 0, byte = 0;
  uint8_t mask = 0;
};
using Sizes = std::map<std::tuple<size_t, size_t, size_t>, size_t>;  // by from, to, number

struct Ending {
  bool aborted = false;
  std::vector<Learned> learned;  // by process
};

inline Ending Run(const std::string& kind, const Computation& computation, const Place& place,
                  Sizes* sizes) {
  RunOptions options{.kind = kind,
                     .num_parties = kind == "replicated" || kind == "shamir" ? 3u : 2u};
  options.make = [&](net::Channel& channel, ReleaseGate& gate) {
    return MakeFixed(kind, channel, gate);
  };
  std::mutex mutex;
  options.wrap = [&](std::unique_ptr<net::Transport> inner) -> std::unique_ptr<net::Transport> {
    const size_t from = inner->self();
    return std::make_unique<net::FaultTransport>(
        std::move(inner), [&, from](size_t to, size_t number, const Bytes& frame) {
          const bool data = frame[6] == static_cast<uint8_t>(net::FrameType::kData);
          Bytes sent = frame;
          if (data && sizes != nullptr) {
            const std::lock_guard lock(mutex);
            (*sizes)[{from, to, number}] = frame.size() - net::kFrameHeaderBytes;
          }
          if (data && place.mask != 0 && from == place.from && to == place.to &&
              number == place.number) {
            sent[net::kFrameHeaderBytes + place.byte] ^= place.mask;
          }
          return std::vector<Bytes>{sent};
        });
  };
  Ending ending;
  ending.learned.resize(options.num_parties + 1);
  const RunResult result = RunAll(
      options, [&](Engine& engine, size_t self) { ending.learned[self] = computation(engine); });
  for (const std::exception_ptr& error : result.errors) {
    if (error) ending.aborted = true;
  }
  return ending;
}

struct Counts {
  uint64_t flips = 0, aborted = 0, same = 0, wrong = 0;
  bool operator==(const Counts&) const = default;
};

// Of messages longer than `most` bytes as many, evenly spread; each with every one of the masks.
inline Counts FlipBits(const std::string& kind, const Computation& computation, size_t most,
                       const std::vector<uint8_t>& masks) {
  Sizes sizes;
  const Ending undisturbed = Run(kind, computation, {}, &sizes);
  EXPECT_FALSE(undisturbed.aborted);
  Counts counts;
  for (const auto& [message, size] : sizes) {
    const auto [from, to, number] = message;
    for (size_t byte = 0; byte < size; byte += std::max<size_t>(1, size / most)) {
      for (const uint8_t mask : masks) {
        const Ending ending = Run(kind, computation, {from, to, number, byte, mask}, nullptr);
        ++counts.flips;
        if (ending.aborted) {
          ++counts.aborted;
        } else {
          ++(ending.learned == undisturbed.learned ? counts.same : counts.wrong);
        }
      }
    }
  }
  return counts;
}

struct Measure {
  std::string kind, computation;
  Counts counts;
};

// Flips, prints and compares with what was counted before: every computation of the kinds that are
// named there.
inline void ExpectMeasures(const std::vector<Measure>& today, size_t most,
                           const std::vector<uint8_t>& masks) {
  Counts all;
  for (const Measure& measure : today) {
    const Counts counts =
        FlipBits(measure.kind, kComputations.at(measure.computation), most, masks);
    printf("{\"%s\", \"%s\", {%d, %d, %d, %d}},\n", measure.kind.c_str(),
           measure.computation.c_str(), static_cast<int>(counts.flips),
           static_cast<int>(counts.aborted), static_cast<int>(counts.same),
           static_cast<int>(counts.wrong));
    fflush(stdout);
    // The keys of base transfers are fresh in every run: whether what follows from a wrong one is
    // noticed is a matter of chance.
    Counts expected = measure.counts;
    if (measure.kind == "ot") {
      EXPECT_EQ(counts.aborted + counts.wrong, expected.aborted + expected.wrong);
      expected.aborted = counts.aborted;
      expected.wrong = counts.wrong;
    }
    EXPECT_TRUE(counts == expected) << measure.kind << " " << measure.computation;
    all.flips += counts.flips;
    all.aborted += counts.aborted;
    all.same += counts.same;
    all.wrong += counts.wrong;
  }
  printf("all: %d flips: %d aborted, %d same, %d wrong\n", static_cast<int>(all.flips),
         static_cast<int>(all.aborted), static_cast<int>(all.same), static_cast<int>(all.wrong));
}

}  // namespace partita::mpc::testing::flipped_bits
