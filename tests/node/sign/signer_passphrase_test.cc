// Who gets at the steward's key: wrong passphrases, the folder, the users who may ask.
#include <sys/stat.h>

#include "node/daemon/control_socket.h"
#include "tests/node/sign/signer_scene.h"

namespace partita::node::signer_passphrase_test {
namespace {

using signer_scene::ErrorOf;
using signer_scene::HasSubstr;
using signer_scene::kPhrase;
using signer_scene::SignerScene;
using signer_scene::TestJson;

class SignerPassphraseTest : public SignerScene {};

TEST_F(SignerPassphraseTest, WrongPassphrasesWaitLongerAndLonger) {
  const auto go_on = [](const std::string& phrase) {
    return TestJson{{"do", "go-on"}, {"text", std::string(64, '0')}, {"passphrase", phrase}};
  };
  const TestJson wrong = go_on("some other words"), right = go_on(kPhrase);
  const auto wait = [&] { return Ask({{"do", "status"}}).at("wait_seconds").get<int64_t>(); };
  EXPECT_EQ(wait(), 0);
  for (const int64_t expected : {0, 0, 1, 2, 4, 8, 16, 30, 30, 30}) {
    EXPECT_THAT(Refusal(wrong), HasSubstr("refused: the passphrase is wrong"));
    EXPECT_EQ(wait(), expected);
    if (expected == 0) continue;
    // Not looked at before its time, a right one neither; not by another process either.
    EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
    now += expected - 1;
    signer = NewSigner();
    EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
    now += 1;
  }
  // A clock that is set back does not let anybody in early, and nobody wait for hours.
  Refusal(wrong);
  now -= 7200;
  EXPECT_EQ(wait(), 30);
  EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
  now += 29;
  EXPECT_THAT(Refusal(right), HasSubstr("too many wrong passphrases"));
  now += 1;
  EXPECT_EQ(Refusal(right), "none");
  EXPECT_EQ(wait(), 0);
  EXPECT_THAT(Refusal(wrong), HasSubstr("the passphrase is wrong"));
  EXPECT_EQ(wait(), 0);
}

// Whoever may ask can be wrong all day: the steward at the terminal, and other users, do not wait for it.
TEST_F(SignerPassphraseTest, EachCallerWaitsForItsOwnMistakes) {
  const uid_t web = 1234, other = 1235;
  const auto go_on = [&](const std::string& phrase, Caller caller) {
    const TestJson request = {
        {"do", "go-on"}, {"text", std::string(64, '0')}, {"passphrase", phrase}};
    return ErrorOf([&] { signer->Answer(request.dump(), caller); });
  };
  const auto wait = [&](Caller caller) {
    return TestJson::parse(signer->Answer(R"({"do":"status"})", caller)).at("wait_seconds");
  };
  for (int i = 0; i < 3; ++i) EXPECT_THAT(go_on("some other words", web), HasSubstr("is wrong"));
  EXPECT_EQ(wait(web), 1);
  EXPECT_THAT(go_on(kPhrase, web), HasSubstr("too many wrong passphrases"));
  for (const Caller caller : {Caller(), Caller(other)}) {
    EXPECT_EQ(wait(caller), 0);
    EXPECT_EQ(go_on(kPhrase, caller), "none");
  }
  // Theirs takes nothing back.
  EXPECT_THAT(go_on(kPhrase, web), HasSubstr("too many wrong passphrases"));
  now += 1;
  EXPECT_EQ(go_on(kPhrase, web), "none");
}

// A terminal that is not UTF-8, or random bytes by a descriptor: such a key could never be used.
TEST_F(SignerPassphraseTest, APassphraseIsUtf8) {
  EXPECT_EQ(ErrorOf([] { RequirePassphraseText("W\xC3\xB6rter eines Stewards"); }), "none");
  const std::string latin = "W\xF6rter eines Stewards";
  EXPECT_EQ(ErrorOf([&] { RequirePassphraseText(latin); }), "usage: the passphrase is not UTF-8");
  const std::filesystem::path fresh = world.folder() / "fresh";
  SignerConfig config;
  config.site = "south";
  const auto make = [&](const std::string& phrase) {
    return ErrorOf([&] {
      SignerFolder::Make(fresh, config, *south.node.certificate, *south.jobs.certificate, phrase);
    });
  };
  EXPECT_EQ(make(latin), "usage: the passphrase is not UTF-8");
  config.ended = world.folder() / "W\xF6rter";
  EXPECT_EQ(make(kPhrase), "usage: the path of a list for the jobs is no UTF-8");
  EXPECT_FALSE(std::filesystem::exists(fresh));
  // Any other path comes back as it was.
  config.ended = world.folder() / "a \"place\" \\ of ours";
  config.parties = world.folder() / "our = ]parties";
  EXPECT_EQ(make(kPhrase), "none");
  EXPECT_EQ(SignerFolder(fresh).Config().ended, config.ended);
  EXPECT_EQ(SignerFolder(fresh).Config().parties, config.parties);
  EXPECT_TRUE(std::filesystem::exists(config.ended));
}

TEST_F(SignerPassphraseTest, TheFolderIsTheStewardsAlone) {
  struct stat status {};
  ASSERT_EQ(::stat(home.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((home / "steward.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_THAT(ErrorOf([&] { SignerFolder(world.folder()).Config(); }),
              HasSubstr("usage: there is no steward's key"));
  WriteFileAtomically((home / "signer.toml").string(),
                      "partita_signer = 1\nsite = \"south\"\nusers = [\"no-such-user\"]\n");
  EXPECT_THAT(ErrorOf([&] { SignerFolder(home).Config(); }), HasSubstr("there is no user"));
  WriteFileAtomically((home / "signer.toml").string(),
                      "partita_signer = 1\nsite = \"south\"\nusers = [\"root\", \"1234\"]\n");
  const SignerConfig config = SignerFolder(home).Config();
  EXPECT_EQ(config.users, (std::vector<uid_t>{0, 1234}));
  EXPECT_TRUE(config.ended.empty());
  EXPECT_EQ(config.socket, home / "sign.sock");
}

TEST_F(SignerPassphraseTest, OnlyTheWebProcessAndTheOwnUserMayAsk) {
  const std::vector<uid_t> web = {1234};
  EXPECT_TRUE(MayControl(1234, 1000, web));
  EXPECT_TRUE(MayControl(1000, 1000, web));
  EXPECT_TRUE(MayControl(0, 1000, web));
  EXPECT_FALSE(MayControl(1235, 1000, web));
  EXPECT_FALSE(MayControl(static_cast<uid_t>(-1), 1000, web));
  // With such users the kernel lets anybody connect, so what SO_PEERCRED says decides.
  const auto mode = [&](const std::vector<uid_t>& users) {
    const std::filesystem::path path = home / "s";
    const ControlSocket socket(
        path, [](const std::string&, uid_t) { return "{}"; }, [](uid_t) {}, users);
    struct stat status {};
    ::stat(path.c_str(), &status);
    return status.st_mode & 0777;
  };
  EXPECT_EQ(mode({}), 0600u);
  EXPECT_EQ(mode(web), 0666u);
}

}  // namespace
}  // namespace partita::node::signer_passphrase_test
