// Who may do what at the pages of a node, over TLS: every route of the table without a session, in a wrong role,
// from another site, without the token, as no JSON, too large; sessions, delays, set-up, idle connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <condition_variable>
#include <thread>

#include "net/roster.h"
#include "node/web/routes.h"
#include "tests/node/web/web_host.h"

namespace partita::node::web::server_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A path of a route with something for its parts.
std::string PathOf(const Route& route) {
  std::string path(route.path);
  for (const auto& [name, value] : std::map<std::string, std::string>{{"{study}", kStudyId},
                                                                      {"{pairing}", kPairingNumber},
                                                                      {"{party}", "south"},
                                                                      {"{policy}", kStudyId},
                                                                      {"{table}", "pupils"},
                                                                      {"{account}", "nobody"}}) {
    const size_t at = path.find(name);
    if (at != std::string::npos) path.replace(at, name.size(), value);
  }
  return path;
}

std::string BodyOf(const Route& route) { return route.method == "POST" ? "{}" : ""; }

// One server for all tests that change nothing of it, with an account of each role.
class ServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    host_ = new WebHost();
    for (const Role role : kRoles) {
      host_->accounts().Add(RoleName(role), role, kPassword, kWebNow);
      browsers_[role] = new Browser(*host_);
      ASSERT_EQ(browsers_[role]->LogIn(RoleName(role)).status, 200U);
    }
  }
  static void TearDownTestSuite() {
    for (const auto& entry : browsers_) delete entry.second;
    browsers_.clear();
    delete host_;
  }
  static WebHost& host() { return *host_; }
  static Browser& As(Role role) { return *browsers_.at(role); }

  static constexpr Role kRoles[] = {Role::kSteward, Role::kAnalyst, Role::kOperator,
                                    Role::kAuditor};

 private:
  static inline WebHost* host_ = nullptr;
  static inline std::map<Role, Browser*> browsers_;
};

TEST_F(ServerTest, EveryRouteWantsASession) {
  Browser stranger(host());
  int looked_at = 0;
  for (const Route& route : Routes()) {
    if (route.roles == kAnyone) continue;
    ++looked_at;
    const WebAnswer answer = stranger.Send(std::string(route.method), PathOf(route), BodyOf(route));
    EXPECT_EQ(answer.status, 401U) << route.method << " " << route.path;
    EXPECT_EQ(answer.code(), "login-needed");
    stranger.cookies["__Host-partita"] = std::string(64, 'f');
    EXPECT_EQ(stranger.Send(std::string(route.method), PathOf(route), BodyOf(route)).status, 401U);
    stranger.cookies.clear();
  }
  EXPECT_EQ(looked_at, 38);
}

TEST_F(ServerTest, EveryRouteWantsItsRole) {
  host().node.Forget();
  host().signer.Forget();
  int refused = 0;
  for (const Route& route : Routes()) {
    for (const Role role : kRoles) {
      if (route.roles == kAnyone || (route.roles & RoleBit(role)) != 0) continue;
      const WebAnswer answer =
          As(role).Send(std::string(route.method), PathOf(route), BodyOf(route));
      EXPECT_EQ(answer.status, 403U) << RoleName(role) << " " << route.method << " " << route.path;
      EXPECT_EQ(answer.code(), "not-allowed");
      ++refused;
    }
  }
  EXPECT_GT(refused, 40);
  // Nothing of it reached the node or the signer.
  for (const char* what :
       {"decide", "withdraw", "stop", "take-list", "propose", "invite", "approve"}) {
    EXPECT_TRUE(host().node.Asked(what).empty()) << what;
    EXPECT_TRUE(host().signer.Asked(what).empty()) << what;
  }
}

