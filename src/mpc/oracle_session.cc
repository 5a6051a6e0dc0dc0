#include "mpc/oracle_session.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace partita::mpc {

std::array<uint8_t, kOracleHeadBytes> OracleHead(uint64_t word) {
  std::array<uint8_t, kOracleHeadBytes> head{};
  for (size_t i = 0; i < head.size(); ++i) head[i] = static_cast<uint8_t>(word >> (8 * i));
  return head;
}

OracleSession::OracleSession(net::Channel& channel, ReleaseGate& gate, const Shared& values,
                             const OracleTask& task, const EngineFacts& facts)
    : channel_(channel),
      gate_(gate),
      values_(values.shape),
      task_(task),
      ring_bits_(facts.ring_bits),
      use_{std::vector<uint64_t>(task.kinds.size())} {
  CheckOracle(values, task, facts);
  largest_sum_ = std::ldexp(task.weight_bound, task.weight_fraction_bits) +
                 static_cast<double>(values.shape.rows);
}

void OracleSession::Begin(size_t kind, const IntMatrix& weights) {
  if (kind >= task_.kinds.size() || weights.shape != Shape{task_.kinds[kind].rows, values_.rows} ||
      weights.values.size() != weights.shape.size()) {
    Misuse("an oracle was asked with weights of another shape than declared");
  }
  // The tiny rings exist for exhaustive tests, where values wrap on purpose.
  for (size_t row = 0; ring_bits_ >= 64 && row < weights.shape.rows; ++row) {
    double sum = 0;
    for (size_t i = 0; i < values_.rows; ++i) {
      sum += std::abs(static_cast<double>(weights.values[row * values_.rows + i]));
    }
    if (sum <= largest_sum_) continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("row {} of an oracle's weights exceeds the declared sum of magnitudes", row),
        "scale the weights down, or declare a larger bound");
  }
  Count(kind);
}

void OracleSession::Count(size_t kind) {
  const OracleKind& asked = task_.kinds[kind];
  if (use_.evaluations[kind] == asked.max_count) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the oracle of release '{}' was already asked {} times, as often as "
                            "the plan allows",
                            asked.release_id, asked.max_count),
                "state a larger maximum count in the study and have it approved");
  }
  gate_.Opening(asked.release_id, task_.centre, asked.rows * values_.cols);
  ++use_.evaluations[kind];
}

std::optional<size_t> OracleSession::NextRequest(size_t weight_bytes) {
  const uint64_t row_bytes = values_.rows * weight_bytes;
  net::Receive receive;
  receive.from = task_.centre;
  receive.body = &message_;
  receive.max_bytes = kOracleHeadBytes + MaxOracleRowsAtOnce(task_) * row_bytes;
  channel_.Exchange({}, {&receive, 1});
  const uint64_t head =
      message_.size() < kOracleHeadBytes ? UINT64_MAX : ByteReader(message_).U64();
  const bool stop = head == kOracleStop;
  if ((!stop && head > task_.kinds.size()) ||
      message_.size() != kOracleHeadBytes + (stop ? 0 : task_.kinds[head - 1].rows * row_bytes)) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("party {}, the centre of an oracle, sent a request that is not one",
                            channel_.names()[task_.centre]),
                "compare versions and run the study again");
  }
  if (stop) return {};
  Count(head - 1);
  return head - 1;
}

void OracleSession::Stop(size_t num_processes, std::span<uint8_t> outstanding, PartyIndex dealer) {
  const auto head = OracleHead(kOracleStop);
  std::vector<net::Send> sends;
  for (PartyIndex process = 0; process < num_processes; ++process) {
    if (process != channel_.self()) sends.push_back({process, head, 0, nullptr});
  }
  std::vector<net::Receive> receives;
  if (!outstanding.empty()) {
    receives.emplace_back();
    receives[0].from = dealer;
    receives[0].into = outstanding;
  }
  channel_.Exchange(sends, receives);
}

}  // namespace partita::mpc
