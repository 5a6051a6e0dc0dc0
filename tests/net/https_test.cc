// The HTTPS server and client against each other, and against peers that do not behave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "net/https_client.h"
#include "net/https_server.h"
#include "net/roster.h"

#if defined(__has_feature)
#define PARTITA_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define PARTITA_SANITIZED 0
#endif

namespace partita::net::https_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr milliseconds kPatience{20'000};

const crypto::Identity& ServerIdentity() {
  static const crypto::Identity identity = crypto::MakeIdentity({.name = "server"});
  return identity;
}

// Answers with what it got: "METHOD TARGET BEARER FINGERPRINT BODY".
HttpResponse Echo(const HttpRequest& request) {
  HttpResponse response = TextResponse(200, request.method + " " + request.target + " " +
                                                request.bearer + " " + request.fingerprint + " ");
  response.body.insert(response.body.end(), request.body.begin(), request.body.end());
  return response;
}

struct Served {
  explicit Served(
      HttpsLimits limits = {},
      HttpHandler handler = [](const HttpRequest& request,
                               const HttpReply& reply) { reply(Echo(request)); },
      HttpScreen screen = {})
      : server(Listen("127.0.0.1", "0"), ServerIdentity(), limits, 2, std::move(handler),
               std::move(screen)) {}

  HttpsPeer Peer() const {
    return {"server", server.address(), crypto::Fingerprint(*ServerIdentity().certificate)};
  }
  HttpsClient Client(const crypto::Identity& identity = {}) const { return {Peer(), identity}; }

  HttpsServer server;
};

HttpResponse Post(HttpsClient& client, const std::string& body, const std::string& bearer = "",
                  size_t max_body = 1 << 16, milliseconds timeout = kPatience) {
  SilentProgress progress;
  HttpRequest request;
  request.method = "POST";
  request.target = "/here";
  request.bearer = bearer;
  const ByteView bytes = AsBytes(body);
  request.body.assign(bytes.begin(), bytes.end());
  return client.Send(request, timeout, max_body, progress);
}

void ExpectError(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
  }
}

