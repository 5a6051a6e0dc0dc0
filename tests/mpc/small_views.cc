#include "tests/mpc/small_views.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "mpc/replicated_engine.h"
#include "tests/mpc/harness.h"
#include "tests/mpc/transcript.h"

namespace partita::mpc::testing {
namespace {

bool IsBit(const Digit& digit) { return digit.slot >= kBitTapeBase; }

// The random elements of one instance after the other.
class DigitSpace {
 public:
  DigitSpace(const ViewCase& c, int ring_bits, size_t num_secrets)
      : c_(c), ring_bits_(ring_bits), num_secrets_(num_secrets) {}

  // Fills bytes of a tape. Nothing is known while the digits are still being found.
  void Read(size_t instance, size_t self, size_t peer, uint64_t offset, std::span<uint8_t> out) {
    for (size_t i = 0; i < out.size(); ++i) {
      const Digit digit{std::min(self, peer), std::max(self, peer), offset + i};
      if (IsBit(digit) && digit.slot % sizeof(uint64_t) != 0) {
        out[i] = 0;
        continue;
      }
      if (finding_) Note(digit);
      auto honest = [&](const Digit& asked) { return Value(instance, asked); };
      out[i] = c_.fault ? c_.fault(digit, honest) : honest(digit);
    }
  }

  void EndFinding() {
    finding_ = false;
    for (auto& [key, shift] : shifts_) {
      shift = bits_;
      bits_ += WidthOf({key[0], key[1], key[2]});
    }
  }

  int bits() const { return bits_; }
  std::vector<Digit> digits() const {
    std::vector<Digit> digits;
    for (const auto& [key, unused] : shifts_) digits.push_back({key[0], key[1], key[2]});
    return digits;
  }

  uint8_t Value(size_t instance, const Digit& digit) const {
    if (finding_) return 0;  // others are still adding digits
    auto at = shifts_.find({digit.low, digit.high, digit.slot});
    if (at == shifts_.end()) return 0;
    return static_cast<uint8_t>((instance / num_secrets_ >> at->second) &
                                ((size_t{1} << WidthOf(digit)) - 1));
  }

 private:
  int WidthOf(const Digit& digit) const { return IsBit(digit) ? 1 : ring_bits_; }

  void Note(const Digit& digit) {
    if (std::find(c_.constant.begin(), c_.constant.end(), digit) != c_.constant.end()) return;
    std::lock_guard lock(mutex_);
    shifts_.try_emplace({digit.low, digit.high, digit.slot}, 0);
  }

  const ViewCase& c_;
  int ring_bits_;
  size_t num_secrets_;
  bool finding_ = true;
  std::mutex mutex_;
  std::map<std::array<size_t, 3>, int> shifts_;
  int bits_ = 0;
};

class DigitTape : public Tape {
 public:
  DigitTape(DigitSpace& space, const size_t& instance, size_t self, size_t peer)
      : space_(space), instance_(instance), self_(self), peer_(peer) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    space_.Read(instance_, self_, peer_, offset, out);
  }

 private:
  DigitSpace& space_;
  const size_t& instance_;
  size_t self_, peer_;
};

template <typename R>
std::unique_ptr<Engine> MakeSmall(const ViewCase& c, DigitSpace& space, const size_t& instance,
                                  net::Channel& channel, ReleaseGate& gate) {
  const size_t self = channel.self();
  const TapeFactory tapes = [&space, &instance, self](PartyIndex peer) -> std::unique_ptr<Tape> {
    return std::make_unique<DigitTape>(space, instance, self, peer);
  };
  if (c.engine == "replicated") return std::make_unique<ReplicatedEngine<R>>(channel, gate, tapes);
  if (self == c.num_parties) return std::make_unique<DealerNode<R>>(channel, tapes);
  return std::make_unique<DealerEngine<R>>(channel, gate, tapes);
}

// What one run over all instances leaves: by process and instance, the opened values and, by link,
// the messages.
struct Recording {
  std::vector<std::vector<std::vector<IntMatrix>>> opened;
  Transcript transcript;
};

template <typename R>
void RunInstances(const ViewCase& c, DigitSpace& space, size_t instances, Recording& recording) {
  const size_t processes = c.num_parties + (c.engine == "dealer" ? 1 : 0);
  recording.opened.assign(processes, std::vector<std::vector<IntMatrix>>(instances));
  std::vector<size_t> instance(processes, 0);
  std::vector<net::Channel*> channels(processes);
  std::vector<ReleaseGate*> gates(processes);
  RunOptions options;
  options.kind = c.engine;
  options.num_parties = c.num_parties;
  options.releases = {{"out", "test output", "all", "exact", UINT64_MAX}};
  options.make = [&](net::Channel& channel, ReleaseGate& gate) {
    channels[channel.self()] = &channel;
    gates[channel.self()] = &gate;
    return MakeSmall<R>(c, space, instance[channel.self()], channel, gate);
  };
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<RecordingTransport>(std::move(inner), recording.transcript);
  };
  RunAll(options, [&](Engine&, size_t process) {
    for (size_t& i = instance[process]; i < instances; ++i) {
      auto engine = MakeSmall<R>(c, space, i, *channels[process], *gates[process]);
      recording.opened[process][i] =
          c.body(*engine, InstanceInputs(*engine, c.owners, c.domain, i, 1));
    }
  }).ThrowIfFailed();
}

