#include "mpc/step_messages.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::mpc {
namespace {

template <typename Part>
uint64_t TotalSize(const std::vector<Part>& parts) {
  uint64_t total = 0;
  for (const Part& part : parts) total += part.size;
  return total;
}

// Walks through the parts of one message as the transport asks for or hands over its bytes.
template <typename Part>
class Cursor {
 public:
  explicit Cursor(std::vector<Part>& parts) : parts_(parts) {}

  // Calls visit(part, offset within part, begin, count) for each stretch of the next `size` bytes,
  // where begin counts from the first of them.
  template <typename Visit>
  void Advance(size_t size, const Visit& visit) {
    size_t begin = 0;
    while (begin < size) {
      Part& part = parts_[index_];
      auto count = static_cast<size_t>(std::min<uint64_t>(size - begin, part.size - offset_));
      visit(part, offset_, begin, count);
      begin += count;
      offset_ += count;
      if (offset_ == part.size) {
        ++index_;
        offset_ = 0;
      }
    }
  }

 private:
  std::vector<Part>& parts_;
  size_t index_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace

void StepMessages::Send(PartyIndex to, ByteView bytes) {
  if (!bytes.empty()) outgoing_[to].push_back({bytes.size(), bytes, nullptr});
}

void StepMessages::SendStream(PartyIndex to, uint64_t size, net::Producer producer) {
  if (size > 0) outgoing_[to].push_back({size, {}, std::move(producer)});
}

void StepMessages::Receive(PartyIndex from, std::span<uint8_t> into) {
  if (!into.empty()) incoming_[from].push_back({into.size(), into, nullptr});
}

void StepMessages::ReceiveStream(PartyIndex from, uint64_t size, net::Consumer consumer) {
  if (size > 0) incoming_[from].push_back({size, {}, std::move(consumer)});
}

void StepMessages::CheckAgainst(const ExecutionCost& cost, size_t step,
                                const net::Channel& channel) const {
  std::vector<uint64_t> sent(channel.num_parties()), received(channel.num_parties());
  for (const MessagePart& part : cost.parts) {
    if (part.step != step) continue;
    if (part.from == channel.self()) sent.at(part.to) += part.bytes;
    if (part.to == channel.self()) received.at(part.from) += part.bytes;
  }
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    auto out = outgoing_.find(peer);
    auto in = incoming_.find(peer);
    uint64_t out_size = out == outgoing_.end() ? 0 : TotalSize(out->second);
    uint64_t in_size = in == incoming_.end() ? 0 : TotalSize(in->second);
    if (out_size != sent[peer] || in_size != received[peer]) {
      throw Error(ErrorCode::kInternal,
                  fmt::format("step {}: the plan has {} bytes to and {} from party {}, the engine "
                              "has {} and {}",
                              step, sent[peer], received[peer], peer, out_size, in_size));
    }
  }
}

void StepMessages::Exchange(net::Channel& channel, const ExecutionCost& cost, size_t step) {
  CheckAgainst(cost, step, channel);
  std::vector<net::Send> sends;
  for (auto& [to, parts] : outgoing_) {
    if (parts.size() == 1) {
      sends.push_back({to, parts[0].bytes, parts[0].size, std::move(parts[0].producer)});
      continue;
    }
    auto produce = [cursor = Cursor<Outgoing>(parts)](uint64_t, std::span<uint8_t> out) mutable {
      cursor.Advance(out.size(), [&](Outgoing& part, uint64_t offset, size_t begin, size_t count) {
        if (part.producer) {
          part.producer(offset, out.subspan(begin, count));
        } else {
          std::copy_n(part.bytes.begin() + static_cast<ptrdiff_t>(offset), count,
                      out.begin() + static_cast<ptrdiff_t>(begin));
        }
      });
    };
    sends.push_back({to, {}, TotalSize(parts), std::move(produce)});
  }
  std::vector<net::Receive> receives;
  for (auto& [from, parts] : incoming_) {
    net::Receive receive;
    receive.from = from;
    receive.size = TotalSize(parts);
    if (parts.size() == 1) {
      receive.into = parts[0].into;
      receive.consumer = std::move(parts[0].consumer);
    } else {
      receive.consumer = [cursor = Cursor<Incoming>(parts)](uint64_t, ByteView in) mutable {
        cursor.Advance(in.size(), [&](Incoming& part, uint64_t offset, size_t begin, size_t count) {
          if (part.consumer) {
            part.consumer(offset, in.subspan(begin, count));
          } else {
            std::copy_n(in.begin() + static_cast<ptrdiff_t>(begin), count,
                        part.into.begin() + static_cast<ptrdiff_t>(offset));
          }
        });
      };
    }
    receives.push_back(std::move(receive));
  }
  if (!sends.empty() || !receives.empty()) channel.Exchange(sends, receives);
  outgoing_.clear();
  incoming_.clear();
}

}  // namespace partita::mpc
