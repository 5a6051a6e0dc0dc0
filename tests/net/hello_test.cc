#include "net/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "tests/net/fault_transport.h"
#include "tests/net/parties.h"
#include "tests/net/tls_parties.h"

namespace partita::net::hello_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

crypto::Digest D(uint8_t value) {
  crypto::Digest digest;
  digest.fill(value);
  return digest;
}

HelloInput Input(PartyIndex self) {
  return {
      .study_hash = D(1), .plan_hash = D(2), .commitment = D(uint8_t(100 + self)), .attempt = 1};
}

// Every party says hello with input(self); sessions by party.
std::vector<std::optional<Error>> SayAll(Transports transports,
                                         const std::function<HelloInput(PartyIndex)>& input,
                                         std::vector<Session>* sessions = nullptr,
                                         seconds patience = seconds(30)) {
  if (sessions != nullptr) sessions->resize(transports.size());
  return RunTransports(std::move(transports), [&](std::unique_ptr<Transport> transport) {
    const PartyIndex self = transport->self();
    crypto::SystemRandom random;
    Session session = SayHello(*transport, input(self), random, Deadline::After(patience));
    if (sessions != nullptr) (*sessions)[self] = std::move(session);
  });
}

TEST(HelloTest, AgreesOnOneRun) {
  std::set<crypto::Digest> runs;
  for (int tls = 0; tls < 2; ++tls) {
    for (int again = 0; again < 2; ++again) {
      std::vector<Session> sessions;
      const auto errors = SayAll(tls ? TlsParties(4) : MemoryParties(4), Input, &sessions);
      ASSERT_EQ(Describe(errors), "");
      for (PartyIndex i = 0; i < 4; ++i) {
        EXPECT_EQ(sessions[i].run_id, sessions[0].run_id);
        EXPECT_EQ(sessions[i].commitments,
                  (std::vector<crypto::Digest>{D(100), D(101), D(102), D(103)}));
      }
      runs.insert(sessions[0].run_id);
    }
  }
  EXPECT_EQ(runs.size(), 4u);  // fresh nonces: never the same run twice
}

TEST(HelloTest, IsItsOwnPhaseAndTheChannelFollows) {
  auto errors = RunTransports(MemoryParties(3), [](std::unique_ptr<Transport> transport) {
    const PartyIndex self = transport->self();
    crypto::SystemRandom random;
    const Session session = SayHello(*transport, Input(self), random, Deadline::After(seconds(30)));
    Channel channel(std::move(transport), session);
    channel.BeginPhase("work");
    const Bytes out = {uint8_t(self)};
    Bytes in(1);
    const Send send{(self + 1) % 3, out, 0, {}};
    const Receive receive{(self + 2) % 3, in, 0, {}, nullptr, 0};
    channel.Exchange({&send, 1}, {&receive, 1});
    EXPECT_EQ(in[0], (self + 2) % 3);
    const auto phases = channel.traffic();
    ASSERT_EQ(phases.size(), 2u);
    EXPECT_EQ(phases[0].phase, "hello");
    EXPECT_EQ(phases[0].rounds, 2u);
    for (PartyIndex peer = 0; peer < 3; ++peer) {
      const LinkTraffic& link = phases[0].links[peer];
      const uint64_t hello = 8 + channel.names()[self].size() + 6 * 32 + 4;
      EXPECT_EQ(link.messages_sent, peer == self ? 0u : 2u);
      EXPECT_EQ(link.bytes_sent, peer == self ? 0 : hello + 32);
    }
    EXPECT_EQ(phases[1].phase, "work");
    EXPECT_EQ(phases[1].rounds, 1u);
  });
  EXPECT_EQ(Describe(errors), "");
}

struct Mismatch {
  const char* what;
  std::function<void(HelloInput&)> change;
};

