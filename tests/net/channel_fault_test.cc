// What goes wrong between parties: lost peers, aborts, deadlines, cancellation, hostile frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "net/channel.h"
#include "net/delayed_transport.h"
#include "net/stop.h"
#include "tests/net/fault_transport.h"
#include "tests/net/parties.h"
#include "tests/net/tls_parties.h"

namespace partita::net::channel_fault_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

struct Kind {
  std::string name;
  Transports (*make)(size_t parties);
};

class FaultTest : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Transports, FaultTest,
                         testing::Values(Kind{"Memory", MemoryParties},
                                         Kind{"Tls", [](size_t n) { return TlsParties(n); }}),
                         [](const auto& kind) { return kind.param.name; });

Send Message(PartyIndex to, const Bytes& bytes) { return {to, bytes, 0, {}}; }
Receive Into(PartyIndex from, Bytes& bytes) { return {from, bytes, 0, {}, nullptr, 0}; }

void SendBytes(Channel& channel, PartyIndex to, const Bytes& bytes) {
  const Send send = Message(to, bytes);
  channel.Exchange({&send, 1}, {});
}
Bytes ReceiveBytes(Channel& channel, PartyIndex from, size_t size) {
  Bytes bytes(size);
  const Receive receive = Into(from, bytes);
  channel.Exchange({}, {&receive, 1});
  return bytes;
}

TEST_P(FaultTest, ClosedPeerIsNamedAndPoisons) {
  auto errors = RunChannels(GetParam().make(2), [](Channel& channel) {
    channel.BeginPhase("moments");
    if (channel.self() == 1) return;
    try {
      ReceiveBytes(channel, 1, 10);
    } catch (const Error& first) {
      EXPECT_EQ(first.code(), ErrorCode::kPeerLost);
      EXPECT_THAT(first.message(), HasSubstr("party south closed the connection"));
      EXPECT_THAT(first.message(), HasSubstr("'moments'"));
      EXPECT_FALSE(first.hint().empty());
    }
    channel.Exchange({}, {});  // even an empty one: the channel is poisoned
  });
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerLost);
  EXPECT_THAT(errors[0]->message(), HasSubstr("given up earlier"));
}

