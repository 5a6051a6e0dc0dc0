// Who is let in: certificates in both directions, protocol versions, strangers, half-open
// connections, start-up in any order.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "net/channel.h"
#include "tests/net/tls_parties.h"

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

// A blocking TLS client without our code.
struct RawClient {
  Socket socket;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context{SSL_CTX_new(TLS_method()), SSL_CTX_free};
  std::unique_ptr<SSL, void (*)(SSL*)> ssl{nullptr, SSL_free};

  // With `identity` null it shows no certificate.
  RawClient(const std::string& where, const crypto::Identity* identity, int version) {
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

// --- start-up -----------------------------------------------------------------------------------

// The party that others connect to comes last: its port is not even open when they begin.
TEST(StartUpTest, ConnectingPartiesWaitForTheListener) {
  TlsWorld world(3);
  const std::string address = world.listeners[0].address;
  std::vector<TlsOptions> options;
  for (PartyIndex i = 0; i < 3; ++i) options.push_back(world.Options(i));
  options[0].listener = std::nullopt;  // closes it; ConnectTls opens it again by the roster

  class Counting : public SilentProgress {
   public:
    void CheckCancelled() override {
      std::lock_guard lock(mutex_);
      ++checks_;
      changed_.notify_all();
    }
    void WaitForSome() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return checks_ >= 3; });
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int checks_ = 0;
  };

  Counting progress;
  Transports transports(3);
  std::vector<std::thread> threads;
  for (PartyIndex i : {1, 2}) {
    threads.emplace_back([&, i] {
      transports[i] = ConnectTls(std::move(options[i]), Deadline::After(seconds(60)), &progress);
    });
  }
  progress.WaitForSome();  // they have been refused a few times
  transports[0] = ConnectTls(std::move(options[0]), Deadline::After(seconds(60)));
  for (std::thread& thread : threads) thread.join();
  for (const auto& transport : transports) EXPECT_NE(transport, nullptr);
}

TEST(StartUpTest, MissingPartiesAreNamedAtTheDeadline) {
  TlsWorld world(3);
  world.listeners[0] = Listener();  // north is not there
  try {
    ConnectTls(world.Options(1), Deadline::After(milliseconds(100)));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnreachable);
    EXPECT_THAT(error.message(), HasSubstr("party north at " + world.roster[0].address));
    EXPECT_THAT(error.message(), HasSubstr("refused"));
    EXPECT_THAT(error.message(), HasSubstr("party east (did not connect to us)"));
  }
}

// Keeps what it is told of who is awaited, and can be cancelled.
class Told : public SilentProgress {
 public:
  void Phase(std::string_view name) override {
    std::lock_guard lock(mutex_);
    said_ += std::string(name) + "\n";
    changed_.notify_all();
  }
  void CheckCancelled() override {
    if (cancelled_) throw Error(ErrorCode::kCancelled, "interrupted");
  }
  void Cancel() { cancelled_ = true; }
  void WaitFor(const std::string& text) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, seconds(60), [&] { return said_.find(text) != std::string::npos; }))
        << text << " was not said, but: " << said_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string said_;
  std::atomic<bool> cancelled_ = false;
};

// ConnectTls in a thread of its own.
class Connecting {
 public:
  Connecting(TlsOptions options, Told& told)
      : thread_([this, options = std::move(options), &told]() mutable {
          try {
            transport_ = ConnectTls(std::move(options), Deadline::After(seconds(60)), &told);
          } catch (const Error& error) {
            error_ = error;
          }
        }) {}
  ~Connecting() { Wait(); }
  void Wait() {
    if (thread_.joinable()) thread_.join();
  }
  const std::optional<Error>& error() {
    Wait();
    return error_;
  }

 private:
  std::unique_ptr<Transport> transport_;
  std::optional<Error> error_;
  std::thread thread_;
};

class ComeBackTest : public testing::TestWithParam<PartyIndex> {};
INSTANTIATE_TEST_SUITE_P(WhoStops, ComeBackTest, testing::Values(0, 1));

// The one that connects and the one that is connected to: while east is missing, the other notices
// at once, says so, and takes the one that comes again.
TEST_P(ComeBackTest, APartyThatStopsWhileOthersWaitIsTakenBack) {
  const PartyIndex stops = GetParam(), waits = 1 - stops;
  TlsWorld world(3);
  const std::string name = PartyNames(3)[stops];
  Told waiting, stopping, again, east;
  Connecting one(world.Options(waits), waiting);
  waiting.WaitFor("waiting for " + name + ", east, for up to 60 s");
  {
    Connecting other(world.Options(stops), stopping);
    waiting.WaitFor("\nwaiting for east, for up to");
    stopping.WaitFor("waiting for east, for up to");
    stopping.Cancel();
    EXPECT_EQ(other.error()->code(), ErrorCode::kCancelled);
  }
  waiting.WaitFor(name + " closed its connection; waiting for " + name + ", east, for up to");
  TlsOptions restarted = world.Options(stops);
  restarted.listener = std::nullopt;  // opened anew by the roster
  Connecting come_back(std::move(restarted), again), last(world.Options(2), east);
  EXPECT_FALSE(one.error()) << one.error()->message();
  EXPECT_FALSE(come_back.error()) << come_back.error()->message();
  EXPECT_FALSE(last.error()) << last.error()->message();
  waiting.WaitFor("\nconnected\n");
}

