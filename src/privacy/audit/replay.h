// Record and replay: a mechanism runs on two neighbouring data sets with the same random tape, and
// every value that noise goes into is recorded. Deterministic, milliseconds, and it names the call
// that is wrong (Zhang et al. 2026, arXiv:2602.17454; security.md 5.1, layer 1).
//
// A mechanism under replay takes a NoiseAdder and adds all its noise through it. Checked are: as
// many calls, in the same order, with the same law, norm and declared sensitivity (whatever differs
// there depends on data); and for every call, that the values differ by no more than declared.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/int128.h"
#include "crypto/random.h"
#include "privacy/sampling/sensitivity.h"

namespace partita::privacy {

struct NoiseRequest {
  std::string law;  // with its parameters: "discrete Gaussian, variance 9"
  Norm norm = Norm::kL2;
  double sensitivity = 0;  // declared, grid units, in that norm
  std::function<void(crypto::RandomSource&, std::span<Int128>)> sample;
};

class NoiseAdder {
 public:
  virtual ~NoiseAdder() = default;
  // Adds one sample to every value.
  virtual void Add(const NoiseRequest& request, std::span<Int128> values) = 0;
};

struct NoiseCall {
  std::string law;
  Norm norm = Norm::kL2;
  double sensitivity = 0;
  std::vector<Int128> values;  // before the noise
};

class RecordingNoise : public NoiseAdder {
 public:
  explicit RecordingNoise(crypto::RandomSource& tape) : tape_(tape) {}
  void Add(const NoiseRequest& request, std::span<Int128> values) override;
  const std::vector<NoiseCall>& calls() const { return calls_; }

 private:
  crypto::RandomSource& tape_;
  std::vector<NoiseCall> calls_;
};

// A tape that counts what is read of it: two runs on the same tape must read the same.
class CountingSource : public crypto::RandomSource {
 public:
  explicit CountingSource(crypto::RandomSource& source) : source_(source) {}
  void Fill(std::span<uint8_t> out) override;
  uint64_t bytes() const { return bytes_; }

 private:
  crypto::RandomSource& source_;
  uint64_t bytes_ = 0;
};

// One sentence per fault; empty: the replay found nothing.
std::vector<std::string> CompareReplays(const std::vector<NoiseCall>& data,
                                        const std::vector<NoiseCall>& neighbour);

// A lower bound of the distance of two integer vectors, in long double, at most (d + 4) 2^-63 below
// the truth: a value above a declared sensitivity is certainly above. Throws kInternal for unlike
// lengths.
long double GridDistance(std::span<const Int128> a, std::span<const Int128> b, Norm norm);

// A mechanism, run on any data and any tape; returns what it publishes.
template <typename Data>
using ReplayedMechanism = std::function<std::vector<Int128>(const Data&, NoiseAdder&)>;

// Runs both under the same tape, which make_tape makes anew.
template <typename Data, typename Tape>
std::vector<std::string> Replay(const ReplayedMechanism<Data>& mechanism, const Data& data,
                                const Data& neighbour, const std::function<Tape()>& make_tape) {
  Tape first = make_tape();
  Tape second = make_tape();
  CountingSource first_count(first);
  CountingSource second_count(second);
  RecordingNoise first_noise(first_count);
  RecordingNoise second_noise(second_count);
  mechanism(data, first_noise);
  mechanism(neighbour, second_noise);
  std::vector<std::string> faults = CompareReplays(first_noise.calls(), second_noise.calls());
  if (faults.empty() && first_count.bytes() != second_count.bytes()) {
    faults.emplace_back("how much randomness is read depends on the data");
  }
  return faults;
}

}  // namespace partita::privacy
