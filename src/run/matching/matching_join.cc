// JoinMatching: a matching between hosts.
#include <algorithm>

#include "crypto/certificate.h"
#include "net/tls_transport.h"
#include "run/matching/matching_run.h"
#include "run/party/join.h"

namespace partita::run {

MatchingOutcome JoinMatching(const MatchingFile& file, const MatchingJoin& options,
                             Progress& progress) {
  const MatchingPlan plan = PlanMatching(file);
  net::TlsOptions tls;
  tls.roster = RosterOf(file.Names(), options.roster, "matching");
  tls.self = MatchingPartyIndex(file, options.party);
  tls.identity = crypto::LoadIdentity(options.certificate, options.key);
  tls.listen_address = options.listen_address;
  MatchingInput input;
  input.party = tls.self;
  input.table = options.table;
  input.past = PastMatchingsPath(options.key);
  input.separator = options.separator;
  input.approval = options.approval;
  input.fingerprints = Fingerprints(tls.roster);
  input.ledger = options.ledger;
  if (options.timeout) input.timeout = *options.timeout;
  const Connector connect = [&](bool only_to_stop) {
    const std::chrono::milliseconds wait =
        only_to_stop ? std::min(options.connect_timeout, kWaitToStop) : options.connect_timeout;
    return DelayIfAsked(net::ConnectTls(std::move(tls), Deadline::After(wait), &progress),
                        options.link);
  };
  crypto::SystemRandom random;
  return RunMatching(file, plan, input, connect, random, progress);
}

}  // namespace partita::run
