#include "tests/mpc/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "mpc/replicated_engine.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing {
namespace {

constexpr size_t kInterval = 16;  // tape intervals begin at multiples of this many bytes

constexpr size_t kMaxInstances = size_t{8} << 20;
// Instances per run: what memory the engines and the recorded messages take.
constexpr size_t kRowChunk = size_t{1} << 20, kListChunk = size_t{1} << 13;

size_t Power(size_t base, size_t exponent) {
  size_t power = 1;
  for (size_t i = 0; i < exponent; ++i) power *= base;
  return power;
}

// Value of input number `input` in an instance: the secret's digits in base |domain|.
Int128 InputOf(const std::vector<Int128>& domain, size_t num_inputs, size_t instance,
               size_t input) {
  const size_t secret = instance % Power(domain.size(), num_inputs);
  return domain[secret / Power(domain.size(), input) % domain.size()];
}

// Random element number `index` of an instance: bits of the instance number above the secret, for
// each of the first `num_whole` elements ring_bits, then one for each.
uint8_t RandomOf(size_t num_secrets, int ring_bits, size_t num_whole, size_t instance,
                 size_t index) {
  const size_t tape = instance / num_secrets, whole = std::min(index, num_whole);
  const size_t shift = whole * static_cast<size_t>(ring_bits) + (index - whole);
  const int bits = index < num_whole ? ring_bits : 1;
  return static_cast<uint8_t>((tape >> shift) & ((size_t{1} << bits) - 1));
}

// Which instance and slot a byte of a tape or of a message belongs to.
struct Layout {
  size_t instances;
  std::vector<size_t> list_intervals;

  std::pair<size_t, size_t> OnTape(size_t offset) const {
    if (list_intervals.empty()) return {offset % instances, offset / instances};
    size_t interval = offset / kInterval, slot = offset % kInterval;
    for (size_t per_entry : list_intervals) {
      if (interval < per_entry * instances) {
        return {interval / per_entry, slot + interval % per_entry * kInterval};
      }
      interval -= per_entry * instances;
      slot += per_entry * kInterval;
    }
    throw std::logic_error("a tape is read beyond the intervals that the case declares");
  }
  std::pair<size_t, size_t> InMessage(size_t position, size_t length) const {
    if (list_intervals.empty()) return {position % instances, position / instances};
    const size_t per_entry = length / instances;
    return {position / per_entry, position % per_entry};
  }
};

// One process's part of all views, filled while it runs.
struct Recorder {
  std::vector<uint64_t> view;
  int bits = 0;

  // Reserves room for one more element of every instance's view; its shift.
  int NewElement(int ring_bits) {
    const int shift = bits;
    bits += ring_bits;
    if (bits > 64) throw std::logic_error("a view has more than 64 bits");
    return shift;
  }
};

class Enumeration {
 public:
  Enumeration(const ViewCase& c, int ring_bits, size_t first, size_t instances,
              std::vector<Digit> digits, size_t num_whole)
      : c_(c),
        ring_bits_(ring_bits),
        first_(first),
        layout_{instances, c.list_intervals},
        secrets_(Power(c.domain.size(), c.owners.size())),
        digits_(std::move(digits)),
        num_whole_(num_whole) {}

  const Layout& layout() const { return layout_; }
  // Digits that were read, in a canonical order; complete after a run.
  std::vector<Digit> Found() const {
    std::vector<Digit> found;
    for (const auto& [key, unused] : found_) found.push_back({key[0], key[1], key[2]});
    return found;
  }

  // Fills bytes of the tape between `self` and `peer`, and notes them in self's view.
  void Read(size_t self, size_t peer, uint64_t offset, std::span<uint8_t> out, Recorder& recorder,
            std::map<std::pair<size_t, size_t>, int>& shifts) {
    for (size_t i = 0; i < out.size();) {
      auto [instance, slot] = layout_.OnTape(offset + i);
      const Digit digit{std::min(self, peer), std::max(self, peer), slot};
      const size_t index = IndexOf(digit);
      auto [at, inserted] = shifts.try_emplace({peer, slot}, 0);
      if (inserted) at->second = recorder.NewElement(ring_bits_);
      // Rows of one slot follow each other; list entries have to be looked up one by one.
      const size_t rest = layout_.list_intervals.empty() ? layout_.instances - instance : 1;
      for (size_t end = i + std::min(rest, out.size() - i); i < end; ++i, ++instance) {
        out[i] = c_.fault ? Faulty(digit, instance) : Value(index, instance);
        recorder.view[instance] |= static_cast<uint64_t>(out[i]) << at->second;
      }
    }
  }

