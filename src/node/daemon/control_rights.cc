#include "node/daemon/control_rights.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "node/audit/audit.h"

namespace partita::node {
namespace {

// kReads: changes nothing, or what is signed by the steward's key in the request and so says itself who it was.
// kActs: the audit log says who did it.
enum class PagesMay { kReads, kActs };

const std::map<std::string, PagesMay>& RequestsOfPages() {
  static const std::map<std::string, PagesMay> kRequests = {
      {"status", PagesMay::kReads},         {"parties", PagesMay::kReads},
      {"pairing", PagesMay::kReads},        {"join", PagesMay::kReads},
      {"go-on-text", PagesMay::kReads},     {"sign-pairing", PagesMay::kReads},
      {"studies", PagesMay::kReads},        {"list", PagesMay::kReads},
      {"files", PagesMay::kReads},          {"study", PagesMay::kReads},
      {"tables", PagesMay::kReads},         {"audit", PagesMay::kReads},
      {"invite", PagesMay::kActs},          {"digits", PagesMay::kActs},
      {"take-list", PagesMay::kActs},       {"stop", PagesMay::kActs},
      {"go-on", PagesMay::kActs},           {"propose", PagesMay::kActs},
      {"decide", PagesMay::kActs},          {"withdraw", PagesMay::kActs},
      {"result", PagesMay::kActs},          {"note", PagesMay::kActs},
      {"dictionary", PagesMay::kReads},     {"draft-dictionary", PagesMay::kReads},
      {"save-dictionary", PagesMay::kActs},
  };
  return kRequests;
}

}  // namespace

void RequireMayAsk(Asker asker, const std::string& what, const std::string& account,
                   const std::string& action) {
  if (asker == Asker::kOwn) return;
  const auto found = RequestsOfPages().find(what);
  if (found == RequestsOfPages().end()) {
    throw Error(ErrorCode::kRefused, fmt::format("the pages may not ask the node for '{}'", what),
                "Run the command at the machine, as root or as the node's user.");
  }
  // Who it was that typed a wrong password nobody knows, and the first account is made with a code of the terminal.
  const auto noted = AuditActionNamed(action);
  const bool is_nobody =
      what == "note" && (noted == AuditAction::kLoginFailed || noted == AuditAction::kAccountMade);
  if (found->second == PagesMay::kActs && account.empty() && !is_nobody) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the pages ask the node for '{}' and do not say for whom", what),
                "Use the same version of Partita for the pages and for the node.");
  }
}

}  // namespace partita::node
