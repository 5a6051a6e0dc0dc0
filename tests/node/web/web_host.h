// The web process of a node with a node and a signer that are doubles, a clock that a test sets, and
// browsers: a client that keeps cookies and the session's token, as a page does.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/progress.h"
#include "crypto/random.h"
#include "net/https_client.h"
#include "node/daemon/control_rights.h"
#include "node/parties/introduction.h"
#include "node/parties/party_list.h"
#include "node/web/server.h"
#include "tests/cli/json_schema.h"
#include "tests/paths.h"

namespace partita::node::web {

using TestJson = nlohmann::ordered_json;

inline constexpr int64_t kWebNow = 1'800'000'000;
inline const std::string kPassword = "correct horse battery";
inline const std::string kPassphrase = "several words of a steward";
inline const std::string kStudyId(64, 'a');
inline const std::string kPairingNumber(32, 'b');

inline const crypto::Identity& WebIdentity() {
  static const crypto::Identity identity =
      crypto::MakeIdentity({.name = "localhost", .kind = crypto::KeyKind::kP256});
  return identity;
}

// PEM of the identity's key, as a file has it.
inline std::shared_ptr<ssl_ctx_st> WebTls() {
  static const std::shared_ptr<ssl_ctx_st> context = [] {
    const std::filesystem::path folder =
        std::filesystem::path(::testing::TempDir()) / ("web-tls-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    SaveIdentity(WebIdentity(), folder / "cert.pem", folder / "key.pem");
    const auto text = [](const std::filesystem::path& file) {
      return ReadFile(file, 1 << 16, "a file");
    };
    auto made = net::MakeBrowserContext(text(folder / "cert.pem"), text(folder / "key.pem"));
    std::filesystem::remove_all(folder);
    return made;
  }();
  return context;
}

// What the API says of itself.
class OpenApi {
 public:
  OpenApi() : document_(TestJson::parse(OpenApiText())) {}

  const TestJson& document() const { return document_; }
  // Where a body is not what the document says that this operation answers with this status.
  std::string Errors(const std::string& method, const std::string& path, unsigned status,
                     const TestJson& body) {
    std::string verb = method;
    for (char& letter : verb) letter = static_cast<char>(std::tolower(letter));
    const TestJson& operation = document_.at("paths").at(path).at(verb);
    const TestJson& responses = operation.at("responses");
    const std::string code = std::to_string(status);
    TestJson response = responses.contains(code) ? responses.at(code) : responses.at("default");
    if (response.contains("$ref"))
      response = document_.at("components").at("responses").at("Problem");
    return Check(response.at("content").at("application/json").at("schema"), body);
  }
  std::string Check(const TestJson& schema, const TestJson& body) {
    TestJson whole = schema;
    whole["definitions"] = document_.at("components").at("schemas");
    std::string text = whole.dump();
    const std::string from = "#/components/schemas/", to = "#/definitions/";
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
      text.replace(at, from.size(), to);
    auto& made = made_[text];
    if (!made) made = std::make_unique<partita::testing::JsonSchema>(nlohmann::json::parse(text));
    return made->Errors(nlohmann::json::parse(body.dump()));
  }

 private:
  TestJson document_;
  std::map<std::string, std::unique_ptr<partita::testing::JsonSchema>> made_;
};

inline OpenApi& Api() {
  static OpenApi api;
  return api;
}

// The node, or the signer: what is asked is kept, and answered by "do".
class AskDouble {
 public:
  using Answer = std::function<TestJson(const TestJson& request)>;

  void Say(const std::string& what, Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_[what] = std::move(answer);
  }
  void Say(const std::string& what, const TestJson& answer) {
    Say(what, [answer](const TestJson&) { return answer; });
  }
  std::vector<TestJson> Asked(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    std::vector<TestJson> asked;
    for (const TestJson& request : asked_) {
      if (request.at("do") == what) asked.push_back(request);
    }
    return asked;
  }
  void Forget() {
    const std::lock_guard lock(mutex_);
    asked_.clear();
  }
  Ask AsAsk() {
    return [this](const std::string& text, std::chrono::milliseconds) {
      const TestJson request = TestJson::parse(text);
      Answer answer;
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request);
        answer = answers_.at(request.at("do"));
      }
      return answer(request).dump();
    };
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<TestJson> asked_;
};

// The pages ask no more than a node lets them where they have a user of their own.
inline Ask AsPages(Ask ask) {
  return [ask = std::move(ask)](const std::string& text, std::chrono::milliseconds patience) {
    const TestJson request = TestJson::parse(text);
    RequireMayAsk(Asker::kPages, request.at("do"), request.value("account", ""),
                  request.value("action", ""));
    return ask(text, patience);
  };
}

struct WebAnswer {
  unsigned status = 0;
  std::string body, type;
  std::vector<net::HttpHeader> headers;

