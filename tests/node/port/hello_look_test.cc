// Hellos in every size of pieces, on real sockets: looked at whole, never read, never waited for in a
// loop, never stalled.
#include "net/hello_look.h"

#include <gtest/gtest.h>

#include "tests/node/port/hello_bytes.h"
#include "tests/node/port/port_world.h"

namespace partita::node::hello_look_test {
namespace {

using net::HelloLook;
using net::kMaxClientHelloBytes;
using net::kRecordHeaderBytes;

// Two ends of a TCP connection.
struct Connection {
  net::Listener listener = net::Listen("127.0.0.1", "0");
  net::Socket client = Call(listener.address);
  net::Socket server;

  Connection() {
    std::string remote;
    WaitReadable(listener.socket.fd());
    server = net::Accept(listener, remote);
  }
};

bool IsReadable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

int Mark(int fd) {
  int mark = 0;
  socklen_t size = sizeof mark;
  getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, &size);
  return mark;
}

std::vector<Bytes> AllHellos() {
  static const TlsSession session = MakeTlsSession();
  const std::string name = "run-0123456789abcdef.west.example.org";
  std::vector<Bytes> hellos = {OpenSslHello(""), OpenSslHello(name),
                               OpenSslHello("", session.get()), OpenSslHello(name, session.get()),
                               HelloOfSize(kMaxClientHelloBytes, name)};
  return hellos;
}

// Bytes that lie there unread wake nobody: twice at the most, for the header and for the whole.
TEST(HelloLookTest, SingleBytesWakeItTwice) {
  for (const Bytes& hello : AllHellos()) {
    Connection connection;
    HelloLook look(connection.server.fd());
    int wakes = 0;
    HelloLook::State state = HelloLook::State::kWaiting;
    for (size_t i = 0; i < hello.size(); ++i) {
      ASSERT_EQ(state, HelloLook::State::kWaiting) << i;
      SendAll(connection.client, ByteView(hello).subspan(i, 1));
      const bool due = i + 1 == kRecordHeaderBytes || i + 1 == hello.size();
      if (due) {
        ASSERT_TRUE(WaitReadable(connection.server.fd())) << "stalled after " << i;
      } else if (!IsReadable(connection.server.fd())) {
        continue;
      }
      ++wakes;
      state = look.Step();
    }
    EXPECT_EQ(state, HelloLook::State::kWhole);
    EXPECT_LE(wakes, 2);
    ASSERT_EQ(Mark(connection.server.fd()), 1);
    EXPECT_EQ(net::ParseClientHello(hello), look.hello());
    EXPECT_EQ(ReceiveAll(connection.server.fd(), hello.size()), hello);
    // As every other socket from now on.
    SendAll(connection.client, Bytes{1});
    EXPECT_TRUE(WaitReadable(connection.server.fd()));
  }
}

TEST(HelloLookTest, WholeHellosNeedOneLook) {
  for (const Bytes& hello : AllHellos()) {
    Connection connection;
    SendAll(connection.client, hello);
    ASSERT_TRUE(WaitReadable(connection.server.fd()));
    HelloLook look(connection.server.fd());
    HelloLook::State state = look.Step();
    while (state == HelloLook::State::kWaiting && WaitReadable(connection.server.fd())) {
      state = look.Step();
    }
    EXPECT_EQ(state, HelloLook::State::kWhole);
    EXPECT_EQ(ReceiveAll(connection.server.fd(), hello.size()), hello);
  }
}

// In two pieces, cut at every place.
TEST(HelloLookTest, AnyCutWillDo) {
  const Bytes hello = OpenSslHello("west.example.org");
  for (size_t cut = 1; cut < hello.size(); cut += 7) {
    Connection connection;
    HelloLook look(connection.server.fd());
    SendAll(connection.client, ByteView(hello).first(cut));
    EXPECT_EQ(look.Step(), HelloLook::State::kWaiting);
    SendAll(connection.client, ByteView(hello).subspan(cut));
    HelloLook::State state = HelloLook::State::kWaiting;
    while (state == HelloLook::State::kWaiting && WaitReadable(connection.server.fd())) {
      state = look.Step();
    }
    EXPECT_EQ(state, HelloLook::State::kWhole) << cut;
  }
}

TEST(HelloLookTest, AnEndBeforeTheHelloIsWholeIsRefused) {
  const Bytes hello = OpenSslHello("");
  for (const size_t sent : {size_t{0}, size_t{1}, size_t{5}, size_t{6}, hello.size() - 1}) {
    Connection connection;
    HelloLook look(connection.server.fd());
    SendAll(connection.client, ByteView(hello).first(sent));
    connection.client = net::Socket();
    HelloLook::State state = HelloLook::State::kWaiting;
    while (state == HelloLook::State::kWaiting && WaitReadable(connection.server.fd())) {
      state = look.Step();
    }
    EXPECT_EQ(state, HelloLook::State::kRefused) << sent;
  }
}

TEST(HelloLookTest, WhatIsNoHelloIsRefusedByItsHead) {
  for (const Bytes& bytes :
       {Bytes{'G', 'E', 'T', ' ', '/'}, Bytes{22, 3, 1, 0x10, 0}, Bytes{0, 0, 0, 0, 0}}) {
    Connection connection;
    SendAll(connection.client, bytes);
    HelloLook look(connection.server.fd());
    ASSERT_TRUE(WaitReadable(connection.server.fd()));
    EXPECT_EQ(look.Step(), HelloLook::State::kRefused);
    EXPECT_EQ(look.Step(), HelloLook::State::kRefused);
  }
}

}  // namespace
}  // namespace partita::node::hello_look_test
