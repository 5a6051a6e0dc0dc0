// Studies that a steward took back: what is neither signed nor run, and the list that says so.
#include <sys/stat.h>

#include "node/job/statement.h"
#include "tests/node/sign/signer_scene.h"

namespace partita::node::signer_ended_test {
namespace {

using signer_scene::ErrorOf;
using signer_scene::HasSubstr;
using signer_scene::kPhrase;
using signer_scene::PrintOf;
using signer_scene::SignerScene;
using signer_scene::TestJson;
using signer_scene::World;

class SignerEndedTest : public SignerScene {};

TEST_F(SignerEndedTest, WhatIsTakenBackIsNeitherSignedNorRun) {
  TestJson request = EndRequest("withdraw");
  request["passphrase"] = "wrong words";
  EXPECT_THAT(Refusal(request), HasSubstr("the passphrase is wrong"));
  EXPECT_TRUE(Show().at("can_approve").get<bool>());
  request["passphrase"] = kPhrase;
  EXPECT_EQ(Refusal(request), "none");
  EXPECT_EQ(Refusal(request), "none") << "a second time changes nothing";
  EXPECT_EQ(Show().at("why_not"), "this site took its approval back");
  EXPECT_THAT(Refusal(ApproveRequest()), HasSubstr("this site took its approval back"));
  // The job reads what was published.
  const SignedEndedList published =
      DecodeSignedEndedList(AsBytes(ReadFile(south.settings.ended, 1 << 20, "the list")));
  EXPECT_TRUE(IsEnded(published.list, south.study.id));
  EXPECT_NO_THROW(RequireEndedList(published, "south", {PrintOf(south.steward)}, 3));
  // A daemon that puts the list of before in its place changes nothing in the signer's.
  EndedList empty;
  empty.owner = "south";
  empty.serial = 1;
  World::WriteEnded(south, empty);
  EXPECT_THAT(Refusal(ApproveRequest()), HasSubstr("this site took its approval back"));
}

// Documents of another study under the name: the daemon would choose what is ended.
TEST_F(SignerEndedTest, OnlyTheStudyThatWasNamedIsEnded) {
  for (const char* what : {"withdraw", "reject"}) {
    TestJson request = EndRequest(what);
    std::string number = request.at("study");
    number[0] = number[0] == '0' ? '1' : '0';
    request["study"] = number;
    EXPECT_THAT(Refusal(request), HasSubstr("untrusted: the documents are those of another study"));
    request.erase("study");
    EXPECT_THAT(Refusal(request), HasSubstr("usage: "));
  }
  EXPECT_TRUE(Show().at("can_approve").get<bool>());
  EXPECT_FALSE(std::filesystem::exists(home / "tries"));
}

Bytes BytesOf(const std::filesystem::path& file) {
  const std::string text = ReadFile(file, 1 << 20, "a list");
  return {text.begin(), text.end()};
}
void Put(const std::filesystem::path& file, const Bytes& bytes) {
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}
unsigned ModeOf(const std::filesystem::path& file) {
  struct stat status {};
  EXPECT_EQ(::lstat(file.c_str(), &status), 0);
  return status.st_mode;
}
EndedStudy Numbered(uint8_t number, int64_t expires) {
  EndedStudy study;
  study.study.fill(number);
  study.expires = expires;
  return study;
}

// Whoever can write in the steward's folder and puts an older list back is noticed.
TEST_F(SignerEndedTest, AnOlderListInTheFolderIsRefused) {
  const SignerFolder folder(home);
  const Bytes first_list = BytesOf(home / "ended"), first_mark = BytesOf(home / "ended.mark");
  folder.End({south.study.id, south.study.expires}, south.steward, now);
  const Bytes newest = BytesOf(home / "ended");
  Put(home / "ended", first_list);
  EXPECT_THAT(Refusal(Request("study")), HasSubstr("untrusted: the list of ended approvals does "
                                                   "not count: a newer one was signed"));
  EXPECT_THAT(Refusal(EndRequest("withdraw")), HasSubstr("a newer one was signed"));
  std::filesystem::remove(home / "ended.mark");
  EXPECT_THAT(Refusal(Request("study")), HasSubstr("the mark of the list of ended approvals"));
  // An end between list and mark.
  Put(home / "ended", newest);
  Put(home / "ended.mark", first_mark);
  EXPECT_TRUE(IsEnded(folder.Ended(), south.study.id));
}

// Clocks that are ahead for a while, by whatever.
TEST_F(SignerEndedTest, AClockThatWasAheadForgetsNoStudy) {
  constexpr int64_t kDay = 86'400;
  const SignerFolder folder(home);
  folder.End(Numbered(1, now + 2 * kDay), south.steward, now);
  for (uint8_t number = 2; number < 8; ++number)
    folder.End(Numbered(number, now + 400 * kDay), south.steward, now + 365 * kDay);
  EXPECT_TRUE(IsEnded(folder.Ended(), Numbered(1, 0).study));
  // Back again; and when it has expired for a week by a clock that goes as it should, it goes.
  for (int day = 0; day < 11; ++day)
    folder.End(Numbered(8, now + 400 * kDay), south.steward, now + day * kDay);
  EXPECT_FALSE(IsEnded(folder.Ended(), Numbered(1, 0).study));
  EXPECT_TRUE(IsEnded(folder.Ended(), Numbered(2, 0).study));
  EXPECT_EQ(EndedListTime(1000, 1010), 1010);
  EXPECT_EQ(EndedListTime(1000, 1000 + 40 * kDay), 1000 + kDay);
  EXPECT_EQ(EndedListTime(1000, 10), 10);
}

// What an end of the process between the two copies left, or somebody removed.
TEST_F(SignerEndedTest, WhatIsNotPublishedComesAgain) {
  const SignerFolder folder(home);
  const std::filesystem::path published = south.settings.ended;
  const Bytes before = BytesOf(published);
  folder.End({south.study.id, south.study.expires}, south.steward, now);
  const Bytes newest = BytesOf(home / "ended");
  EXPECT_EQ(BytesOf(published), newest);
  Put(published, before);
  folder.Publish();
  EXPECT_EQ(BytesOf(published), newest);
  std::filesystem::remove(published);
  folder.Publish();
  EXPECT_EQ(BytesOf(published), newest);
  EXPECT_EQ(ModeOf(published), S_IFREG | 0644u);
  // A folder that was restored from a backup takes no withdrawal back.
  folder.End(Numbered(1, now + 10), south.steward, now);
  const Bytes last = BytesOf(published);
  Put(home / "ended", newest);
  WriteFileAtomically((home / "ended.mark").string(),
                      std::string("\2\0\0\0\0\0\0\0", 8) + std::string(8, '\0'));
  EXPECT_THAT(ErrorOf([&] { folder.Publish(); }),
              HasSubstr("untrusted: a newer list of ended approvals was published"));
  EXPECT_EQ(BytesOf(published), last);
}

// Whoever can write where the list is published leads it to another file of the steward's.
TEST_F(SignerEndedTest, ALinkInThePublishedPlaceIsReplaced) {
  const std::filesystem::path published = south.settings.ended;
  std::filesystem::remove(published);
  std::filesystem::create_symlink(home / "steward.key", published);
  const Bytes key = BytesOf(home / "steward.key");
  SignerFolder(home).End({south.study.id, south.study.expires}, south.steward, now);
  EXPECT_EQ(ModeOf(home / "steward.key"), S_IFREG | 0600u);
  EXPECT_EQ(BytesOf(home / "steward.key"), key);
  EXPECT_EQ(ModeOf(published), S_IFREG | 0644u);
  EXPECT_EQ(BytesOf(published), BytesOf(home / "ended"));
}

// Every prefix, an additional byte, and every byte changed: refused, or other bytes of the same form.
template <class Again>
void ExpectStrict(const Bytes& bytes, const Again& again) {
  EXPECT_EQ(again(bytes), bytes);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    Bytes changed(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    if (size == bytes.size()) changed.push_back(0);
    EXPECT_THAT(ErrorOf([&] { again(changed); }), HasSubstr("bad-input: ")) << size;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t flip : std::array<uint8_t, 2>{0x01, 0x80}) {
      Bytes changed = bytes, written;
      changed[i] = static_cast<uint8_t>(changed[i] ^ flip);
      const std::string error = ErrorOf([&] { written = again(changed); });
      if (error == "none") {
        EXPECT_EQ(written, changed) << i;
      } else {
        EXPECT_THAT(error, HasSubstr("bad-input: ")) << i;
      }
    }
  }
}

TEST_F(SignerEndedTest, StatementsAndEndedListsAreReadStrictly) {
  ExpectStrict(statement, [](const Bytes& bytes) { return Encode(DecodeSignedCommit(bytes)); });
  EndedList ended;
  ended.owner = "south";
  for (const uint8_t number : std::array<uint8_t, 3>{9, 4, 6}) {
    StudyId id{};
    id.fill(number);
    ended = WithEnded(ended, {id, now + number}, now);
  }
  EXPECT_EQ(ended.serial, 3u);
  EXPECT_EQ(ended.studies.size(), 3u);
  const auto again = [](const Bytes& bytes) { return Encode(DecodeSignedEndedList(bytes)); };
  ExpectStrict(Encode(SignEndedList(ended, south.steward)), again);
  // With policies.
  for (const uint8_t salt : std::array<uint8_t, 2>{3, 4}) {
    PublishedPolicy policy;
    policy.salt.fill(salt);
    policy.key.fill(5);
    policy.from = now;
    policy.until = now + salt;
    policy.text = "partita_envelope = 2";
    ended = WithPolicy(ended, policy, now);
  }
  ExpectStrict(Encode(SignEndedList(ended, south.steward)), again);
  EXPECT_EQ(WithoutPolicy(ended, CommitmentOf(ended.policies[1]), now).policies.size(), 1u);
  EXPECT_EQ(WithoutPolicy(ended, CommitmentOf(ended.policies[1]), now + 4).policies.size(), 0u);
  ended.policies.resize(kMaxPolicies, ended.policies[1]);
  EXPECT_THAT(ErrorOf([&] { WithPolicy(ended, ended.policies[1], now); }),
              HasSubstr("refused: there are too many policies"));
}

// Entries go a week after their study's expiry, when no approval of it holds any more; the list is bounded.
TEST(EndedListTest, ForgetsWhatHasExpiredAndNothingElse) {
  constexpr int64_t kThen = 1'800'000'000;
  EndedList list;
  list.owner = "south";
  StudyId one{}, two{};
  one.fill(1);
  two.fill(2);
  list = WithEnded(list, {one, kThen + 10}, kThen);
  list = WithEnded(list, {two, kThen + 900'000}, kThen + 10 + 7 * 86'400);
  EXPECT_TRUE(IsEnded(list, one));
  list = WithEnded(list, {two, kThen + 900'000}, kThen + 11 + 7 * 86'400);
  EXPECT_FALSE(IsEnded(list, one));
  EXPECT_TRUE(IsEnded(list, two));
  EXPECT_EQ(list.studies.size(), 1u);
  list.studies.assign(kMaxEndedStudies, {one, kThen + 90'000});
  EXPECT_THAT(ErrorOf([&] {
                WithEnded(list, {two, kThen + 90'000}, kThen);
              }),
              HasSubstr("refused: the list of ended approvals is full"));
}

}  // namespace
}  // namespace partita::node::signer_ended_test