// A peer that speaks TLS but need not speak HTTP. Blocking, with a time limit on every read.
class RawClient {
 public:
  explicit RawClient(const std::string& server, int max_version = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free), ssl_(nullptr, SSL_free) {
    ::signal(SIGPIPE, SIG_IGN);  // of writing to a server that has closed
    SSL_CTX_set_max_proto_version(context_.get(), max_version);
    const Address address = ParseAddress(server);
    const Endpoint endpoint = NumericEndpoints(address.host, address.port).front();
    socket_ = Socket(::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{20, 0};
    setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connected_ = ::connect(socket_.fd(), reinterpret_cast<const sockaddr*>(&endpoint.address),
                           endpoint.size) == 0;
  }
  bool Handshake() {
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.fd());
    return connected_ && SSL_connect(ssl_.get()) == 1;
  }
  void Send(const std::string& text) {
    SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size()));
  }
  // Until the server closes.
  std::string ReadAll() {
    std::string text;
    char buffer[4096];
    int size = 0;
    while ((size = SSL_read(ssl_.get(), buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }
  // Whether the server closes the connection without a word, within the time limit.
  bool IsClosedInSilence() {
    char byte = 0;
    const ssize_t size = ::recv(socket_.fd(), &byte, 1, 0);
    return size == 0 || (size < 0 && errno != EAGAIN);
  }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  Socket socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  bool connected_ = false;
};

TEST(HttpsTest, AnswersManyRequestsOnOneConnection) {
  Served served;
  HttpsClient client = served.Client();
  for (int i = 0; i < 5; ++i) {
    const std::string body(static_cast<size_t>(i) * 1000, 'x');
    const HttpResponse response = Post(client, body, "token");
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(BodyText(response), "POST /here token  " + body);
  }
  EXPECT_EQ(served.server.Counts().connections, 1U);
  EXPECT_EQ(served.server.Counts().requests, 5U);
}

TEST(HttpsTest, TellsWhoTheClientIs) {
  Served served;
  const crypto::Identity own =
      crypto::MakeIdentity({.name = "client", .kind = crypto::KeyKind::kP256});
  HttpsClient client = served.Client(own);
  EXPECT_THAT(BodyText(Post(client, "")), HasSubstr(crypto::Fingerprint(*own.certificate)));
}

TEST(HttpsTest, ExpiredCertificatesAreRefusedOnBothSides) {
  const crypto::Identity old =
      crypto::MakeIdentity({.name = "client", .days = 1, .start = std::chrono::hours(-72)});
  Served served;
  HttpsClient client = served.Client(old);
  ExpectError(ErrorCode::kUnreachable, [&] { Post(client, ""); });
  EXPECT_EQ(served.server.Counts().requests, 0U);

  const crypto::Identity server =
      crypto::MakeIdentity({.name = "server", .days = 1, .start = std::chrono::hours(-72)});
  HttpsServer stale(
      Listen("127.0.0.1", "0"), server, {}, 1,
      [](const HttpRequest& request, const HttpReply& reply) { reply(Echo(request)); });
  HttpsClient pinned({"server", stale.address(), crypto::Fingerprint(*server.certificate)}, {});
  ExpectError(ErrorCode::kUntrusted, [&] { Post(pinned, ""); });
}

TEST(HttpsTest, AnotherServerIsNotTrusted) {
  Served served;
  HttpsPeer peer = served.Peer();
  peer.fingerprint = crypto::Fingerprint(*crypto::MakeIdentity({.name = "server"}).certificate);
  HttpsClient client(peer, {});
  ExpectError(ErrorCode::kUntrusted, [&] { Post(client, "secret"); });
  EXPECT_EQ(served.server.Counts().requests, 0U);
}

TEST(HttpsTest, NobodyThereIsUnreachable) {
  std::string address;
  {
    const Listener listener = Listen("127.0.0.1", "0");
    address = listener.address;
  }
  HttpsClient client({"server", address, std::string(64, '0')}, {});
  ExpectError(ErrorCode::kUnreachable, [&] { Post(client, ""); });
}

TEST(HttpsTest, OversizedRequestsAreCutOff) {
  HttpsLimits limits;
  limits.body_bytes = 1000;
  Served served(limits);
  HttpsClient client = served.Client();
  EXPECT_EQ(Post(client, std::string(1000, 'x')).status, 200U);
  EXPECT_EQ(Post(client, std::string(1001, 'x')).status, 413U);
  EXPECT_EQ(Post(client, "", std::string(9000, 'x')).status, 431U);
  EXPECT_EQ(Post(client, "again").status, 200U);
  EXPECT_EQ(served.server.Counts().oversized, 2U);
  EXPECT_EQ(served.server.Counts().requests, 2U);
}

// The server reads on for a while after the refusal, so that it is seen by who has not sent all.
TEST(HttpsTest, ARefusalIsSeenByWhoStillSends) {
  HttpsLimits limits;
  limits.body_bytes = 1000;
  Served served(limits);
  const std::string body(size_t{3} << 20, 'x');
  for (int i = 0; i < 5; ++i) {
    HttpsClient client = served.Client();
    EXPECT_EQ(Post(client, body).status, 413U);
  }
  EXPECT_EQ(served.server.Counts().oversized, 5U);
}

TEST(HttpsTest, HostileLengthsAndTextAreRefused) {
  Served served;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"rubbish\r\n\r\n", "400"},
      {"POST /x HTTP/1.1\r\ncontent-length: -1\r\n\r\n", "400"},
      {"POST /x HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\nabc", "400"},
      {"POST /x HTTP/1.1\r\ncontent-length: 1e3\r\n\r\n", "400"},
      {"POST /x HTTP/1.1\r\ncontent-length: 18446744073709551616\r\n\r\n", "400"},
      {"POST /x HTTP/1.1\r\ncontent-length: 18446744073709551615\r\n\r\n", "413"},
      {"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n", "411"},
      {std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), "400"},
      {"GET / HTTP/9.9\r\n\r\n", "400"},
  };
  for (const auto& [text, status] : cases) {
    SCOPED_TRACE(text);
    RawClient client(served.server.address());
    ASSERT_TRUE(client.Handshake());
    client.Send(text);
    EXPECT_THAT(client.ReadAll(), HasSubstr("HTTP/1.1 " + status));
  }
  EXPECT_EQ(served.server.Counts().requests, 0U);
  HttpsClient client = served.Client();
  EXPECT_EQ(Post(client, "still there").status, 200U);
}