 private:
  size_t IndexOf(const Digit& digit) {
    std::lock_guard lock(mutex_);
    found_.try_emplace({digit.low, digit.high, digit.slot}, 0);
    return static_cast<size_t>(std::find(digits_.begin(), digits_.end(), digit) - digits_.begin());
  }

  uint8_t Value(size_t index, size_t instance) const {
    if (index == digits_.size()) return 0;  // the run that only finds the digits
    return RandomOf(secrets_, ring_bits_, num_whole_, first_ + instance, index);
  }

  uint8_t Faulty(const Digit& digit, size_t instance) {
    return c_.fault(digit, [&](const Digit& asked) {
      const auto at = std::find(digits_.begin(), digits_.end(), asked);
      return Value(static_cast<size_t>(at - digits_.begin()), instance);
    });
  }

  const ViewCase& c_;
  int ring_bits_;
  size_t first_;
  Layout layout_;
  size_t secrets_;
  std::vector<Digit> digits_;
  size_t num_whole_;
  std::mutex mutex_;
  std::map<std::array<size_t, 3>, int> found_;
};

class EnumeratedTape : public Tape {
 public:
  EnumeratedTape(Enumeration& enumeration, size_t self, size_t peer, Recorder& recorder)
      : enumeration_(enumeration), self_(self), peer_(peer), recorder_(recorder) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    enumeration_.Read(self_, peer_, offset, out, recorder_, shifts_);
  }

 private:
  Enumeration& enumeration_;
  size_t self_, peer_;
  Recorder& recorder_;
  std::map<std::pair<size_t, size_t>, int> shifts_;
};

// Adds what `self` received to its view.
void AddMessages(const Transcript& transcript, size_t self, size_t num_processes, int ring_bits,
                 const Layout& layout, Recorder& recorder, uint64_t& bytes) {
  for (size_t from = 0; from < num_processes; ++from) {
    for (const Bytes& message : transcript.Messages(from, self)) {
      bytes += message.size();
      if (message.size() % layout.instances != 0) {
        throw std::logic_error("a message does not hold as much of every instance");
      }
      const int first = recorder.bits;
      for (size_t i = 0; i < message.size() / layout.instances; ++i) recorder.NewElement(ring_bits);
      for (size_t i = 0; i < message.size(); ++i) {
        const auto [instance, slot] = layout.InMessage(i, message.size());
        const int shift = first + static_cast<int>(slot) * ring_bits;
        recorder.view[instance] |= static_cast<uint64_t>(message[i]) << shift;
      }
    }
  }
}

// Packs what a process learned; `opened` is empty or has as much for every instance.
void AddOutputs(const std::vector<IntMatrix>& opened, int ring_bits, size_t instances, bool list,
                std::vector<uint64_t>& output, int& bits) {
  const size_t first = output.size();
  output.resize(first + instances, 0);
  const uint64_t mask = (uint64_t{1} << ring_bits) - 1;
  if (list) {
    for (size_t i = 0; i < opened.size(); ++i) {
      if (opened[i].values.empty()) continue;
      output[first + i] = static_cast<uint64_t>(opened[i].values[0]) & mask;
      bits = ring_bits;
    }
    return;
  }
  for (const IntMatrix& column : opened) {
    if (column.values.empty()) continue;
    for (size_t i = 0; i < instances; ++i) {
      output[first + i] |= (static_cast<uint64_t>(column.values[i]) & mask) << bits;
    }
    bits += ring_bits;
  }
}

template <typename R>
EngineMaker MakeEnumerated(const ViewCase& c, Enumeration& enumeration,
                           std::vector<Recorder>& recorders) {
  return [&](net::Channel& channel, ReleaseGate& gate) -> std::unique_ptr<Engine> {
    const size_t self = channel.self();
    TapeFactory tapes = [&, self](PartyIndex peer) -> std::unique_ptr<Tape> {
      return std::make_unique<EnumeratedTape>(enumeration, self, peer, recorders[self]);
    };
    if (c.engine == "replicated")
      return std::make_unique<ReplicatedEngine<R>>(channel, gate, tapes);
    DealerOptions options;
    if (c.in_pieces) options.max_whole_bytes = 0;
    if (self == c.num_parties) return std::make_unique<DealerNode<R>>(channel, tapes, options);
    return std::make_unique<DealerEngine<R>>(channel, gate, tapes, options);
  };
}