TEST(HelloTest, EveryMismatchStopsBothSidesAndTheOthers) {
  const Mismatch mismatches[] = {
      {"study file", [](HelloInput& input) { input.study_hash[31] ^= 1; }},
      {"plan", [](HelloInput& input) { input.plan_hash[0] ^= 0x80; }},
      {"attempt", [](HelloInput& input) { input.attempt = 2; }},
  };
  for (bool tls : {false, true}) {
    for (const Mismatch& mismatch : mismatches) {
      for (size_t parties : {2, 3}) {
        const auto errors =
            SayAll(tls ? TlsParties(parties) : MemoryParties(parties), [&](PartyIndex self) {
              HelloInput input = Input(self);
              if (self == 1) mismatch.change(input);
              return input;
            });
        bool is_named = false;
        for (PartyIndex i = 0; i < parties; ++i) {
          ASSERT_TRUE(errors[i]) << mismatch.what << i;
          EXPECT_FALSE(errors[i]->hint().empty());
          const bool sees_it = errors[i]->message().find(mismatch.what) != std::string::npos;
          is_named = is_named || sees_it;
          // With more than two parties one may hear of it from another before it sees it itself.
          if (parties > 2) {
            EXPECT_TRUE(sees_it || errors[i]->message().find("does not run what, it expects") !=
                                       std::string::npos)
                << Describe(errors);
            continue;
          }
          EXPECT_TRUE(sees_it) << Describe(errors);
          if (mismatch.what == std::string("study file")) {
            EXPECT_THAT(errors[i]->hint(), testing::AllOf(HasSubstr("roster"), HasSubstr("schemas"),
                                                          HasSubstr("release")));
          }
          EXPECT_EQ(errors[i]->code(), ErrorCode::kUntrusted) << Describe(errors);
          EXPECT_THAT(errors[i]->message(), HasSubstr(i == 0 ? "party south" : "party north"));
        }
        EXPECT_TRUE(is_named) << Describe(errors);
      }
    }
  }
}

TEST(HelloTest, OtherRosterOrderIsNoticed) {
  // The same two parties, but south thinks that there is another name in the list.
  class Renamed : public FaultTransport {
   public:
    explicit Renamed(std::unique_ptr<Transport> inner)
        : FaultTransport(std::move(inner), [](PartyIndex, size_t, const Bytes& frame) {
            return std::vector<Bytes>{frame};
          }) {}
    const std::vector<std::string>& names() const override { return names_; }

   private:
    std::vector<std::string> names_ = {"norht", "south"};
  };
  Transports transports = MemoryParties(2);
  transports[1] = std::make_unique<Renamed>(std::move(transports[1]));
  const auto errors = SayAll(std::move(transports), Input);
  ASSERT_TRUE(errors[0] && errors[1]);
  EXPECT_THAT(errors[0]->message(), HasSubstr("list of parties"));
  EXPECT_THAT(errors[1]->message(), HasSubstr("calls itself 'north'"));
}

// Changes one byte of south's hello to chosen parties, in transit.
std::vector<std::optional<Error>> Tampered(size_t at, const std::set<PartyIndex>& victims) {
  Transports transports = MemoryParties(3);
  transports[1] = std::make_unique<FaultTransport>(
      std::move(transports[1]), [=](PartyIndex to, size_t number, const Bytes& frame) {
        Bytes sent = frame;
        if (number == 0 && victims.contains(to)) sent.at(kFrameHeaderBytes + at) ^= 1;
        return std::vector<Bytes>{sent};
      });
  return SayAll(std::move(transports), Input);
}

constexpr size_t kCommitmentAt = 8 + 5 + 64;
constexpr size_t kNonceAt = kCommitmentAt + 32;
constexpr size_t kBindingAt = kNonceAt + 64 + 4;

// A party that tells two others different things (its commitment, its nonce) is found out.
TEST(HelloTest, EquivocationIsNoticed) {
  for (size_t at : {kCommitmentAt, kNonceAt}) {
    const auto errors = Tampered(at, {2});
    for (PartyIndex i = 0; i < 3; ++i) ASSERT_TRUE(errors[i]) << at;
    const std::string all = Describe(errors);
    EXPECT_THAT(all, HasSubstr("was told something else"));
  }
}

