// Who is let in: certificates in both directions, protocol versions, strangers, half-open
// connections.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>

#include "net/channel.h"
#include "tests/net/raw_client.h"

namespace partita::net::tls_certificate_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Long enough for every honest handshake even under sanitizers, short enough to wait for.
constexpr milliseconds kShort{kSanitized ? 2000 : 700};

// --- both ends are ours, one with a bad certificate ---------------------------------------------

using crypto::CertificateRequest;

// Shows a certificate that everybody's roster pins, but which is bad for another reason.
void Pin(TlsWorld& world, PartyIndex bad, const CertificateRequest& request) {
  world.identities[bad] = crypto::MakeIdentity(request);
  world.roster[bad].fingerprint = crypto::Fingerprint(*world.identities[bad].certificate);
}

class CertificateTest : public testing::TestWithParam<PartyIndex> {};
INSTANTIATE_TEST_SUITE_P(BadParty, CertificateTest, testing::Values(0, 1));

// What the parties say when `bad` shows `identity` and everybody has `roster`; `own_roster` is what
// the bad party believes.
std::vector<std::optional<Error>> Meet(TlsWorld& world, PartyIndex bad,
                                       const crypto::Identity& identity, const Roster& own_roster) {
  std::vector<TlsOptions> options;
  for (PartyIndex i = 0; i < world.roster.size(); ++i) options.push_back(world.Options(i));
  options[bad].identity = identity;
  options[bad].roster = own_roster;
  Transports transports;
  auto errors = ConnectAll(std::move(options), kShort, transports);
  for (const auto& transport : transports) EXPECT_EQ(transport, nullptr);
  return errors;
}

// The honest side names what is wrong if it connected (then it sees the certificate of the one it
// looked for); if it was called, it lists the refused caller when its time is up.
void ExpectRefused(const std::vector<std::optional<Error>>& errors, PartyIndex bad,
                   const std::string& reason) {
  const PartyIndex honest = 1 - bad;
  ASSERT_TRUE(errors[honest]);
  EXPECT_EQ(errors[honest]->code(), honest == 1 ? ErrorCode::kUntrusted : ErrorCode::kUnreachable);
  EXPECT_THAT(errors[honest]->message(), HasSubstr(reason));
  EXPECT_THAT(errors[honest]->message(), HasSubstr("party " + PartyNames(2)[bad]));
  ASSERT_TRUE(errors[bad]);
  // The refused caller is told so, although its own handshake had succeeded.
  if (bad == 1) {
    EXPECT_EQ(errors[bad]->code(), ErrorCode::kUntrusted);
    EXPECT_THAT(errors[bad]->message(), HasSubstr("refused our connection"));
  }
}

TEST_P(CertificateTest, UnknownSelfSigned) {
  TlsWorld world(2);
  const PartyIndex bad = GetParam();
  const crypto::Identity other = crypto::MakeIdentity({.name = PartyNames(2)[bad]});
  Roster own = world.roster;
  own[bad].fingerprint = crypto::Fingerprint(*other.certificate);
  ExpectRefused(Meet(world, bad, other, own), bad, own[bad].fingerprint);
}

TEST_P(CertificateTest, SameCertificateAsThePeer) {
  TlsWorld world(2);
  const PartyIndex bad = GetParam();
  Roster own = world.roster;
  own[bad].fingerprint = own[1 - bad].fingerprint;
  own[bad].name = own[1 - bad].name;  // so that it accepts itself
  ExpectRefused(Meet(world, bad, world.identities[1 - bad], own), bad, "its fingerprint is");
}

TEST_P(CertificateTest, OtherPartysCertificate) {
  TlsWorld world(3);
  const PartyIndex bad = GetParam();
  std::vector<TlsOptions> options;
  options.push_back(world.Options(0));
  options.push_back(world.Options(1));
  // "bad" is in possession of east's key and plays bad's part with it.
  Roster own = world.roster;
  std::swap(own[bad].fingerprint, own[2].fingerprint);
  std::swap(own[bad].name, own[2].name);
  options[bad].identity = world.identities[2];
  options[bad].roster = own;
  Transports transports;
  const auto errors = ConnectAll(std::move(options), kShort, transports);
  for (PartyIndex i : {0, 1}) {
    ASSERT_TRUE(errors[i]);
    EXPECT_EQ(transports[i], nullptr);
  }
  // As a server it is refused at once. As a client it is taken for east, never for south.
  if (bad == 0) {
    EXPECT_THAT(errors[1]->message(), HasSubstr("not acceptable for party north"));
  } else {
    EXPECT_THAT(errors[0]->message(), HasSubstr("missing party south (did not connect to us)"));
    EXPECT_THAT(errors[0]->message(), testing::Not(HasSubstr("party east (did not connect")));
  }
}

