// The bytes between a daemon and its jobs: strict both ways.
#include "node/job/wire.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include "node/port/pass_socket.h"
#include "node/study/codec.h"

namespace partita::node::job_wire_test {
namespace {

std::vector<JobReport> Reports() {
  Checked checked;
  checked.facts.parties = {"north", "south"};
  checked.facts.receivers = {"north"};
  checked.facts.resumable = true;
  checked.facts.memory_bytes = uint64_t{5} << 40;
  checked.facts.seconds = 77;
  checked.facts.plan_hash.fill(4);
  checked.run_certificate = {1, 2, 3};
  checked.address = "north.example.org:7400";
  Checked refused;
  refused.refusal = "this party has no part in it";
  Ended ended;
  ended.attempt = 3;
  ended.outcome = Outcome::kFinished;
  ended.result.fill(9);
  ended.signature = {5, 5};
  StudyId id{};
  id.fill(1);
  Digest agreement{};
  agreement.fill(2);
  return {{id, checked, ""},
          {id, refused, ""},
          {id, Committed{agreement}, "{\"draft\": 1}\n", {7, 7}},
          {id, JobUp{2}, ""},
          {id, JobProgress{{2, "moments", 400}}, ""},
          {id, JobEnded{ended}, ""},
          {id, JobGone{UINT32_MAX}, ""},
          {id, Discarded{ended}, ""}};
}

JobOrder Order(JobKind kind) {
  JobOrder order;
  order.request = {kind, 7};
  order.study.file = "partita = 1\n";
  order.study.id.fill(3);
  order.study.tag.fill(8);
  order.study.offers["north"] = {1, 2, 3};
  return order;
}

std::optional<ErrorCode> CodeOf(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(JobWireTest, ReportsAndOrdersComeBack) {
  for (const JobReport& report : Reports()) {
    const Bytes bytes = Encode(report);
    const JobReport back = DecodeJobReport(bytes);
    EXPECT_EQ(back.study, report.study);
    EXPECT_EQ(back.event.index(), report.event.index());
    EXPECT_EQ(back.draft, report.draft);
    EXPECT_EQ(back.statement, report.statement);
    EXPECT_EQ(Encode(back), bytes);
  }
  for (const JobKind kind : {JobKind::kCheck, JobKind::kRun, JobKind::kDiscard}) {
    const JobOrder back = DecodeJobOrder(Encode(Order(kind)));
    EXPECT_EQ(back.request, Order(kind).request);
    EXPECT_EQ(back.study, Order(kind).study);
  }
  EXPECT_EQ(CodeOf([] { Encode(JobReport{{}, Timer{}, {}}); }), ErrorCode::kInternal);
}

// Every prefix, an additional byte, and every byte changed: refused, or other bytes of the same form.
TEST(JobWireTest, NothingButWhatWasWrittenIsRead) {
  std::vector<std::pair<Bytes, bool>> all;
  for (const JobReport& report : Reports()) all.emplace_back(Encode(report), true);
  all.emplace_back(Encode(Order(JobKind::kRun)), false);
  for (const auto& [bytes, is_report] : all) {
    const auto again = [report = is_report](const Bytes& read) {
      return report ? Encode(DecodeJobReport(read)) : Encode(DecodeJobOrder(read));
    };
    for (size_t size = 0; size < bytes.size(); ++size) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(CodeOf([&] { again(cut); }), ErrorCode::kPeerFault) << size;
    }
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(CodeOf([&] { again(longer); }), ErrorCode::kPeerFault);
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const uint8_t flip : std::array<uint8_t, 3>{0x01, 0x80, 0xff}) {
        Bytes changed = bytes;
        changed[i] = static_cast<uint8_t>(changed[i] ^ flip);
        Bytes written;
        const auto code = CodeOf([&] { written = again(changed); });
        if (code) {
          EXPECT_EQ(*code, ErrorCode::kPeerFault) << i;
        } else {
          EXPECT_EQ(written, changed) << i;
        }
      }
    }
  }
}

TEST(JobWireTest, AnOrderBringsTheSocketOfItsRun) {
  auto [daemon, job] = MakeJobChannel();
  auto [port_end, job_end] = MakeSocketPair();
  SendOrder(daemon, Order(JobKind::kRun), job_end);
  const ReceivedOrder received = ReceiveOrder(job);
  EXPECT_EQ(received.order.study, Order(JobKind::kRun).study);
  ASSERT_TRUE(received.arrivals.valid());
  job_end = net::Socket();
  port_end = net::Socket();
  const auto source = PassedSockets(net::Socket(::dup(received.arrivals.fd())));
  EXPECT_FALSE(source->Next().has_value());
  EXPECT_EQ(source->fd(), -1) << "it is not the other end of the pair";

  SendOrder(daemon, Order(JobKind::kCheck), net::Socket());
  EXPECT_FALSE(ReceiveOrder(job).arrivals.valid());
  // With an order of another kind, or behind its first bytes, none is taken.
  auto [other_end, passed] = MakeSocketPair();
  SendOrder(daemon, Order(JobKind::kCheck), passed);
  EXPECT_EQ(CodeOf([end = &job] { ReceiveOrder(*end); }), ErrorCode::kPeerFault);
}

