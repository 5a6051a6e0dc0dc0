// The point of a run from which on others may open what it releases.
//
// Before the first opening every computing party makes its charge durable (ReleaseGate::Commit) and
// only then says ok to every other. Nobody sends a share of a release before all oks arrived and
// are equal. So until a party said ok, nobody who follows the protocol opens anything, whatever the
// sharing: in engines `replicated` and `shamir` some parties hold enough shares of everything from
// the inputs on. A party that stops before its ok may take its charge back; one that stops after
// it may not, although the others may have opened nothing: budget may be lost, never uncounted.
//
// The charge covers the whole run, so once is enough, however many openings follow. The dealer
// says nothing: it has no share of a release.
//
// Phase kReleaseOkPhase: one round, from each computing party to each other the ok's bytes
// (AgreedReleaseGate: 32). Revealed: that the others reserved the same releases for the same run.
#pragma once

#include "mpc/release_gate.h"
#include "net/channel.h"

namespace partita::mpc {

inline constexpr char kReleaseOkPhase[] = "release-ok";

// At every process of an engine, the dealer included, where no message is under way. Nothing for a
// gate that wants no agreement. num_parties: that compute, the channel's first. Throws kPeerFault,
// naming the party, for another ok; what the gate and the channel throw.
void AgreeToOpen(net::Channel& channel, ReleaseGate& gate, size_t num_parties);

}  // namespace partita::mpc
