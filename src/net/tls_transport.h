// Parties on a network: a full mesh of mutually authenticated TLS 1.3 connections.
//
// Every party listens on its address of the roster; the party with the higher number connects to
// the one with the lower, again and again until the deadline, since parties start at different
// times. A peer is accepted if its certificate has exactly the fingerprint, the name and valid
// dates of the roster's entry; nothing else makes it trusted. The accepting side greets with one
// byte, without which the connecting side, whose handshake completes even if it was refused, does
// not go on. Connections of strangers and half-open ones are dropped without disturbing the others.
//
// While others are missing, a party that closes its connection is awaited again, and taken back when
// it comes. Of two processes with one certificate the first is kept; the second is told so. Who is
// awaited, and what happened, are phases of `progress`.
//
// Threat model: an attacker who controls the network sees sizes and timing and can cut connections;
// it can neither read, change, replay nor impersonate. Keys are fresh for every connection.
// A peer whose name has several addresses (IPv6 and IPv4) is tried at one after the other. Names
// are looked up in the background, see resolver.h, so that deadline and cancellation always hold.
// One thread, poll, no spinning; see Transport for the calls.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/progress.h"
#include "crypto/certificate.h"
#include "net/resolver.h"
#include "net/roster.h"
#include "net/socket.h"
#include "net/socket_source.h"
#include "net/transport.h"

namespace partita::net {

struct TlsOptions {
  crypto::Identity identity;
  Roster roster;
  PartyIndex self = 0;
  // A socket that listens already. Without one, `listen_address`, or else this party's address of
  // the roster, is used.
  std::optional<Listener> listener;
  std::string listen_address;  // "0.0.0.0:7400" behind a router or in a container
  // Instead of listening: connections that another process accepted. It may close when it likes;
  // then nobody else comes in.
  std::shared_ptr<SocketSource> arrivals;
  // By party, the name that its handshake asks for (RFC 6066), by which a service with one port
  // knows where it belongs. Empty, as a whole or for a party: none.
  std::vector<std::string> server_names;
  // Half-open connections kept at a time; when more come, the oldest stranger is dropped. An honest
  // peer needs its place for a few network round trips only. At least 1.
  size_t max_handshakes = 128;
  LookUp look_up = SystemLookUp;                        // of the names in the roster's addresses
  std::chrono::milliseconds handshake_timeout{10'000};  // of one connection
  // Of one that this party makes, if longer: who is there may be busy elsewhere before it answers.
  std::chrono::milliseconds answer_timeout{0};
  // How long to ask again where another process with our certificate is connected. Longer than it
  // takes to notice that a host went down (NoticeLoss).
  std::chrono::milliseconds taken_timeout{90'000};
  // Whether a party may be done, and gone, before all others have come: connections of which each party
  // makes one. Else one that closes before is expected to come again.
  bool may_leave = false;
  uint64_t records_per_key = uint64_t{1} << 23;  // then fresh traffic keys, in the stream
};

// Throws kUntrusted (our own or a peer's certificate, naming the peer and both fingerprints),
// kUnreachable naming who is missing at the deadline and why, kCancelled. `progress` may be null.
std::unique_ptr<Transport> ConnectTls(TlsOptions options, Deadline deadline,
                                      Progress* progress = nullptr);

}  // namespace partita::net
