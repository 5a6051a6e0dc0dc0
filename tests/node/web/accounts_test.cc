// Accounts, sessions, delays and repeats: what keeps strangers out, by a clock that the test sets.
#include "node/web/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "crypto/password.h"
#include "crypto/random.h"
#include "node/web/answers.h"
#include "node/web/login_delay.h"
#include "node/web/repeats.h"
#include "node/web/sessions.h"

namespace partita::node::web::accounts_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kAccountsNow = 1'800'000'000;
const std::string kGood = "correct horse battery";

template <class Act>
ErrorCode CodeOf(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

class AccountsTest : public ::testing::Test {
 protected:
  AccountsTest() { fs::remove(file_); }
  ~AccountsTest() override { fs::remove(file_); }

  fs::path file_ = fs::path(::testing::TempDir()) / ("accounts-" + std::to_string(::getpid()));
  crypto::SystemRandom random_;
};

TEST_F(AccountsTest, PasswordsAreHashedAndChecked) {
  AccountStore store(file_, random_);
  struct stat status {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  store.Add("anna", Role::kSteward, kGood, kAccountsNow);
  EXPECT_TRUE(store.Check("anna", kGood));
  EXPECT_FALSE(store.Check("anna", kGood + "x"));
  EXPECT_FALSE(store.Check("anna", ""));
  EXPECT_FALSE(store.Check("nobody", kGood));
  std::ifstream stream(file_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_THAT(bytes, HasSubstr("$argon2id$v=19$m=65536,t=2,p=1$"));
  EXPECT_THAT(bytes, Not(HasSubstr(kGood)));
}

TEST_F(AccountsTest, NamesAndPasswordsHaveRules) {
  AccountStore store(file_, random_);
  for (const char* name : {"", "Anna", "1a", "a b", "a/b", "ann\xc3\xa4", "-a"})
    EXPECT_EQ(CodeOf([&] { store.Add(name, Role::kSteward, kGood, 0); }), ErrorCode::kUsage)
        << name;
  EXPECT_FALSE(IsAccountName(std::string(33, 'a')));
  EXPECT_TRUE(IsAccountName("a.b-c_d1"));
  for (const std::string& password : {std::string(11, 'x'), std::string(257, 'x')})
    EXPECT_EQ(CodeOf([&] { store.Add("anna", Role::kSteward, password, 0); }), ErrorCode::kUsage);
  EXPECT_TRUE(store.IsEmpty());
  store.Add("anna", Role::kSteward, kGood, kAccountsNow);
  EXPECT_EQ(CodeOf([&] { store.Add("anna", Role::kAnalyst, kGood, 0); }), ErrorCode::kRefused);
  EXPECT_EQ(store.List(), (std::vector<Account>{{"anna", Role::kSteward, kAccountsNow, 0}}));
}

TEST_F(AccountsTest, TheLastThatMakesAccountsStays) {
  AccountStore store(file_, random_);
  store.Add("anna", Role::kSteward, kGood, 0);
  store.Add("bert", Role::kAnalyst, kGood, 0);
  EXPECT_EQ(CodeOf([&] { store.Remove("anna"); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { store.Remove("carl"); }), ErrorCode::kUsage);
  store.Remove("bert");
  store.Add("carl", Role::kOperator, kGood, 0);
  store.Remove("anna");
  EXPECT_FALSE(store.Find("anna").has_value());
  EXPECT_EQ(CodeOf([&] { store.Remove("carl"); }), ErrorCode::kRefused);
}

TEST_F(AccountsTest, AnotherPasswordForgetsBrowsers) {
  AccountStore store(file_, random_);
  store.Add("anna", Role::kSteward, kGood, 0);
  const std::string first = store.RememberBrowser("anna", kAccountsNow);
  EXPECT_TRUE(store.KnowsBrowser("anna", first, kAccountsNow));
  EXPECT_FALSE(store.KnowsBrowser("bert", first, kAccountsNow));
  EXPECT_FALSE(store.KnowsBrowser("anna", std::string(64, '0'), kAccountsNow));
  EXPECT_FALSE(store.KnowsBrowser("anna", first, kAccountsNow + kBrowserSeconds));
  for (int i = 0; i < 16; ++i) store.RememberBrowser("anna", kAccountsNow + 1);
  EXPECT_FALSE(store.KnowsBrowser("anna", first, kAccountsNow)) << "16 newer ones";
  const std::string last = store.RememberBrowser("anna", kAccountsNow + 2);
  store.SetPassword("anna", "another password of hers");
  EXPECT_FALSE(store.KnowsBrowser("anna", last, kAccountsNow + 2));
  EXPECT_FALSE(store.Check("anna", kGood));
  EXPECT_TRUE(store.Check("anna", "another password of hers"));
  EXPECT_EQ(CodeOf([&] { store.SetPassword("bert", kGood); }), ErrorCode::kUsage);
}

// Once, within an hour, and only while there is no account; typed as people type.
TEST_F(AccountsTest, ASetUpCodeWorksOnce) {
  AccountStore store(file_, random_);
  const auto add = [&](const std::string& code, int64_t now) {
    store.AddFirst(code, "anna", Role::kOperator, kGood, now);
  };
  EXPECT_EQ(CodeOf([&] { add("", kAccountsNow); }), ErrorCode::kRefused);
  const std::string voided = store.MakeSetUpCode(kAccountsNow);
  std::string code = store.MakeSetUpCode(kAccountsNow);
  EXPECT_EQ(code.size(), 19U);
  EXPECT_NE(code, voided);
  EXPECT_EQ(CodeOf([&] { add(voided, kAccountsNow); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { add(code, kAccountsNow + kSetUpCodeSeconds); }), ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { store.AddFirst(code, "A", Role::kOperator, kGood, kAccountsNow); }),
            ErrorCode::kUsage);
  for (char& letter : code) letter = letter == '-' ? ' ' : static_cast<char>(std::toupper(letter));
  add(code, kAccountsNow + kSetUpCodeSeconds - 1);
  EXPECT_TRUE(store.Check("anna", kGood));
  EXPECT_EQ(CodeOf([&] { store.AddFirst(code, "bert", Role::kOperator, kGood, kAccountsNow); }),
            ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([&] { store.MakeSetUpCode(kAccountsNow); }), ErrorCode::kRefused);
  EXPECT_EQ(store.List().size(), 1U);
}

// A code that was made before an account came by another way is void.
TEST_F(AccountsTest, ASetUpCodeIsVoidOnceThereIsAnAccount) {
  AccountStore store(file_, random_);
  const std::string code = store.MakeSetUpCode(kAccountsNow);
  store.Add("anna", Role::kOperator, kGood, 0);
  EXPECT_EQ(CodeOf([&] { store.AddFirst(code, "eve", Role::kSteward, kGood, kAccountsNow); }),
            ErrorCode::kRefused);
}

TEST_F(AccountsTest, AnotherFileIsNoAccounts) {
  std::ofstream(file_) << "this is no database, but it is long enough to be looked at as one";
  EXPECT_EQ(CodeOf([&] { AccountStore store(file_, random_); }), ErrorCode::kBadInput);
}

TEST(PasswordTest, NoHashIsNoPassword) {
  EXPECT_FALSE(crypto::IsPasswordOf("x", ""));
  EXPECT_FALSE(crypto::IsPasswordOf("x", "$argon2id$v=19$m=65536,t=2,p=1$x"));
  EXPECT_NE(crypto::HashPassword("x"), crypto::HashPassword("x"));
}

TEST(SessionsTest, EndByIdlingAndByAge) {
  crypto::SystemRandom random;
  Sessions sessions(random);
  const std::string token = sessions.Open("anna", Role::kSteward, kAccountsNow);
  EXPECT_EQ(token.size(), 64U);
  EXPECT_FALSE(sessions.Find(std::string(64, '0'), kAccountsNow, true).has_value());
  EXPECT_FALSE(sessions.Find("", kAccountsNow, true).has_value());
  // What a page does by itself keeps nobody in.
  EXPECT_TRUE(sessions.Find(token, kAccountsNow + kSessionIdleSeconds - 1, false).has_value());
  EXPECT_FALSE(sessions.Find(token, kAccountsNow + kSessionIdleSeconds, false).has_value());

  const std::string busy = sessions.Open("anna", Role::kSteward, kAccountsNow);
  int64_t now = kAccountsNow;
  while (now + kSessionIdleSeconds - 1 < kAccountsNow + kSessionSeconds) {
    now += kSessionIdleSeconds - 1;
    EXPECT_TRUE(sessions.Find(busy, now, true).has_value());
  }
  EXPECT_FALSE(sessions.Find(busy, kAccountsNow + kSessionSeconds, true).has_value());
  EXPECT_EQ(sessions.Count(kAccountsNow + kSessionSeconds), 0U);
}

TEST(SessionsTest, AllOfAnAccountEndTogether) {
  crypto::SystemRandom random;
  Sessions sessions(random);
  const std::string first = sessions.Open("anna", Role::kSteward, 1);
  const std::string second = sessions.Open("anna", Role::kSteward, 1);
  const std::string other = sessions.Open("bert", Role::kAnalyst, 1);
  EXPECT_NE(first, second);
  EXPECT_NE(CsrfToken(first), CsrfToken(second));
  sessions.EndAll("anna", second);
  EXPECT_FALSE(sessions.Find(first, 1, true).has_value());
  EXPECT_TRUE(sessions.Find(second, 1, true).has_value());
  sessions.EndAll("anna");
  EXPECT_FALSE(sessions.Find(second, 1, true).has_value());
  EXPECT_TRUE(sessions.Find(other, 1, true).has_value());
}

TEST(SessionsTest, AreBounded) {
  crypto::SystemRandom random;
  Sessions sessions(random);
  const std::string other = sessions.Open("bert", Role::kAnalyst, 1);
  const std::string first = sessions.Open("anna", Role::kSteward, 2);
  for (size_t i = 0; i < kMostSessionsPerAccount; ++i) sessions.Open("anna", Role::kSteward, 3);
  EXPECT_EQ(sessions.Count(3), kMostSessionsPerAccount + 1);
  EXPECT_FALSE(sessions.Find(first, 3, true).has_value());
  EXPECT_TRUE(sessions.Find(other, 3, true).has_value());
  for (size_t i = 0; i < kMostSessions + 10; ++i)
    sessions.Open("account" + std::to_string(i), Role::kAuditor, 4);
  EXPECT_EQ(sessions.Count(4), kMostSessions);
}

// Waits of 1, 2, 4, 8, 16, 30, 30 ... seconds from the third wrong one on; never more.
TEST(LoginDelayTest, GrowsAndEndsAtHalfAMinute) {
  LoginDelay delay;
  int64_t now = kAccountsNow;
  EXPECT_EQ(delay.Begin("a", "anna", now), 0);
  EXPECT_EQ(delay.Begin("a", "anna", now), 0);
  EXPECT_EQ(delay.Begin("a", "anna", now), 0);
  for (const int64_t wait : {1, 2, 4, 8, 16, 30, 30, 30}) {
    EXPECT_EQ(delay.Begin("a", "anna", now), wait);
    EXPECT_EQ(delay.Begin("a", "anna", now), wait) << "asking does not make it longer";
    now += wait;
    EXPECT_EQ(delay.Begin("a", "anna", now), 0);
  }
  // By address and by account, each for itself.
  EXPECT_EQ(delay.Begin("a", "bert", now), 30);
  EXPECT_EQ(delay.Begin("b", "anna", now), 30);
  EXPECT_EQ(delay.Begin("b", "bert", now), 0);
  // A clock that was set back makes nobody wait longer.
  EXPECT_EQ(delay.Begin("a", "anna", now - 100'000), 30);
  EXPECT_EQ(delay.Begin("a", "anna", now + 3600), 0);
}

// Many at a time gain nothing: each counts from its beginning.
TEST(LoginDelayTest, CountsWhatIsBeingLookedAt) {
  LoginDelay delay;
  int looked_at = 0;
  for (int i = 0; i < 100; ++i) looked_at += delay.Begin("a", "anna", kAccountsNow) == 0 ? 1 : 0;
  EXPECT_EQ(looked_at, 3);
}

// A right password wipes the slate of the account, and only its own mark of the address: nobody clears the way
// for a search with an account of their own.
TEST(LoginDelayTest, ARightOneDoesNotForgiveTheAddress) {
  LoginDelay delay;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(delay.Begin("a", "victim", kAccountsNow), 0);
  EXPECT_EQ(delay.Begin("a", "own", kAccountsNow + 1), 0);
  delay.Right("a", "own");
  EXPECT_EQ(delay.Begin("a", "victim", kAccountsNow + 1), 1);
  LoginDelay other;
  for (int i = 0; i < 2; ++i) other.Begin("a", "anna", kAccountsNow);
  EXPECT_EQ(other.Begin("b", "anna", kAccountsNow), 0);
  other.Right("b", "anna");
  EXPECT_EQ(other.Begin("c", "anna", kAccountsNow), 0);
}

TEST(LoginDelayTest, KeepsABoundedBook) {
  LoginDelay delay;
  for (int i = 0; i < 3; ++i) delay.Begin("a", "anna", kAccountsNow);
  for (int i = 0; i < 5000; ++i)
    delay.Begin("address" + std::to_string(i), "account" + std::to_string(i), kAccountsNow + 1);
  // The oldest mark went: memory is bounded, not the patience of somebody with 5000 addresses.
  EXPECT_EQ(delay.Begin("a", "anna", kAccountsNow + 1), 0);
}

TEST(RepeatsTest, AnswersAlikeAndOnce) {
  Repeats repeats;
  const std::string key = "0123456789abcdef";
  const crypto::Digest one{}, other{1};
  EXPECT_FALSE(repeats.Begin("anna", key, one, 1).has_value());
  EXPECT_EQ(repeats.Begin("anna", key, one, 1)->status, 429U) << "it is being done";
  repeats.End("anna", key, net::TextResponse(200, "first"));
  EXPECT_EQ(net::BodyText(*repeats.Begin("anna", key, one, 2)), "first");
  EXPECT_EQ(repeats.Begin("anna", key, other, 2)->status, 409U);
  EXPECT_FALSE(repeats.Begin("bert", key, one, 2).has_value()) << "keys are an account's";
  EXPECT_FALSE(repeats.Begin("anna", key, one, 1 + kRepeatSeconds).has_value());
  repeats.End("anna", key, net::TextResponse(422, "refused"));
  EXPECT_FALSE(repeats.Begin("anna", key, one, 602).has_value()) << "to be tried again";
  EXPECT_TRUE(IsRepeatKey("12345678-1234-1234-1234-123456789abc"));
  for (const std::string& bad :
       {std::string(15, 'a'), std::string(65, 'a'), std::string("a b c d e f g h i")})
    EXPECT_FALSE(IsRepeatKey(bad));
}

TEST(AnswersTest, NamesNoFiles) {
  EXPECT_EQ(WithoutPaths("cannot read /srv/tables/p.csv: no"),
            "cannot read (a file of this site) no");
  EXPECT_EQ(WithoutPaths("'/etc/x y' and (/a/b)"),
            "'(a file of this site) y' and ((a file of this site))");
  EXPECT_EQ(WithoutPaths("/x"), "(a file of this site)");
  EXPECT_EQ(WithoutPaths("rows and/or columns, 3 / 4, a/b"), "rows and/or columns, 3 / 4, a/b");
  const net::HttpResponse bug =
      ProblemOf(Error(ErrorCode::kInternal, "words of a bug", "a hint"), false);
  EXPECT_EQ(bug.status, 500U);
  EXPECT_THAT(net::BodyText(bug), Not(HasSubstr("bug")));
  EXPECT_EQ(ProblemOf(Error(ErrorCode::kUsage, "x"), true).status, 404U);
  EXPECT_EQ(ProblemOf(Error(ErrorCode::kUsage, "x"), false).status, 400U);
  EXPECT_EQ(ProblemOf(Error(ErrorCode::kUntrusted, "x"), true).status, 409U);
}

}  // namespace
}  // namespace partita::node::web::accounts_test
