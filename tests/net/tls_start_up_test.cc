// Parties that start in any order, stop and come again, and what each is told meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "tests/net/raw_client.h"

namespace partita::net::tls_start_up_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

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
  // After what was waited for before.
  void WaitFor(const std::string& text) {
    std::unique_lock lock(mutex_);
    const auto at = [&] { return said_.find(text, heard_); };
    EXPECT_TRUE(changed_.wait_for(lock, seconds(60), [&] { return at() != std::string::npos; }))
        << text << " was not said, but: " << said_;
    if (at() != std::string::npos) heard_ = at() + text.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string said_;
  size_t heard_ = 0;  // so much of it
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

// One that had met all others, and said hello, before it ended.
TEST(StartUpTest, APartyThatSpokeAndStoppedIsTakenBack) {
  TlsWorld world(3);
  Told of_north, of_south, of_east;
  Connecting north(world.Options(0), of_north);
  {
    RawClient client(world.roster[0].address, &world.identities[2], TLS1_3_VERSION);
    EXPECT_TRUE(client.Handshake());
    EXPECT_EQ(client.ReadByte(), 1);  // the greeting
    const char word = 'x';
    EXPECT_EQ(SSL_write(client.ssl.get(), &word, 1), 1);
  }
  of_north.WaitFor("east closed its connection; waiting for south, east");
  // Before south, with whom north would have somebody of every name and go on to east's last words.
  Connecting east(world.Options(2), of_east);
  of_north.WaitFor("\nwaiting for south, for up to");
  Connecting south(world.Options(1), of_south);
  EXPECT_FALSE(north.error()) << north.error()->message();
  EXPECT_FALSE(south.error()) << south.error()->message();
  EXPECT_FALSE(east.error()) << east.error()->message();
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

// As many files as are open already, and `more`.
class NoMoreFiles {
 public:
  explicit NoMoreFiles(rlim_t more = 0) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    const rlimit now{static_cast<rlim_t>(next) + more, before_.rlim_max};
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

// A stranger who is silent does not keep the last place from a party.
TEST(StartUpTest, StrangersMakeRoomWhereDescriptorsAreFew) {
  TlsWorld world(2);
  Told of_north;
  TlsOptions options = world.Options(0);
  const Socket silent = ConnectTo(world.roster[0].address);
  RawClient south(world.roster[0].address, &world.identities[1], TLS1_3_VERSION);
  const NoMoreFiles one_more(1);
  Connecting north(std::move(options), of_north);
  EXPECT_TRUE(south.Handshake());
  EXPECT_EQ(south.ReadByte(), 1);  // the greeting
  EXPECT_FALSE(north.error()) << north.error()->message();
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

}  // namespace
}  // namespace partita::net::tls_start_up_test