// One run over instances [first, first + instances), whose views are appended; returns the digits
// that it read.
template <typename R>
std::vector<Digit> RunInstances(const ViewCase& c, size_t first, size_t instances,
                                const std::vector<Digit>& digits, Views& views) {
  const size_t processes = c.num_parties + (c.engine == "dealer" ? 1 : 0);
  Enumeration enumeration(c, R::kBits, first, instances, digits, views.num_whole_digits);
  std::vector<Recorder> recorders(processes);
  for (Recorder& recorder : recorders) recorder.view.assign(instances, 0);
  Transcript transcript;
  std::vector<std::vector<IntMatrix>> opened(processes);
  RunOptions options;
  options.kind = c.engine;
  options.num_parties = c.num_parties;
  options.make = MakeEnumerated<R>(c, enumeration, recorders);
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), transcript);
  };
  RunAll(options, [&](Engine& engine, size_t process) {
    opened[process] = c.body(engine, InstanceInputs(engine, c.owners, c.domain, first, instances));
  }).ThrowIfFailed();
  views.view.resize(processes);
  views.output.resize(processes);
  views.view_bits.assign(processes, 0);
  views.output_bits.assign(processes, 0);
  views.bytes_received.resize(processes);
  for (size_t p = 0; p < processes; ++p) {
    AddMessages(transcript, p, processes, R::kBits, enumeration.layout(), recorders[p],
                views.bytes_received[p]);
    views.view[p].insert(views.view[p].end(), recorders[p].view.begin(), recorders[p].view.end());
    views.view_bits[p] = recorders[p].bits;
    AddOutputs(opened[p], R::kBits, instances, !c.list_intervals.empty(), views.output[p],
               views.output_bits[p]);
  }
  return enumeration.Found();
}

// One instance as a coalition sees it, packed so that sorting groups them: 32 bits for what it may
// know (own inputs, outputs, leakage), 32 for the other inputs, 64 for the view.
using Sample = UInt128;

class SamplePacker {
 public:
  SamplePacker(const Views& views, const std::vector<size_t>& coalition)
      : views_(views), coalition_(coalition), own_(views.num_secrets), others_(views.num_secrets) {
    for (size_t input = 0; input < views.num_inputs; ++input) {
      const bool mine =
          std::find(coalition.begin(), coalition.end(), views.owners[input]) != coalition.end();
      for (size_t secret = 0; secret < views.num_secrets; ++secret) {
        const uint64_t digit = secret / Power(views.domain_size, input) % views.domain_size;
        auto& packed = mine ? own_[secret] : others_[secret];
        packed = packed * views.domain_size + digit;
      }
    }
  }

  Sample Pack(size_t instance, uint64_t leakage) const {
    const size_t secret = instance % views_.num_secrets;
    uint64_t known = own_[secret], view = 0;
    int view_bits = 0;
    known = known << 16 | leakage;
    for (size_t process : coalition_) {
      view |= views_.view[process][instance] << view_bits;
      view_bits += views_.view_bits[process];
      known = known << views_.output_bits[process] | views_.output[process][instance];
    }
    if (view_bits > 64 || known >> 32 != 0) throw std::logic_error("a view is too large");
    return static_cast<Sample>(known << 32 | others_[secret]) << 64 | view;
  }

 private:
  const Views& views_;
  const std::vector<size_t>& coalition_;
  std::vector<uint64_t> own_, others_;  // by secret
};

uint64_t Known(Sample sample) { return static_cast<uint64_t>(sample >> 96); }
uint64_t Others(Sample sample) { return static_cast<uint64_t>(sample >> 64); }  // and what is known

// The views of a run of samples that have the same other inputs, with their frequencies.
struct Frequencies {
  std::vector<std::pair<uint64_t, uint64_t>> counts;  // (view, count), by view
  uint64_t total = 0;

  bool SameDistribution(const Frequencies& other) const {
    return std::equal(counts.begin(), counts.end(), other.counts.begin(), other.counts.end(),
                      [&](const auto& a, const auto& b) {
                        return a.first == b.first && a.second * other.total == b.second * total;
                      });
  }
};

Frequencies TakeRun(const std::vector<Sample>& samples, size_t& begin) {
  Frequencies run;
  const uint64_t others = Others(samples[begin]);
  for (; begin < samples.size() && Others(samples[begin]) == others; ++begin, ++run.total) {
    const auto view = static_cast<uint64_t>(samples[begin]);
    if (run.counts.empty() || run.counts.back().first != view) run.counts.push_back({view, 0});
    ++run.counts.back().second;
  }
  return run;
}

}  // namespace

