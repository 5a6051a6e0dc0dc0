#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/certificate.h"
#include "crypto/hash.h"
#include "node/web/api.h"
#include "node/web/fields.h"
#include "report/web_assets.h"
#include "study/file/study_file.h"

namespace partita::node::web {
namespace {

constexpr size_t kMaxReasonBytes = 500;
constexpr size_t kMaxResultBytes = size_t{32} << 20;
constexpr size_t kMaxTagDigits = 16;

WebJson StudySaid(const Site& site, const std::string& id) {
  return site.AskNode({{"do", "study"}, {"study", id}});
}

// What all people of the site may know of a study. `said`: the node's words; names: of its file.
WebJson SummaryJson(const WebJson& said, const StudyNames::Names& names, const std::string& own) {
  const std::vector<std::string> approved = said.at("approved");
  const bool has_own = std::find(approved.begin(), approved.end(), own) != approved.end();
  const bool waits = said.at("state") == "settled" && said.at("has_draft").get<bool>() && !has_own;
  WebJson json = {{"study", said.at("study")},
                  {"name", names.name},
                  {"title", names.title},
                  {"proposer", said.at("proposer")},
                  {"own", said.at("proposer") == own}};
  for (const char* key : {"state", "is_over", "parties", "receivers", "unchecked", "approved",
                          "by_policy", "signers", "signed_here"})
    json[key] = said.at(key);
  json["needs_decision"] = waits;
  for (const char* key : {"attempt", "charged", "progress", "ended", "who", "reason", "began",
                          "expires", "waits_since"})
    json[key] = said.at(key);
  return json;
}

WebJson DetailJson(Site& site, const WebJson& said) {
  const std::string id = said.at("study");
  WebJson json =
      SummaryJson(said, site.names.Read(id, said.at("file").get<std::string>()), site.Name());
  for (const char* key : {"file", "roster", "plan_hash", "table", "roster_parties"})
    json[key] = said.at(key);
  const bool has_report = said.at("has_report"), has_json = said.at("has_result");
  const std::string base = "/api/v1/studies/" + id + "/";
  json["result"] = {{"has_report", has_report},
                    {"has_json", has_json},
                    {"report", has_report ? base + "report.html" : ""},
                    {"json", has_json ? base + "result.json" : ""}};
  json["kept"] = said.at("kept");
  json["tag"] = TagOf(json);
  return json;
}

net::HttpResponse StudyAnswer(Site& site, const std::string& id) {
  return JsonAnswer(DetailJson(site, StudySaid(site, id)));
}

// What the signer needs of the node: the documents, which it reads itself, and the list of parties.
WebJson ForSigner(const Site& site, const std::string& what, const std::string& id) {
  const WebJson said = StudySaid(site, id);
  return {{"do", what},
          {"documents", said.at("documents")},
          {"list", site.AskNode({{"do", "parties"}}).at("document")}};
}

// One line, for all parties to read.
std::string ReasonField(Fields& fields) {
  std::string reason = fields.Text("reason", kMaxReasonBytes);
  const bool is_line = std::none_of(reason.begin(), reason.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (reason.empty() || !is_line) {
    throw Error(ErrorCode::kUsage, "the reason is not one line of text",
                "Say in a line that all parties may read why.");
  }
  return reason;
}

// Whose passphrase it is, if not the steward's.
std::optional<std::string> DeputyField(Fields& fields) {
  return fields.TextIf("deputy", crypto::kMaxPartyName);
}

// A file of a result, from the node, piece by piece.
Bytes ResultFile(const Site& site, const Call& call, const std::string& name) {
  const std::string& id = call.parts.at(0);
  Bytes bytes;
  while (true) {
    const WebJson piece = site.AskNodeFor(call, {{"do", "result"},
                                                 {"study", id},
                                                 {"name", name},
                                                 {"offset", static_cast<int64_t>(bytes.size())}});
    const uint64_t size = piece.at("size");
    if (size > kMaxResultBytes) {
      throw Error(ErrorCode::kRefused, "this result is too large for a page",
                  "Take it with partita study follow STUDY --output FOLDER");
    }
    const Bytes part = FromHex(piece.at("bytes").get<std::string>());
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (bytes.size() >= size) return bytes;
    if (part.empty())
      throw Error(ErrorCode::kInternal, "the node gave less of a result than it said");
  }
}

}  // namespace

void LearnNames(Site& site, const WebJson& listed) {
  std::vector<StudyNames::Study> unknown;
  for (const WebJson& entry : listed) {
    if (!site.names.Find(entry.at("study"))) unknown.push_back({entry.at("study"), ""});
  }
  for (size_t known = 0; known < unknown.size();) {
    std::string ids;
    for (size_t i = known; i < unknown.size(); ++i) ids += unknown[i].id;
    const WebJson said = site.AskNode({{"do", "files"}, {"studies", ids}});
    const WebJson& files = said.at("files");
    if (files.empty() || files.size() > unknown.size() - known)
      throw Error(ErrorCode::kInternal, "the node gave other files than it was asked for");
    for (const WebJson& file : files) unknown[known++].file = file;
  }
  site.names.Learn(unknown);
  for (const StudyNames::Study& study : unknown) site.names.Read(study.id, study.file);
}

size_t NumberIn(const Call& call, const char* name, size_t low, size_t high, size_t otherwise) {
  const auto found = call.query.find(name);
  if (found == call.query.end()) return otherwise;
  size_t number = 0;
  for (const char digit : found->second) {
    if (digit < '0' || digit > '9' || number > high) {
      number = high + 1;
      break;
    }
    number = number * 10 + static_cast<size_t>(digit - '0');
  }
  if (number < low || number > high || found->second.empty()) {
    throw Error(ErrorCode::kUsage, std::string("'") + name + "' of the address is no such number",
                "Look at openapi.json.");
  }
  return number;
}

StudyNames::Names NamesOf(Site& site, const std::string& id) {
  std::optional<StudyNames::Names> names = site.names.Find(id);
  if (names) return std::move(*names);
  return site.names.Read(id, StudySaid(site, id).at("file").get<std::string>());
}

std::string TagOf(const WebJson& json) {
  const std::string text = json.dump(-1, ' ', false, WebJson::error_handler_t::replace);
  return ToHex(crypto::Sha256Of(AsBytes(text))).substr(0, kMaxTagDigits);
}

WebJson StudyNow(Site& site, const std::string& study) {
  return DetailJson(site, StudySaid(site, study));
}

WebJson NodeNow(Site& site) {
  const WebJson all = {
      site.AskNode({{"do", "status"}}), site.AskNode({{"do", "parties"}}),
      site.AskNode({{"do", "list"}, {"which", "open"}, {"after", ""}, {"limit", 1}})};
  return {{"tag", TagOf(all)}};
}

net::HttpResponse ListStudies(Site& site, const Call& call) {
  const auto value = [&call](const char* name, const std::string& otherwise) {
    const auto found = call.query.find(name);
    return found == call.query.end() ? otherwise : found->second;
  };
  const std::string which = value("state", "all");
  if (which != "open" && which != "over" && which != "all")
    throw Error(ErrorCode::kUsage, "'state' of the address is not open, over or all",
                "Look at openapi.json.");
  const WebJson said = site.AskNode({{"do", "list"},
                                     {"which", which},
                                     {"after", value("after", "")},
                                     {"limit", NumberIn(call, "limit", 1, 100, 50)}});
  const std::string own = site.Name();
  LearnNames(site, said.at("studies"));
  WebJson studies = WebJson::array();
  for (const WebJson& entry : said.at("studies")) {
    const std::string id = entry.at("study");
    studies.push_back(SummaryJson(entry, NamesOf(site, id), own));
  }
  return JsonAnswer({{"studies", studies}, {"next", said.at("next")}});
}

net::HttpResponse LookAtStudy(Site& site, const Call& call) {
  return StudyAnswer(site, call.parts.at(0));
}

// What stands in the way of proposing the file here; empty: nothing.
std::optional<Error> ProblemOf(Site& site, const FileRead& read) {
  if (read.problem) return read.problem;
  const WebJson plan = WebJson::parse(read.plan_json);
  const std::string own = site.Name();
  std::vector<std::string> names;
  for (const WebJson& party : plan.at("parties")) names.push_back(party.at("name"));
  if (std::find(names.begin(), names.end(), own) != names.end()) return std::nullopt;
  return Error(ErrorCode::kUsage,
               fmt::format("{} has no part in this study, whose parties are {}", own,
                           fmt::join(names, ", ")),
               "Name the parties as the sites are named here, or have one of them propose it.");
}

net::HttpResponse CheckStudy(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string text = fields.Text("file", study::kMaxStudyFileBytes);
  fields.End();
  const FileRead read = site.reader(text, FileDepth::kPlan);
  const std::optional<Error> problem = ProblemOf(site, read);
  WebJson json = {{"valid", !problem},          {"problem", nullptr},        {"name", read.name},
                  {"title", read.title},        {"warnings", read.warnings}, {"plan", nullptr},
                  {"plan_text", read.plan_text}};
  if (problem) json["problem"] = ProblemJson(*problem);
  if (!read.problem) json["plan"] = WebJson::parse(read.plan_json);
  return JsonAnswer(json);
}

net::HttpResponse ProposeStudy(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string text = fields.Text("file", study::kMaxStudyFileBytes);
  const int64_t days = fields.Integer("days", 1, 60);
  fields.End();
  // Before all parties see it.
  if (const auto problem = ProblemOf(site, site.reader(text, FileDepth::kPlan)))
    throw Error(*problem);
  const WebJson made = site.AskNodeFor(call, {{"do", "propose"}, {"file", text}, {"days", days}});
  return JsonAnswer({{"study", made.at("study")}});
}

net::HttpResponse ShowSteward(Site& site, const Call& call) {
  const std::string& id = call.parts.at(0);
  const WebJson said = site.AskSigner(ForSigner(site, "study", id));
  WebJson json;
  for (const char* key : {"study", "name", "title", "site", "proposer", "expires", "settled",
                          "can_approve", "why_not", "code", "trust", "parties"})
    json[key] = said.at(key);
  json["table"] = nullptr;
  if (said.at("table").is_object()) {
    const WebJson& table = said.at("table");
    json["table"] = {{"name", table.at("name")},
                     {"digest", table.at("digest")},
                     {"rows", table.value("rows", WebJson(nullptr))},
                     {"missing_cells", table.value("missing_cells", WebJson(nullptr))},
                     {"edition", table.value("edition", "")},
                     {"budget", table.value("budget", "")},
                     {"dictionary", table.value("dictionary", "")}};
  }
  json["valid_until"] = said.at("valid_until");
  json["min_cell"] = said.value("min_cell", WebJson(nullptr));
  for (const char* key : {"stewards_needed", "signed_by", "may_sign"}) json[key] = said.at(key);
  for (const char* key : {"useless", "plan", "plan_text", "policy_draft", "no_policy"})
    json[key] = said.at(key);
  // What the own run said may tell something of the table: for stewards and auditors alone.
  json["problem"] = WithoutPaths(StudySaid(site, id).value("problem", ""));
  return JsonAnswer(json);
}

net::HttpResponse ApproveStudy(Site& site, const Call& call) {
  const std::string& id = call.parts.at(0);
  Fields fields(call.request.body);
  const std::string code = fields.Text("code", 64);
  const std::string table = fields.Text("table", 64);
  const std::string passphrase = fields.Text("passphrase", kMaxPassphraseBytes);
  const std::optional<int64_t> min_cell = fields.IntegerIf("min_cell", 1, 1'000'000'000);
  const std::optional<std::string> until = fields.TextIf("valid_until", 32);
  const bool accept_useless = fields.Flag("accept_useless");
  const std::optional<std::string> deputy = DeputyField(fields);
  fields.End();
  WebJson request = ForSigner(site, "approve", id);
  if (deputy) request["deputy"] = *deputy;
  request["code"] = code;
  request["table"] = table;
  request["passphrase"] = passphrase;
  if (min_cell) request["min_cell"] = *min_cell;
  if (until) {
    const std::optional<int64_t> time = ParseUntil(*until);
    if (!time) {
      throw Error(ErrorCode::kUsage, "'valid_until' is neither a day nor a time",
                  "Write 2026-12-31 or 2026-12-31T12:00:00Z.");
    }
    request["valid_until"] = FormatUtc(*time);
  }
  if (accept_useless) request["accept_useless"] = true;
  const WebJson signed_word = site.AskSigner(request);
  site.AskNodeFor(call, {{"do", "decide"},
                         {"study", id},
                         {"decision", "approve"},
                         {"document", signed_word.at("document")}});
  return StudyAnswer(site, id);
}

net::HttpResponse RejectStudy(Site& site, const Call& call) {
  const std::string& id = call.parts.at(0);
  Fields fields(call.request.body);
  const std::string reason = ReasonField(fields);
  const std::string passphrase = fields.Text("passphrase", kMaxPassphraseBytes);
  const std::optional<std::string> deputy = DeputyField(fields);
  fields.End();
  WebJson request = ForSigner(site, "reject", id);
  if (deputy) request["deputy"] = *deputy;
  request["study"] = id;
  request["reason"] = reason;
  request["passphrase"] = passphrase;
  const WebJson signed_word = site.AskSigner(request);
  site.AskNodeFor(call, {{"do", "decide"},
                         {"study", id},
                         {"decision", "reject"},
                         {"document", signed_word.at("document")}});
  return StudyAnswer(site, id);
}

net::HttpResponse WithdrawStudy(Site& site, const Call& call) {
  const std::string& id = call.parts.at(0);
  Fields fields(call.request.body);
  const std::string reason = ReasonField(fields);
  const std::optional<std::string> passphrase = fields.TextIf("passphrase", kMaxPassphraseBytes);
  const std::optional<std::string> deputy = DeputyField(fields);
  fields.End();
  const WebJson said = StudySaid(site, id);
  const bool is_steward = call.session->role == Role::kSteward;
  if (!is_steward && (said.at("proposer") != site.Name() || passphrase)) {
    return Problem(403, "not-allowed", "an analyst withdraws studies that this site proposed",
                   "Ask the site's steward.");
  }
  // The signer's list first: from then on no job runs it, whatever becomes of the node.
  if (passphrase) {
    WebJson request = {{"do", "withdraw"},
                       {"study", id},
                       {"documents", said.at("documents")},
                       {"passphrase", *passphrase}};
    if (deputy) request["deputy"] = *deputy;
    site.AskSigner(request);
  }
  site.AskNodeFor(call, {{"do", "withdraw"}, {"study", id}, {"reason", reason}});
  return StudyAnswer(site, id);
}

net::HttpResponse ShowReport(Site& site, const Call& call) {
  net::HttpResponse response;
  response.body = ResultFile(site, call, "report.html");
  response.content_type = "text/html; charset=utf-8";
  // Peers' numbers and words: a page of its own, without this server's rights.
  response.headers.push_back(
      {"Content-Security-Policy", "sandbox allow-scripts; frame-ancestors 'none'; " +
                                      std::string(report::web_assets::Policy())});
  // A page in a sandbox that asks for another opener is not shown.
  response.headers.push_back({"Cross-Origin-Opener-Policy", "unsafe-none"});
  return response;
}

net::HttpResponse ShowResult(Site& site, const Call& call) {
  net::HttpResponse response;
  response.body = ResultFile(site, call, "result.json");
  response.content_type = "application/json";
  return response;
}

}  // namespace partita::node::web
