// What moves between and around messages: reasons to stop, signs of life, and the clock.
#include "net/frame_pump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "net/delayed_transport.h"
#include "tests/net/parties.h"
#include "tests/net/scripted_transport.h"

namespace partita::net::frame_pump_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr size_t kNoLimit = size_t{1} << 30;

// A frame from south (1) to north (0).
FrameHeader Header(FrameType type, size_t length = 0) {
  FrameHeader header;
  header.type = type;
  header.run_tag = MakeRunTag(kTestRun, 1);
  header.length = length;
  header.from = 1;
  return header;
}

FrameHeader Data(uint64_t sequence, size_t length) {
  FrameHeader header = Header(FrameType::kData, length);
  header.phase_tag = MakePhaseTag("start", 0);
  header.sequence = sequence;
  return header;
}

Bytes Wire(const FrameHeader& header, const std::string& payload = "") {
  ByteWriter writer;
  writer.Raw(EncodeHeader(header));
  writer.Raw(AsBytes(payload));
  return writer.Take();
}

// North wants to send 1000 bytes and to receive `wanted` messages of one byte.
std::optional<Error> North(std::unique_ptr<Transport> transport, size_t wanted,
                           milliseconds timeout = milliseconds(60'000), size_t message_bytes = 1) {
  Channel channel(std::move(transport), kTestRun, 1);
  channel.SetTimeout(timeout);
  const Bytes out(1000);
  std::vector<Bytes> in(wanted, Bytes(message_bytes));
  const Send send{1, out, 0, {}};
  std::vector<Receive> receives;
  for (Bytes& bytes : in) receives.push_back({1, bytes, 0, {}, nullptr, 0});
  try {
    channel.Exchange({&send, 1}, receives);
  } catch (const Error& error) {
    return error;
  }
  for (size_t i = 0; i < wanted; ++i) EXPECT_EQ(in[i], Bytes(message_bytes, uint8_t('a' + i)));
  return std::nullopt;
}

std::optional<Error> NorthReads(std::vector<Bytes> pieces, size_t wanted,
                                size_t write_limit = kNoLimit) {
  return North(std::make_unique<ScriptedTransport>(std::move(pieces), true, write_limit), wanted);
}

// --- reasons ------------------------------------------------------------------------------------

// Our send fails when the header of south's abort was read, but its reason was not.
TEST(AbortTest, ReasonSurvivesAFailedSend) {
  for (size_t cut : {0, 1, 3}) {
    const Bytes stop = EncodeStop({StopReason::kApproval, 1});
    const std::string begun(stop.begin(), stop.begin() + static_cast<ptrdiff_t>(cut));
    const Bytes rest(stop.begin() + static_cast<ptrdiff_t>(cut), stop.end());
    const auto error =
        NorthReads({Wire(Header(FrameType::kAbort, stop.size()), begun), rest}, 1, 100);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::kPeerLost);
    EXPECT_EQ(error->message(),
              "party south stopped (phase 'start'): its own approval does not allow this run");
  }
}

// Whatever four bytes a peer sends, what reaches the terminal are words of this program.
TEST(AbortTest, OnlyReasonsOfTheListAreSaid) {
  const auto said = [](const std::string& body) {
    return NorthReads({Wire(Header(FrameType::kAbort, body.size()), body)}, 1).value();
  };
  const std::string unknown = "party south stopped and gives an unknown reason (phase 'start')";
  for (const char* body : {"\x1b[2J", "\0\0\1\0", "\x0f\0\1\0", "\1\1\1\0", "\1\0\2\0"}) {
    const Error error = said(std::string(body, kStopBytes));
    EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
    EXPECT_EQ(error.message(), unknown);
  }
  for (const char* text : {"", "abc", "the steward said no"}) {
    EXPECT_THAT(said(text).message(), HasSubstr("bytes, not 4"));
  }
  EXPECT_EQ(said(std::string("\x0d\0\0\0", kStopBytes)).message(),
            "party north stopped (phase 'start', as south says): it closed the connection");
}

// --- signs of life ------------------------------------------------------------------------------

TEST(KeepAliveTest, IsAcceptedWhereverAHeaderMayStart) {
  const Bytes alive = Wire(Header(FrameType::kKeepAlive));
  const Bytes begin(alive.begin(), alive.begin() + 10), end(alive.begin() + 10, alive.end());
  EXPECT_EQ(NorthReads({alive, Wire(Data(0, 1), "a"), alive, alive, Wire(Data(1, 1), "b"), begin,
                        end, Wire(Data(2, 1), "c")},
                       3),
            std::nullopt);
}

