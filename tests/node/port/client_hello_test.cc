// The parser of the first record, on hellos of OpenSSL and on ones that are broken in every place.
#include "net/client_hello.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "crypto/random.h"
#include "node/port/route.h"
#include "tests/net/parties.h"
#include "tests/node/port/hello_bytes.h"

namespace partita::node::client_hello_test {
namespace {

using net::ClientHello;
using net::HelloRecordBytes;
using net::kMaxClientHelloBytes;
using net::kRecordHeaderBytes;
using net::ParseClientHello;

std::optional<size_t> RecordBytes(const Bytes& bytes) {
  return HelloRecordBytes(ByteView(bytes).first(kRecordHeaderBytes));
}

const char kName[] = "run-0123456789abcdef.west.example.org";

TEST(ClientHelloTest, ReadsTheNameOfOpenSslsHellos) {
  for (const std::string name : {"", kName}) {
    const Bytes hello = OpenSslHello(name);
    EXPECT_EQ(RecordBytes(hello), hello.size()) << name;
    EXPECT_EQ(ParseClientHello(hello), ClientHello{name});
  }
}

TEST(ClientHelloTest, ReadsTheNameOfResumedSessions) {
  const TlsSession session = MakeTlsSession();
  ASSERT_EQ(SSL_SESSION_is_resumable(session.get()), 1);
  for (const std::string name : {"", kName}) {
    const Bytes hello = OpenSslHello(name, session.get());
    EXPECT_GT(hello.size(), OpenSslHello(name).size() + 100) << "it holds no ticket";
    EXPECT_EQ(RecordBytes(hello), hello.size());
    EXPECT_EQ(ParseClientHello(hello), ClientHello{name});
  }
}

TEST(ClientHelloTest, ReadsHellosUpToTheLimit) {
  const Bytes largest = HelloOfSize(kMaxClientHelloBytes, kName);
  ASSERT_EQ(largest.size(), kMaxClientHelloBytes);
  EXPECT_EQ(ParseClientHello(largest), ClientHello{kName});
  const Bytes larger = HelloOfSize(kMaxClientHelloBytes + 1, kName);
  EXPECT_EQ(RecordBytes(larger), std::nullopt);
  EXPECT_EQ(ParseClientHello(larger), std::nullopt);
}

TEST(ClientHelloTest, RefusesHeadersOfOtherRecords) {
  EXPECT_EQ(HelloRecordBytes(Bytes{22, 3, 1, 0, 1}), 6u);
  EXPECT_EQ(HelloRecordBytes(Bytes{22, 3, 3, 0, 1}), 6u);
  EXPECT_EQ(HelloRecordBytes(Bytes{22, 3, 1, 0x0f, 0xfb}), kMaxClientHelloBytes);
  for (const Bytes& header : std::vector<Bytes>{{22, 3, 1, 0, 0},        // empty
                                                {22, 3, 1, 0x0f, 0xfc},  // too long
                                                {22, 3, 1, 0xff, 0xff},
                                                {23, 3, 1, 0, 200},  // application data
                                                {21, 3, 1, 0, 2},    // alert
                                                {22, 2, 1, 0, 200},
                                                {22, 3, 0, 0, 200},
                                                {22, 3, 2, 0, 200},
                                                {'G', 'E', 'T', ' ', '/'},
                                                {'S', 'S', 'H', '-', '2'},
                                                {22, 3, 1, 0},
                                                {}}) {
    EXPECT_EQ(HelloRecordBytes(header), std::nullopt) << ToHex(header);
  }
}

// Every shorter piece, and one byte more: never read beyond what is there, never accepted.
TEST(ClientHelloTest, RefusesEveryOtherLength) {
  const Bytes hello = OpenSslHello(kName);
  for (size_t size = 0; size < hello.size(); ++size) {
    // A copy of its own, so that a sanitizer sees a read beyond it.
    const Bytes piece(hello.begin(), hello.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(ParseClientHello(piece), std::nullopt) << size;
    if (size < kRecordHeaderBytes + 1) continue;
    Bytes relabelled = piece;  // the record says that this is all
    const size_t length = size - kRecordHeaderBytes;
    relabelled[3] = static_cast<uint8_t>(length >> 8);
    relabelled[4] = static_cast<uint8_t>(length);
    EXPECT_EQ(ParseClientHello(relabelled), std::nullopt) << size;
  }
  Bytes longer = hello;
  longer.push_back(0);
  EXPECT_EQ(ParseClientHello(longer), std::nullopt);
}

// A length inside the record that points beyond it must not reach what lies behind it.
TEST(ClientHelloTest, ReadsNothingBehindTheRecord) {
  Bytes extensions = VersionsExtension();
  Append(extensions, NameExtension(kName));
  const Bytes hello = HandMadeHello(extensions);
  // The record ends in the middle of the name; the rest of it lies behind.
  const size_t cut = hello.size() - 10;
  Bytes shorter = hello;
  const size_t length = cut - kRecordHeaderBytes;
  shorter[3] = static_cast<uint8_t>(length >> 8);
  shorter[4] = static_cast<uint8_t>(length);
  ASSERT_EQ(RecordBytes(shorter), cut);
  EXPECT_EQ(ParseClientHello(ByteView(shorter).first(cut)), std::nullopt);
  // Nor where all lengths but those of the name agree with the record.
  HelloParts parts;
  Bytes name = NameExtension(kName);
  name.resize(name.size() - 10);
  const size_t extension_bytes = name.size() - 4;
  name[2] = static_cast<uint8_t>(extension_bytes >> 8);
  name[3] = static_cast<uint8_t>(extension_bytes);
  parts.extensions = VersionsExtension();
  Append(parts.extensions, name);
  Bytes record = RecordOf(parts.Message());
  const size_t size = record.size();
  Append(record, Bytes(10, 'x'));
  EXPECT_EQ(ParseClientHello(ByteView(record).first(size)), std::nullopt);
}

TEST(ClientHelloTest, RefusesWhatOursNeverSend) {
  Bytes good = NameExtension(kName);
  Append(good, VersionsExtension());
  ASSERT_EQ(ParseClientHello(HandMadeHello(good)), ClientHello{kName});
  auto refused = [&](const std::string& what, auto change) {
    HelloParts parts;
    parts.extensions = good;
    change(parts);
    EXPECT_EQ(ParseClientHello(RecordOf(parts.Message())), std::nullopt) << what;
  };
  refused("an old version", [](HelloParts& parts) { parts.version = {3, 1}; });
  refused("a long session", [](HelloParts& parts) { parts.session_id = Bytes(33, 1); });
  refused("no suites", [](HelloParts& parts) { parts.suites.clear(); });
  refused("half a suite", [](HelloParts& parts) { parts.suites.push_back(1); });
  refused("compression", [](HelloParts& parts) { parts.compressions = {1, 0}; });
  refused("no compression method", [](HelloParts& parts) { parts.compressions.clear(); });
  refused("bytes behind", [](HelloParts& parts) { parts.after = {0}; });
  refused("an extension twice",
          [](HelloParts& parts) { Append(parts.extensions, VersionsExtension()); });
  refused("two names", [](HelloParts& parts) { Append(parts.extensions, NameExtension("a.b")); });
  refused("half an extension", [](HelloParts& parts) { parts.extensions.push_back(0); });
  refused("no TLS 1.3", [](HelloParts& parts) { parts.extensions = NameExtension(kName); });
  refused("half a version", [](HelloParts& parts) {
    parts.extensions = ExtensionBytes(43, {3, 3, 4, 3});
  });
  refused("something behind the versions", [](HelloParts& parts) {
    parts.extensions = ExtensionBytes(43, {2, 3, 4, 0});
  });
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a\0b", 3),
                                  std::string("\xc3\xa4.org"), std::string(256, 'a')}) {
    refused("name '" + name + "'", [&](HelloParts& parts) {
      parts.extensions = VersionsExtension();
      Append(parts.extensions, NameExtension(name));
    });
  }
  refused("a name of another kind", [](HelloParts& parts) {
    parts.extensions = VersionsExtension();
    Append(parts.extensions, NameExtension(kName, 1));
  });
  refused("an empty list of names", [](HelloParts& parts) {
    parts.extensions = VersionsExtension();
    Append(parts.extensions, ExtensionBytes(0, {0, 0}));
  });
  refused("a list of two names", [](HelloParts& parts) {
    const Bytes entry = {0, 0, 1, 'a'};
    Bytes list = entry;
    Append(list, entry);
    parts.extensions = VersionsExtension();
    Append(parts.extensions, ExtensionBytes(0, Vector(list, 2)));
  });
}

TEST(ClientHelloTest, RefusesClientsWithoutTls13) {
  const TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
  SSL_connect(ssl.get());
  ERR_clear_error();
  const Bytes hello = TakeAll(out);
  ASSERT_EQ(RecordBytes(hello), hello.size());
  EXPECT_EQ(ParseClientHello(hello), std::nullopt);
  // One that speaks both is welcome.
  EXPECT_EQ(ParseClientHello(OpenSslHello("a.b", nullptr, TLS1_2_VERSION)), ClientHello{"a.b"});
}

TEST(RouteTest, OnlyTheExactNameIsARuns) {
  const RunTag tag = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  const std::string host = "west.example.org";
  EXPECT_EQ(RunServerName(tag, host), kName);
  EXPECT_EQ(RunOf(kName, host), tag);
  for (const std::string name :
       {"", "west.example.org", "run-0123456789ABCDEF.west.example.org",
        "Run-0123456789abcdef.west.example.org", "run-0123456789abcdef.west.example.orG",
        "run-0123456789abcde.west.example.org", "run-0123456789abcdef0.west.example.org",
        "run-0123456789abcdeg.west.example.org", "run-0123456789abcdef-west.example.org",
        "run-0123456789abcdef.west.example.org.", "run-0123456789abcdef.east.example.org",
        "run-0123456789abcdef.", "xrun-0123456789abcdef.west.example.org"}) {
    EXPECT_EQ(RunOf(name, host), std::nullopt) << name;
  }
}

TEST(RouteTest, OnlyTheExactNameIsAStripes) {
  const RunTag tag = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  const std::string host = "west.example.org";
  for (const uint32_t stripe : {0u, 7u, 10u, 4095u, 4294967295u}) {
    const std::string name = StripeServerName({tag, stripe}, host);
    EXPECT_EQ(name, "run-0123456789abcdef-" + std::to_string(stripe) + ".west.example.org");
    EXPECT_EQ(StripeOf(name, host), (RunStripe{tag, stripe}));
    EXPECT_EQ(RunOf(name, host), std::nullopt);
  }
  for (const std::string name :
       {"", "west.example.org", "run-0123456789abcdef.west.example.org",
        "run-0123456789abcdef-.west.example.org", "run-0123456789abcdef-01.west.example.org",
        "run-0123456789abcdef-+1.west.example.org", "run-0123456789abcdef--1.west.example.org",
        "run-0123456789abcdef-1x.west.example.org", "run-0123456789abcdef-1",
        "run-0123456789abcdef-", "run-0123456789abcdef-4294967296.west.example.org",
        "run-0123456789abcdef_1.west.example.org", "run-0123456789ABCDEF-1.west.example.org",
        "run-0123456789abcdeg-1.west.example.org", "run-0123456789abcdef-1.east.example.org",
        "run-0123456789abcdef-1west.example.org", "stripe-1-0123456789abcdef.west.example.org"}) {
    EXPECT_EQ(StripeOf(name, host), std::nullopt) << name;
  }
}

TEST(RouteTest, TagsAreDrawnAndHostsAreNames) {
  crypto::Prg random = net::TestRandom(3);
  const RunTag first = DrawRunTag(random), second = DrawRunTag(random);
  EXPECT_NE(first, second);
  EXPECT_EQ(RunOf(RunServerName(first, "10.0.0.1"), "10.0.0.1"), first);
  CheckPortHost("west.example.org");
  CheckPortHost("10.0.0.1");
  for (const std::string& host : {std::string(), std::string("West"), std::string("a b"),
                                  std::string("::1"), std::string("a_b"), std::string(201, 'a')}) {
    EXPECT_THROW(CheckPortHost(host), Error) << host;
  }
}

}  // namespace
}  // namespace partita::node::client_hello_test
