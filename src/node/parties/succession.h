// A new node certificate, signed by the last one: sent to all peers well before that expires. It is
// shown for a week before it counts, so that whoever stole the old key cannot take the name over
// unseen; a revocation holds at once (party_list.h).
//
// From when it counts both count, since peers heard of it at different times: the old one until its
// certificate expires, or the successor names a successor of its own.
#pragma once

#include "node/parties/party_list.h"

namespace partita::node {

inline constexpr char kSuccessionDomain[] = "partita node succession 1";
inline constexpr size_t kMaxSuccessionBytes = 4096;

// Both certificates (DER) and the time, signed by both keys: the new one proves that it is held.
// Throws kUsage unless both are of one name.
Bytes MakeSuccession(const crypto::Identity& old_key, const crypto::Identity& new_key, int64_t now);

// The list with the successor, which counts from kSuccessionSeconds after `now`, when it was received:
// the time that the sender says is shown, no more. Nothing changes if it is there already. Throws
// kPeerFault if it is malformed, kUntrusted unless both signatures fit and the old key counts for a
// party of the list, kRefused if another successor is there, or the new key is another's, was
// revoked, or may not be used now.
PartyList WithSuccessor(PartyList list, ByteView succession, int64_t now);

}  // namespace partita::node