TEST(KeepAliveTest, OthersAreRefused) {
  const std::pair<std::function<void(FrameHeader&)>, std::string> cases[] = {
      {[](FrameHeader& h) { h.run_tag = MakeRunTag(kTestRun, 2); }, "another run or attempt"},
      {[](FrameHeader& h) { h.length = 1; }, "it has 1 bytes, not 0"},
      {[](FrameHeader& h) { h.sequence = 1; }, "sequence number is 1"},
      {[](FrameHeader& h) { h.phase_tag[0] = 1; }, "another phase"},
      {[](FrameHeader& h) { h.from = 0; }, "it goes from party number 0"},
  };
  for (const auto& [change, reason] : cases) {
    FrameHeader header = Header(FrameType::kKeepAlive);
    change(header);
    const auto error = NorthReads({Wire(header), Wire(Data(0, 1), "a")}, 1);
    ASSERT_TRUE(error) << reason;
    EXPECT_EQ(error->code(), ErrorCode::kPeerFault);
    EXPECT_THAT(error->message(), HasSubstr(reason));
  }
}

// Says only that it is alive, at once and for ever.
class Chatterbox : public ScriptedTransport {
 public:
  Chatterbox() : ScriptedTransport({}, false, kNoLimit) {}
  Io Read(PartyIndex, std::span<uint8_t> out) override {
    rested_ = !rested_;
    if (rested_) return {0, false};
    const Bytes alive = Wire(Header(FrameType::kKeepAlive));
    EXPECT_EQ(out.size(), alive.size());
    std::copy(alive.begin(), alive.end(), out.begin());
    return {alive.size(), false};
  }

 private:
  bool rested_ = false;
};

TEST(KeepAliveTest, AloneDoesNotHoldUsForEver) {
  const milliseconds timeout(20);
  const auto start = SteadyClock::now();
  const auto error = North(std::make_unique<Chatterbox>(), 1, timeout);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kTimeout);
  EXPECT_THAT(error->message(), HasSubstr("party south, with signs of life but no message"));
  EXPECT_GE(SteadyClock::now() - start, kMaxSilences * timeout);
}

// A message that comes byte by byte, each in time, but all together would take minutes.
class Drip : public ScriptedTransport {
 public:
  explicit Drip(milliseconds pause)
      : ScriptedTransport({}, false, kNoLimit), wire_(Wire(Data(0, 5000))), pause_(pause) {}
  Io Read(PartyIndex, std::span<uint8_t> out) override {
    if (read_ < kFrameHeaderBytes) {
      const size_t size = std::min(out.size(), kFrameHeaderBytes - read_);
      std::copy_n(wire_.begin() + static_cast<ptrdiff_t>(read_), size, out.begin());
      read_ += size;
      return {size, false};
    }
    if (SteadyClock::now() - last_ < pause_) return {0, false};
    last_ = SteadyClock::now();
    out[0] = 'a';
    return {1, false};
  }

 private:
  Bytes wire_;
  size_t read_ = 0;
  milliseconds pause_;
  SteadyClock::time_point last_;
};

TEST(TimeTest, DrippingBytesAreNoProgress) {
  const auto error = North(std::make_unique<Drip>(milliseconds(20)), 1, milliseconds(400), 5000);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kTimeout);
  EXPECT_THAT(error->message(), HasSubstr("party south"));
}

// --- real parties -------------------------------------------------------------------------------

Send Message(PartyIndex to, const Bytes& bytes) { return {to, bytes, 0, {}}; }
Receive Into(PartyIndex from, Bytes& bytes) { return {from, bytes, 0, {}, nullptr, 0}; }

// Exchanges one byte with `peer` for at least `seconds`; the lower number says when to stop.
size_t TalkFor(Channel& channel, PartyIndex peer, double seconds,
               const std::optional<Deadline>& deadline = std::nullopt) {
  const auto start = SteadyClock::now();
  const bool leads = channel.self() < peer;
  size_t rounds = 0;
  for (Bytes in = {1}; in[0] != 0; ++rounds) {
    const Bytes out = {uint8_t(SecondsSince(start) < seconds)};
    const Send send = Message(peer, out);
    const Receive receive = Into(peer, in);
    if (deadline) {
      channel.Exchange({&send, 1}, {&receive, 1}, *deadline);
    } else {
      channel.Exchange({&send, 1}, {&receive, 1});
    }
    if (leads) in = out;
  }
  return rounds;
}