// What changes something, by whoever may: refused from another site, without the token, as a form.
TEST_F(ServerTest, OtherSitesChangeNothing) {
  host().node.Forget();
  int looked_at = 0;
  for (const Route& route : Routes()) {
    if (route.method == "GET") continue;
    ++looked_at;
    const Role role = (route.roles & kStewards) != 0 ? Role::kSteward : Role::kAnalyst;
    Browser& browser = As(role);
    const auto status = [&](const std::map<std::string, std::string>& more) {
      return browser.Send(std::string(route.method), PathOf(route), BodyOf(route), more).status;
    };
    const std::string where = std::string(route.method) + " " + std::string(route.path);
    EXPECT_EQ(status({{"Origin", ""}}), 403U) << where;
    for (const char* origin : {"null", "https://evil.example", "http://node.north.example"})
      EXPECT_EQ(status({{"Origin", origin}}), 403U) << where << " from " << origin;
    EXPECT_EQ(status({{"Origin", browser.origin + ".evil.example"}}), 403U) << where;
    if (route.roles != kAnyone) {
      EXPECT_EQ(status({{"Partita-Csrf", ""}}), 403U) << where;
      EXPECT_EQ(status({{"Partita-Csrf", As(Role::kAuditor).csrf}}), 403U) << where;
      EXPECT_EQ(status({{"Partita-Csrf", browser.csrf.substr(0, 63)}}), 403U) << where;
    }
    if (route.method != "POST") continue;
    for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded",
                             "multipart/form-data", "application/json2"})
      EXPECT_EQ(status({{"Content-Type", type}}), 415U) << where << " " << type;
  }
  EXPECT_EQ(looked_at, 23);
  for (const char* what : {"decide", "withdraw", "stop", "take-list", "propose", "invite"})
    EXPECT_TRUE(host().node.Asked(what).empty()) << what;
}

TEST_F(ServerTest, JsonMayNameItsCharacters) {
  EXPECT_EQ(As(Role::kSteward)
                .Send("POST", "/api/v1/node/stop", "{}",
                      {{"Content-Type", "Application/JSON; charset=utf-8"}})
                .status,
            204U);
}

TEST_F(ServerTest, KnowsItsOwnNamesOnly) {
  Browser& browser = As(Role::kSteward);
  const auto status = [&](const std::string& named) {
    return browser.Send("GET", "/api/v1/node", "", {{"Host", named}}).status;
  };
  const std::string port = host().address().substr(host().address().rfind(':'));
  for (const std::string& own :
       {"localhost" + port, "127.0.0.1" + port, "[::1]" + port, std::string("node.north.example")})
    EXPECT_EQ(status(own), 200U) << own;
  for (const std::string& other : {std::string("evil.example"), "evil.example" + port,
                                   std::string("node.north.example.evil.example")})
    EXPECT_EQ(status(other), 421U) << other;
  // A name that was given has an origin of its own.
  EXPECT_EQ(browser
                .Send("POST", "/api/v1/node/stop", "{}",
                      {{"Host", "node.north.example"}, {"Origin", "https://node.north.example"}})
                .status,
            204U);
}

TEST_F(ServerTest, BodiesAreBoundedByRoute) {
  Browser& steward = As(Role::kSteward);
  const std::string large = "{\"x\":\"" + std::string(9000, 'x') + "\"}";
  for (const Route& route : Routes()) {
    if (route.method == "GET" || (route.roles != kAnyone && (route.roles & kStewards) == 0))
      continue;
    if (route.body_bytes > large.size()) continue;
    const WebAnswer answer = steward.Send(std::string(route.method), PathOf(route), large);
    EXPECT_EQ(answer.status, 413U) << route.method << " " << route.path;
  }
  // Longer than anything here takes: not read either.
  Browser analyst(host());
  ASSERT_EQ(analyst.LogIn("analyst").status, 200U);
  EXPECT_EQ(analyst.Send("POST", "/api/v1/studies/check", std::string(5 << 20, ' ')).status, 413U);
}