TEST_P(CertificateTest, ExpiredNotYetValidAndWrongName) {
  const PartyIndex bad = GetParam();
  const std::string name = PartyNames(2)[bad];
  const std::pair<CertificateRequest, std::string> cases[] = {
      {{.name = name, .days = 1, .start = hours(-48)}, "it expired on"},
      {{.name = name, .start = hours(24)}, "it is valid only from"},
      {{.name = "west"}, "not made out to '" + name + "'"},
  };
  for (const auto& [request, reason] : cases) {
    TlsWorld world(2);
    Pin(world, bad, request);
    // Its own check would already stop it, so it talks to the others without our code.
    std::vector<TlsOptions> options;
    const PartyIndex honest = 1 - bad;
    options.push_back(world.Options(honest));
    std::atomic<bool> got_application_bytes = false;
    std::thread raw([&] {
      SSL_CTX* context = SSL_CTX_new(TLS_method());
      SSL_CTX_use_certificate(context, world.identities[bad].certificate.get());
      SSL_CTX_use_PrivateKey(context, world.identities[bad].key.get());
      const Deadline until = Deadline::After(kShort);
      while (!until.passed()) {
        std::string remote;
        Socket socket;
        if (bad == 0) {
          pollfd entry{world.listeners[0].socket.fd(), POLLIN, 0};
          poll(&entry, 1, static_cast<int>(until.remaining().count()));
          socket = Accept(world.listeners[0], remote);
        } else {
          socket = ConnectTo(world.roster[0].address);
        }
        if (!socket.valid()) continue;
        fcntl(socket.fd(), F_SETFL, fcntl(socket.fd(), F_GETFL) & ~O_NONBLOCK);
        const timeval limit{5, 0};
        setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        SSL* ssl = SSL_new(context);
        SSL_set_fd(ssl, socket.fd());
        const int shaken = bad == 0 ? SSL_accept(ssl) : SSL_connect(ssl);
        char byte;
        if (shaken == 1 && SSL_read(ssl, &byte, 1) == 1) got_application_bytes = true;
        SSL_free(ssl);
        ERR_clear_error();
        if (bad == 1) break;
      }
      SSL_CTX_free(context);
    });
    Transports transports;
    const auto errors = ConnectAll(std::move(options), kShort, transports);
    raw.join();
    ASSERT_TRUE(errors[0]) << reason;
    EXPECT_THAT(errors[0]->message(), HasSubstr(reason));
    EXPECT_FALSE(got_application_bytes);
  }
}

