// What the engines' linear oracles have in common: the checks before an evaluation, the gate, the
// counts, and requests on the wire. Protocol: linear_oracle.h.
//
// Timing  constant in shares; not in the kinds of evaluations (public), nor at the centre in its
//         own weights, whose sizes it checks.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "mpc/engine.h"
#include "mpc/oracle_schedule.h"
#include "mpc/release_gate.h"
#include "mpc/ring.h"
#include "mpc/rules.h"
#include "net/channel.h"

namespace partita::mpc {

// The word that begins a request, as bytes.
std::array<uint8_t, kOracleHeadBytes> OracleHead(uint64_t word);
inline constexpr uint64_t kOracleStop = 0, kOracleMore = 1;

class OracleSession {
 public:
  // Channel and gate must outlive the session. Throws what CheckOracle throws.
  OracleSession(net::Channel& channel, ReleaseGate& gate, const Shared& values,
                const OracleTask& task, const EngineFacts& facts);

  const OracleTask& task() const { return task_; }
  Shape values() const { return values_; }
  bool at_centre() const { return channel_.self() == task_.centre; }
  net::Channel& channel() { return channel_; }

  // At the centre: checks the weights, then asks the gate and counts.
  void Begin(size_t kind, const IntMatrix& weights);
  // At a party that answers: waits for the next request, whose body has weight_bytes for every
  // weight; asks the gate and counts. Empty: stop.
  std::optional<size_t> NextRequest(size_t weight_bytes);
  // The body of the last request, without its head.
  ByteView body() const { return ByteView(message_).subspan(kOracleHeadBytes); }

  // At the centre: tells all `processes` to stop and takes an outstanding chunk in.
  void Stop(size_t num_processes, std::span<uint8_t> outstanding, PartyIndex dealer);

  OracleUse use() const { return use_; }

 private:
  void Count(size_t kind);

  net::Channel& channel_;
  ReleaseGate& gate_;
  Shape values_;
  OracleTask task_;
  int ring_bits_;
  double largest_sum_ = 0;  // of magnitudes of a row of weights, on their grid
  Bytes message_;
  OracleUse use_;
};

// Ring elements with room for the head of a request right before them, so that both leave as one
// piece of memory.
template <typename R>
class OracleRequest {
 public:
  using Word = typename R::Word;
  OracleRequest(size_t kind, size_t size) : words_(kRoom + size) {
    const auto head = OracleHead(1 + kind);
    std::copy(head.begin(), head.end(), WireBytes(std::span(words_)).begin() + kUnused);
  }
  std::span<Word> words() { return std::span(words_).subspan(kRoom); }
  ByteView bytes() const { return WireBytes(std::span<const Word>(words_)).subspan(kUnused); }

 private:
  static constexpr size_t kRoom = (kOracleHeadBytes + R::kBytes - 1) / R::kBytes;  // words
  static constexpr ptrdiff_t kUnused = kRoom * R::kBytes - kOracleHeadBytes;       // bytes
  std::vector<Word> words_;
};

}  // namespace partita::mpc