TEST_F(ServerTest, AnswersNothingElse) {
  Browser& browser = As(Role::kSteward);
  EXPECT_EQ(browser.Get("/nothing").status, 404U);
  EXPECT_EQ(browser.Get("/api/v1/nothing").status, 404U);
  EXPECT_EQ(browser.Get("/api/v1/../v1/node").status, 404U);
  EXPECT_EQ(browser.Get("/api/v1/node?x=1").status, 400U);
  EXPECT_EQ(browser.Get("/?x").status, 405U);
  EXPECT_EQ(browser.Delete("/api/v1/node").status, 405U);
  EXPECT_EQ(browser.Post("/", {}).status, 405U);
  EXPECT_EQ(browser.Get("/api/v1/nothing").code(), "not-found");
}

TEST_F(ServerTest, PagesCarryTheirPolicy) {
  Browser stranger(host());
  const WebAnswer page = stranger.Get("/");
  EXPECT_EQ(page.status, 200U);
  EXPECT_EQ(page.body, "<!doctype html><title>pages</title>");
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_EQ(page.Header("content-security-policy"), "default-src 'none'; script-src 'sha256-x'");
  EXPECT_EQ(page.Header("x-content-type-options"), "nosniff");
  EXPECT_EQ(page.Header("cache-control"), "no-cache");
  EXPECT_EQ(stranger.Send("GET", "/", "", {{"If-None-Match", "\"tag\""}}).status, 304U);
  // All else may do nothing in a browser, and is kept nowhere.
  for (const char* path : {"/api/v1/openapi.json", "/api/v1/node", "/nothing", "/healthz"}) {
    const WebAnswer answer = stranger.Get(path);
    EXPECT_EQ(answer.Header("content-security-policy"),
              "default-src 'none'; frame-ancestors 'none'")
        << path;
    EXPECT_EQ(answer.Header("cache-control"), "no-store") << path;
    EXPECT_EQ(answer.Header("x-frame-options"), "DENY") << path;
    EXPECT_EQ(answer.Header("referrer-policy"), "no-referrer") << path;
  }
  EXPECT_EQ(stranger.Get("/api/v1/openapi.json").body, OpenApiText());
}

TEST_F(ServerTest, CookiesAreTheBrowsersAlone) {
  Browser browser(host());
  const WebAnswer answer = browser.LogIn("steward");
  int cookies = 0;
  for (const net::HttpHeader& header : answer.headers) {
    if (header.name != "set-cookie") continue;
    ++cookies;
    EXPECT_TRUE(header.value.starts_with("__Host-partita")) << header.value;
    EXPECT_THAT(header.value, HasSubstr("; Path=/; Secure; HttpOnly; SameSite=Strict"));
    EXPECT_THAT(header.value, Not(HasSubstr("Domain")));
  }
  EXPECT_EQ(cookies, 2);
  EXPECT_THAT(answer.body, Not(HasSubstr(browser.cookies.at("__Host-partita"))));
  // The same cookie twice is none: somebody put one in.
  const std::string own = "__Host-partita=" + browser.cookies.at("__Host-partita");
  EXPECT_EQ(browser.Send("GET", "/api/v1/session", "", {{"Cookie", own}}).status, 200U);
  EXPECT_EQ(browser
                .Send("GET", "/api/v1/session", "",
                      {{"Cookie", own + "; __Host-partita=" + std::string(64, '0')}})
                .status,
            401U);
}

// Fixation: a session that somebody had before the login is not that of whoever logs in.
TEST_F(ServerTest, EveryLoginIsANewSession) {
  Browser browser(host());
  const std::string planted(64, 'e');
  browser.cookies["__Host-partita"] = planted;
  ASSERT_EQ(browser.LogIn("auditor").status, 200U);
  const std::string first = browser.cookies.at("__Host-partita"), first_csrf = browser.csrf;
  EXPECT_NE(first, planted);
  ASSERT_EQ(browser.LogIn("auditor").status, 200U);
  EXPECT_NE(browser.cookies.at("__Host-partita"), first);
  EXPECT_NE(browser.csrf, first_csrf);
  Browser attacker(host());
  attacker.cookies["__Host-partita"] = planted;
  EXPECT_EQ(attacker.Get("/api/v1/session").status, 401U);
}

