// What makes a roster count: a file that is exactly what its offers say, each offer signed by a node
// key that the own list has for its party, the own offer among them, all for one plan. So nobody who
// passes a roster on can put a run key or a steward of his own into it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/study/study.h"
#include "node/study/trust.h"

namespace partita::node {

// The offer in a message, if it counts for this study. Throws kPeerFault saying why it does not:
// wrong sender or study, signature, steward key that is not on the own list, no run key of that
// party, another plan. An offer "not here" has nothing of this but the signature.
struct CheckedOffer {
  std::string party;
  Offer offer;
};
CheckedOffer CheckOffer(const Study& study, const SignedMessage& message, const Trust& trust);
CheckedOffer CheckOffer(const Study& study, const Bytes& message, const Trust& trust);

// The parties of the roster. own: name of this node's party. Throws kPeerFault.
std::vector<RosterParty> CheckRoster(const Study& study, const RosterFile& roster,
                                     const std::string& own, const Trust& trust);
// The roster of the offers in study.offers, which are all there, and which CheckRoster takes.
RosterFile MakeRoster(const Study& study, const Trust& trust);

}  // namespace partita::node