TEST(JobWireTest, AnErrandComesInThePlaceOfAnOrder) {
  OverStudy study;
  study.id.fill(6);
  study.kept = Kept::kNumber;
  auto [daemon, job] = MakeJobChannel();
  for (const JobErrand& errand :
       {JobErrand{ErrandKind::kPlaces}, JobErrand{ErrandKind::kBudgets},
        JobErrand{ErrandKind::kTidy, {study, study}}, JobErrand{ErrandKind::kDraft, {}, "stays"},
        JobErrand{ErrandKind::kHeads, {}, "west"},
        JobErrand{ErrandKind::kKept, {}, {}, Bytes(9, 7)}}) {
    SendErrand(daemon, errand);
    const ReceivedOrder received = ReceiveOrder(job);
    ASSERT_TRUE(received.errand.has_value());
    EXPECT_EQ(received.errand->kind, errand.kind);
    EXPECT_EQ(received.errand->studies, errand.studies);
    EXPECT_EQ(received.errand->name, errand.name);
    EXPECT_EQ(received.errand->answers, errand.answers);
  }
  const Bytes tidy = Encode(JobErrand{ErrandKind::kTidy, {study}});
  for (size_t size = 0; size < tidy.size(); ++size) {
    const Bytes cut(tidy.begin(), tidy.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(CodeOf([&] { DecodeJobErrand(cut); }), ErrorCode::kPeerFault) << size;
  }
  Bytes changed = tidy;
  changed[changed.size() - 17] = 3;  // no such Kept; after it come the name and answers of none
  EXPECT_EQ(CodeOf([&] { DecodeJobErrand(changed); }), ErrorCode::kPeerFault);
  EXPECT_EQ(CodeOf([&] { Encode(JobErrand{ErrandKind::kPlaces, {study}}); }), std::nullopt);
  EXPECT_EQ(CodeOf([&] {
              DecodeJobErrand(Encode(JobErrand{ErrandKind::kPlaces, {study}}));
            }),
            ErrorCode::kPeerFault);
  // Whose name or answers are missing, or belong to another kind.
  for (const JobErrand& errand :
       {JobErrand{ErrandKind::kDraft}, JobErrand{ErrandKind::kHeads},
        JobErrand{ErrandKind::kPlaces, {}, "stays"}, JobErrand{ErrandKind::kTidy, {}, "west"},
        JobErrand{ErrandKind::kHeads, {}, "two\nlines"},
        JobErrand{ErrandKind::kHeads, {}, "west", Bytes(9, 7)}}) {
    EXPECT_EQ(CodeOf([&] { DecodeJobErrand(Encode(errand)); }), ErrorCode::kPeerFault);
  }
  EXPECT_EQ(CodeOf([&] { DecodeJobErrand(Encode(Order(JobKind::kRun))); }), ErrorCode::kPeerFault);
}

TEST(JobWireTest, AStopIsHeardAndTheEndOfTheChannelIsNone) {
  auto [daemon, job] = MakeJobChannel();
  EXPECT_EQ(ReadDaemonWord(job), DaemonWord::kNone);
  EXPECT_TRUE(SendStop(daemon));
  EXPECT_TRUE(SendStop(daemon));
  EXPECT_EQ(ReadDaemonWord(job), DaemonWord::kStop);
  EXPECT_EQ(ReadDaemonWord(job), DaemonWord::kStop);
  EXPECT_EQ(ReadDaemonWord(job), DaemonWord::kNone);
  daemon = net::Socket();
  EXPECT_EQ(ReadDaemonWord(job), DaemonWord::kNoMore);
  auto [other, hears] = MakeJobChannel();
  ASSERT_EQ(::send(other.fd(), "no", 2, 0), 2);
  EXPECT_EQ(ReadDaemonWord(hears), DaemonWord::kNoMore);
  other = net::Socket();
  hears = net::Socket();
  EXPECT_FALSE(SendStop(daemon));
}

// The kernel says with each piece who sent it.
TEST(JobWireTest, ReportsOfAnotherUserAreNotTaken) {
  const auto channel = [] {
    auto ends = MakeJobChannel();
    const int on = 1;
    EXPECT_EQ(::setsockopt(ends.first.fd(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    return ends;
  };
  const uid_t own = ::getuid();
  auto [daemon, job] = channel();
  for (const JobReport& report : Reports()) {
    EXPECT_TRUE(SendReport(job, report));
    EXPECT_EQ(Encode(*ReceiveReport(daemon, own)), Encode(report));
  }
  EXPECT_TRUE(SendReport(job, Reports().front()));
  EXPECT_EQ(CodeOf([end = &daemon, own] { ReceiveReport(*end, own + 1); }), ErrorCode::kUntrusted);
  auto [asks, answers] = channel();
  EXPECT_TRUE(SendText(answers, "a text"));
  EXPECT_EQ(
      CodeOf([end = &asks, own] { ReceiveText(*end, 100, std::chrono::seconds(20), own + 1); }),
      ErrorCode::kUntrusted);
  // Of a channel on which the kernel does not say it, nothing is taken either.
  auto [silent, sender] = MakeJobChannel();
  EXPECT_TRUE(SendReport(sender, Reports().front()));
  EXPECT_EQ(CodeOf([end = &silent, own] { ReceiveReport(*end, own); }), ErrorCode::kUntrusted);
}

TEST(JobWireTest, ATextIsReadToItsEndAndNoFurtherThanAllowed) {
  auto [daemon, job] = MakeJobChannel();
  const std::string text(100'000, 'x');
  std::thread tells([&text, end = std::move(job)] { EXPECT_TRUE(SendText(end, text)); });
  EXPECT_EQ(ReceiveText(daemon, 1 << 20, std::chrono::seconds(20), std::nullopt), text);
  tells.join();
  auto [bounded, loud] = MakeJobChannel();
  EXPECT_TRUE(SendText(loud, "too much"));
  EXPECT_EQ(
      CodeOf([end = &bounded] { ReceiveText(*end, 7, std::chrono::seconds(20), std::nullopt); }),
      ErrorCode::kPeerFault);
  EXPECT_EQ(CodeOf([end = &bounded] {
              ReceiveText(*end, 7, std::chrono::milliseconds(1), std::nullopt);
            }),
            ErrorCode::kTimeout);
}

// A list that says it has as many parties as bytes follow: refused where the bytes end, not after memory
// for so many was taken.
TEST(JobWireTest, ACountThatLiesTakesNoMemory) {
  const auto peak = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss >> 10;  // MiB
  };
  Study study;
  study.own_offer.assign(size_t{4} << 20, 0xff);
  const Bytes good = EncodeStudy(study);
  const Bytes empty = EncodeStudy(Study{});
  // `facts.parties` is the first list, and its count the first byte that differs with a party in it.
  Study one;
  one.facts.parties = {""};
  const Bytes with_one = EncodeStudy(one);
  const size_t at = static_cast<size_t>(
      std::mismatch(empty.begin(), empty.end(), with_one.begin()).first - empty.begin());
  Bytes lying = good;
  for (size_t i = 0; i < 8; ++i)
    lying[at + i] = static_cast<uint8_t>((uint64_t{4} << 20) >> (8 * i));
  const long before = peak();
  EXPECT_EQ(CodeOf([&] { DecodeStudy(lying); }), ErrorCode::kBadInput);
  EXPECT_LT(peak() - before, 64);
}

TEST(JobWireTest, AChannelThatEndsIsSeen) {
  auto [daemon, job] = MakeJobChannel();
  EXPECT_TRUE(SendReport(job, Reports().front()));
  job = net::Socket();
  EXPECT_TRUE(ReceiveReport(daemon).has_value());
  EXPECT_FALSE(ReceiveReport(daemon).has_value());
  EXPECT_FALSE(SendReport(daemon, Reports().front()));
  auto [other, broken] = MakeJobChannel();
  const Bytes half = {9, 0, 0, 0, 1};
  ASSERT_EQ(::send(broken.fd(), half.data(), half.size(), 0), 5);
  broken = net::Socket();
  EXPECT_EQ(CodeOf([end = &other] { ReceiveReport(*end); }), ErrorCode::kPeerFault);
  auto [third, huge] = MakeJobChannel();
  const Bytes length = {0xff, 0xff, 0xff, 0xff};
  ASSERT_EQ(::send(huge.fd(), length.data(), length.size(), 0), 4);
  EXPECT_EQ(CodeOf([end = &third] { ReceiveReport(*end); }), ErrorCode::kPeerFault);
}

}  // namespace
}  // namespace partita::node::job_wire_test