// Gives different things different numbers.
class Numbering {
 public:
  uint64_t Of(const std::string& thing) {
    return numbers_.try_emplace(thing, numbers_.size()).first->second;
  }
  int bits() const {
    return static_cast<int>(std::bit_width(std::max<size_t>(1, numbers_.size()) - 1));
  }

 private:
  std::map<std::string, uint64_t> numbers_;
};

std::string TextOf(const std::vector<IntMatrix>& opened) {
  std::string text;
  for (const IntMatrix& matrix : opened) {
    for (Int128 value : matrix.values) text += ToString(value) + " ";
  }
  return text;
}

}  // namespace

template <typename R>
Views EnumerateOneByOne(const ViewCase& given) {
  ViewCase c = given;
  for (Int128 v = 0; given.domain.empty() && v < (Int128{1} << R::kBits); ++v) {
    c.domain.push_back(v);
  }
  Views views;
  views.ring_bits = R::kBits;
  views.num_inputs = c.owners.size();
  views.domain_size = c.domain.size();
  views.num_secrets = 1;
  for (size_t i = 0; i < c.owners.size(); ++i) views.num_secrets *= c.domain.size();
  views.owners = c.owners;
  views.domain = c.domain;

  DigitSpace space(c, R::kBits, views.num_secrets);
  Recording recording;
  RunInstances<R>(c, space, 1, recording);
  space.EndFinding();
  views.digits = space.digits();
  if (space.bits() > 18 || views.num_secrets << space.bits() > size_t{1} << 18) {
    throw std::logic_error("too many instances: " + std::to_string(space.bits()) + " random bits");
  }
  const size_t instances = views.num_secrets << space.bits();
  Recording all;
  RunInstances<R>(c, space, instances, all);

  const size_t processes = all.opened.size();
  views.bytes_received.assign(processes, 0);
  for (size_t process = 0; process < processes; ++process) {
    std::vector<std::string> seen(instances);
    for (size_t from = 0; from < processes; ++from) {
      const std::vector<Bytes> messages = all.transcript.Messages(from, process);
      if (messages.size() % instances != 0) throw std::logic_error("instances differ in messages");
      const size_t each = messages.size() / instances;
      for (size_t i = 0; i < messages.size(); ++i) {
        seen[i / each].append(messages[i].begin(), messages[i].end());
        views.bytes_received[process] += messages[i].size();
      }
    }
    Numbering view_numbers, output_numbers;
    std::vector<uint64_t> view, output;
    for (size_t i = 0; i < instances; ++i) {
      for (const Digit& digit : views.digits) {
        if (digit.low != process && digit.high != process) continue;
        seen[i].push_back(static_cast<char>(
            c.fault ? c.fault(digit, [&](const Digit& asked) { return space.Value(i, asked); })
                    : space.Value(i, digit)));
      }
      view.push_back(view_numbers.Of(seen[i]));
      output.push_back(output_numbers.Of(TextOf(all.opened[process][i])));
    }
    views.view.push_back(std::move(view));
    views.view_bits.push_back(view_numbers.bits());
    views.output.push_back(std::move(output));
    views.output_bits.push_back(output_numbers.bits());
  }
  return views;
}

template Views EnumerateOneByOne<Ring4>(const ViewCase&);
template Views EnumerateOneByOne<Ring8>(const ViewCase&);

}  // namespace partita::mpc::testing
