// The control socket: whose it is, what comes back, what strangers and slow callers get.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <mutex>
#include <vector>

#include "net/socket.h"
#include "node/daemon/control_socket.h"
#include "tests/node/parties/sites.h"

namespace partita::node::control_test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kAWhile{20'000};

struct ControlSocketTest : testing::Test {
  fs::path path = fs::path(testing::TempDir()) / ("control" + std::to_string(::getpid()));
  ControlSocket socket{path,
                       [](const std::string& request, uid_t) -> std::string {
                         if (request == "\"refuse\"")
                           throw Error(ErrorCode::kRefused, "not this", "ask for another");
                         return "{\"echo\":" + request + "}";
                       },
                       [](uid_t) {}};
};

TEST_F(ControlSocketTest, AnswersItsOwner) {
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(AskControl(path, "7", kAWhile), "{\"echo\":7}");
  const std::string large = "\"" + std::string(1 << 20, 'x') + "\"";
  EXPECT_EQ(AskControl(path, large, kAWhile).size(), large.size() + 9);
}

TEST_F(ControlSocketTest, ErrorsComeBackAsTheyWereThrown) {
  try {
    AskControl(path, "\"refuse\"", kAWhile);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_EQ(error.message(), "not this");
    EXPECT_EQ(error.hint(), "ask for another");
  }
  EXPECT_EQ(CodeOf([&] { AskControl(path.string() + "-none", "7", kAWhile); }),
            ErrorCode::kUnreachable);
  EXPECT_EQ(CodeOf([&] { AskControl("/tmp/" + std::string(200, 'x'), "7", kAWhile); }),
            ErrorCode::kUsage);
}

// A frame that says 4 GiB is closed; the next caller is answered.
TEST_F(ControlSocketTest, AFrameThatIsTooLongIsClosed) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const net::Socket raw(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::connect(raw.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::send(raw.fd(), "\xff\xff\xff\xff", 4, 0), 4);
  char byte = 0;
  EXPECT_EQ(::recv(raw.fd(), &byte, 1, 0), 0);
  EXPECT_EQ(AskControl(path, "8", kAWhile), "{\"echo\":8}");
}

size_t InheritedDescriptors() {
  size_t count = 0;
  for (int fd = 3; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++count;
  }
  return count;
}

// A process that is started while a request is answered must not hold the caller's connection: it could read
// the next passphrase there, or answer.
TEST(ControlDescriptorTest, NoConnectionIsInherited) {
  const fs::path path = fs::path(testing::TempDir()) / ("inherited" + std::to_string(::getpid()));
  const size_t before = InheritedDescriptors();
  const ControlSocket socket(
      path,
      [](const std::string&, uid_t) {
        return "{\"count\":" + std::to_string(InheritedDescriptors()) + "}";
      },
      [](uid_t) {});
  EXPECT_EQ(AskControl(path, "7", kAWhile), "{\"count\":" + std::to_string(before) + "}");
}

TEST(ControlLevelsTest, ADeepAnswerIsNone) {
  const fs::path path = fs::path(testing::TempDir()) / ("deep" + std::to_string(::getpid()));
  const ControlSocket socket(
      path,
      [](const std::string&, uid_t) {
        return "{\"a\":" + std::string(2'000'000, '[') + std::string(2'000'000, ']') + "}";
      },
      [](uid_t) {});
  EXPECT_EQ(CodeOf([&] { AskControl(path, "7", kAWhile); }), ErrorCode::kInternal);
}

// A passphrase goes only to the owner of the socket's folder, and only where nobody else can put a socket.
TEST(ControlServerTest, SecretsAreSentToTheOwnerOfTheFolder) {
  const fs::path folder = fs::path(testing::TempDir()) / ("owner" + std::to_string(::getpid()));
  fs::create_directory(folder);
  const fs::path path = folder / "s";
  int asked = 0;
  const ControlSocket socket(
      path,
      [&asked](const std::string&, uid_t) {
        ++asked;
        return "{}";
      },
      [](uid_t) {});
  fs::permissions(folder, static_cast<fs::perms>(0755));
  EXPECT_EQ(AskControl(path, "7", kAWhile, SignerServer()), "{}");
  for (const unsigned mode : {0775U, 0757U, 01777U}) {
    fs::permissions(folder, static_cast<fs::perms>(mode));
    EXPECT_EQ(CodeOf([&] { AskControl(path, "7", kAWhile, SignerServer()); }),
              ErrorCode::kUntrusted);
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(AskControl(path, "7", kAWhile), "{}") << "a node is told no passphrase";
}

net::Socket Connected(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  net::Socket raw(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(raw.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return raw;
}

// Whether the other side closes a connection on which nothing was said, before it would for silence.
bool IsClosed(const net::Socket& connection) {
  pollfd waiting{connection.fd(), POLLIN, 0};
  char byte = 0;
  return ::poll(&waiting, 1, 3'000) > 0 && ::recv(connection.fd(), &byte, 1, 0) == 0;
}

// A socket whose callers are whom the test says, one after the other.
struct PretendedUsers : testing::Test {
  fs::path path = fs::path(testing::TempDir()) / ("users" + std::to_string(::getpid()));
  std::mutex mutex;
  std::deque<uid_t> callers;
  std::vector<uid_t> refused;
  ControlSocket socket{
      path,
      [](const std::string&, uid_t user) { return "{\"user\":" + std::to_string(user) + "}"; },
      [this](uid_t user) {
        const std::lock_guard lock(mutex);
        refused.push_back(user);
      },
      std::vector<uid_t>{2001, 2002, 2003},
      [this](int) {
        const std::lock_guard lock(mutex);
        const uid_t user = callers.front();
        callers.pop_front();
        return user;
      }};

  net::Socket As(uid_t user) {
    {
      const std::lock_guard lock(mutex);
      callers.push_back(user);
    }
    return Connected(path);
  }
  std::string AskAs(uid_t user) {
    {
      const std::lock_guard lock(mutex);
      callers.push_back(user);
    }
    return AskControl(path, "7", kAWhile);
  }
};

TEST_F(PretendedUsers, OnlyWhoMayIsAnswered) {
  EXPECT_EQ(AskAs(::geteuid()), "{\"user\":" + std::to_string(::geteuid()) + "}");
  EXPECT_EQ(AskAs(2001), "{\"user\":2001}");
  EXPECT_EQ(CodeOf([&] { AskAs(2004); }), ErrorCode::kUnreachable);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(refused, std::vector<uid_t>{2004});
}

// Connections that say nothing keep neither other users nor the own people out.
TEST_F(PretendedUsers, NobodyTakesAllPlaces) {
  std::vector<net::Socket> idle;
  for (int i = 0; i < 6; ++i) idle.push_back(As(2001));
  EXPECT_TRUE(IsClosed(As(2001)));
  for (int i = 0; i < 6; ++i) idle.push_back(As(2002));
  EXPECT_TRUE(IsClosed(As(2003)));
  EXPECT_EQ(AskAs(::geteuid()), "{\"user\":" + std::to_string(::geteuid()) + "}");
}

TEST(MayControlTest, TheOwnerAndRootOnly) {
  EXPECT_TRUE(MayControl(1000, 1000));
  EXPECT_TRUE(MayControl(0, 1000));
  EXPECT_FALSE(MayControl(1001, 1000));
  EXPECT_FALSE(MayControl(1000, 0));
  EXPECT_FALSE(MayControl(static_cast<uid_t>(-1), 1000));
}

}  // namespace
}  // namespace partita::node::control_test