// What has no declared length has no end either: a chunk's extension or a trailer without a line
// end, a piece at a time.
TEST(HttpsTest, ChunkedBodiesAreRefusedBeforeTheyAreRead) {
  Served served;
  for (const char* start : {"1;", "1\r\nx\r\n0\r\nx-trailer: "}) {
    SCOPED_TRACE(start);
    RawClient client(served.server.address());
    ASSERT_TRUE(client.Handshake());
    client.Send("POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n");
    client.Send(start + std::string(100'000, 'a'));
    EXPECT_THAT(client.ReadAll(), HasSubstr("HTTP/1.1 411"));
  }
  EXPECT_EQ(served.server.Counts().malformed, 2U);
  EXPECT_EQ(served.server.Counts().requests, 0U);
}

TEST(HttpsTest, BodiesThatAreReadAtOneTimeAreBounded) {
  HttpsLimits limits;
  limits.body_bytes = 1000;
  limits.all_body_bytes = 1500;
  Served served(limits);
  RawClient slow(served.server.address());
  ASSERT_TRUE(slow.Handshake());
  slow.Send("POST /x HTTP/1.1\r\nconnection: close\r\ncontent-length: 1000\r\n\r\n");
  while (served.server.Counts().body_bytes < 1000) std::this_thread::yield();
  HttpsClient client = served.Client();
  EXPECT_EQ(Post(client, std::string(501, 'x')).status, 503U);
  EXPECT_EQ(Post(client, std::string(500, 'x')).status, 200U);
  EXPECT_EQ(Post(client, "").status, 200U);
  slow.Send(std::string(1000, 'y'));
  EXPECT_THAT(slow.ReadAll(), HasSubstr("HTTP/1.1 200"));
  EXPECT_EQ(Post(client, std::string(1000, 'x')).status, 200U);
  // Of a connection that ends in the middle of a body nothing stays reserved.
  {
    RawClient gone(served.server.address());
    ASSERT_TRUE(gone.Handshake());
    gone.Send("POST /x HTTP/1.1\r\ncontent-length: 1000\r\n\r\nabc");
    while (served.server.Counts().body_bytes < 1000) std::this_thread::yield();
  }
  while (served.server.Counts().body_bytes > 0) std::this_thread::yield();
  EXPECT_EQ(served.server.Counts().overloaded, 1U);
}

// An exception, whether thrown by what reads a body or by what looks at a header, costs one
// connection, not the server.
TEST(HttpsTest, AnExceptionEndsItsConnectionOnly) {
  HttpsLimits limits;
#if !PARTITA_SANITIZED
  // Memory for such a body is not there. (Sanitizers would end the process.)
  limits.body_bytes = std::numeric_limits<size_t>::max();
  limits.all_body_bytes = std::numeric_limits<uint64_t>::max();
#endif
  Served served(
      limits, [](const HttpRequest& request, const HttpReply& reply) { reply(Echo(request)); },
      [](const HttpRequest& request) -> std::optional<HttpResponse> {
        if (request.target == "/throw") throw std::runtime_error("no");
        return std::nullopt;
      });
  std::vector<std::string> requests = {"POST /throw HTTP/1.1\r\ncontent-length: 3\r\n\r\nx"};
  if (limits.body_bytes > 1U << 30) {
    requests.push_back("POST /x HTTP/1.1\r\ncontent-length: 4611686018427387904\r\n\r\nx");
  }
  for (const std::string& request : requests) {
    RawClient client(served.server.address());
    ASSERT_TRUE(client.Handshake());
    client.Send(request);
    EXPECT_EQ(client.ReadAll(), "");
  }
  HttpsClient client = served.Client();
  EXPECT_EQ(Post(client, "still there").status, 200U);
  EXPECT_EQ(served.server.Counts().failures, requests.size());
  EXPECT_EQ(served.server.Counts().body_bytes, 0U);
  while (served.server.Counts().open > 1) std::this_thread::yield();
}

TEST(HttpsTest, TheScreenRefusesBeforeTheBodyIsRead) {
  Served served(
      {}, [](const HttpRequest& request, const HttpReply& reply) { reply(Echo(request)); },
      [](const HttpRequest& request) -> std::optional<HttpResponse> {
        EXPECT_TRUE(request.body.empty());
        if (!request.bearer.empty()) return std::nullopt;
        return TextResponse(401, "who");
      });
  RawClient client(served.server.address());
  ASSERT_TRUE(client.Handshake());
  client.Send("POST /x HTTP/1.1\r\ncontent-length: 1000\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), HasSubstr("HTTP/1.1 401"));
  HttpsClient known = served.Client();
  EXPECT_EQ(BodyText(Post(known, "body", "token")), "POST /here token  body");
  EXPECT_EQ(served.server.Counts().requests, 1U);
}

// What closed a connection is counted a moment after the client sees it.
void WaitUntilAllAreGone(const HttpsServer& server) {
  while (server.Counts().open > 0) std::this_thread::yield();
}

TEST(HttpsTest, SlowHandshakesAreCutOff) {
  HttpsLimits limits;
  limits.handshake = milliseconds(300);
  Served served(limits);
  RawClient mute(served.server.address());
  ASSERT_TRUE(mute.IsClosedInSilence());
  WaitUntilAllAreGone(served.server);
  EXPECT_EQ(served.server.Counts().handshakes, 1U);
}

// A byte now and then does not prolong the time of a request.
TEST(HttpsTest, SlowRequestsAreCutOff) {
  HttpsLimits limits;
  limits.handshake = kPatience;
  limits.request = milliseconds(300);
  Served served(limits);
  RawClient dripping(served.server.address());
  ASSERT_TRUE(dripping.Handshake());
  std::atomic<bool> done{false};
  std::thread drip([&] {
    dripping.Send("POST /x HTTP/1.1\r\nx-");
    while (!done) {
      dripping.Send("a");
      std::this_thread::sleep_for(milliseconds(50));
    }
  });
  const bool closed = dripping.IsClosedInSilence();
  done = true;
  drip.join();
  ASSERT_TRUE(closed);
  WaitUntilAllAreGone(served.server);
  EXPECT_EQ(served.server.Counts().slow, 1U);
  EXPECT_EQ(served.server.Counts().requests, 0U);
}

TEST(HttpsTest, TooManyConnectionsAreTurnedAway) {
  HttpsLimits limits;
  limits.connections = 2;
  Served served(limits);
  HttpsClient first = served.Client(), second = served.Client(), third = served.Client();
  Post(first, "");
  Post(second, "");
  ExpectError(ErrorCode::kUnreachable, [&] { Post(third, ""); });
  EXPECT_EQ(served.server.Counts().crowded, 1U);
  EXPECT_EQ(Post(first, "mine stays").status, 200U);
}

TEST(HttpsTest, OldTlsIsRefused) {
  Served served;
  RawClient client(served.server.address(), TLS1_2_VERSION);
  EXPECT_FALSE(client.Handshake());
}

TEST(HttpsTest, EveryRequestIsAnswered) {
  Served dropped({}, [](const HttpRequest&, const HttpReply&) {});
  HttpsClient one = dropped.Client();
  EXPECT_EQ(Post(one, "").status, 500U);
  Served thrown({}, [](const HttpRequest&, const HttpReply&) { throw std::runtime_error("no"); });
  HttpsClient two = thrown.Client();
  EXPECT_EQ(Post(two, "").status, 500U);
  Served twice({}, [](const HttpRequest&, const HttpReply& reply) {
    reply(TextResponse(200, "first"));
    reply(TextResponse(200, "second"));
  });
  HttpsClient three = twice.Client();
  EXPECT_EQ(BodyText(Post(three, "")), "first");
  EXPECT_EQ(BodyText(Post(three, "")), "first");
}

// Replies that are kept until the test lets them go.
class Kept {
 public:
  HttpHandler Handler() {
    return [this](const HttpRequest&, HttpReply reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      changed_.notify_all();
    };
  }
  std::vector<HttpReply> Wait(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return replies_.size() >= count; });
    return std::move(replies_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HttpReply> replies_;
};

TEST(HttpsTest, AnswersComeFromAnyThreadAndBeforeTheEnd) {
  Kept kept;
  Served served({}, kept.Handler());
  std::string answer;
  std::thread asking([&] {
    HttpsClient client = served.Client();
    answer = BodyText(Post(client, ""));
  });
  std::vector<HttpReply> replies = kept.Wait(1);
  std::thread stopping([&] { served.server.Stop(seconds(20)); });
  replies.front()(TextResponse(200, "late but here"));
  asking.join();
  stopping.join();
  EXPECT_EQ(answer, "late but here");
}

TEST(HttpsTest, AnswersAfterTheEndGoNowhere) {
  Kept kept;
  std::vector<HttpReply> replies;
  {
    Served served({}, kept.Handler());
    std::thread asking([&] {
      HttpsClient client = served.Client();
      ExpectError(ErrorCode::kUnreachable, [&] { Post(client, ""); });
    });
    replies = kept.Wait(1);
    served.server.Stop(milliseconds(0));
    asking.join();
  }
  replies.front()(TextResponse(200, "too late"));
}

TEST(HttpsTest, AnAnswerThatDoesNotComeIsATimeout) {
  Kept kept;
  Served served({}, kept.Handler());
  HttpsClient client = served.Client();
  ExpectError(ErrorCode::kTimeout, [&] { Post(client, "", "", 100, milliseconds(200)); });
}

TEST(HttpsTest, LongAnswersAreNotTakenIn) {
  Served served;
  HttpsClient client = served.Client();
  ExpectError(ErrorCode::kPeerFault, [&] { Post(client, std::string(1000, 'x'), "", 500); });
  EXPECT_EQ(Post(client, "short", "", 500).status, 200U);
}

TEST(HttpsTest, AKeptConnectionThatWasClosedIsMadeAnew) {
  auto first = std::make_unique<Served>();
  const std::string address = first->server.address();
  HttpsClient client = first->Client();
  EXPECT_EQ(Post(client, "").status, 200U);
  first.reset();
  const Address same = ParseAddress(address);
  HttpsServer second(
      Listen(same.host, same.port), ServerIdentity(), {}, 2,
      [](const HttpRequest& request, const HttpReply& reply) { reply(Echo(request)); });
  EXPECT_EQ(Post(client, "").status, 200U);
  EXPECT_EQ(second.Counts().connections, 1U);
}

class Cancelled : public SilentProgress {
 public:
  void CheckCancelled() override { throw Error(ErrorCode::kCancelled, "stop"); }
};

TEST(HttpsTest, SendingCanBeCancelled) {
  Kept kept;
  Served served({}, kept.Handler());
  HttpsClient client = served.Client();
  Cancelled progress;
  HttpRequest request;
  request.method = "GET";
  request.target = "/";
  ExpectError(ErrorCode::kCancelled, [&] { client.Send(request, kPatience, 100, progress); });
}

}  // namespace
}  // namespace partita::net::https_test
