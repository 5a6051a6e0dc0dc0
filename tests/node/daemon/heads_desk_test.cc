// Both ends of the question of a restored node without the network between them: what is kept of what comes, and what a
// site is told by a job that answers, fails, or says something else.
#include "node/daemon/heads_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "base/files.h"
#include "crypto/signature.h"
#include "node/daemon/party_keeper.h"
#include "run/simulate/temporary_folder.h"

namespace partita::node::heads_desk_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kNow = 1'790'000'000;

Digest PrintOf(const crypto::Identity& identity) {
  return crypto::Sha256Of(crypto::EncodeCertificate(*identity.certificate));
}

ListedParty Party(const std::string& name, const crypto::Identity& node,
                  const crypto::Identity& steward) {
  ListedParty party;
  party.name = name;
  party.node_key = PrintOf(node);
  party.steward_key = PrintOf(steward);
  party.known_at = kNow - 100;
  return party;
}

class HeadsDeskTest : public ::testing::Test {
 protected:
  run::TemporaryFolder scratch_;
  NodeFolder folder_{scratch_.path()};
  crypto::Identity west_ = crypto::MakeIdentity({.name = "west"}),
                   steward_ = crypto::MakeIdentity({.name = "west"}),
                   north_ = crypto::MakeIdentity({.name = "north"}),
                   south_ = crypto::MakeIdentity({.name = "south"}),
                   other_ = crypto::MakeIdentity({.name = "north"});
  std::unique_ptr<PartyKeeper> keeper_;
  std::vector<std::string> lines_;
  Log log_{[this](const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }};
  std::mutex mutex_;
  std::vector<AuditRecord> noted_;
  std::atomic<int64_t> now_ = kNow;