// east finished its part and waits for two that are busy with each other for three timeouts.
TEST(KeepAliveTest, WaitingPartyOutlastsALongRunOfOthers) {
  const milliseconds timeout(kSanitized ? 2000 : 800);
  Transports transports = MemoryParties(3);
  for (auto& transport : transports) {
    transport = DelayTransport(std::move(transport), {milliseconds(5), 0});
  }
  const auto errors = RunChannels(std::move(transports), [&](Channel& channel) {
    channel.SetTimeout(timeout);
    size_t rounds = 0;
    if (channel.self() != 2)
      rounds = TalkFor(channel, 1 - channel.self(), 3e-3 * double(timeout.count()));
    channel.BeginPhase("finish");
    std::vector<Bytes> in(3, Bytes(1));
    const Bytes out(1);
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (PartyIndex peer = 0; peer < 3; ++peer) {
      if (peer == channel.self()) continue;
      sends.push_back(Message(peer, out));
      receives.push_back(Into(peer, in[peer]));
    }
    channel.Exchange(sends, receives);
    // Signs of life are no traffic, no round and no message of the protocol.
    const PhaseTraffic finish = channel.traffic().back();
    if (channel.self() != 2) {
      EXPECT_EQ(channel.traffic()[0].rounds, rounds);
      EXPECT_EQ(finish.rounds, 1u);
    }
    for (PartyIndex peer : {0, 1, 2}) {
      EXPECT_EQ(finish.links[peer].messages_sent, peer == channel.self() ? 0u : 1u);
      EXPECT_EQ(finish.links[peer].messages_received, peer == channel.self() ? 0u : 1u);
    }
  });
  EXPECT_EQ(Describe(errors), "");
}

// south is silent with an open connection; east waits too and says so.
TEST(KeepAliveTest, SilentPartyIsStillNamed) {
  std::atomic<bool> done = false;
  const auto errors = RunChannels(MemoryParties(3), [&](Channel& channel) {
    channel.SetTimeout(milliseconds(kSanitized ? 2000 : 800));
    Bytes a(1), b(1);
    const Receive receives[] = {Into(1, a), Into(2, b)};
    const Receive answer = Into(0, a);
    try {
      if (channel.self() == 0) channel.Exchange({}, receives);
      if (channel.self() == 2)
        channel.Exchange({}, {&answer, 1}, Deadline::After(milliseconds(60'000)));
    } catch (const Error&) {
      if (channel.self() == 0) done = true;
      throw;
    }
    while (!done) std::this_thread::yield();
  });
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::kTimeout);
  EXPECT_EQ(errors[0]->message(),
            "the deadline passed in phase 'start' while waiting for party south");
}

// east does not read for so long that its stream is full in the middle of a keep-alive. The others
// do not wait for it, and what it gets afterwards is whole.
TEST(KeepAliveTest, NeverWaitsForRoom) {
  crypto::Prg random = TestRandom(1);
  Transports transports = MakeMemoryTransports(PartyNames(3), random, 100);
  std::atomic<int> ready = 0;
  const auto errors = RunChannels(std::move(transports), [&](Channel& channel) {
    const Deadline deadline = Deadline::After(milliseconds(60'000));
    channel.SetTimeout(milliseconds(40));
    if (channel.self() == 2) {
      while (ready < 2) std::this_thread::yield();
      channel.SetTimeout(milliseconds(60'000));
      for (PartyIndex peer : {0, 1}) {
        Bytes in(300);
        const Receive receive = Into(peer, in);
        channel.Exchange({}, {&receive, 1}, deadline);
        EXPECT_EQ(in, Pattern(peer, 2, 0, 300));
      }
      return;
    }
    TalkFor(channel, 1 - channel.self(), 0.3, deadline);
    ++ready;
    const Bytes last = Pattern(channel.self(), 2, 0, 300);
    const Send send = Message(2, last);
    channel.Exchange({&send, 1}, {}, deadline);
  });
  EXPECT_EQ(Describe(errors), "");
}

// A party that needs nothing more may be gone, even in the middle of a keep-alive to it: nobody
// fails because it cannot be told.
TEST(KeepAliveTest, MayFindAPeerGone) {
  crypto::Prg random = TestRandom(1);
  Transports transports = MakeMemoryTransports(PartyNames(3), random, 100);
  std::atomic<int> talked = 0;
  const auto errors = RunChannels(std::move(transports), [&](Channel& channel) {
    channel.SetTimeout(milliseconds(4));
    while (channel.self() == 2 && talked < 2) std::this_thread::yield();
    if (channel.self() == 2) return;
    const Deadline deadline = Deadline::After(milliseconds(60'000));
    TalkFor(channel, 1 - channel.self(), 0.1, deadline);
    ++talked;
    TalkFor(channel, 1 - channel.self(), 0.2, deadline);
  });
  EXPECT_EQ(Describe(errors), "");
}

}  // namespace
}  // namespace partita::net::frame_pump_test