// What was sent before the close still arrives.
TEST_P(FaultTest, LastWordsArrive) {
  const size_t size = 100'000;
  auto errors = RunChannels(GetParam().make(2), [&](Channel& channel) {
    if (channel.self() == 1) {
      SendBytes(channel, 0, Pattern(1, 0, 0, size));
    } else {
      EXPECT_EQ(ReceiveBytes(channel, 1, size), Pattern(1, 0, 0, size));
    }
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST_P(FaultTest, ClosedInTheMiddleOfAMessage) {
  auto errors = RunTransports(GetParam().make(2), [](std::unique_ptr<Transport> transport) {
    if (transport->self() == 1) {
      transport = std::make_unique<FaultTransport>(std::move(transport),
                                                   [](PartyIndex, size_t, const Bytes& whole) {
                                                     Bytes half(whole.begin(), whole.begin() + 532);
                                                     return std::vector<Bytes>{half};
                                                   });
      Channel channel(std::move(transport), kTestRun, 1);
      SendBytes(channel, 0, Bytes(1000));
    } else {
      Channel channel(std::move(transport), kTestRun, 1);
      ReceiveBytes(channel, 1, 1000);
    }
  });
  EXPECT_FALSE(errors[1]);
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerLost);
  EXPECT_THAT(errors[0]->message(), HasSubstr("in the middle of a message"));
}

// Sending to a peer that goes away ends, however much is left to send.
TEST_P(FaultTest, SendingToAClosedPeerEnds) {
  auto errors = RunChannels(GetParam().make(2), [](Channel& channel) {
    if (channel.self() == 1) return;
    const Bytes big(size_t{1} << 20);
    for (int i = 0; i < 1000; ++i) SendBytes(channel, 1, big);
  });
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerLost);
  EXPECT_THAT(errors[0]->message(), HasSubstr("party south"));
}

TEST_P(FaultTest, SilenceTimesOutNamingPeerAndPhase) {
  std::atomic<bool> done = false, sent = false;
  for (bool explicit_deadline : {false, true}) {
    done = sent = false;
    auto errors = RunChannels(GetParam().make(3), [&](Channel& channel) {
      channel.BeginPhase("fit");
      if (channel.self() == 0) {
        Bytes a(1), b(1);
        const Receive receives[] = {Into(1, a), Into(2, b)};
        channel.SetTimeout(milliseconds(explicit_deadline ? 60'000 : 50));
        while (!sent)
          std::this_thread::yield();  // on a busy machine east may need longer than that
        try {
          if (explicit_deadline) {
            channel.Exchange({}, receives, Deadline::After(milliseconds(50)));
          } else {
            channel.Exchange({}, receives);
          }
        } catch (const Error&) {
          done = true;
          throw;
        }
      } else if (channel.self() == 2) {
        SendBytes(channel, 0, Bytes(1));
        sent = true;
      } else {
        while (!done) std::this_thread::yield();  // silent, but not gone
      }
    });
    ASSERT_TRUE(errors[0]);
    EXPECT_EQ(errors[0]->code(), ErrorCode::kTimeout);
    EXPECT_THAT(errors[0]->message(), HasSubstr("party south"));
    EXPECT_THAT(errors[0]->message(), testing::Not(HasSubstr("east")));
    EXPECT_THAT(errors[0]->message(), HasSubstr("'fit'"));
  }
}

TEST_P(FaultTest, AbortReasonReachesEveryPeer) {
  auto errors = RunChannels(GetParam().make(3), [](Channel& channel) {
    if (channel.self() == 2) {
      channel.Abort(Error(ErrorCode::kRefused, "the budget is used up"), StopReason::kLedger);
      channel.Exchange({}, {});
    } else if (channel.self() == 1) {
      ReceiveBytes(channel, 2, 5);
    } else {
      ReceiveBytes(channel, 1, 5);  // waits for somebody else, and yet hears of it
    }
  });
  for (int i : {0, 1}) {
    ASSERT_TRUE(errors[i]);
    EXPECT_EQ(errors[i]->code(), ErrorCode::kPeerLost);
  }
  EXPECT_EQ(errors[1]->message(),
            "party east stopped (phase 'start'): its own privacy ledger does not allow this run");
  // north hears east's reason, or that south went away because of it.
  EXPECT_THAT(errors[0]->message(), testing::AnyOf(HasSubstr("ledger"), HasSubstr("south")));
  ASSERT_TRUE(errors[2]);
  EXPECT_EQ(errors[2]->code(), ErrorCode::kRefused);
  EXPECT_THAT(errors[2]->message(), HasSubstr("the budget is used up"));
}

// Who was told of a stop names it when it stops itself. East's own word to north is lost.
TEST_P(FaultTest, ReasonsArePassedOn) {
  std::atomic<bool> left = false;
  auto errors = RunTransports(GetParam().make(3), [&](std::unique_ptr<Transport> transport) {
    const PartyIndex self = transport->self();
    if (self == 2) {
      transport = std::make_unique<FaultTransport>(
          std::move(transport), [](PartyIndex to, size_t, const Bytes& frame) {
            return to == 0 ? std::vector<Bytes>{} : std::vector<Bytes>{frame};
          });
    }
    Channel channel(std::move(transport), kTestRun, 1);
    if (self == 2) {
      channel.Abort(Error(ErrorCode::kBadData, "row 17 has age -4"));
      left = true;
      return;
    }
    while (!left) std::this_thread::yield();
    try {
      ReceiveBytes(channel, self + 1, 5);
    } catch (const Error& error) {
      channel.Abort(error);
      throw;
    }
  });
  ASSERT_TRUE(errors[0]);
  ASSERT_TRUE(errors[1]);
  const std::string reason = "its data failed a check (details are shown to the owner only)";
  EXPECT_EQ(errors[1]->message(), "party east stopped (phase 'start'): " + reason);
  EXPECT_EQ(errors[0]->message(), "party east stopped (phase 'start', as south says): " + reason);
}

// north is stuck sending much when east's abort arrives, and finds it behind unread messages.
TEST_P(FaultTest, AbortIsFoundBehindUnreadMessages) {
  auto errors = RunChannels(GetParam().make(2), [](Channel& channel) {
    if (channel.self() == 1) {
      SendBytes(channel, 0, Bytes(10'000));
      SendBytes(channel, 0, Bytes(0));
      channel.Abort(Error(ErrorCode::kRefused, "the steward said no"), StopReason::kApproval);
    } else {
      const Bytes big(size_t{1} << 20);
      for (int i = 0; i < 1000; ++i) SendBytes(channel, 1, big);
    }
  });
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kPeerLost);
  EXPECT_THAT(errors[0]->message(), HasSubstr("its own approval does not allow this run"));
}

// An idle peer may send ahead; its message waits for the exchange that wants it.
TEST_P(FaultTest, MessagesSentAheadAreKept) {
  auto errors = RunChannels(GetParam().make(3), [](Channel& channel) {
    if (channel.self() == 0) {
      EXPECT_EQ(ReceiveBytes(channel, 2, 1), Bytes{9});
      EXPECT_EQ(ReceiveBytes(channel, 1, 3), (Bytes{1, 2, 3}));
    } else if (channel.self() == 1) {
      SendBytes(channel, 0, {1, 2, 3});
      SendBytes(channel, 2, {1});
    } else {
      ReceiveBytes(channel, 1, 1);
      SendBytes(channel, 0, {9});
    }
  });
  EXPECT_EQ(Describe(errors), "");
}

class Cancelling : public SilentProgress {
 public:
  void CheckCancelled() override {
    if (++checks_ == 2) throw Error(ErrorCode::kCancelled, "interrupted");
  }

 private:
  int checks_ = 0;
};

TEST_P(FaultTest, CancellationInterruptsAWait) {
  std::atomic<bool> done = false;
  auto errors = RunChannels(GetParam().make(2), [&](Channel& channel) {
    if (channel.self() == 1) {
      while (!done) std::this_thread::yield();
      return;
    }
    Cancelling progress;
    channel.SetProgress(&progress);
    const auto start = SteadyClock::now();
    try {
      ReceiveBytes(channel, 1, 1);
    } catch (const Error&) {
      EXPECT_LT(SecondsSince(start), 30);  // not the 60 s of the time-out
      done = true;
      throw;
    }
  });
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kCancelled);
}

TEST_P(FaultTest, ThrowingProducerPoisons) {
  auto errors = RunChannels(GetParam().make(2), [&](Channel& channel) {
    if (channel.self() == 1) {
      ReceiveBytes(channel, 0, 200'000);
      return;
    }
    const Send send{1, {}, 200'000, [](uint64_t offset, std::span<uint8_t>) {
                      if (offset > 0) throw Error(ErrorCode::kBadData, "row 5 is gone");
                    }};
    EXPECT_THROW(channel.Exchange({&send, 1}, {}), Error);
    channel.Exchange({}, {});
  });
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kBadData);
  ASSERT_TRUE(errors[1]);
  EXPECT_EQ(errors[1]->code(), ErrorCode::kPeerLost);
}

// --- hostile frames -----------------------------------------------------------------------------

// south sends three messages of one byte through `fault`; what does north say?
std::optional<Error> NorthAgainst(const Fault& fault, std::string_view phase_of_south = "p") {
  auto errors = RunTransports(MemoryParties(2), [&](std::unique_ptr<Transport> transport) {
    const bool south = transport->self() == 1;
    if (south) transport = std::make_unique<FaultTransport>(std::move(transport), fault);
    Channel channel(std::move(transport), kTestRun, 1);
    channel.BeginPhase(south ? phase_of_south : "p");
    if (south) {
      const Bytes bytes[] = {{10}, {11}, {12}};
      const Send sends[] = {Message(0, bytes[0]), Message(0, bytes[1]), Message(0, bytes[2])};
      channel.Exchange(sends, {});
    } else {
      for (uint8_t i = 0; i < 3; ++i)
        EXPECT_EQ(ReceiveBytes(channel, 1, 1), Bytes{uint8_t(10 + i)});
    }
  });
  return errors[0];
}

void ExpectFault(const std::optional<Error>& error, const std::string& what) {
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kPeerFault);
  EXPECT_THAT(error->message(), HasSubstr("party south"));
  EXPECT_THAT(error->message(), HasSubstr(what));
}

TEST(HostileFrameTest, HonestFramesPass) {
  EXPECT_FALSE(NorthAgainst(
      [](PartyIndex, size_t, const Bytes& frame) { return std::vector<Bytes>{frame}; }));
}

TEST(HostileFrameTest, EveryHeaderByteCounts) {
  for (size_t at = 0; at < kFrameHeaderBytes; ++at) {
    if (at >= 40 && at < 46) continue;  // the depth is the sender's word
    const auto error = NorthAgainst([at](PartyIndex, size_t number, const Bytes& frame) {
      Bytes bad = frame;
      if (number == 1) bad[at] = static_cast<uint8_t>(bad[at] ^ 0x80);
      return std::vector<Bytes>{bad};
    });
    ASSERT_TRUE(error) << "byte " << at;
    EXPECT_EQ(error->code(), ErrorCode::kPeerFault) << "byte " << at;
  }
}

TEST(HostileFrameTest, ReplayDropAndSwap) {
  ExpectFault(NorthAgainst([](PartyIndex, size_t, const Bytes& frame) {
                return std::vector<Bytes>{frame, frame};
              }),
              "sequence number is 0, not 1");
  ExpectFault(NorthAgainst([](PartyIndex, size_t number, const Bytes& frame) {
                return number == 1 ? std::vector<Bytes>{} : std::vector<Bytes>{frame};
              }),
              "sequence number is 2, not 1");
  Bytes held;
  ExpectFault(NorthAgainst([&held](PartyIndex, size_t number, const Bytes& frame) {
                if (number == 0) {
                  held = frame;
                  return std::vector<Bytes>{};
                }
                return number == 1 ? std::vector<Bytes>{frame, held} : std::vector<Bytes>{frame};
              }),
              "sequence number is 1, not 0");
}

TEST(HostileFrameTest, OversizeIsRefusedBeforeAllocation) {
  auto errors = RunTransports(MemoryParties(2), [&](std::unique_ptr<Transport> transport) {
    if (transport->self() == 1) {
      FrameHeader header;
      header.run_tag = MakeRunTag(kTestRun, 1);
      header.phase_tag = MakePhaseTag("p", 1);
      header.length = uint64_t{1} << 60;
      header.from = 1;
      const HeaderBytes bytes = EncodeHeader(header);
      EXPECT_EQ(transport->Write(0, bytes).bytes, bytes.size());
      return;
    }
    Channel channel(std::move(transport), kTestRun, 1);
    channel.BeginPhase("p");
    Bytes body;
    const Receive receive{1, {}, 0, {}, &body, 1000};
    channel.Exchange({}, {&receive, 1});
  });
  ExpectFault(errors[0], "at most 1000 are allowed");
}

TEST(HostileFrameTest, OversizeAbortIsRefused) {
  auto errors = RunTransports(MemoryParties(2), [&](std::unique_ptr<Transport> transport) {
    if (transport->self() == 1) {
      FrameHeader header;
      header.type = FrameType::kAbort;
      header.length = uint64_t{1} << 40;
      header.from = 1;
      const HeaderBytes bytes = EncodeHeader(header);
      EXPECT_EQ(transport->Write(0, bytes).bytes, bytes.size());
      return;
    }
    Channel channel(std::move(transport), kTestRun, 1);
    ReceiveBytes(channel, 1, 1);
  });
  ExpectFault(errors[0], "it has 1099511627776 bytes, not 4");
}

TEST(HostileFrameTest, OtherPhaseRunOrAttempt) {
  const Fault honest = [](PartyIndex, size_t, const Bytes& frame) {
    return std::vector<Bytes>{frame};
  };
  ExpectFault(NorthAgainst(honest, "q"), "another phase");
  const std::pair<Bytes, uint32_t> others[] = {{{1, 2, 4}, 1}, {kTestRun, 2}};
  for (const auto& other : others) {
    auto errors = RunTransports(MemoryParties(2), [&](std::unique_ptr<Transport> transport) {
      const bool south = transport->self() == 1;
      Channel channel(std::move(transport), south ? other.first : kTestRun,
                      south ? other.second : 1);
      if (south) {
        SendBytes(channel, 0, {1});
      } else {
        ReceiveBytes(channel, 1, 1);
      }
    });
    ExpectFault(errors[0], "another run or attempt");
  }
}

TEST(HostileFrameTest, WrongSizeIsRefusedForEveryDestination) {
  for (int kind = 0; kind < 3; ++kind) {
    for (size_t sent : {9, 11}) {
      if (kind == 2 && sent == 9) continue;  // a body may be shorter
      auto errors = RunChannels(MemoryParties(2), [&](Channel& channel) {
        if (channel.self() == 1) return SendBytes(channel, 0, Bytes(sent));
        Bytes into(10), body;
        Receive receive{1, {}, 10, {}, nullptr, 10};
        if (kind == 0) receive.into = into;
        if (kind == 1) receive.consumer = [](uint64_t, ByteView) { FAIL(); };
        if (kind == 2) receive.body = &body;
        channel.Exchange({}, {&receive, 1});
      });
      ExpectFault(errors[0], kind == 2 ? "at most 10" : "not 10");
    }
  }
}

}  // namespace
}  // namespace partita::net::channel_fault_test