  TestJson json() const { return TestJson::parse(body); }
  std::string code() const { return json().at("code"); }
  std::string Header(const std::string& name) const {
    return net::HeaderValue(headers, name).value_or("");
  }
};

class WebHost {
 public:
  explicit WebHost(bool has_signer = true, net::HttpsLimits limits = WebLimits()) {
    static std::atomic<int> made{0};
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("web-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
    std::filesystem::create_directories(folder_);
    AnswerAsANode();
    WebOptions options;
    options.listener = net::Listen("127.0.0.1", "0");
    options.tls = WebTls();
    options.hosts = {"node.north.example"};
    options.accounts = folder_ / "accounts.sqlite";
    options.node = AsPages(node.AsAsk());
    if (has_signer) options.signer = signer.AsAsk();
    options.reader = [this](const std::string& text, FileDepth depth) {
      ++files_read;
      if (reader_is_gone) throw Error(ErrorCode::kInternal, "the reader ended without an answer");
      return ReadStudyFile(text, depth);
    };
    options.pages = kPages;
    options.page_policy = "default-src 'none'; script-src 'sha256-x'";
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    };
    options.clock = [this] {
      ++clock_looks;
      return now.load();
    };
    options.limits = limits;
    server_ = std::make_unique<WebServer>(std::move(options), random_);
  }
  ~WebHost() {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  const std::string& address() const { return server_->address(); }
  AccountStore& accounts() { return server_->accounts(); }
  const std::filesystem::path& folder() const { return folder_; }
  std::string LogText() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : log_) text += line + "\n";
    return text;
  }

  // What node and signer answer unless a test says otherwise.
  void AnswerAsANode();

  AskDouble node, signer;
  std::atomic<int64_t> now{kWebNow};
  std::atomic<int> files_read{0}, clock_looks{0};
  std::atomic<bool> reader_is_gone{false};

  static constexpr PageAsset kPages[] = {
      {"/", "text/html; charset=utf-8", "\"tag\"", "<!doctype html><title>pages</title>"},
      {"/licences.txt", "text/plain", "\"tag2\"", "licences"}};

 private:
  std::filesystem::path folder_;
  crypto::SystemRandom random_;
  mutable std::mutex mutex_;
  std::vector<std::string> log_;
  std::unique_ptr<WebServer> server_;
};

// One browser: what it sends is what a page of this server would, unless a test says otherwise.
class Browser {
 public:
  explicit Browser(const WebHost& host)
      : address_(host.address()),
        client_({"", address_, crypto::Fingerprint(*WebIdentity().certificate)}, {}),
        origin("https://" + address_) {}

  WebAnswer Get(const std::string& path) { return Send("GET", path, ""); }
  WebAnswer Post(const std::string& path, const TestJson& body) {
    return Send("POST", path, body.dump());
  }
  WebAnswer Delete(const std::string& path) { return Send("DELETE", path, ""); }

  // `more` replaces what would be sent of that name; an empty value leaves it out.
  WebAnswer Send(const std::string& method, const std::string& path, const std::string& body,
                 const std::map<std::string, std::string>& more = {}) {
    net::HttpRequest request;
    request.method = method;
    request.target = path;
    const ByteView bytes = AsBytes(body);
    request.body.assign(bytes.begin(), bytes.end());
    std::map<std::string, std::string> headers = more;
    if (method != "GET") headers.emplace("Origin", origin);
    if (method != "GET") headers.emplace("Partita-Csrf", csrf);
    if (method == "POST") headers.emplace("Content-Type", "application/json");
    std::string kept;
    for (const auto& cookie : cookies)
      kept += (kept.empty() ? "" : "; ") + cookie.first + "=" + cookie.second;
    headers.emplace("Cookie", kept);
    for (const auto& header : headers) {
      if (!header.second.empty()) request.headers.push_back({header.first, header.second});
    }
    SilentProgress progress;
    const net::HttpResponse response =
        client_.Send(request, std::chrono::seconds(60), size_t{64} << 20, progress);
    WebAnswer answer{response.status, net::BodyText(response), response.content_type,
                     response.headers};
    for (const net::HttpHeader& header : response.headers) {
      if (header.name == "set-cookie") Keep(header.value);
    }
    return answer;
  }

