// The first record of a TLS connection, before anybody has read it: a ClientHello of TLS 1.3 (RFC
// 8446, sections 4.1.2 and 5.1), and the server name that it asks for (RFC 6066, section 3).
//
// All clients are ours, so everything that they never send is refused: a hello in
// several records or with something behind it, of more than kMaxClientHelloBytes, of an older TLS, with
// compression, an extension twice, or a name that is none. Nothing outside the record is looked at,
// and nothing is allocated but the name. The bytes are of strangers: no promise about time.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"

namespace partita::net {

inline constexpr size_t kRecordHeaderBytes = 5;
// Of the record, with its header. Ours have about 250; post-quantum keys add about 1,200.
inline constexpr size_t kMaxClientHelloBytes = 4096;

// The size of the whole record, header and all, that begins with the kRecordHeaderBytes of `header`;
// nothing if that is not the header of an acceptable ClientHello's record.
std::optional<size_t> HelloRecordBytes(ByteView header);

struct ClientHello {
  std::string server_name;  // as it was sent; empty if the client asks for none

  bool operator==(const ClientHello&) const = default;
};

// record: as many bytes as HelloRecordBytes says. Nothing if it is refused.
std::optional<ClientHello> ParseClientHello(ByteView record);

}  // namespace partita::net
