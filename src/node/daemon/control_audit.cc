// Of the audit log. Answers to requests (control.h).
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hex.h"
#include "base/utc_time.h"
#include "node/daemon/control.h"
#include "node/daemon/request_fields.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

constexpr size_t kMostFaultsShown = 100;
constexpr size_t kMostAuditChecked = 2000;  // in one request

Answered FaultJson(const std::optional<AuditFault>& fault) {
  if (!fault) return nullptr;
  return {{"number", fault->number}, {"what", fault->what}};
}

std::string DigestText(const Digest& digest) { return digest == Digest{} ? "" : ToHex(digest); }

Answered AuditJson(const AuditEntry& entry) {
  const AuditRecord& record = entry.record;
  return {{"number", entry.number},
          {"time", FormatUtc(record.time)},
          {"kind", ActorKindName(record.actor.kind)},
          {"actor", record.actor.name},
          {"action", AuditActionName(record.action)},
          {"study", DigestText(record.study)},
          {"subject", record.subject},
          {"outcome", record.outcome},
          {"message", DigestText(record.message)}};
}

std::string DateText(int64_t day) { return FormatUtc(day * kDaySeconds).substr(0, 10); }

// What other sites and this one keep of each other's logs.
Answered SitesJson(Node& node, const PartyList& list) {
  std::map<std::string, Answered> sites;
  for (const ListedParty& party : list.parties)
    sites[party.name] = {{"site", party.name}, {"has", nullptr}, {"told", nullptr}};
  const auto site = [&sites](const std::string& name) -> Answered& {
    return sites.try_emplace(name, Answered{{"site", name}, {"has", nullptr}, {"told", nullptr}})
        .first->second;
  };
  for (const auto& [name, kept] : node.log_receipts()) {
    const LogReceipt& receipt = kept.receipt;
    site(name)["has"] = {
        {"number", receipt.number},     {"digest", DigestText(receipt.digest)},
        {"time", FormatUtc(kept.time)}, {"fits", node.Fitting(receipt) == receipt.number},
        {"departs", receipt.departs},   {"had", receipt.had}};
  }
  for (const PeerLog& log : node.FindPeerLogs()) {
    site(log.party)["told"] = {
        {"number", log.number}, {"day", DateText(log.day)}, {"digest", DigestText(log.digest)}};
  }
  Answered answer = {
      {"sites", Answered::array()}, {"newest", nullptr}, {"faults", Answered::array()}};
  for (const auto& entry : sites) answer["sites"].push_back(entry.second);
  if (const LogDay& newest = node.newest_day(); newest.number != 0) {
    answer["newest"] = {{"number", newest.number},
                        {"day", DateText(newest.day)},
                        {"digest", DigestText(newest.digest)}};
  }
  for (const LogFault& fault : node.FindLogFaults(kMostFaultsShown)) {
    answer["faults"].push_back({{"site", fault.party},
                                {"departs", fault.departs},
                                {"had", fault.had},
                                {"time", FormatUtc(fault.time)},
                                {"before", DigestText(fault.before)},
                                {"message", DigestText(fault.message)}});
  }
  return answer;
}

}  // namespace

Control::Answered Control::ReadAudit(RequestFields& request, const Actor& /*actor*/) {
  AuditFilter filter;
  if (request.Has("study")) filter.study = request.Fixed<StudyId>("study");
  filter.actor = request.Text("actor");
  const int64_t before = request.Number("before"), limit = request.Number("limit");
  request.End();
  if (before < 0 || limit < 1 || limit > static_cast<int64_t>(kMostAuditShown))
    throw Error(ErrorCode::kUsage, "the audit log has no such page", "Begin with its newest.");
  AuditPage page;
  OnLoop([&](Node& node, int64_t) {
    page = node.ReadAudit(filter, static_cast<uint64_t>(before), static_cast<size_t>(limit));
  });
  Answered entries = Answered::array();
  for (const AuditEntry& entry : page.entries) entries.push_back(AuditJson(entry));
  return {{"entries", entries},
          {"next", page.next},
          {"count", page.head.number},
          {"head", ToHex(page.head.digest)},
          {"fault", FaultJson(page.fault)}};
}

Control::Answered Control::CheckAudit(RequestFields& request, const Actor& /*actor*/) {
  const int64_t from = request.Number("from");
  request.End();
  if (from < 1) throw Error(ErrorCode::kUsage, "entries are numbered from 1", "Begin with 1.");
  AuditCheck check;
  OnLoop([&](Node& node, int64_t) {
    check = node.CheckAudit(static_cast<uint64_t>(from), kMostAuditChecked);
  });
  return {{"next", check.next}, {"fault", FaultJson(check.fault)}};
}

Control::Answered Control::SitesOfLogs(RequestFields& request, const Actor& /*actor*/) {
  request.End();
  Answered answer;
  OnLoop([&](Node& node, int64_t) { answer = SitesJson(node, parts_.keeper.List()); });
  return answer;
}

Control::Answered Control::NoteOfPeople(RequestFields& request, const Actor& actor) {
  const std::string action = request.Text("action");
  const std::string subject = request.Text("subject"), outcome = request.Text("outcome");
  const StudyId id = request.Has("study") ? request.Fixed<StudyId>("study") : StudyId{};
  request.End();
  const std::optional<AuditAction> named = AuditActionNamed(action);
  if (!named || !IsNotedByPeople(*named))
    throw Error(ErrorCode::kUsage, "this is nothing that the own people note", "export, login");
  // Who it was that typed a wrong password nobody knows.
  const bool is_nobody = *named == AuditAction::kLoginFailed;
  Note(is_nobody ? Actor() : actor, *named, subject, outcome, id);
  return Answered::object();
}

}  // namespace partita::node