TEST(HelloTest, RelayedHelloIsNoticed) {
  const auto errors = Tampered(kBindingAt, {0});
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kUntrusted);
  EXPECT_THAT(errors[0]->message(), HasSubstr("another connection"));
}

TEST(HelloTest, SilentAndClosedPeersAreNamed) {
  {
    Transports transports = MemoryParties(2);
    const std::unique_ptr<Transport> silent = std::move(transports[1]);
    transports.pop_back();
    const auto errors = SayAll(std::move(transports), Input, nullptr, seconds(0));
    ASSERT_TRUE(errors[0]);
    EXPECT_EQ(errors[0]->code(), ErrorCode::kTimeout);
    EXPECT_THAT(errors[0]->message(), HasSubstr("party south"));
    EXPECT_THAT(errors[0]->message(), HasSubstr("'hello'"));
  }
  Transports transports = MemoryParties(2);
  transports.pop_back();
  const auto errors = SayAll(std::move(transports), Input);
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerLost);
}

// north finishes its hello while south still waits for east's ack: north's first message must not
// be lost.
TEST(HelloTest, WhatFollowsTheHelloIsKept) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    auto errors = RunTransports(MemoryParties(3), [](std::unique_ptr<Transport> transport) {
      const PartyIndex self = transport->self();
      crypto::SystemRandom random;
      const Session session =
          SayHello(*transport, Input(self), random, Deadline::After(seconds(30)));
      Channel channel(std::move(transport), session);
      std::vector<Bytes> in(3, Bytes(1));
      const Bytes out(1);
      std::vector<Send> sends;
      std::vector<Receive> receives;
      for (PartyIndex peer = 0; peer < 3; ++peer) {
        if (peer == self) continue;
        sends.push_back({peer, out, 0, {}});
        receives.push_back({peer, in[peer], 0, {}, nullptr, 0});
      }
      channel.Exchange(sends, {});
      channel.Exchange({}, receives);
    });
    ASSERT_EQ(Describe(errors), "");
  }
}

// Signs of life belong to a run that was agreed on.
TEST(HelloTest, KeepAlivesAreRefused) {
  std::unique_ptr<Transport> open;  // outlives both threads: no closed stream, only the frame
  auto errors = RunTransports(MemoryParties(2), [&](std::unique_ptr<Transport> transport) {
    if (transport->self() == 1) {
      FrameHeader header;
      header.type = FrameType::kKeepAlive;
      header.from = 1;
      const HeaderBytes bytes = EncodeHeader(header);
      EXPECT_EQ(transport->Write(0, bytes).bytes, bytes.size());
      open = std::move(transport);
      return;
    }
    crypto::SystemRandom random;
    SayHello(*transport, Input(0), random, Deadline::After(seconds(30)));
  });
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerFault);
  EXPECT_THAT(errors[0]->message(), HasSubstr("its type is 5, not 3"));
}

TEST(HelloTest, CodecRoundTripAndTruncation) {
  Hello hello{"south", D(1), D(2), D(3), D(4), D(5), 7, D(6)};
  const Bytes bytes = EncodeHello(hello);
  EXPECT_EQ(DecodeHello(bytes, "south"), hello);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(DecodeHello(ByteView(bytes).first(size), "south"), Error);
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_THROW(DecodeHello(longer, "south"), Error);
  // The name goes to a terminal.
  for (const std::string& name :
       {std::string(33, 'a'), std::string(65, 'a'), std::string("so\x1b[2J"),
        std::string("s\xc2\x9b"), std::string()}) {
    hello.name = name;
    try {
      DecodeHello(EncodeHello(hello), "south");
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
      EXPECT_THAT(error.message(), HasSubstr("party south"));
      EXPECT_EQ(error.message().find('\x1b'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace partita::net::hello_test
