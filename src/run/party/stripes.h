// The stripes of a run (run/method/stripes.h): connections of their own, and how a plan counts them.
#pragma once

#include <functional>
#include <memory>

#include "base/progress.h"
#include "mpc/plan_engine.h"
#include "net/channel.h"
#include "net/transport.h"
#include "run/method/stripes.h"
#include "run/method/study.h"

namespace partita::run {

// Connects the parties of a run for one stripe. tag: of the run and stripe, the same at all parties and
// nowhere else; public. Waits for parties that are busy with other stripes, asking `progress` meanwhile.
using StripeConnector = std::function<std::unique_ptr<net::Transport>(
    size_t stripe, const std::string& tag, Progress& progress)>;

// 16 hexadecimal digits.
std::string StripeTag(const net::ChannelFork& fork, size_t stripe);

// Whoever waits in a stripe also looks whether the others are still there.
class WatchingProgress : public Progress {
 public:
  WatchingProgress(net::Channel& channel, Progress& inner) : channel_(channel), inner_(inner) {}
  void Phase(std::string_view name) override { inner_.Phase(name); }
  void Step(uint64_t done, uint64_t total) override { inner_.Step(done, total); }
  void CheckCancelled() override {
    inner_.CheckCancelled();
    channel_.RequirePeers();
  }

 private:
  net::Channel& channel_;
  Progress& inner_;
};

// One stripe of a run, in this process. rows: of the stripe; null at the dealer. Adds its traffic.
struct StripeShares {
  std::vector<mpc::Shared> shares;
  net::ForkTraffic traffic;
};
StripeShares RunStripe(const Study& study, const net::ChannelFork& fork, size_t stripe,
                       const MethodRows* rows, const StripeConnector& connect, Progress& progress);

// One after the other over connections that `connect` makes. Whoever of the others closes its connection
// of `channel` meanwhile ends it with a kPeerLost that names the party. All are borrowed. rows: all of this
// party's; null at the dealer.
std::unique_ptr<Stripes> StripesInTurn(const Study& study, net::Channel& channel,
                                       const MethodRows* rows, StripeConnector connect,
                                       Progress& progress);

// On the plan engine of a study.
std::unique_ptr<Stripes> PlannedStripes(const Study& study, mpc::PlanEngine& engine);

// Throws kBadInput at the study file's key where the method has no stripes, no block's columns are split, or
// a range would be too short.
void RequireStripes(const Study& study);

}  // namespace partita::run
