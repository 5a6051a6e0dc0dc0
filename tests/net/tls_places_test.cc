// Who has a place while parties connect: callers that are silent, and more of them than are taken in.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>

#include "tests/net/tls_parties.h"

namespace partita::net::tls_places_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How long a party that was called may be busy is nothing for those that call: whoever is silent loses its place
// as soon as ever.
TEST(TlsPlacesTest, SilentCallersHaveNoLongTime) {
  TlsWorld world(2);
  TlsOptions options = world.Options(0);
  options.handshake_timeout = milliseconds(50);
  options.answer_timeout = seconds(600);
  const std::string address = options.roster[0].address;
  std::unique_ptr<Transport> own;
  std::thread waiting([&, given = std::move(options)]() mutable {
    own = ConnectTls(std::move(given), Deadline::After(seconds(120)));
  });
  const Socket silent = ConnectTo(address);
  pollfd end{silent.fd(), POLLRDHUP, 0};
  EXPECT_EQ(poll(&end, 1, 60'000), 1) << "it keeps its place";
  const auto peer = ConnectTls(world.Options(1), Deadline::After(seconds(60)));
  waiting.join();
  EXPECT_TRUE(own != nullptr);
  EXPECT_TRUE(peer != nullptr);
}

// One call waits for a party that is busy, instead of many that it will find later.
TEST(TlsPlacesTest, ACallWaitsForWhoIsBusy) {
  for (const bool waits : {true, false}) {
    TlsWorld world(2);
    SetNonBlocking(world.listeners[0].socket);
    TlsOptions options = world.Options(1);
    options.handshake_timeout = milliseconds(20);
    if (waits) options.answer_timeout = seconds(60);
    EXPECT_THROW(ConnectTls(std::move(options), Deadline::After(milliseconds(500))), Error);
    size_t calls = 0;
    std::string remote;
    std::vector<Socket> kept;
    while (true) {
      kept.push_back(Accept(world.listeners[0], remote));
      if (!kept.back().valid()) break;
      ++calls;
    }
    if (waits) {
      EXPECT_EQ(calls, 1u);
    } else {
      EXPECT_GT(calls, 1u) << "the test is no test";
    }
  }
}

// Where more come in than are taken, whoever is there has its turn, and so have the deadline and the user.
TEST(TlsPlacesTest, ATurnTakesSoManyIn) {
  class Endless : public SocketSource {
   public:
    int fd() const override { return 0; }
    std::optional<Arrival> Next() override {
      most = std::max(most, ++in_turn);
      if (in_turn > 1000) return std::nullopt;
      return Arrival{Socket(open("/dev/null", O_RDONLY | O_CLOEXEC)), "nowhere", false};
    }
    size_t in_turn = 0, most = 0;
  };
  class FiveTurns : public SilentProgress {
   public:
    explicit FiveTurns(Endless& source) : source_(source) {}
    void CheckCancelled() override {
      source_.in_turn = 0;
      if (++turns_ == 5) throw Error(ErrorCode::kCancelled, "enough");
    }

   private:
    Endless& source_;
    int turns_ = 0;
  };
  TlsWorld world(2);
  const auto source = std::make_shared<Endless>();
  FiveTurns turns(*source);
  TlsOptions options = world.Options(0);
  options.arrivals = source;
  options.max_handshakes = 16;
  try {
    ConnectTls(std::move(options), Deadline::After(seconds(60)), &turns);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled) << error.message();
  }
  EXPECT_EQ(source->most, 16u);
}

}  // namespace
}  // namespace partita::net::tls_places_test