// Whoever asks the node for this waits until it is opened.
class Held {
 public:
  Held(WebHost& host, const std::string& what, const TestJson& answer) {
    host.node.Say(what, [this, answer](const TestJson&) -> TestJson {
      std::unique_lock lock(mutex_);
      ++inside_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
      return answer;
    });
  }
  void WaitFor(int many) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= many; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

class OwnServerTest : public ::testing::Test {
 protected:
  WebHost host_;
};

TEST_F(OwnServerTest, LoggingOutEndsAllSessions) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser here(host_), elsewhere(host_);
  ASSERT_EQ(here.LogIn("anna").status, 200U);
  ASSERT_EQ(elsewhere.LogIn("anna").status, 200U);
  EXPECT_EQ(elsewhere.Get("/api/v1/session").status, 200U);
  const WebAnswer gone = here.Delete("/api/v1/session");
  EXPECT_EQ(gone.status, 204U);
  EXPECT_FALSE(here.cookies.contains("__Host-partita"));
  EXPECT_EQ(here.Get("/api/v1/session").status, 401U);
  EXPECT_EQ(elsewhere.Get("/api/v1/session").status, 401U);
}

TEST_F(OwnServerTest, SessionsEndByTheClock) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser browser(host_);
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  host_.now += kSessionIdleSeconds - 1;
  EXPECT_EQ(browser.Get("/api/v1/events?wait=0").status, 200U);
  host_.now += 1;
  EXPECT_EQ(browser.Get("/api/v1/session").status, 401U) << "a long poll is no person";
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  host_.now += kSessionIdleSeconds - 1;
  EXPECT_EQ(browser.Get("/api/v1/session").status, 200U);
  host_.now += kSessionIdleSeconds - 1;
  EXPECT_EQ(browser.Get("/api/v1/session").status, 200U);
}

// What a page loads by itself is no click, unless it changes something.
TEST_F(OwnServerTest, WhatThePageAsksByItselfIsNoPerson) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser browser(host_);
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  const std::map<std::string, std::string> by_itself = {{"Partita-By-Itself", "1"}};
  host_.now += kSessionIdleSeconds - 1;
  EXPECT_EQ(browser.Send("GET", "/api/v1/node", "", by_itself).status, 200U);
  EXPECT_EQ(browser.Send("POST", "/api/v1/studies/check", "{\"file\":\"\"}", by_itself).status,
            200U);
  host_.now += 1;
  EXPECT_EQ(browser.Get("/api/v1/session").status, 401U);
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  host_.now += kSessionIdleSeconds - 1;
  EXPECT_EQ(browser.Send("POST", "/api/v1/node/stop", "{}", by_itself).status, 204U);
  host_.now += 1;
  EXPECT_EQ(browser.Get("/api/v1/session").status, 200U);
}

// A password is set while a login with the old one is under way: the login is none.
TEST_F(OwnServerTest, ALoginUnderWayEndsWithThePassword) {
  host_.accounts().Add("anna", Role::kAnalyst, kPassword, kWebNow);
  Browser thief(host_);
  // After the password was looked at the node is asked for its name.
  bool reset = false;
  host_.node.Say("status", [&](const TestJson&) -> TestJson {
    if (!reset) host_.accounts().SetPassword("anna", "another password of hers");
    reset = true;
    return {{"name", "north"}};
  });
  EXPECT_EQ(thief.LogIn("anna").status, 401U);
  EXPECT_TRUE(reset);
  EXPECT_FALSE(thief.cookies.contains("__Host-partita"));
  EXPECT_EQ(thief.LogIn("anna", "another password of hers").status, 200U);
}

