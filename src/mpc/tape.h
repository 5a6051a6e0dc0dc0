// Random strings that two processes have in common, addressed by byte offset.
//
// Every pair of processes of an engine shares one tape. An engine gives each use of randomness its
// own interval of offsets, counted in the same order at every process, so nothing is reused unless
// the same interval is read again on purpose (a fixed operand's mask). Addressing by offset lets a
// large mask be regenerated block by block instead of being kept in memory.
//
// Timing  constant in keys; not in offsets and lengths (public). Proved by tests/ctime.
#pragma once

#include <memory>
#include <span>

#include "mpc/engine.h"
#include "net/channel.h"

namespace partita::mpc {

// Ring elements lie below this offset, bits, in words of 64, from it on.
inline constexpr uint64_t kBitTapeBase = uint64_t{1} << 62;

class Tape {
 public:
  virtual ~Tape() = default;
  // The bytes [offset, offset + out.size()). The same offset always gives the same bytes.
  virtual void Read(uint64_t offset, std::span<uint8_t> out) = 0;
};

// Opens the tape that this process shares with `peer`. Tests inject enumerated or faulty tapes.
using TapeFactory = std::function<std::unique_ptr<Tape>(PartyIndex peer)>;

// Tapes expanded from Channel::PairwiseKey(peer, purpose, instance): known to the two processes
// only, new in every run and attempt (rule R-a), and new for every factory that is made on one
// channel, so two engines of one run share nothing. All processes make their factories in the same
// order. The channel must outlive the factory, not the tapes.
TapeFactory ChannelTapes(net::Channel& channel, std::string_view purpose);

// The tape that is expanded from this key.
std::unique_ptr<Tape> KeyTape(const crypto::Key& key);

}  // namespace partita::mpc
