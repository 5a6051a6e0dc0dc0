#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utc_time.h"
#include "node/web/api.h"
#include "node/web/cookies.h"
#include "node/web/fields.h"

namespace partita::node::web {
namespace {

WebJson AccountJson(const Account& account) {
  return {{"name", account.name},
          {"role", RoleName(account.role)},
          {"created", FormatUtc(account.created)},
          {"last_login", account.last_login == 0 ? "" : FormatUtc(account.last_login)}};
}

WebJson SessionJson(const Site& site, const std::string& node, const Session& session,
                    const std::string& token) {
  return {{"name", session.account},
          {"role", RoleName(session.role)},
          {"csrf", CsrfToken(token)},
          {"node", node},
          {"signer", static_cast<bool>(site.signer)},
          {"idle_seconds", kSessionIdleSeconds},
          {"until", FormatUtc(session.began + kSessionSeconds)}};
}

net::HttpResponse WrongPassword() {
  return Problem(401, "login-needed", "this is not the name and password of an account",
                 "Try again; a steward or operator of the site can set a new password.");
}

// A new session for whoever proved to be this account, under a token that nobody had before. mark: of the
// password that was proved (PasswordMark).
net::HttpResponse Welcome(Site& site, const Call& call, const std::string& name, Role role,
                          const std::string& mark) {
  const std::string node = site.Name();
  const std::string token = site.sessions.Open(name, role, call.now);
  const std::string browser = site.accounts.RememberBrowser(name, call.now);
  // Who sets a password ends the sessions after it: one of the two sees what the other did.
  if (site.accounts.PasswordMark(name) != mark) {
    site.sessions.End(token);
    site.accounts.ForgetBrowsers(name);
    return WrongPassword();
  }
  site.accounts.NoteLogin(name, call.now);
  net::HttpResponse response =
      JsonAnswer(SessionJson(site, node, {name, role, call.now, call.now}, token));
  response.headers.push_back(SetSessionCookie(token));
  response.headers.push_back(SetBrowserCookie(browser));
  site.log.Write("login", {{"account", name}, {"role", RoleName(role)}});
  site.Note(name, "login", "", RoleName(role));
  return response;
}

net::HttpResponse HasToWait(int64_t seconds) {
  net::HttpResponse response =
      Problem(429, "too-many", fmt::format("too many wrong passwords: wait {} s", seconds),
              "Whoever forgot a password asks a steward or operator of the site for a new one.");
  response.retry_after = static_cast<unsigned>(seconds);
  return response;
}

Role RoleField(Fields& fields) {
  const std::optional<Role> role = RoleNamed(fields.Text("role", 16));
  if (!role) {
    throw Error(ErrorCode::kUsage, "this is no role",
                "It is one of steward, analyst, operator, auditor.");
  }
  return *role;
}

// Whoever finds an open browser makes no account and changes no password. The waits are the session's own, so
// that nobody else keeps somebody from changing a password.
std::optional<net::HttpResponse> NotOwnPassword(Site& site, const Call& call,
                                                const std::string& current) {
  const std::string key = "session " + call.token;
  const int64_t wait = site.delay.Begin(key, key, call.now);
  if (wait > 0) return HasToWait(wait);
  if (!site.accounts.Check(call.session->account, current)) {
    throw Error(ErrorCode::kRefused, "this is not the current password of your account",
                "Type the one that you logged in with.");
  }
  site.delay.Right(key, key);
  return std::nullopt;
}

bool IsSteward(const Site& site, const std::string& name) {
  const std::optional<Account> account = site.accounts.Find(name);
  return account && account->role == Role::kSteward;
}

bool HasSteward(const Site& site) {
  const std::vector<Account> accounts = site.accounts.List();
  return std::any_of(accounts.begin(), accounts.end(),
                     [](const Account& account) { return account.role == Role::kSteward; });
}

net::HttpResponse StewardsOnly() {
  return Problem(403, "not-allowed", "accounts of stewards are made and changed by stewards",
                 "Ask a steward of the site.");
}

}  // namespace

net::HttpResponse LookAtSetUp(Site& site, const Call& call) {
  return JsonAnswer(
      {{"needed", site.accounts.IsEmpty()}, {"here", call.is_here}, {"node", site.Name()}});
}

net::HttpResponse SetUp(Site& site, const Call& call) {
  if (!call.is_here) {
    return Problem(403, "not-allowed", "the first account is made on the machine of the node",
                   "Open the page there, or through a tunnel of your own (ssh -L).");
  }
  Fields fields(call.request.body);
  const std::string code = fields.Text("code", 64), name = fields.Text("name", 64);
  const std::string password = fields.Text("password", kMaxPassword);
  const Role role = RoleField(fields);
  fields.End();
  if (role != Role::kSteward && role != Role::kOperator) {
    throw Error(ErrorCode::kUsage, "the first account is a steward's or an operator's",
                "It makes the others.");
  }
  const int64_t wait = site.delay.Begin(call.network, "set-up", call.now);
  if (wait > 0) return HasToWait(wait);
  site.accounts.AddFirst(code, name, role, password, call.now);
  site.Note("", "account-made", name, "the first one, " + RoleName(role));
  site.delay.Right(call.network, "set-up");
  return Welcome(site, call, name, role, site.accounts.PasswordMark(name));
}

net::HttpResponse LogIn(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string name = fields.Text("name", 64),
                    password = fields.Text("password", kMaxPassword);
  fields.End();
  // A browser that logged in before waits for its own mistakes alone.
  const std::string browser = BrowserTokenOf(call.request).value_or("");
  const bool is_known = !browser.empty() && site.accounts.KnowsBrowser(name, browser, call.now);
  const std::string by_address = is_known ? "browser " + browser : call.network;
  const std::string by_account = is_known ? "browser " + browser : "account " + name;
  const int64_t wait = site.delay.Begin(by_address, by_account, call.now);
  if (wait > 0) return HasToWait(wait);
  const std::string mark = site.accounts.PasswordMark(name);
  if (!site.accounts.Check(name, password)) {
    site.log.Write("login-failed");
    // What was typed in place of a name may be a password.
    site.NoteFailedLogin(site.accounts.Find(name) ? name : "", call.now);
    return WrongPassword();
  }
  site.delay.Right(by_address, by_account);
  const std::optional<Account> account = site.accounts.Find(name);
  if (!account) throw Error(ErrorCode::kRefused, "this account was just deleted");
  return Welcome(site, call, name, account->role, mark);
}

net::HttpResponse LookAtSession(Site& site, const Call& call) {
  return JsonAnswer(SessionJson(site, site.Name(), *call.session, call.token));
}

net::HttpResponse LogOut(Site& site, const Call& call) {
  site.sessions.EndAll(call.session->account);
  net::HttpResponse response = NothingToSay();
  response.headers.push_back(EndSessionCookie());
  return response;
}

net::HttpResponse ListAccounts(Site& site, const Call&) {
  WebJson accounts = WebJson::array();
  for (const Account& account : site.accounts.List()) accounts.push_back(AccountJson(account));
  return JsonAnswer({{"accounts", accounts}});
}

net::HttpResponse MakeAccount(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string name = fields.Text("name", 64);
  const std::string password = fields.Text("password", kMaxPassword);
  const std::string current = fields.Text("current", kMaxPassword);
  const Role role = RoleField(fields);
  fields.End();
  if (role == Role::kSteward && call.session->role != Role::kSteward && HasSteward(site))
    return StewardsOnly();
  if (std::optional<net::HttpResponse> no = NotOwnPassword(site, call, current))
    return std::move(*no);
  site.accounts.Add(name, role, password, call.now);
  site.Note(call.session->account, "account-made", name, RoleName(role));
  return JsonAnswer(AccountJson({name, role, call.now, 0}));
}

net::HttpResponse SetPassword(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string password = fields.Text("password", kMaxPassword);
  const std::string current = fields.Text("current", kMaxPassword);
  fields.End();
  const std::string& account = call.parts.at(0);
  const Session& session = *call.session;
  if (account != session.account) {
    if (session.role != Role::kSteward && session.role != Role::kOperator) {
      return Problem(403, "not-allowed", "only the own password may be changed",
                     "Ask a steward or operator of the site.");
    }
    if (session.role != Role::kSteward && IsSteward(site, account)) return StewardsOnly();
  }
  if (std::optional<net::HttpResponse> no = NotOwnPassword(site, call, current))
    return std::move(*no);
  site.accounts.SetPassword(account, password);
  site.sessions.EndAll(account, call.token);
  site.Note(session.account, "password-set", account, "");
  return NothingToSay();
}

net::HttpResponse DeleteAccount(Site& site, const Call& call) {
  const std::string& account = call.parts.at(0);
  if (account == call.session->account) {
    throw Error(ErrorCode::kRefused, "nobody deletes the own account",
                "Ask another steward or operator of the site.");
  }
  if (call.session->role != Role::kSteward && IsSteward(site, account)) return StewardsOnly();
  site.accounts.Remove(account);
  site.sessions.EndAll(account);
  site.Note(call.session->account, "account-deleted", account, "");
  return NothingToSay();
}

}  // namespace partita::node::web
