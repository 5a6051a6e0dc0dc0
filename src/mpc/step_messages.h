// All messages of one step: operations add parts, one Exchange moves them.
#pragma once

#include <map>
#include <vector>

#include "mpc/cost.h"
#include "net/channel.h"

namespace partita::mpc {

// Parts with the same peer are joined into one message in the order of the calls, which must be the
// same at both ends. Parts of no bytes vanish; a peer without bytes gets no message.
class StepMessages {
 public:
  // `bytes` is borrowed until Exchange returns, so one buffer may go to many peers.
  void Send(PartyIndex to, ByteView bytes);
  // Calls `producer` as net::Producer says, with offsets from 0 within this part.
  void SendStream(PartyIndex to, uint64_t size, net::Producer producer);
  // `into` is filled when Exchange returns.
  void Receive(PartyIndex from, std::span<uint8_t> into);
  // Calls `consumer` as net::Consumer says, with offsets from 0 within this part.
  void ReceiveStream(PartyIndex from, uint64_t size, net::Consumer consumer);

  // Throws kInternal, before anything is sent, if the parts differ from what `cost` declares for
  // `step` at this process: costs cannot drift away from the code.
  void Exchange(net::Channel& channel, const ExecutionCost& cost, size_t step);

 private:
  struct Outgoing {
    uint64_t size = 0;
    ByteView bytes;
    net::Producer producer;
  };
  struct Incoming {
    uint64_t size = 0;
    std::span<uint8_t> into;
    net::Consumer consumer;
  };
  void CheckAgainst(const ExecutionCost& cost, size_t step, const net::Channel& channel) const;

  std::map<PartyIndex, std::vector<Outgoing>> outgoing_;
  std::map<PartyIndex, std::vector<Incoming>> incoming_;
};

}  // namespace partita::mpc