PrivateMatrix InstanceInputs::Column(size_t input, int fraction_bits) const {
  PrivateMatrix matrix{owners_[input], {n_, 1}, fraction_bits, 0.0, nullptr};
  if (engine_.self() == matrix.owner) {
    matrix.read = [this, input](size_t first, size_t count, Int128* out) {
      for (size_t i = 0; i < count; ++i) {
        out[i] = InputOf(domain_, owners_.size(), first_ + first + i, input);
      }
    };
  }
  return matrix;
}

std::vector<PrivateMatrix> InstanceInputs::List(size_t first, size_t rows) const {
  std::vector<PrivateMatrix> list(n_, {owners_[first], {rows, 1}, 0, 0.0, nullptr});
  for (size_t instance = 0; instance < n_ && engine_.self() == owners_[first]; ++instance) {
    list[instance].read = [this, first, instance](size_t row, size_t count, Int128* out) {
      for (size_t i = 0; i < count; ++i) {
        out[i] = InputOf(domain_, owners_.size(), first_ + instance, first + row + i);
      }
    };
  }
  return list;
}

Int128 Views::Input(size_t instance, size_t input) const {
  return InputOf(domain, num_inputs, instance, input);
}

template <typename R>
Views EnumerateViews(const ViewCase& given) {
  ViewCase c = given;
  if (c.domain.empty()) {
    for (Int128 v = 0; v < (Int128{1} << R::kBits); ++v) c.domain.push_back(v);
  }
  Views views;
  views.ring_bits = R::kBits;
  views.num_inputs = c.owners.size();
  views.domain_size = c.domain.size();
  views.num_secrets = Power(c.domain.size(), c.owners.size());
  views.owners = c.owners;
  views.domain = c.domain;
  const bool list = !c.list_intervals.empty();
  Views found;
  views.digits = RunInstances<R>(c, 0, list ? 1 : kInterval, {}, found);
  std::erase_if(views.digits, [&](const Digit& digit) {
    return std::find(c.constant.begin(), c.constant.end(), digit) != c.constant.end();
  });
  const auto first_of_one_bit =
      std::stable_partition(views.digits.begin(), views.digits.end(), [&](const Digit& digit) {
        return std::find(c.one_bit.begin(), c.one_bit.end(), digit) == c.one_bit.end();
      });
  views.num_whole_digits = static_cast<size_t>(first_of_one_bit - views.digits.begin());
  const size_t bits =
      views.num_whole_digits * R::kBits + (views.digits.size() - views.num_whole_digits);
  size_t instances = views.num_secrets << bits;
  if (bits > 24 || instances > kMaxInstances) {
    throw std::logic_error("too many instances: " + std::to_string(views.digits.size()) +
                           " random elements");
  }
  // Rows are counted in whole tape intervals; repeating all instances changes no frequency.
  while (!list && instances % kInterval != 0) instances *= 2;
  const size_t chunk = list ? kListChunk : kRowChunk;
  for (size_t first = 0; first < instances; first += chunk) {
    RunInstances<R>(c, first, std::min(chunk, instances - first), views.digits, views);
  }
  return views;
}

uint64_t Views::Random(size_t instance, const Digit& digit) const {
  const auto at = std::find(digits.begin(), digits.end(), digit);
  if (at == digits.end()) throw std::logic_error("no such random element");
  return RandomOf(num_secrets, ring_bits, num_whole_digits, instance,
                  static_cast<size_t>(at - digits.begin()));
}

size_t NumLeaks(const Views& views, const std::vector<size_t>& coalition,
                const std::function<uint64_t(size_t instance)>& leakage) {
  const SamplePacker packer(views, coalition);
  std::vector<Sample> samples(views.num_instances());
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = packer.Pack(i, leakage ? leakage(i) : 0);
  std::sort(samples.begin(), samples.end());
  size_t leaks = 0;
  for (size_t begin = 0; begin < samples.size();) {
    const uint64_t known = Known(samples[begin]);
    const Frequencies first = TakeRun(samples, begin);
    bool equal = true;
    while (begin < samples.size() && Known(samples[begin]) == known) {
      equal = TakeRun(samples, begin).SameDistribution(first) && equal;
    }
    if (!equal) ++leaks;
  }
  return leaks;
}

template Views EnumerateViews<Ring4>(const ViewCase&);
template Views EnumerateViews<Ring8>(const ViewCase&);

}  // namespace partita::mpc::testing
