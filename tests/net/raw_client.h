#pragma once

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>

#include "tests/net/tls_parties.h"

namespace partita::net {

// A blocking TLS client without our code.
struct RawClient {
  Socket socket;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context{SSL_CTX_new(TLS_method()), SSL_CTX_free};
  std::unique_ptr<SSL, void (*)(SSL*)> ssl{nullptr, SSL_free};

  // With `identity` null it shows no certificate.
  RawClient(const std::string& where, const crypto::Identity* identity, int version) {
    ::signal(SIGPIPE, SIG_IGN);  // of writing to a server that has closed; the program does so too
    socket = ConnectTo(where);
    fcntl(socket.fd(), F_SETFL, fcntl(socket.fd(), F_GETFL) & ~O_NONBLOCK);
    pollfd entry{socket.fd(), POLLOUT, 0};
    poll(&entry, 1, 5000);
    const timeval limit{10, 0};
    setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(context.get(), version);
    if (identity != nullptr) {
      SSL_CTX_use_certificate(context.get(), identity->certificate.get());
      SSL_CTX_use_PrivateKey(context.get(), identity->key.get());
    }
    ssl.reset(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), socket.fd());
  }

  bool Handshake() {
    const int result = SSL_connect(ssl.get());
    ERR_clear_error();
    return result == 1;
  }
  // Application bytes that arrived before the connection ended or fell silent.
  int ReadByte() {
    char byte;
    const int result = SSL_read(ssl.get(), &byte, 1);
    ERR_clear_error();
    return result > 0 ? result : 0;
  }
};

}  // namespace partita::net
