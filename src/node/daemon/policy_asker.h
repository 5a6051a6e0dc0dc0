// Asks the steward's signer whether a policy approves the studies that wait here for the own approval.
//
// What the signer signs goes to the node as a person's approval does; what fits no policy stays, for a person, and the
// reasons are in the audit log once. Asked again when the policies have changed, or this process begins anew; not while the
// node is stopped. The signer and the jobs decide: nothing here is trusted.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "node/daemon/log.h"
#include "node/daemon/party_keeper.h"
#include "node/service/node_loop.h"

namespace partita::node {

class PolicyAsker {
 public:
  struct Parts {
    std::string self;
    NodeLoop& loop;
    const PartyKeeper& keeper;
    const Log& log;
    std::filesystem::path run;
    std::filesystem::path signer;  // its socket; empty: nobody is asked
  };
  explicit PolicyAsker(Parts parts) : parts_(std::move(parts)) {}

  // About one study at most, in up to 90 s. From one thread. A signer that is not there is asked again the next time.
  void Ask();

 private:
  struct Waiting {
    bool stopped = false;
    bool any = false;            // one waits for the own approval
    std::optional<Study> first;  // of those that were not asked about
  };
  Waiting LookForStudies() const;
  // Whether there are any; forgets what was asked if they changed. Throws what AskControl does.
  bool LookForPolicies();
  void AskAbout(const Study& study);

  Parts parts_;
  std::string policies_;  // as they were when `asked_` was asked
  std::chrono::steady_clock::time_point looked_{};
  std::set<StudyId> asked_;
};

}  // namespace partita::node
