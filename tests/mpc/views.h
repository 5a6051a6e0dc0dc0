// Exact privacy of the real protocol code: every secret with every random tape over a tiny ring.
//
// A protocol is private against a coalition if the distribution of the coalition's view, given its
// own inputs and outputs, does not depend on the other inputs. Over Z_4 or Z_8 that can be counted:
// an instance is one choice of all inputs and of every random ring element that any process reads;
// a coalition's view is what its members read from their tapes and receive in messages. For every
// (own inputs, own outputs), the views' frequencies have to be equal for all other inputs.
//
// Many instances go through the engines in one run: as rows of column vectors (elementwise
// operations treat rows alike), or as entries of the lists that operations take.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc::testing {

// Every instance's inputs as private matrices.
class InstanceInputs {
 public:
  InstanceInputs(const Engine& engine, std::vector<PartyIndex> owners, std::vector<Int128> domain,
                 size_t first, size_t instances)
      : engine_(engine),
        owners_(std::move(owners)),
        domain_(std::move(domain)),
        first_(first),
        n_(instances) {}

  // Scalar input `input` of all instances, one per row.
  PrivateMatrix Column(size_t input, int fraction_bits = 0) const;
  // For each instance a column of the scalar inputs [first, first + rows).
  std::vector<PrivateMatrix> List(size_t first, size_t rows) const;
  size_t size() const { return n_; }

 private:
  const Engine& engine_;
  std::vector<PartyIndex> owners_;
  std::vector<Int128> domain_;
  size_t first_, n_;
};

// One random ring element of an instance: where the protocol reads it.
struct Digit {
  size_t low = 0, high = 0;  // the processes that share the tape
  size_t slot = 0;           // number of the element on that tape
  bool operator==(const Digit&) const = default;
};

// What a tape with a defect gives for a digit, instead of `honest(digit)`.
using TapeFault =
    std::function<uint8_t(const Digit& digit, const std::function<uint8_t(const Digit&)>& honest)>;

struct ViewCase {
  std::string engine = "replicated";
  size_t num_parties = 3;               // computing
  std::vector<PartyIndex> owners = {};  // of each scalar input
  std::vector<Int128> domain = {};  // the values that every input takes; default: the whole ring
  // Empty: instances are rows. Else they are list entries, and this says how many tape intervals
  // each Execute reserves per entry.
  std::vector<size_t> list_intervals = {};
  // Returns what it opened: one column (rows), or one 1 x 1 matrix per instance (list).
  std::function<std::vector<IntMatrix>(Engine&, const InstanceInputs&)> body = nullptr;
  // Engine dealer: no opening is held whole by whom it is not for (DealerOptions::max_whole_bytes).
  bool in_pieces = false;
  TapeFault fault = nullptr;
  std::vector<Digit> constant = {};  // a defect: these are always zero
  // Numbers modulo 2: only their lowest bit is enumerated, the others are zero.
  std::vector<Digit> one_bit = {};
};

// The views of all processes in all instances.
struct Views {
  int ring_bits = 0;
  size_t num_secrets = 0, num_inputs = 0, domain_size = 0;
  std::vector<PartyIndex> owners;
  std::vector<Int128> domain;
  std::vector<Digit> digits;  // those of one bit last
  size_t num_whole_digits = 0;
  // By process, then instance. A view is packed, ring_bits per element.
  std::vector<std::vector<uint64_t>> view, output;
  std::vector<int> view_bits, output_bits;
  std::vector<uint64_t> bytes_received;  // by process

  size_t num_instances() const { return view[0].size(); }
  Int128 Input(size_t instance, size_t input) const;
  // A random element of an instance; `digit` must be one of `digits`.
  uint64_t Random(size_t instance, const Digit& digit) const;
};

// Runs all instances. R is one of the tiny rings.
template <typename R>
Views EnumerateViews(const ViewCase& c);

// The number of (own inputs, own outputs, declared leakage) of the coalition for which the views'
// frequencies depend on the other inputs: 0 means private. `leakage`, if given, is what the ideal
// function tells the coalition beside its outputs, at most 16 bits per instance.
size_t NumLeaks(const Views& views, const std::vector<size_t>& coalition,
                const std::function<uint64_t(size_t instance)>& leakage = nullptr);

}  // namespace partita::mpc::testing