  // Logs in, and keeps what a page keeps.
  WebAnswer LogIn(const std::string& name, const std::string& password = kPassword) {
    WebAnswer answer = Post("/api/v1/session", {{"name", name}, {"password", password}});
    if (answer.status == 200) csrf = answer.json().at("csrf");
    return answer;
  }

 private:
  std::string address_;
  net::HttpsClient client_;

  void Keep(const std::string& cookie) {
    const std::string pair = cookie.substr(0, cookie.find(';'));
    const size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals), value = pair.substr(equals + 1);
    if (value.empty()) {
      cookies.erase(name);
    } else {
      cookies[name] = value;
    }
  }

 public:
  std::string origin, csrf;
  std::map<std::string, std::string> cookies;
};

// A study as the node says it: settled, and not decided here yet.
inline TestJson StudySaid(const std::string& state = "settled") {
  const bool is_over = state == "finished";
  return {
      {"study", kStudyId},
      {"proposer", "north"},
      {"state", state},
      {"is_over", is_over},
      {"parties", {"north", "south", "west", "helper"}},
      {"receivers", {"north"}},
      {"unchecked", TestJson::array()},
      {"approved", TestJson::array({"south"})},
      {"by_policy", TestJson::array({"south"})},
      {"signers",
       TestJson::array({{{"party", "west"}, {"names", TestJson::array({"kim", "the steward"})}}})},
      {"signed_here", TestJson::array({"kim"})},
      {"attempt", 0},
      {"charged", false},
      {"progress",
       TestJson::array({{{"party", "south"}, {"phase", "moments"}, {"done_per_mille", 400}}})},
      {"ended",
       TestJson::array({{{"party", "south"}, {"outcome", "finished"}, {"may_have_opened", true}}})},
      {"who", ""},
      {"reason", ""},
      {"began", "2027-01-15T08:00:00Z"},
      {"expires", "2027-01-29T08:00:00Z"},
      {"waits_since", state == "settled" ? "2027-01-15T09:00:00Z" : ""},
      {"has_draft", true},
      {"has_report", is_over},
      {"has_result", is_over}};
}

inline std::string StudyText() {
  return ReadFile(SourcePath("examples/three_factor/horizontal/study.toml"), 1 << 20, "a study");
}

// All of it, with what no page may show.
inline TestJson StudyWhole(const std::string& state = "settled") {
  TestJson said = StudySaid(state);
  said["file"] = StudyText();
  said["roster"] = "roster text";
  said["plan_hash"] = std::string(64, '1');
  said["agreement_hash"] = "";
  said["roster_parties"] = TestJson::array({{{"name", "north"},
                                             {"fingerprint", std::string(64, '2')},
                                             {"steward", std::string(64, '3')}}});
  said["draft"] = "secret draft";
  said["problem"] = "too few rows in /srv/secret/table.csv";
  said["table"] = "pupils";
  said["folder"] = "/srv/secret/folder";
  said["documents"] = {{"study", kStudyId}, {"draft", "secret draft"}};
  said["kept"] = nullptr;
  if (said.at("is_over").get<bool>()) {
    said["kept"] = {{"ended", "2027-01-20T08:00:00Z"},
                    {"result_until", "2028-01-20T08:00:00Z"},
                    {"documents_until", "2037-01-19T20:00:00Z"},
                    {"result_kept", true}};
  }
  return said;
}

inline Digest DigestOf(uint8_t byte) {
  Digest digest{};
  digest.fill(byte);
  return digest;
}