// What waits behind others is not done for a session that ended meanwhile.
TEST_F(OwnServerTest, WhatWaitsEndsWithItsSession) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  host_.accounts().Add("bert", Role::kAuditor, kPassword, kWebNow);
  Browser anna(host_), bert(host_);
  ASSERT_EQ(anna.LogIn("anna").status, 200U);
  ASSERT_EQ(bert.LogIn("bert").status, 200U);
  Held held(host_, "parties", PartiesSaid());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Browser own(host_);
      own.cookies = bert.cookies;
      EXPECT_EQ(own.Get("/api/v1/parties").status, 200U);
    });
  }
  held.WaitFor(8);
  const size_t asked = host_.node.Asked("status").size();
  const int looks = host_.clock_looks;
  unsigned status = 0;
  threads.emplace_back([&] {
    Browser own(host_);
    own.cookies = anna.cookies;
    status = own.Get("/api/v1/node").status;
  });
  while (host_.clock_looks == looks) std::this_thread::yield();
  EXPECT_EQ(anna.Delete("/api/v1/session").status, 204U);
  held.Open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(status, 401U);
  EXPECT_EQ(host_.node.Asked("status").size(), asked);
}

// Readers and strangers that fill their threads hold up neither a decision nor an emergency stop.
TEST_F(OwnServerTest, DecidingWaitsForNoReader) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  host_.accounts().Add("bert", Role::kAuditor, kPassword, kWebNow);
  Browser anna(host_), bert(host_);
  ASSERT_EQ(anna.LogIn("anna").status, 200U);
  ASSERT_EQ(bert.LogIn("bert").status, 200U);
  const std::string study = "/api/v1/studies/" + kStudyId;
  TestJson nothing = TestJson::object();
  Held screens(host_, "study", StudyWhole()), parties(host_, "parties", PartiesSaid()),
      strangers(host_, "status", {{"name", "north"}});
  std::vector<std::thread> threads;
  const auto load = [&](const std::string& path, int times) {
    for (int i = 0; i < times; ++i) {
      threads.emplace_back([&, path] {
        Browser own(host_);
        own.cookies = bert.cookies;
        own.Get(path);
      });
    }
  };
  load(study + "/for-steward", 2);
  screens.WaitFor(2);
  load("/api/v1/parties", 8);
  parties.WaitFor(8);
  load("/readyz", 1);
  strangers.WaitFor(1);
  // All threads that read are taken.
  EXPECT_EQ(anna.Post("/api/v1/node/stop", nothing).status, 204U);
  EXPECT_EQ(anna.Post("/api/v1/node/go-on", {{"passphrase", kPassphrase}}).status, 204U);
  for (Held* held : {&screens, &parties, &strangers}) held->Open();
  for (std::thread& thread : threads) thread.join();
}

// Anybody may ask whether the node is ready: it hears of it once a second at most.
TEST_F(OwnServerTest, ReadinessIsKeptForAMoment) {
  Browser stranger(host_);
  const auto began = SteadyClock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(stranger.Get("/readyz").status, 200U);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(SteadyClock::now() - began).count();
  EXPECT_LE(host_.node.Asked("status").size(), static_cast<size_t>(seconds) + 1);
}

// Strangers' wrong passwords keep nobody who is logged in from changing the own one.
TEST_F(OwnServerTest, ThePasswordIsChangedUnderAttack) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser attacker(host_), anna(host_);
  ASSERT_EQ(anna.LogIn("anna").status, 200U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(attacker.LogIn("anna", "not this password").status, 401U);
  EXPECT_EQ(attacker.LogIn("anna").status, 429U);
  const auto change = [&](const std::string& current) {
    return anna
        .Post("/api/v1/accounts/anna/password",
              {{"password", "another password of mine"}, {"current", current}})
        .status;
  };
  // Whoever found an open browser has the waits of any search.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(change("not this password"), 409U);
  EXPECT_EQ(change(kPassword), 429U);
  host_.now += 1;
  EXPECT_EQ(change(kPassword), 204U);
}