  void SetUp() override {
    fs::create_directories(folder_.state());
    keeper_ = std::make_unique<PartyKeeper>(folder_.state(), "west",
                                            std::vector<Digest>{PrintOf(steward_)});
    PartyList list;
    list.owner = "west";
    list.serial = 1;
    list.made_at = kNow - 100;
    const crypto::Identity theirs = crypto::MakeIdentity({.name = "north"}),
                           souths = crypto::MakeIdentity({.name = "south"});
    list.parties = {Party("north", north_, theirs), Party("south", south_, souths)};
    keeper_->Take(SignPartyList(list, steward_), kNow);
  }
  std::unique_ptr<HeadsDesk> Desk(const std::string& script = "exit 1") {
    HeadsDesk::Parts parts{"west",
                           west_,
                           PrintOf(steward_),
                           folder_,
                           JobsAsChildren({"/bin/sh", "-c", script, "job"}),
                           *keeper_,
                           [](const std::string&) { return std::nullopt; },
                           [this](const AuditRecord& record) {
                             const std::lock_guard lock(mutex_);
                             noted_.push_back(record);
                           },
                           log_,
                           [this] { return now_.load(); }};
    return std::make_unique<HeadsDesk>(std::move(parts));
  }
  RestoredMark Mark(uint8_t nonce) {
    RestoredMark mark;
    mark.owner = "west";
    mark.time = kNow;
    mark.nonce = Digest{nonce};
    const Bytes bytes = Encode(mark);
    WriteFileAtomically(folder_.restored().string(),
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return mark;
  }
  static HeadsAnswer AnswerFor(const RestoredMark& mark) {
    return {"north", "west", DigestOf(mark), kNow, {HeadsMemory::kWhole, {}}};
  }
  static Bytes Question(uint8_t letter) { return Bytes(32, letter); }
  // Asks until there is something else than "later".
  static net::HttpResponse Insist(HeadsDesk& desk, const Bytes& question) {
    const Deadline deadline = Deadline::After(std::chrono::seconds(60));
    while (!deadline.passed()) {
      net::HttpResponse response = desk.Answer("north", question);
      if (response.status != 503) return response;
      std::this_thread::yield();
    }
    throw Error(ErrorCode::kTimeout, "no answer came");
  }
};

TEST_F(HeadsDeskTest, OnlyAnAnswerThatCountsIsKept) {
  const RestoredMark mark = Mark(1), earlier = Mark(2);
  const auto desk = Desk();
  const auto answered = [&] { return desk->Counted(mark).answered; };
  EXPECT_EQ(desk->Counted(mark).asked, 2U);
  HeadsAnswer good = AnswerFor(mark);
  EXPECT_FALSE(desk->Take("north", mark, Encode(SignHeads(AnswerFor(earlier), north_))));
  EXPECT_FALSE(desk->Take("north", mark, Encode(SignHeads(good, other_))));
  EXPECT_FALSE(desk->Take("north", mark, Encode(SignHeads(good, west_))));
  EXPECT_FALSE(desk->Take("south", mark, Encode(SignHeads(good, north_)))) << "another site's";
  HeadsAnswer elsewhere = good;
  elsewhere.to = "south";
  EXPECT_FALSE(desk->Take("north", mark, Encode(SignHeads(elsewhere, north_))));
  const Bytes bytes = Encode(SignHeads(good, north_));
  Bytes cut(bytes.begin(), bytes.end() - 1);
  EXPECT_THROW(desk->Take("north", mark, cut), Error);
  Bytes changed = bytes;
  changed[60] ^= 1;
  EXPECT_FALSE(desk->Take("north", mark, changed));
  EXPECT_EQ(answered(), 0U);
  EXPECT_THAT(noted_, IsEmpty());

  EXPECT_TRUE(desk->Take("north", mark, bytes));
  EXPECT_TRUE(desk->Take("north", mark, bytes)) << "repeated";
  EXPECT_EQ(answered(), 1U);
  EXPECT_EQ(noted_.at(0).action, AuditAction::kHeadsHeard);
  EXPECT_EQ(desk->Counted(earlier).answered, 0U);
  // A site that forgot has answered, and counts as none.
  HeadsAnswer forgot{"south", "west", DigestOf(mark), kNow, {HeadsMemory::kRestored, {}}};
  EXPECT_TRUE(desk->Take("south", mark, Encode(SignHeads(forgot, south_))));
  EXPECT_EQ(answered(), 1U);

  // A day later it is asked again.
  now_ = kNow + kHeadsCountFor;
  EXPECT_EQ(answered(), 0U);
  EXPECT_FALSE(desk->Take("north", mark, bytes)) << "as it was";
  now_ = kNow;
  EXPECT_EQ(answered(), 1U);

  // After a start the same, and with a file that is damaged nothing.
  EXPECT_EQ(Desk()->Counted(mark).answered, 1U);
  WriteFileAtomically((folder_.state() / "heads").string(), "x");
  EXPECT_EQ(Desk()->Counted(mark).answered, 0U);
}

TEST_F(HeadsDeskTest, AJobAnswersForTheSiteThatAsks) {
  // The words are those of job/heads_answer.h; what is told is that it has a ledger and was shown nothing.
  // It is asked by an errand: the length of the frame, version, kind, no studies, a name, no answers (job/wire.h).
  const auto desk =
      Desk(R"(test $(dd bs=1 count=31 <&3 2>/dev/null | tr -dc 'A-Za-z') = Dnorth && )"
           R"(printf '\001\001\005\000\000\000\000\000\000\000\000\000\000\000' >&3)");
  EXPECT_EQ(desk->Answer("north", Bytes(31, 7)).status, 403U);
  EXPECT_EQ(desk->Answer("north", Question(7)).status, 503U) << "a request does not wait";
  desk->Start();
  const net::HttpResponse response = Insist(*desk, Question(7));
  ASSERT_EQ(response.status, 200U);
  const SignedHeads document = DecodeSignedHeads(response.body);
  EXPECT_EQ(
      document.answer,
      (HeadsAnswer{
          "west", "north", Digest(document.answer.mark), kNow, {HeadsMemory::kWhole, {}, 5}}));
  EXPECT_EQ(Bytes(document.answer.mark.begin(), document.answer.mark.end()), Question(7));
  PartyList of_north;
  of_north.owner = "north";
  of_north.parties = {Party("west", west_, steward_)};
  EXPECT_TRUE(IsHeadsAnswer(document, of_north, document.answer.mark, kNow));
  // Each question is looked at anew, and told in the log once in an hour, whatever mark is named.
  for (uint8_t mark = 7; mark < 12; ++mark) EXPECT_EQ(Insist(*desk, Question(mark)).status, 200U);
  now_ = kNow + 3'599;
  EXPECT_EQ(Insist(*desk, Question(12)).status, 200U);
  now_ = kNow + 3'600;
  EXPECT_EQ(Insist(*desk, Question(13)).status, 200U);
  desk->Stop();
  EXPECT_THAT(noted_, SizeIs(2));
  EXPECT_EQ(noted_.at(1).time, kNow + 3'600);
  EXPECT_EQ(noted_.at(0).action, AuditAction::kHeadsTold);
}

// A site whose job fails each time says "later" for ever.
TEST(HeadsTurnTest, WhoeverSaysLaterForEverIsAskedLessOften) {
  AskTurn turn;
  std::vector<int64_t> waits;
  for (int i = 0; i < 14; ++i) waits.push_back(WaitAfter(turn, true).count());
  EXPECT_THAT(waits, ElementsAre(1, 1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600));
  turn = {};
  EXPECT_EQ(WaitAfter(turn, false).count(), 2);
  EXPECT_EQ(WaitAfter(turn, false).count(), 4);
  EXPECT_EQ(WaitAfter(turn, true).count(), 1) << "it was reached, and looks";
}

TEST_F(HeadsDeskTest, AJobThatFailsTellsNothing) {
  for (const char* script : {"exit 1", R"(printf '\000no ledger here' >&3)",
                             R"(printf '\001\004\000\000\000\000' >&3)", "kill -9 $$"}) {
    lines_.clear();
    const auto desk = Desk(script);
    EXPECT_EQ(desk->Answer("north", Question(1)).status, 503U);
    desk->Start();
    const auto has_failed = [this] {
      const std::lock_guard lock(mutex_);
      return !lines_.empty();
    };
    const Deadline deadline = Deadline::After(std::chrono::seconds(60));
    while (!has_failed() && !deadline.passed()) std::this_thread::yield();
    EXPECT_TRUE(has_failed()) << script;
    EXPECT_EQ(desk->Answer("north", Question(1)).status, 503U) << script;
    desk->Stop();
    EXPECT_THAT(noted_, IsEmpty()) << script;
  }
}

// A file that cannot even be looked for.
TEST_F(HeadsDeskTest, AFaultOfTheFolderEndsNoNode) {
  fs::create_symlink(folder_.restored(), folder_.restored());
  const auto desk = Desk();
  desk->Start();
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  const auto has_said = [this] {
    const std::lock_guard lock(mutex_);
    return !lines_.empty();
  };
  while (!has_said() && !deadline.passed()) std::this_thread::yield();
  EXPECT_TRUE(has_said());
  desk->Stop();
}

}  // namespace
}  // namespace partita::node::heads_desk_test