inline TestJson PartiesSaid() {
  PartyList list;
  list.owner = "north";
  list.serial = 1;
  ListedParty south;
  south.name = "south";
  south.node_key = DigestOf(4);
  south.steward_key = DigestOf(5);
  south.known_at = kWebNow - 86'400;
  list.parties = {south};
  const Introduction west{"west", DigestOf(6), DigestOf(7), "west.example:7400", kWebNow - 3600};
  return {{"list", ToHex(EncodePartyList(list))},
          {"document", "d0c0"},
          {"addresses", {{"south", "south.example:7400"}}},
          {"waiting",
           TestJson::array({{{"introduction",
                              ToHex(EncodeIntroduction({"south", "north", west, Signature()}))}}})},
          {"pairings",
           TestJson::array({{{"number", kPairingNumber}, {"name", "east"}, {"state", "digits"}}})}};
}

inline TestJson PairingSaid(const std::string& state) {
  TestJson said = {{"state", state},
                   {"name", "east"},
                   {"shown", state == "digits" ? "123456" : ""},
                   {"role", 1},
                   {"hash", std::string(64, '8')},
                   {"reach", ""}};
  if (state == "met") {
    said["party"] = {{"name", "east"},
                     {"node_certificate", "aa"},
                     {"steward_certificate", "bb"},
                     {"address", "east.example:7400"},
                     {"compared_at", kWebNow}};
  }
  return said;
}

// Two tables, of which one has a budget.
inline TestJson TablesSaidByNode(bool budgets) {
  const TestJson no_dictionary = {{"text", ""}, {"version", ""}};
  TestJson pupils = {
      {"name", "pupils"}, {"source", "CSV file"}, {"present", true}, {"dictionary", no_dictionary}};
  TestJson wards = {{"name", "wards"},
                    {"source", "PostgreSQL database"},
                    {"present", false},
                    {"dictionary", no_dictionary}};
  if (budgets) {
    const TestJson line = {{"against", "outsiders"}, {"neighbours", "replace"}, {"epsilon", "3"},
                           {"delta", "1e-6"},        {"spent", "12.5 %"},       {"reserved", "0 %"},
                           {"left", "87.5 %"},       {"share_left", 0.875}};
    const TestJson entry = {{"number", 2},
                            {"time", "2027-01-15T08:00:00Z"},
                            {"study", "school-hours"},
                            {"outside", "12.5 %"},
                            {"insider", "-"},
                            {"left", "87.5 %"},
                            {"outcome", "spent"},
                            {"mechanisms", "discrete Gaussian"}};
    pupils["exact_served"] = true;
    pupils["problem"] = "";
    pupils["budget"] = {{"lines", TestJson::array({line})},
                        {"exact", "Results without noise are refused."},
                        {"notes", TestJson::array()},
                        {"open", 0},
                        {"history", TestJson::array({entry})}};
    pupils["frozen"] = {{"study", kStudyId}, {"rows", 156}, {"missing_cells", 0}};
    wards["exact_served"] = false;
    wards["problem"] = "the ledger /srv/secret/ledger.sqlite has no account 'wards'";
    wards["budget"] = nullptr;
    wards["frozen"] = nullptr;
  }
  TestJson study = StudySaid("finished");
  study["approved"] = TestJson::array({"north", "south"});
  study["table"] = "pupils";
  return {{"tables", TestJson::array({pupils, wards})}, {"studies", TestJson::array({study})}};
}