TEST_F(OwnServerTest, WrongPasswordsWait) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser attacker(host_), known(host_);
  ASSERT_EQ(known.LogIn("anna").status, 200U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(attacker.LogIn("anna", "not this password").status, 401U);
  // A right one waits, too: nothing is looked at.
  const WebAnswer waits = attacker.LogIn("anna");
  EXPECT_EQ(waits.status, 429U);
  EXPECT_EQ(waits.code(), "too-many");
  EXPECT_EQ(waits.Header("retry-after"), "1");
  // Nor does a cookie that somebody made up help.
  attacker.cookies["__Host-partita-browser"] = std::string(64, 'd');
  EXPECT_EQ(attacker.LogIn("anna").status, 429U);
  // A browser that logged in before does not.
  EXPECT_EQ(known.LogIn("anna").status, 200U);
  host_.now += 1;
  EXPECT_EQ(attacker.LogIn("anna", "not this password").status, 401U);
  host_.now += 1;
  EXPECT_EQ(attacker.LogIn("anna").Header("retry-after"), "1") << "of two seconds one is left";
  host_.now += 1;
  EXPECT_EQ(attacker.LogIn("anna").status, 200U);
}

TEST_F(OwnServerTest, AccountsThatAreNotThereLookAlike) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser one(host_), other(host_);
  const WebAnswer wrong = one.LogIn("anna", "not this password");
  const WebAnswer nobody = other.LogIn("nobody", "not this password");
  EXPECT_EQ(wrong.status, nobody.status);
  EXPECT_EQ(wrong.body, nobody.body);
  EXPECT_EQ(host_.accounts().Find("anna")->last_login, 0);
}

TEST_F(OwnServerTest, TheFirstAccountIsMadeHereAndOnce) {
  Browser browser(host_);
  EXPECT_EQ(browser.Get("/api/v1/setup").json(),
            (TestJson{{"needed", true}, {"here", true}, {"node", "north"}}));
  TestJson form = {{"code", "aaaa-aaaa-aaaa-aaaa"},
                   {"name", "anna"},
                   {"role", "steward"},
                   {"password", kPassword}};
  EXPECT_EQ(browser.Post("/api/v1/setup", form).status, 409U);
  form["code"] = host_.accounts().MakeSetUpCode(kWebNow);
  // By a proxy on this machine it may be anybody.
  for (const char* proxy :
       {"X-Forwarded-For", "Forwarded", "X-Forwarded-Proto", "X-Real-IP", "Via"}) {
    EXPECT_EQ(browser.Send("POST", "/api/v1/setup", form.dump(), {{proxy, "198.51.100.7"}}).status,
              403U)
        << proxy;
  }
  TestJson analyst = form;
  analyst["role"] = "analyst";
  EXPECT_EQ(browser.Post("/api/v1/setup", analyst).status, 400U);
  const WebAnswer made = browser.Post("/api/v1/setup", form);
  ASSERT_EQ(made.status, 200U) << made.body;
  EXPECT_EQ(Api().Errors("POST", "/api/v1/setup", 200, made.json()), "");
  EXPECT_EQ(browser.Get("/api/v1/session").json().at("role"), "steward");
  EXPECT_EQ(browser.Get("/api/v1/setup").json().at("needed"), false);
  form["name"] = "eve";
  EXPECT_EQ(browser.Post("/api/v1/setup", form).status, 409U);
  EXPECT_EQ(host_.accounts().List().size(), 1U);
}

TEST_F(OwnServerTest, WrongCodesWait) {
  Browser browser(host_);
  const std::string code = host_.accounts().MakeSetUpCode(kWebNow);
  const auto post = [&](const std::string& typed) {
    return browser
        .Post("/api/v1/setup",
              {{"code", typed}, {"name", "anna"}, {"role", "operator"}, {"password", kPassword}})
        .status;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post("aaaa-aaaa-aaaa-aaaa"), 409U);
  EXPECT_EQ(post(code), 429U);
  host_.now += 1;
  EXPECT_EQ(post(code), 200U);
}

