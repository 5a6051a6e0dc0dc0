// ClientHellos that OpenSSL makes, and ones written by hand.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/bytes.h"
#include "crypto/certificate.h"

namespace partita::node {

using TlsContext = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;
using TlsSession = std::unique_ptr<SSL_SESSION, void (*)(SSL_SESSION*)>;

// All bytes that wait in a memory BIO.
inline Bytes TakeAll(BIO* bio) {
  Bytes bytes(BIO_ctrl_pending(bio));
  if (!bytes.empty()) BIO_read(bio, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

// What a client of OpenSSL sends first. server_name may be empty; session null.
inline Bytes OpenSslHello(const std::string& server_name, SSL_SESSION* session = nullptr,
                          int least_version = TLS1_3_VERSION) {
  const TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), least_version);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
  if (!server_name.empty()) SSL_set_tlsext_host_name(ssl.get(), server_name.c_str());
  if (session != nullptr) SSL_set_session(ssl.get(), session);
  SSL_connect(ssl.get());
  ERR_clear_error();
  return TakeAll(out);
}

// A session that a server of OpenSSL gave, to be resumed.
inline TlsSession MakeTlsSession() {
  const crypto::Identity identity = crypto::MakeIdentity({.name = "server"});
  const TlsContext server_context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_use_certificate(server_context.get(), identity.certificate.get());
  SSL_CTX_use_PrivateKey(server_context.get(), identity.key.get());
  const TlsContext client_context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(client_context.get(), TLS1_3_VERSION);
  const std::unique_ptr<SSL, void (*)(SSL*)> server(SSL_new(server_context.get()), SSL_free);
  const std::unique_ptr<SSL, void (*)(SSL*)> client(SSL_new(client_context.get()), SSL_free);
  BIO* to_server = BIO_new(BIO_s_mem());
  BIO* to_client = BIO_new(BIO_s_mem());
  BIO_up_ref(to_server);
  BIO_up_ref(to_client);
  SSL_set_bio(server.get(), to_server, to_client);
  SSL_set_bio(client.get(), to_client, to_server);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  for (int i = 0; i < 4; ++i) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  char byte = 0;
  SSL_write(server.get(), "x", 1);
  SSL_read(client.get(), &byte, 1);                   // takes the tickets before it
  SSL_set_shutdown(client.get(), SSL_SENT_SHUTDOWN);  // else it is spoilt with the connection
  ERR_clear_error();
  return TlsSession(SSL_get1_session(client.get()), SSL_SESSION_free);
}

inline void BigEndian(Bytes& bytes, size_t value, int size) {
  for (int i = size - 1; i >= 0; --i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

inline void Append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// A vector of TLS: its length in `size` bytes, then itself.
inline Bytes Vector(const Bytes& bytes, int size) {
  Bytes made;
  BigEndian(made, bytes.size(), size);
  Append(made, bytes);
  return made;
}

inline Bytes ExtensionBytes(size_t type, const Bytes& body) {
  Bytes made;
  BigEndian(made, type, 2);
  Append(made, Vector(body, 2));
  return made;
}

inline Bytes NameExtension(const std::string& name, uint8_t kind = 0) {
  Bytes entry = {kind};
  Append(entry, Vector(Bytes(name.begin(), name.end()), 2));
  return ExtensionBytes(0, Vector(entry, 2));
}

inline Bytes VersionsExtension() { return ExtensionBytes(43, {2, 3, 4}); }

// The parts of a hello; the members may be broken one by one.
struct HelloParts {
  Bytes version = {3, 3};
  Bytes random = Bytes(32, 7);
  Bytes session_id = Bytes(32, 8);
  Bytes suites = {0x13, 1};
  Bytes compressions = {0};
  Bytes extensions;
  Bytes after;  // behind the extensions, inside the message

  Bytes Message() const {
    Bytes body = version;
    Append(body, random);
    Append(body, Vector(session_id, 1));
    Append(body, Vector(suites, 2));
    Append(body, Vector(compressions, 1));
    Append(body, Vector(extensions, 2));
    Append(body, after);
    Bytes message = {1};
    Append(message, Vector(body, 3));
    return message;
  }
};

inline Bytes RecordOf(const Bytes& message) {
  Bytes record = {22, 3, 1};
  Append(record, Vector(message, 2));
  return record;
}

inline Bytes HandMadeHello(const Bytes& extensions) {
  HelloParts parts;
  parts.extensions = extensions;
  return RecordOf(parts.Message());
}

// A hello of exactly `size` bytes for `name`, filled up by an extension that nobody knows.
inline Bytes HelloOfSize(size_t size, const std::string& name) {
  Bytes extensions = NameExtension(name);
  Append(extensions, VersionsExtension());
  const size_t without = HandMadeHello(extensions).size() + 4;
  Append(extensions, ExtensionBytes(0xfafa, Bytes(size - without, 9)));
  return HandMadeHello(extensions);
}

}  // namespace partita::node
