#include "node/web/routes.h"

#include <algorithm>

#include "node/web/api.h"

namespace partita::node::web {
namespace {

constexpr size_t kSmallBody = size_t{8} << 10;
// A study file as JSON text, in which a byte of it takes up to six.
constexpr size_t kFileBody = size_t{4} << 20;

constexpr Roles kDecide = kStewards;
constexpr Roles kKeep = kStewards | kOperators;

constexpr Route kRoutes[] = {
    {"GET", "/healthz", kAnyone, Effort::kAtOnce, 0, "", LookAtHealth},
    {"GET", "/readyz", kAnyone, Effort::kStrangers, 0, "", LookWhetherReady},
    {"GET", "/metrics", kAnyone, Effort::kMetrics, 0, "", nullptr},
    {"GET", "/api/v1/setup", kAnyone, Effort::kStrangers, 0, "", LookAtSetUp},
    {"POST", "/api/v1/setup", kAnyone, Effort::kPassword, kSmallBody, "", SetUp},
    {"POST", "/api/v1/session", kAnyone, Effort::kPassword, kSmallBody, "", LogIn},
    {"GET", "/api/v1/session", kAllRoles, Effort::kAsks, 0, "", LookAtSession},
    {"DELETE", "/api/v1/session", kAllRoles, Effort::kAtOnce, 0, "", LogOut},
    {"GET", "/api/v1/accounts", kKeep | kAuditors, Effort::kAsks, 0, "", ListAccounts},
    {"POST", "/api/v1/accounts", kKeep, Effort::kPassword, kSmallBody, "", MakeAccount},
    {"POST", "/api/v1/accounts/{account}/password", kAllRoles, Effort::kPassword, kSmallBody, "",
     SetPassword},
    {"DELETE", "/api/v1/accounts/{account}", kKeep, Effort::kAsks, 0, "", DeleteAccount},
    {"GET", "/api/v1/node", kAllRoles, Effort::kAsks, 0, "", LookAtNode},
    {"POST", "/api/v1/node/stop", kKeep, Effort::kStops, kSmallBody, "", StopNode},
    {"POST", "/api/v1/node/go-on", kDecide, Effort::kDecides, kSmallBody, "", GoOn},
    {"GET", "/api/v1/audit", kKeep | kAuditors, Effort::kAsks, 0, "study actor before limit",
     ShowAudit},
    {"GET", "/api/v1/record", kKeep | kAuditors, Effort::kHeavy, 0, "from until after limit",
     ShowRecord},
    {"GET", "/api/v1/events", kAllRoles, Effort::kWaits, 0, "after wait", nullptr},
    {"GET", "/api/v1/studies", kAllRoles, Effort::kAsks, 0, "state after limit", ListStudies},
    {"POST", "/api/v1/studies", kAnalysts, Effort::kHeavy, kFileBody, "", ProposeStudy},
    {"POST", "/api/v1/studies/check", kAnalysts | kStewards, Effort::kHeavy, kFileBody, "",
     CheckStudy},
    {"GET", "/api/v1/studies/{study}", kAllRoles, Effort::kAsks, 0, "", LookAtStudy},
    {"GET", "/api/v1/studies/{study}/events", kAllRoles, Effort::kWaits, 0, "after wait", nullptr},
    {"GET", "/api/v1/studies/{study}/for-steward", kStewards | kAuditors, Effort::kHeavy, 0, "",
     ShowSteward},
    {"POST", "/api/v1/studies/{study}/approve", kDecide, Effort::kDecides, kSmallBody, "",
     ApproveStudy},
    {"POST", "/api/v1/studies/{study}/reject", kDecide, Effort::kDecides, kSmallBody, "",
     RejectStudy},
    {"POST", "/api/v1/studies/{study}/withdraw", kStewards | kAnalysts, Effort::kDecides,
     kSmallBody, "", WithdrawStudy},
    {"GET", "/api/v1/studies/{study}/report.html", kStewards | kAnalysts | kAuditors, Effort::kAsks,
     0, "", ShowReport},
    {"GET", "/api/v1/studies/{study}/result.json", kStewards | kAnalysts | kAuditors, Effort::kAsks,
     0, "", ShowResult},
    {"GET", "/api/v1/policies", kStewards | kAuditors, Effort::kAsks, 0, "", ListPolicies},
    {"POST", "/api/v1/policies/{policy}/end", kDecide, Effort::kDecides, kSmallBody, "", EndPolicy},
    {"GET", "/api/v1/tables", kAllRoles, Effort::kAsks, 0, "", ListTables},
    {"GET", "/api/v1/tables/budgets", kStewards | kAuditors, Effort::kAsks, 0, "", ShowBudgets},
    {"POST", "/api/v1/tables/{table}/dictionary", kDecide, Effort::kAsks, kFileBody, "",
     SaveDictionary},
    {"POST", "/api/v1/tables/{table}/dictionary/check", kDecide, Effort::kAsks, kFileBody, "",
     CheckDictionary},
    {"POST", "/api/v1/tables/{table}/dictionary/draft", kDecide, Effort::kHeavy, kSmallBody, "",
     DraftDictionary},
    {"GET", "/api/v1/parties", kAllRoles, Effort::kAsks, 0, "", ListParties},
    {"POST", "/api/v1/invitations", kKeep, Effort::kAsks, kSmallBody, "", InviteSite},
    {"POST", "/api/v1/pairings", kKeep, Effort::kAsks, kSmallBody, "", JoinSite},
    {"GET", "/api/v1/pairings/{pairing}", kKeep | kAuditors, Effort::kAsks, 0, "", LookAtPairing},
    {"POST", "/api/v1/pairings/{pairing}/digits", kKeep, Effort::kAsks, kSmallBody, "",
     EnterDigits},
    {"POST", "/api/v1/pairings/{pairing}/confirm", kDecide, Effort::kDecides, kSmallBody, "",
     ConfirmPairing},
    {"POST", "/api/v1/parties/{party}/accept", kDecide, Effort::kDecides, kSmallBody, "",
     AcceptParty},
    {"POST", "/api/v1/parties/{party}/revoke", kDecide, Effort::kDecides, kSmallBody, "",
     RevokeParty},
};

bool IsPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

bool IsHexOf(std::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view NextPart(std::string_view& path) {
  const size_t end = std::min(path.find('/', 1), path.size());
  const std::string_view part = path.substr(1, end - 1);
  path.remove_prefix(end);
  return part;
}

bool FitsPart(std::string_view pattern, std::string_view part) {
  if (pattern == "{study}") return IsHexOf(part, 64);
  if (pattern == "{pairing}") return IsHexOf(part, 32);
  return IsPlain(part);
}

std::optional<std::vector<std::string>> PartsOf(std::string_view pattern, std::string_view path) {
  std::vector<std::string> parts;
  while (!pattern.empty() && !path.empty()) {
    if (path.front() != '/') return std::nullopt;
    const std::string_view wanted = NextPart(pattern), found = NextPart(path);
    if (!wanted.starts_with('{')) {
      if (wanted != found) return std::nullopt;
    } else if (FitsPart(wanted, found)) {
      parts.emplace_back(found);
    } else {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parts;
}

bool IsListed(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

std::optional<Match> FindRoute(std::string_view method, std::string_view path, bool& is_there) {
  is_there = false;
  for (const Route& route : kRoutes) {
    std::optional<std::vector<std::string>> parts = PartsOf(route.path, path);
    if (!parts) continue;
    is_there = true;
    if (route.method == method) return Match{&route, std::move(*parts)};
  }
  return std::nullopt;
}

std::optional<std::map<std::string, std::string>> ReadQuery(std::string_view query,
                                                            std::string_view allowed) {
  std::map<std::string, std::string> values;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    if (!IsPlain(name) || !IsListed(allowed, name) || !(value.empty() || IsPlain(value)) ||
        !values.emplace(name, value).second)
      return std::nullopt;
  }
  return values;
}

}  // namespace partita::node::web