TEST_F(OwnServerTest, MetricsAreThisMachinesAndWithoutNames) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser browser(host_);
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  EXPECT_EQ(browser.LogIn("anna", "not this password").status, 401U);
  const WebAnswer answer = browser.Get("/metrics");
  EXPECT_EQ(answer.status, 200U);
  EXPECT_THAT(answer.body, HasSubstr("\npartita_node_up 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("\npartita_node_tables_closed 0\n"));
  EXPECT_THAT(answer.body, HasSubstr("\npartita_node_studies{state=\"settled\"} 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("\npartita_web_logins_total 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("\npartita_web_logins_failed_total 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("\npartita_web_sessions 1\n"));
  for (const char* name : {"north", "south", "anna", "three-factor", kStudyId.c_str()})
    EXPECT_THAT(answer.body, Not(HasSubstr(name)));
  EXPECT_EQ(browser.Send("GET", "/metrics", "", {{"X-Forwarded-For", "198.51.100.7"}}).status,
            404U);
  EXPECT_EQ(browser.Get("/healthz").body, "ok\n");
  EXPECT_EQ(browser.Get("/readyz").status, 200U);
  host_.node.Say("status", [](const TestJson&) -> TestJson {
    throw Error(ErrorCode::kUnreachable, "no node serves in /srv/secret/folder", "x");
  });
  EXPECT_THAT(browser.Get("/metrics").body, HasSubstr("partita_node_up 0\n"));
  EXPECT_EQ(browser.Get("/healthz").status, 200U);
}

// A node that takes long holds up neither the pages nor logins; what is too much is told to come again.
TEST_F(OwnServerTest, ASlowNodeHoldsUpNoPages) {
  host_.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser browser(host_);
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int asking = 0;
  host_.node.Say("parties", [&](const TestJson&) -> TestJson {
    std::unique_lock lock(mutex);
    ++asking;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    return PartiesSaid();
  });
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      Browser own(host_);
      own.cookies = browser.cookies;
      if (own.Get("/api/v1/parties").status == 200U) ++answered;
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return asking == 8; });
  }
  EXPECT_EQ(browser.Get("/healthz").status, 200U);
  EXPECT_EQ(browser.Get("/").status, 200U);
  EXPECT_EQ(browser.LogIn("anna").status, 200U);
  EXPECT_EQ(answered, 0);
  {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 12);
}

// One address leaves half of the places to others.
TEST(IdleTest, OneAddressTakesNotAll) {
  net::HttpsLimits limits = WebLimits();
  EXPECT_EQ(limits.connections_per_address, 128U);
  limits.connections_per_address = 2;
  WebHost host(true, limits);
  Browser first(host), second(host), third(host);
  EXPECT_EQ(first.Get("/healthz").status, 200U);
  EXPECT_EQ(second.Get("/healthz").status, 200U);
  EXPECT_THROW(third.Get("/healthz"), Error);
}

// Idle connections are bounded, and closed in time: with the limits of a test.
TEST(IdleTest, ConnectionsAreBounded) {
  net::HttpsLimits limits = WebLimits();
  EXPECT_EQ(limits.connections, 256U);
  limits.connections = 4;
  limits.handshake = std::chrono::milliseconds(300);
  WebHost host(true, limits);
  const net::Address address = net::ParseAddress(host.address());
  const net::Endpoint endpoint = net::NumericEndpoints(address.host, address.port).front();
  std::vector<net::Socket> idle;
  for (int i = 0; i < 20; ++i) {
    std::string reason;
    idle.push_back(net::StartConnect(endpoint, reason));
    ASSERT_TRUE(idle.back().valid()) << reason;
  }
  // Those beyond four are closed at once, the four after their time: each ends.
  for (const net::Socket& socket : idle) {
    pollfd waiting{socket.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, 20'000), 1);
    char byte = 0;
    EXPECT_LE(::recv(socket.fd(), &byte, 1, 0), 0);
  }
  Browser browser(host);
  EXPECT_EQ(browser.Get("/healthz").status, 200U);
}

}  // namespace
}  // namespace partita::node::web::server_test
