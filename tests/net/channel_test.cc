// Exchange over memory: contents, pieces, counters, depth, keys, aborts, deadlines, cancellation.
#include "net/channel.h"

#include <gtest/gtest.h>

#include <atomic>

#include "net/frame.h"
#include "tests/net/parties.h"

namespace partita::net {
namespace {

using std::chrono::milliseconds;

TEST(ChannelTest, EverySizeArrivesFromEveryPeer) {
  const std::vector<size_t> sizes = {0, 1, 63, 16320, 16321, 65536, 65537, 300'001};
  const size_t n = 4;
  auto errors = RunChannels(MemoryParties(n), [&](Channel& channel) {
    const PartyIndex self = channel.self();
    std::vector<Bytes> out, in;
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (PartyIndex peer = 0; peer < n; ++peer) {
      if (peer == self) continue;
      for (size_t k = 0; k < sizes.size(); ++k) {
        out.push_back(Pattern(self, peer, k, sizes[k]));
        in.push_back(Bytes(sizes[k]));
      }
    }
    size_t at = 0;
    for (PartyIndex peer = 0; peer < n; ++peer) {
      if (peer == self) continue;
      for (size_t k = 0; k < sizes.size(); ++k, ++at) {
        sends.push_back({peer, out[at], 0, {}});
        receives.push_back({peer, in[at], 0, {}, nullptr, 0});
      }
    }
    channel.Exchange(sends, receives);
    at = 0;
    for (PartyIndex peer = 0; peer < n; ++peer) {
      if (peer == self) continue;
      for (size_t k = 0; k < sizes.size(); ++k, ++at) {
        EXPECT_EQ(in[at], Pattern(peer, self, k, sizes[k])) << peer << " " << k;
      }
    }
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST(ChannelTest, StreamsComeInFixedPiecesAndBodiesFitTheirLimit) {
  const size_t size = 3 * kStreamPieceBytes + 17;
  auto errors = RunChannels(MemoryParties(2), [&](Channel& channel) {
    const PartyIndex self = channel.self(), peer = 1 - self;
    const Bytes stream = Pattern(self, peer, 0, size), body = Pattern(self, peer, 1, 1000);
    uint64_t produced = 0, consumed = 0;
    Bytes received, received_body;
    const Send sends[] = {
        {peer,
         {},
         size,
         [&](uint64_t offset, std::span<uint8_t> out) {
           EXPECT_EQ(offset, produced);
           EXPECT_TRUE(out.size() == kStreamPieceBytes || offset + out.size() == size);
           std::copy_n(stream.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
           produced += out.size();
         }},
        {peer, body, 0, {}}};
    const Receive receives[] = {
        {peer,
         {},
         size,
         [&](uint64_t offset, ByteView in) {
           EXPECT_EQ(offset, consumed);
           EXPECT_TRUE(in.size() == kStreamPieceBytes || offset + in.size() == size);
           received.insert(received.end(), in.begin(), in.end());
           consumed += in.size();
         },
         nullptr,
         0},
        {peer, {}, 0, {}, &received_body, 1000}};
    channel.Exchange(sends, receives);
    EXPECT_EQ(received, Pattern(peer, self, 0, size));
    EXPECT_EQ(received_body, Pattern(peer, self, 1, 1000));
  });
  EXPECT_EQ(Describe(errors), "");
}

// Both sides send far more than the streams hold before either has read anything.
TEST(ChannelTest, BigMessagesBothWaysDoNotDeadlock) {
  const size_t size = kSanitized ? size_t{1} << 20 : size_t{16} << 20;
  crypto::Prg random = TestRandom(1);
  auto errors =
      RunChannels(MakeMemoryTransports(PartyNames(3), random, 4096), [&](Channel& channel) {
        const PartyIndex self = channel.self();
        std::vector<Bytes> out(3), in(3);
        std::vector<Send> sends;
        std::vector<Receive> receives;
        for (PartyIndex peer = 0; peer < 3; ++peer) {
          if (peer == self) continue;
          out[peer] = Pattern(self, peer, 0, size * (self + 1));
          in[peer].resize(size * (peer + 1));
          sends.push_back({peer, out[peer], 0, {}});
          receives.push_back({peer, in[peer], 0, {}, nullptr, 0});
        }
        channel.Exchange(sends, receives);
        for (PartyIndex peer = 0; peer < 3; ++peer) {
          if (peer != self) {
            EXPECT_EQ(in[peer], Pattern(peer, self, 0, size * (peer + 1)));
          }
        }
      });
  EXPECT_EQ(Describe(errors), "");
}

}  // namespace
}  // namespace partita::net
