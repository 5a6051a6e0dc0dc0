// What is told of a stop: a number of a list, whatever the error says.
#include "net/stop.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/net/parties.h"

namespace partita::net::stop_test {
namespace {

constexpr size_t kNumCodes = static_cast<size_t>(ErrorCode::kInternal) + 1;

TEST(StopTest, LayoutIsFixed) {
  EXPECT_EQ(EncodeStop({StopReason::kTimeout, 258}), (Bytes{8, 0, 2, 1}));
  EXPECT_EQ(DecodeStop(Bytes{8, 0, 2, 1}, 259), (Stop{StopReason::kTimeout, 258}));
}

TEST(StopTest, EveryReasonHasItsOwnText) {
  std::set<std::string_view> texts;
  for (uint8_t number = 1; const std::optional<Stop> stop = DecodeStop(Bytes{number, 0, 0, 0}, 1);
       ++number) {
    EXPECT_EQ(EncodeStop(*stop)[0], number);
    texts.insert(ReasonText(stop->reason));
    EXPECT_EQ(texts.size(), number);
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(StopReason::kNoPart));
}

TEST(StopTest, OtherBytesAreNoStop) {
  for (const Bytes& bytes : {Bytes{}, Bytes{1, 0, 0}, Bytes{1, 0, 0, 0, 0}, Bytes{0, 0, 0, 0},
                             Bytes{15, 0, 0, 0}, Bytes{1, 1, 0, 0}, Bytes{1, 0, 2, 0}}) {
    EXPECT_EQ(DecodeStop(bytes, 2), std::nullopt) << ToHex(bytes);
  }
}

// Every code, with texts of any kind: the frames that a peer reads are the same, byte for byte, but
// for the number of the reason.
TEST(StopTest, NothingOfTheTextIsSent) {
  const std::string texts[] = {"", "/home/ann/north.csv: row 17 has age -4",
                               std::string(5000, 's') + " database is locked"};
  for (size_t code = 0; code < kNumCodes; ++code) {
    std::set<Bytes> seen;
    for (const std::string& text : texts) {
      RunTransports(MemoryParties(2), [&](std::unique_ptr<Transport> transport) {
        if (transport->self() == 0) {
          Channel channel(std::move(transport), kTestRun, 1);
          channel.Abort(Error(static_cast<ErrorCode>(code), text, text));
          return;
        }
        Bytes all;
        for (bool open = true; open;) {
          Bytes piece(10'000);
          const Io io = transport->Read(0, piece);
          all.insert(all.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(io.bytes));
          open = !io.closed;
          const Interest interest{0, true, false};
          if (open) transport->Wait({&interest, 1}, std::chrono::milliseconds(100));
        }
        ASSERT_EQ(all.size(), kFrameHeaderBytes + kStopBytes);
        EXPECT_EQ(Bytes(all.end() - 4, all.end()),
                  EncodeStop({ReasonFor(static_cast<ErrorCode>(code)), 0}));
        seen.insert(all);
      });
    }
    EXPECT_EQ(seen.size(), 1u) << code;
  }
}

}  // namespace
}  // namespace partita::net::stop_test
