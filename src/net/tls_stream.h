// One TLS 1.3 connection over a non-blocking socket: the only file that talks to libssl, together
// with tls_stream.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crypto/certificate.h"
#include "net/roster.h"
#include "net/socket.h"
#include "net/transport.h"

struct ssl_st;
struct ssl_ctx_st;

namespace partita::net {

// TLS 1.3 only; our certificate; the peer must show one; no tickets, no resumption, no early data,
// no renegotiation. One per party and mesh.
std::shared_ptr<ssl_ctx_st> MakeTlsContext(const crypto::Identity& identity);

// Which parties a connection may turn out to be, and what became of the check of its certificate,
// which happens inside the handshake.
struct PeerCheck {
  const Roster* roster = nullptr;
  PartyIndex first = 0, last = 0;  // inclusive
  std::optional<PartyIndex> peer;  // who it is
  std::string problem;             // why the certificate was refused
};

struct TlsWire;  // the socket as libssl sees it

class TlsStream {
 public:
  enum class Side { kClient, kServer };
  enum class Progress { kDone, kPending, kFailed };

  // `check` is borrowed during the handshake. records_per_key: fresh traffic keys after so many
  // records (RFC 8446, section 5.5 allows 2^24.5 for AES-GCM). server_name: what a client asks for
  // in the clear (RFC 6066); empty: nothing.
  TlsStream(ssl_ctx_st& context, Socket socket, Side side, PeerCheck& check,
            uint64_t records_per_key, const std::string& server_name = {});
  // Sends what is buffered and a close notification, as far as that is possible at once.
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Call again when the socket is readable (or writable, while `unsent`). After kFailed, `failure`
  // says why in a clause ("it ...") and `refused` whether the peer sent an alert.
  Progress Handshake();
  const std::string& failure() const { return failure_; }
  bool refused() const { return refused_; }

  // As in Transport; valid after the handshake. A stream that fails its integrity check counts as
  // closed, and is `damaged` from then on.
  Io Write(ByteView bytes);
  Io Read(std::span<uint8_t> out);
  bool Flush();
  // What a Read would find: nothing yet, bytes, or the end. Takes nothing; valid after the handshake.
  enum class Waiting { kNothing, kBytes, kEnd };
  Waiting Look();
  // Whether the other end has closed, though bytes of before may wait to be read.
  bool HungUp() const;
  bool damaged() const { return damaged_; }
  // Encrypted bytes wait for room in the socket.
  bool unsent() const;

  // RFC 8446, section 7.5: the same at both ends, different for every connection.
  crypto::Key ExportSecret() const;
  // The same for another purpose: independent of it and of those of other labels.
  crypto::Key ExportKey(std::string_view label) const;
  int fd() const;
  // Handed to and taken from the socket so far.
  WireBytes wire_bytes() const;

 private:
  void Fail(int result);

  std::unique_ptr<TlsWire> wire_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  bool established_ = false;
  bool broken_ = false;
  bool refused_ = false;
  bool damaged_ = false;
  uint64_t records_ = 0;
  uint64_t records_per_key_;
  std::string failure_;
};

}  // namespace partita::net