inline void WebHost::AnswerAsANode() {
  node.Say("status", {{"name", "north"},
                      {"address", "north.example:7400"},
                      {"fingerprint", std::string(64, '9')},
                      {"steward", std::string(64, '3')},
                      {"stopped", false},
                      {"draining", false},
                      {"restored", nullptr},
                      {"half_signed", TestJson::array()},
                      {"runs", 0},
                      {"open_studies", 1},
                      {"parties", 1},
                      {"waiting_introductions", 1},
                      {"open_invitations", 0}});
  node.Say("studies", {{"studies", TestJson::array({StudySaid()})}});
  node.Say("list", {{"studies", TestJson::array({StudySaid()})}, {"next", "17"}});
  node.Say("study", StudyWhole());
  node.Say("files", [](const TestJson& request) -> TestJson {
    const size_t count = request.at("studies").get<std::string>().size() / 64;
    return {{"files", std::vector<std::string>(count, StudyText())}};
  });
  node.Say("tables", [](const TestJson& request) {
    return TablesSaidByNode(request.at("budgets").get<bool>());
  });
  node.Say("parties", PartiesSaid());
  node.Say("pairing", PairingSaid("digits"));
  node.Say("invite", {{"line", "partita-invite-1 x"},
                      {"number", kPairingNumber},
                      {"expires", "2027-01-22T08:00:00Z"}});
  node.Say("join", {{"number", kPairingNumber}});
  node.Say("propose", {{"study", kStudyId}});
  node.Say("audit", {{"entries", TestJson::array({{{"number", 2},
                                                   {"time", "2027-01-15T08:00:00Z"},
                                                   {"kind", "party"},
                                                   {"actor", "south"},
                                                   {"action", "approval"},
                                                   {"study", kStudyId},
                                                   {"subject", "south"},
                                                   {"outcome", ""},
                                                   {"message", std::string(64, 'f')}}})},
                     {"next", 2},
                     {"count", 2},
                     {"head", std::string(64, 'e')},
                     {"fault", nullptr}});
  node.Say("go-on-text", {{"text", "00ff"}});
  node.Say("result", [](const TestJson& request) -> TestJson {
    // Two pieces.
    const std::string whole =
        request.at("name") == "report.html" ? "<!doctype html>" : "{\"a\": 1}";
    const size_t offset = request.at("offset"), end = offset == 0 ? 4 : whole.size();
    return {{"size", whole.size()}, {"bytes", ToHex(AsBytes(whole.substr(offset, end - offset)))}};
  });
  for (const char* quiet :
       {"digits", "sign-pairing", "take-list", "stop", "go-on", "decide", "withdraw", "note"})
    node.Say(quiet, TestJson::object());
  signer.Say("study", {{"study", kStudyId},
                       {"name", "three-factor-rows"},
                       {"title", "t"},
                       {"site", "north"},
                       {"proposer", "north"},
                       {"expires", "2027-01-29T08:00:00Z"},
                       {"settled", true},
                       {"code", "abcdefghijklmnopqrstuvwxy"},
                       {"plan_text", "plan"},
                       {"plan", {{"schema_version", 2}}},
                       {"min_cell", 5},
                       {"useless", ""},
                       {"trust", TestJson::array({"north could read your table here"})},
                       {"parties", TestJson::array({{{"name", "south"}, {"known", "digits"}}})},
                       {"can_approve", true},
                       {"why_not", ""},
                       {"table",
                        {{"name", "pupils"},
                         {"digest", std::string(64, 'c')},
                         {"rows", 156},
                         {"missing_cells", 0},
                         {"edition", ""},
                         {"budget", "Study 'pupils' fits the policy of table pupils.\n"},
                         {"dictionary", "Its variables are as the dictionary of pupils says.\n"}}},
                       {"valid_until", "2027-01-29T08:00:00Z"},
                       {"stewards_needed", 2},
                       {"signed_by", TestJson::array({"kim"})},
                       {"may_sign", TestJson::array({"the steward"})},
                       {"policy_draft", "partita_envelope = 2\n"},
                       {"no_policy", TestJson::array()}});
  signer.Say(
      "policy-list",
      {{"policies",
        TestJson::array({{{"name", "hours-again"},
                          {"from", "2027-01-01T08:00:00Z"},
                          {"until", "2027-03-01T08:00:00Z"},
                          {"results", 1},
                          {"max_results", 3},
                          {"epsilon", 0.0},
                          {"epsilon_in_all", 0.0},
                          {"tables", TestJson::array({"pupils"})},
                          {"exact", 1},
                          {"uses", TestJson::array({{{"number", 1},
                                                     {"study", kStudyId},
                                                     {"epsilon", 0.0},
                                                     {"approved", "2027-01-15T08:00:00Z"}}})},
                          {"text", "partita_envelope = 2\n"}}})}});
  signer.Say("policy-end", TestJson::object());
  for (const char* document : {"approve", "reject", "accept", "revoke", "add"})
    signer.Say(document, {{"document", "5160"}});
  for (const char* word : {"pairing", "go-on"})
    signer.Say(word, {{"certificate", "ce"}, {"signature", "51"}});
  signer.Say("withdraw", TestJson::object());
}

}  // namespace partita::node::web