// On another port, as somebody starts it who does not know of the first. The first goes on.
TEST(StartUpTest, TwoProcessesOfOnePartyAreNamed) {
  TlsWorld world(3);
  Told of_north, of_south, of_east, of_second;
  Connecting north(world.Options(0), of_north), south(world.Options(1), of_south);
  of_south.WaitFor("waiting for east");
  TlsOptions options = world.Options(1);
  options.listener = Listen("127.0.0.1", "0");
  options.taken_timeout = milliseconds(0);
  Connecting second(std::move(options), of_second);
  ASSERT_TRUE(second.error());
  EXPECT_EQ(second.error()->code(), ErrorCode::kUntrusted);
  EXPECT_EQ(second.error()->message(),
            "another process with the certificate of party south is connected to party north "
            "already");
  of_north.WaitFor(
      "a second process with the certificate of south, at 127.0.0.1, was turned away; waiting for "
      "east");
  Connecting east(world.Options(2), of_east);
  EXPECT_FALSE(east.error()) << east.error()->message();
  EXPECT_FALSE(north.error()) << north.error()->message();
  EXPECT_FALSE(south.error()) << south.error()->message();
}

// As many files as are open already, and no more.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    const rlimit now{static_cast<rlim_t>(next), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(StartUpTest, TooFewDescriptorsAreNamed) {
  for (PartyIndex self : {0, 1}) {  // the one that accepts, and the one that connects
    TlsWorld world(2);
    TlsOptions options = world.Options(self);
    const Socket caller = ConnectTo(world.roster[0].address);
    const NoMoreFiles none;
    try {
      ConnectTls(std::move(options), Deadline::After(seconds(60)));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_EQ(error.message(), "no more connections may be open in this process");
      EXPECT_THAT(error.hint(), HasSubstr("ulimit -n"));
    }
  }
}

TEST(StartUpTest, TakenPortIsReported) {
  TlsWorld world(2);
  TlsOptions options = world.Options(0);
  const Listener still_open = std::move(*options.listener);
  options.listener = std::nullopt;
  try {
    ConnectTls(std::move(options), Deadline::After(seconds(30)));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnreachable);
    EXPECT_THAT(error.message(), HasSubstr("cannot listen on 127.0.0.1"));
  }
}

TEST(StartUpTest, CanBeCancelled) {
  class Cancelled : public SilentProgress {
   public:
    void CheckCancelled() override { throw Error(ErrorCode::kCancelled, "interrupted"); }
  };
  TlsWorld world(2);
  Cancelled progress;
  try {
    ConnectTls(world.Options(0), Deadline::After(seconds(60)), &progress);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

// The addresses of a name: first one where nobody listens, then the right one.
TEST(StartUpTest, EveryAddressOfAPeerIsTried) {
  TlsWorld world(2);
  const Address right = ParseAddress(world.roster[0].address);
  std::string closed;
  {
    const Listener gone = Listen("127.0.0.1", "0");
    closed = ParseAddress(gone.address).port;
  }
  std::vector<TlsOptions> options;
  for (PartyIndex i = 0; i < 2; ++i) options.push_back(world.Options(i));
  options[1].roster[0].address = "north.example.org:7400";
  options[1].look_up = [&](const std::string& host, const std::string& port, std::string&) {
    EXPECT_EQ(host, "north.example.org");
    EXPECT_EQ(port, "7400");
    std::vector<Endpoint> found = NumericEndpoints(right.host, closed);
    found.push_back(NumericEndpoints(right.host, right.port).at(0));
    return found;
  };
  Transports transports;
  EXPECT_EQ(Describe(ConnectAll(std::move(options), seconds(30), transports)), "");
}

// A resolver that never answers holds up neither the deadline nor the user.
TEST(StartUpTest, HangingLookUpDelaysNobody) {
  class Cancelled : public SilentProgress {
   public:
    void CheckCancelled() override { throw Error(ErrorCode::kCancelled, "interrupted"); }
  };
  auto hang = std::make_shared<std::promise<void>>();
  Cancelled cancelled;
  for (Progress* progress : {static_cast<Progress*>(nullptr), static_cast<Progress*>(&cancelled)}) {
    TlsWorld world(2);
    TlsOptions options = world.Options(1);
    options.roster[0].address = "north.example.org:7400";
    options.look_up = [until = hang->get_future().share(), hang](auto&...) {
      until.wait();
      return std::vector<Endpoint>();
    };
    try {
      ConnectTls(std::move(options), Deadline::After(milliseconds(progress ? 60'000 : 100)),
                 progress);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), progress ? ErrorCode::kCancelled : ErrorCode::kUnreachable);
      if (progress == nullptr) {
        EXPECT_THAT(error.message(), HasSubstr("'north.example.org'"));
      }
    }
    hang->set_value();
    hang = std::make_shared<std::promise<void>>();
  }
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
