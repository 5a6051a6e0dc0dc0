#include "runtime/finish.h"

#include "net/swap.h"

namespace partita::runtime {

void ConfirmFinish(net::Channel& channel) {
  channel.BeginPhase("finish");
  net::Swap(channel, Bytes{});
}

}  // namespace partita::runtime