// Our own bad certificate stops us before anything is sent.
TEST(OwnCertificateTest, IsCheckedFirst) {
  auto own_error = [](const CertificateRequest& request, bool pinned) {
    TlsWorld world(2);
    if (pinned) Pin(world, 0, request);
    TlsOptions options = world.Options(0);
    if (!pinned) options.identity = crypto::MakeIdentity(request);
    try {
      ConnectTls(std::move(options), Deadline::After(seconds(30)));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUntrusted);
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(own_error({.name = "north"}, false), HasSubstr("the roster says"));
  EXPECT_THAT(own_error({.name = "south"}, true), HasSubstr("not made out to 'north'"));
  EXPECT_THAT(own_error({.name = "north", .days = 1, .start = hours(-48)}, true),
              HasSubstr("expired"));
  EXPECT_THAT(own_error({.name = "north", .start = hours(1)}, true), HasSubstr("valid only from"));
}

// --- strangers at the door ----------------------------------------------------------------------

// north waits for south in a thread while `stranger` runs; then the honest south connects.
void WithStranger(const std::function<void(TlsWorld& world)>& stranger,
                  const std::function<void(TlsWorld& world)>& prepare = {}) {
  TlsWorld world(2);
  if (prepare) prepare(world);
  Transports transports(2);
  std::optional<Error> error;
  TlsOptions north = world.Options(0), south = world.Options(1);
  north.handshake_timeout = hours(1);  // nobody may have to wait for a stranger to be given up
  std::thread waiting([&] {
    try {
      transports[0] = ConnectTls(std::move(north), Deadline::After(seconds(60)));
    } catch (const Error& thrown) {
      error = thrown;
    }
  });
  stranger(world);
  transports[1] = ConnectTls(std::move(south), Deadline::After(seconds(60)));
  waiting.join();
  ASSERT_FALSE(error) << error->message();
  const auto errors = RunChannels(std::move(transports), [](Channel& channel) {
    const Bytes out = Pattern(channel.self(), 1 - channel.self(), 0, 100);
    Bytes in(100);
    const Send send{1 - channel.self(), out, 0, {}};
    const Receive receive{1 - channel.self(), in, 0, {}, nullptr, 0};
    channel.Exchange({&send, 1}, {&receive, 1});
    EXPECT_EQ(in, Pattern(1 - channel.self(), channel.self(), 0, 100));
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST(StrangerTest, NoCertificate) {
  WithStranger([](TlsWorld& world) {
    RawClient client(world.roster[0].address, nullptr, TLS1_3_VERSION);
    client.Handshake();  // TLS 1.3: this side may believe that all is well
    EXPECT_EQ(client.ReadByte(), 0);
  });
}

TEST(StrangerTest, UnknownCertificate) {
  WithStranger([](TlsWorld& world) {
    const crypto::Identity fake = crypto::MakeIdentity({.name = "south"});
    RawClient client(world.roster[0].address, &fake, TLS1_3_VERSION);
    client.Handshake();
    EXPECT_EQ(client.ReadByte(), 0);
  });
}

// A P-256 key object with the public half of `certificate` and the private half of somebody else's
// key: libssl takes it for the certificate's own.
std::shared_ptr<EVP_PKEY> ForgedKey(const X509& certificate) {
  const crypto::Identity thief =
      crypto::MakeIdentity({.name = "thief", .kind = crypto::KeyKind::kP256});
  BIGNUM* secret = nullptr;
  EVP_PKEY_get_bn_param(thief.key.get(), OSSL_PKEY_PARAM_PRIV_KEY, &secret);
  std::array<uint8_t, 65> point{};
  size_t size = 0;
  EVP_PKEY_get_octet_string_param(X509_get0_pubkey(&certificate), OSSL_PKEY_PARAM_PUB_KEY,
                                  point.data(), point.size(), &size);
  OSSL_PARAM_BLD* builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point.data(), size);
  OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, secret);
  OSSL_PARAM* parameters = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr);
  EVP_PKEY* forged = nullptr;
  EVP_PKEY_fromdata_init(context);
  EXPECT_EQ(EVP_PKEY_fromdata(context, &forged, EVP_PKEY_KEYPAIR, parameters), 1);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  BN_clear_free(secret);
  return {forged, EVP_PKEY_free};
}

// south's certificate is public, its key is not: a thief of the certificate cannot sign.
TEST(StrangerTest, CertificateWithoutItsKey) {
  WithStranger(
      [](TlsWorld& world) {
        crypto::Identity thief = world.identities[1];
        thief.key = ForgedKey(*thief.certificate);
        RawClient client(world.roster[0].address, &thief, TLS1_3_VERSION);
        EXPECT_EQ(SSL_check_private_key(client.ssl.get()), 1);  // it does show the certificate
        client.Handshake();
        EXPECT_EQ(client.ReadByte(), 0);
      },
      [](TlsWorld& world) { Pin(world, 1, {.name = "south", .kind = crypto::KeyKind::kP256}); });
}

TEST(StrangerTest, OldProtocolVersion) {
  WithStranger([](TlsWorld& world) {
    RawClient client(world.roster[0].address, &world.identities[1], TLS1_2_VERSION);
    EXPECT_FALSE(client.Handshake());
    EXPECT_EQ(client.ReadByte(), 0);
  });
}

TEST(StrangerTest, NotEvenTls) {
  WithStranger([](TlsWorld& world) {
    RawClient client(world.roster[0].address, nullptr, TLS1_3_VERSION);
    const std::string request = "GET / HTTP/1.1\r\n\r\n";
    EXPECT_EQ(send(client.socket.fd(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::array<char, 100> reply{};
    while (recv(client.socket.fd(), reply.data(), reply.size(), 0) > 0) {
    }
  });
}

// The right certificate gets in (so the refusals above are no accident), without a ticket to
// resume.
TEST(StrangerTest, NobodyGetsATicket) {
  TlsWorld world(2);
  TlsOptions north = world.Options(0);
  std::unique_ptr<Transport> transport;
  std::thread waiting(
      [&] { transport = ConnectTls(std::move(north), Deadline::After(seconds(60))); });
  RawClient client(world.roster[0].address, &world.identities[1], TLS1_3_VERSION);
  std::atomic<int> tickets = 0;
  SSL_CTX_set_session_cache_mode(client.context.get(), SSL_SESS_CACHE_CLIENT);
  SSL_CTX_set_app_data(client.context.get(), &tickets);
  SSL_CTX_sess_set_new_cb(client.context.get(), [](SSL* ssl, SSL_SESSION*) {
    ++*static_cast<std::atomic<int>*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    return 0;
  });
  EXPECT_TRUE(client.Handshake());
  EXPECT_EQ(client.ReadByte(), 1);  // the greeting
  EXPECT_EQ(tickets, 0);
  EXPECT_EQ(SSL_SESSION_is_resumable(SSL_get_session(client.ssl.get())), 0);
  EXPECT_STREQ(SSL_get_cipher(client.ssl.get()), "TLS_AES_128_GCM_SHA256");
  waiting.join();
  EXPECT_NE(transport, nullptr);
}

// Two hundred connections that never say a word, more than there are places, stay open while the
// honest party comes.
TEST(StrangerTest, HalfOpenConnectionsDisturbNobody) {
  std::vector<Socket> idle;
  WithStranger([&](TlsWorld& world) {
    for (int i = 0; i < 200; ++i) {
      idle.push_back(ConnectTo(world.roster[0].address));
      ASSERT_TRUE(idle.back().valid());
    }
    // Some send the beginning of a handshake and stop.
    for (size_t i = 0; i < idle.size(); i += 3) {
      pollfd entry{idle[i].fd(), POLLOUT, 0};
      poll(&entry, 1, 5000);
      const uint8_t begin[] = {0x16, 0x03, 0x01, 0x02, 0x00};
      send(idle[i].fd(), begin, sizeof begin, MSG_NOSIGNAL);
    }
  });
}

// --- after the handshake ------------------------------------------------------------------------

// A peer may ask for new keys while we only listen. libssl keeps one answer, for our next message,
// however often it asks: nothing piles up, and the message can be read.
TEST(KeyUpdateTest, RequestsDoNotPileUp) {
  TlsWorld world(2);
  TlsOptions options = world.Options(0);
  std::unique_ptr<Transport> north;
  std::thread waiting(
      [&] { north = ConnectTls(std::move(options), Deadline::After(seconds(60))); });
  RawClient client(world.roster[0].address, &world.identities[1], TLS1_3_VERSION);
  EXPECT_TRUE(client.Handshake());
  EXPECT_EQ(client.ReadByte(), 1);  // the greeting
  waiting.join();
  ASSERT_NE(north, nullptr);
  const char word = 'x';
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(SSL_key_update(client.ssl.get(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client.ssl.get()), 1);
  }
  ASSERT_EQ(SSL_write(client.ssl.get(), &word, 1), 1);
  std::array<uint8_t, 16> in;
  Io io;
  const Deadline until = Deadline::After(seconds(30));
  while (io.bytes == 0 && !io.closed && !until.passed()) io = north->Read(1, in);
  EXPECT_EQ(io.bytes, 1u);
  pollfd answer{client.socket.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&answer, 1, 0), 0);  // no thousand answers
  EXPECT_EQ(north->Write(1, in).bytes, in.size());
  EXPECT_TRUE(north->Flush(1));
  EXPECT_EQ(client.ReadByte(), 1);
}

// A flipped bit on the way is noticed by TLS and reported as damage.
TEST(DamageTest, IsAPeerFault) {
  TlsWorld world(2);
  const std::string behind = world.roster[0].address;
  const Listener middle = Listen("127.0.0.1", "0");
  std::vector<TlsOptions> options;
  options.push_back(world.Options(0));
  options.push_back(world.Options(1));
  options[1].roster[0].address = middle.address;
  std::atomic<bool> damage = false, stop = false;
  std::thread relay([&] {
    std::string remote;
    pollfd entry{middle.socket.fd(), POLLIN, 0};
    poll(&entry, 1, 10'000);
    Socket south = Accept(middle, remote);
    Socket north = ConnectTo(behind);
    while (!stop) {
      pollfd both[] = {{south.fd(), POLLIN, 0}, {north.fd(), POLLIN, 0}};
      poll(both, 2, 50);
      for (int i = 0; i < 2; ++i) {
        if ((both[i].revents & POLLIN) == 0) continue;
        std::array<uint8_t, 4096> bytes{};
        const ssize_t size = recv(both[i].fd, bytes.data(), bytes.size(), 0);
        if (size <= 0) {
          stop = true;
          break;
        }
        // In the first record of what arrived: the notice that the stream ends may come with it.
        if (damage && i == 0) bytes[20] ^= 1;
        send(both[1 - i].fd, bytes.data(), static_cast<size_t>(size), MSG_NOSIGNAL);
      }
    }
  });
  Transports transports;
  EXPECT_EQ(Describe(ConnectAll(std::move(options), seconds(30), transports)), "");
  damage = true;
  const auto errors = RunChannels(std::move(transports), [](Channel& channel) {
    const Bytes out(100);
    Bytes in(100);
    const Send send{0, out, 0, {}};
    const Receive receive{1, in, 0, {}, nullptr, 0};
    if (channel.self() == 1) {
      channel.Exchange({&send, 1}, {});
    } else {
      channel.Exchange({}, {&receive, 1});
    }
  });
  stop = true;
  relay.join();
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerFault);
  EXPECT_THAT(errors[0]->message(), HasSubstr("stream from party south is damaged"));
}

}  // namespace
}  // namespace partita::net::tls_certificate_test
