// Two nodes pair over HTTPS through the one port; and with somebody in between, who ends both
// connections himself.
#include <gtest/gtest.h>

#include <mutex>

#include "net/https_client.h"
#include "net/https_server.h"
#include "tests/node/parties/sites.h"
#include "tests/node/port/port_world.h"

namespace partita::node::pairing_https_test {
namespace {

// A node that answers what a joiner sends, one try for each connection.
class PairingNode {
 public:
  PairingNode(const std::string& name, const std::string& key, InvitationStore& store)
      : random_(net::TestRandom(21)),
        own_(CertificateOf(key)),
        store_(store),
        server_(net::Listener(), IdentityOf(key), {}, 1,
                [this](net::HttpRequest request, const net::HttpReply& reply) {
                  reply(Answer(request));
                }) {
    OnePortOptions options;
    options.listener = net::Listen("127.0.0.1", "0");
    options.host = name + ".example.org";
    options.serve = [this](net::Arrival arrival, std::shared_ptr<const void> place) {
      server_.Take(std::move(arrival.socket), std::move(place));
    };
    port_ = std::make_unique<OnePort>(std::move(options));
  }

  const std::string& address() const { return port_->address(); }
  std::optional<Comparison> comparison() {
    const std::lock_guard lock(mutex_);
    return comparison_;
  }

 private:
  net::HttpResponse Answer(const net::HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    net::HttpResponse response;
    try {
      if (request.target == "/look") return response;
      if (request.certificate == nullptr) return net::TextResponse(403, "show a certificate");
      if (request.target == "/hello") {
        PairingEnds ends;
        ends.inviter_certificate = own_;
        ends.joiner_certificate = crypto::EncodeCertificate(*request.certificate);
        ends.exporter = request.connection;
        inviter_.emplace(ends, store_, random_);
        response.body = inviter_->TakeHello(request.body, kNow);
      } else {
        comparison_ = inviter_->TakeNonce(request.body, kNow);
      }
    } catch (const Error& error) {
      return net::TextResponse(400, error.message());
    }
    return response;
  }

  std::mutex mutex_;
  crypto::Prg random_;
  Bytes own_;
  InvitationStore& store_;
  std::optional<Inviter> inviter_;
  std::optional<Comparison> comparison_;
  net::HttpsServer server_;
  std::unique_ptr<OnePort> port_;
};

// What a joiner does with a line.
class PairingClient {
 public:
  PairingClient(const std::string& key, const Invitation& line, const std::string& inviter_key)
      : client_({"north", line.address, ToHex(line.fingerprint)}, IdentityOf(key)), line_(line) {
    ends_.inviter_certificate = CertificateOf(inviter_key);
    ends_.joiner_certificate = CertificateOf(key);
    ends_.exporter = Send("/look", {}).connection;
  }

  net::HttpResponse Send(const std::string& target, Bytes body) {
    net::HttpRequest request;
    request.method = target == "/look" ? "GET" : "POST";
    request.target = target;
    request.body = std::move(body);
    SilentProgress progress;
    return client_.Send(request, kPatience, 1000, progress);
  }
  const PairingEnds& ends() const { return ends_; }

 private:
  net::HttpsClient client_;
  Invitation line_;
  PairingEnds ends_;
};

Comparison Join(PairingClient& client, const Invitation& line, TwoSites& sites) {
  Joiner joiner(line, client.ends(), sites.west, sites.random);
  const net::HttpResponse nonce = client.Send("/hello", joiner.Hello(kNow));
  EXPECT_EQ(nonce.status, 200u) << net::BodyText(nonce);
  const net::HttpResponse done = client.Send("/nonce", joiner.TakeNonce(nonce.body, kNow));
  EXPECT_EQ(done.status, 200u) << net::BodyText(done);
  EXPECT_EQ(done.connection, client.ends().exporter);
  return joiner.Compare();
}

Invitation LineTo(const std::string& address, const std::string& key, TwoSites& sites) {
  Invitation line = Invite(sites.north, address, KeyOf(key), sites.random, kNow);
  Accept(sites.west, line, kNow);
  return line;
}

TEST(PairingHttpsTest, TwoNodesAgreeThroughThePort) {
  TwoSites sites;
  PairingNode north("north", "north", sites.north);
  const Invitation line = LineTo(north.address(), "north", sites);
  PairingClient client("west", line, "north");
  Comparison at_west = Join(client, line, sites);
  std::optional<Comparison> at_north = north.comparison();
  ASSERT_TRUE(at_north.has_value());
  at_north->Enter(at_west.Shown(), kNow);
  at_west.Enter(at_north->Shown(), kNow);
  EXPECT_TRUE(at_north->agreed() && at_west.agreed());
  // The same line again, by another connection, of a joiner who forgot that he used it.
  TestInvitations forgetful;
  Accept(forgetful, line, kNow);
  PairingClient again("west", line, "north");
  const Bytes hello = Joiner(line, again.ends(), forgetful, sites.random).Hello(kNow);
  EXPECT_EQ(again.Send("/hello", hello).status, 400u);
  EXPECT_THROW(Joiner(line, again.ends(), sites.west, sites.random).Hello(kNow), Error);
}

// He holds the keys of both: even then the connections differ, and so do the digits.
TEST(PairingHttpsTest, WhoEndsBothConnectionsIsFound) {
  TwoSites sites;
  PairingNode north("north", "north", sites.north);
  const Invitation line = LineTo(north.address(), "north", sites);
  TestInvitations copy = sites.north;
  PairingNode middle("north", "north", copy);
  Invitation turned = line;
  turned.address = middle.address();
  PairingClient client("west", turned, "north");
  Comparison at_west = Join(client, turned, sites);
  TwoSites his;
  his.west.book = sites.north.book;
  for (auto& entry : his.west.book.lines) entry.used = false;
  PairingClient his_client("west", line, "north");
  Join(his_client, line, his);
  std::optional<Comparison> at_north = north.comparison();
  ASSERT_TRUE(at_north.has_value());
  EXPECT_NE(at_north->hash(), at_west.hash());
  EXPECT_EQ(CodeOf([&] { at_north->Enter(at_west.Shown(), kNow); }), ErrorCode::kUntrusted);
  EXPECT_EQ(CodeOf([&] { at_west.Enter(at_north->Shown(), kNow); }), ErrorCode::kUntrusted);
}

}  // namespace
}  // namespace partita::node::pairing_https_test
