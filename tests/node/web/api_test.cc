// What the API does: every route once and more as who may, against a node and a signer that are doubles. Every
// answer is what openapi.json says; what reaches node and signer is compared; nothing of this machine shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "crypto/hash.h"
#include "node/web/routes.h"
#include "tests/node/web/web_host.h"

namespace partita::node::web::api_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kBase = "/api/v1";
const std::string kStudyPath = kBase + "/studies/" + kStudyId;
const std::string kPairingPath = kBase + "/pairings/" + kPairingNumber;

TestJson AcceptForm(uint8_t node_key, uint8_t steward_key) {
  return {{"node_key", ToHex(DigestOf(node_key))},
          {"steward_key", ToHex(DigestOf(steward_key))},
          {"passphrase", kPassphrase}};
}

// One server for all, with sessions that are opened again where a test ended one.
class ApiTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new Shared();
    for (const Role role : kRoles)
      shared_->host.accounts().Add(RoleName(role), role, kPassword, kWebNow);
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  ApiTest() {
    for (Browser* browser : {&steward_, &analyst_, &operator_}) {
      const std::string name = browser == &steward_   ? "steward"
                               : browser == &analyst_ ? "analyst"
                                                      : "operator";
      const bool is_in = browser->Get(kBase + "/session").status == 200U;
      EXPECT_TRUE(is_in || browser->LogIn(name).status == 200U);
    }
    host_.AnswerAsANode();
    host_.node.Forget();
    host_.signer.Forget();
  }
  ~ApiTest() override {
    // What was typed stands in no log.
    for (const std::string& secret : {kPassword, kPassphrase})
      EXPECT_THAT(host_.LogText(), Not(HasSubstr(secret)));
  }

  // The answer, of which the document knows: of the operation whose path is `path` with {names}.
  WebAnswer Checked(const std::string& method, const std::string& path, const WebAnswer& answer,
                    unsigned status = 200) {
    EXPECT_EQ(answer.status, status) << path << " " << answer.body;
    if (answer.status != 204) {
      EXPECT_EQ(Api().Errors(method, path, answer.status, answer.json()), "") << answer.body;
    }
    for (const std::string& secret :
         {std::string("/srv/secret"), std::string("secret draft"), kPassphrase, kPassword})
      EXPECT_THAT(answer.body, Not(HasSubstr(secret))) << path;
    return answer;
  }

  static constexpr Role kRoles[] = {Role::kSteward, Role::kAnalyst, Role::kOperator};
  struct Shared {
    WebHost host;
    Browser steward{host}, analyst{host}, operator_of_node{host};
  };
  static inline Shared* shared_ = nullptr;
  WebHost& host_ = shared_->host;
  Browser& steward_ = shared_->steward;
  Browser& analyst_ = shared_->analyst;
  Browser& operator_ = shared_->operator_of_node;
};

TEST_F(ApiTest, SessionsAndAccounts) {
  const WebAnswer me = Checked("GET", kBase + "/session", steward_.Get(kBase + "/session"));
  EXPECT_EQ(me.json().at("name"), "steward");
  EXPECT_EQ(me.json().at("role"), "steward");
  EXPECT_EQ(me.json().at("node"), "north");
  EXPECT_EQ(me.json().at("signer"), true);
  EXPECT_EQ(me.json().at("csrf"), steward_.csrf);
  Checked("POST", kBase + "/session",
          analyst_.Post(kBase + "/session", {{"name", "analyst"}, {"password", "wrong one here"}}),
          401);
  const std::string accounts = kBase + "/accounts";
  Checked("POST", accounts,
          operator_.Post(accounts, {{"name", "bert"},
                                    {"role", "auditor"},
                                    {"password", kPassword},
                                    {"current", kPassword}}));
  Checked(
      "POST", accounts,
      operator_.Post(
          accounts,
          {{"name", "bert"}, {"role", "auditor"}, {"password", kPassword}, {"current", kPassword}}),
      409);
  Checked(
      "POST", accounts,
      operator_.Post(
          accounts,
          {{"name", "carl"}, {"role", "king"}, {"password", kPassword}, {"current", kPassword}}),
      400);
  Checked(
      "POST", accounts,
      operator_.Post(
          accounts,
          {{"name", "carl"}, {"role", "auditor"}, {"password", "short"}, {"current", kPassword}}),
      400);
  const TestJson list = Checked("GET", accounts, steward_.Get(accounts)).json();
  EXPECT_EQ(list.at("accounts").size(), 4U);
  EXPECT_THAT(list.dump(), Not(HasSubstr("argon2")));
  Checked("DELETE", accounts + "/{account}", operator_.Delete(accounts + "/bert"), 204);
  Checked("DELETE", accounts + "/{account}", operator_.Delete(accounts + "/bert"), 400);
  Checked("DELETE", accounts + "/{account}", operator_.Delete(accounts + "/operator"), 409);
}

TEST_F(ApiTest, PasswordsAreChangedByThoseWhoMay) {
  const std::string path = kBase + "/accounts/{account}/password";
  const auto of = [](const std::string& account) {
    return kBase + "/accounts/" + account + "/password";
  };
  const std::string fresh = "another password of mine";
  Browser elsewhere(host_);
  ASSERT_EQ(elsewhere.LogIn("analyst").status, 200U);
  Checked("POST", path, analyst_.Post(of("steward"), {{"password", fresh}, {"current", kPassword}}),
          403);
  Checked("POST", path, analyst_.Post(of("analyst"), {{"password", fresh}}), 400);
  Checked("POST", path, analyst_.Post(of("analyst"), {{"password", fresh}, {"current", "wrong"}}),
          409);
  Checked("POST", path, analyst_.Post(of("analyst"), {{"password", fresh}, {"current", kPassword}}),
          204);
  EXPECT_EQ(analyst_.Get(kBase + "/session").status, 200U);
  EXPECT_EQ(elsewhere.Get(kBase + "/session").status, 401U) << "other sessions ended";
  // An open browser is not enough for another's either.
  const TestJson by_operator = {{"password", "one by the operator"}, {"current", kPassword}};
  Checked("POST", path,
          operator_.Post(of("analyst"), {{"password", "one by a thief"}, {"current", "guessed"}}),
          409);
  EXPECT_EQ(analyst_.Get(kBase + "/session").status, 200U);
  Checked("POST", path, operator_.Post(of("analyst"), by_operator), 204);
  EXPECT_EQ(analyst_.Get(kBase + "/session").status, 401U);
  EXPECT_EQ(analyst_.LogIn("analyst", "one by the operator").status, 200U);
  host_.accounts().SetPassword("analyst", kPassword);
}

// Four eyes: who keeps the node running does not become who decides.
TEST_F(ApiTest, StewardsAreMadeAndChangedByStewards) {
  const std::string accounts = kBase + "/accounts";
  const auto form = [](const std::string& name, const std::string& current) {
    return TestJson{
        {"name", name}, {"role", "steward"}, {"password", kPassword}, {"current", current}};
  };
  Checked("POST", accounts, operator_.Post(accounts, form("otto", kPassword)), 403);
  Checked("POST", accounts, steward_.Post(accounts, form("eve", "a guess of a thief")), 409);
  const TestJson reset = {{"password", "one by the operator"}, {"current", kPassword}};
  Checked("POST", accounts + "/{account}/password",
          operator_.Post(accounts + "/steward/password", reset), 403);
  Checked("DELETE", accounts + "/{account}", operator_.Delete(accounts + "/steward"), 403);
  EXPECT_TRUE(host_.accounts().Check("steward", kPassword));
  EXPECT_FALSE(host_.accounts().Find("otto"));
  EXPECT_FALSE(host_.accounts().Find("eve"));
  Checked("POST", accounts, steward_.Post(accounts, form("second", kPassword)));
  Checked("POST", accounts + "/{account}/password",
          steward_.Post(accounts + "/second/password", reset), 204);
  Checked("DELETE", accounts + "/{account}", steward_.Delete(accounts + "/second"), 204);
}

// A site whose first account is an operator's gets its first steward from there, and no second one.
TEST(FirstStewardTest, IsMadeByAnOperator) {
  WebHost host;
  host.accounts().Add("otto", Role::kOperator, kPassword, kWebNow);
  Browser browser(host);
  ASSERT_EQ(browser.LogIn("otto").status, 200U);
  TestJson form = {
      {"name", "anna"}, {"role", "steward"}, {"password", kPassword}, {"current", kPassword}};
  EXPECT_EQ(browser.Post(kBase + "/accounts", form).status, 200U);
  form["name"] = "eve";
  EXPECT_EQ(browser.Post(kBase + "/accounts", form).status, 403U);
}

TEST_F(ApiTest, Node) {
  const auto look = [this] {
    return Checked("GET", kBase + "/node", analyst_.Get(kBase + "/node")).json().at("restored");
  };
  EXPECT_EQ(look(), nullptr);
  TestJson status = TestJson::parse(host_.node.AsAsk()(R"({"do":"status"})", kNodePatience));
  status["restored"] = {{"time", "2026-11-20T08:30:00Z"},
                        {"closed", true},
                        {"accounts", 7},
                        {"kept", 0},
                        {"asked", 3},
                        {"answered", 1}};
  host_.node.Say("status", status);
  EXPECT_EQ(
      look(),
      (TestJson{{"time", "2026-11-20T08:30:00Z"}, {"closed", true}, {"asked", 3}, {"answered", 1}}))
      << "an analyst is not told of accounts";
  Checked("POST", kBase + "/node/stop", operator_.Post(kBase + "/node/stop", TestJson::object()),
          204);
  EXPECT_EQ(host_.node.Asked("stop").size(), 1U);
  Checked("POST", kBase + "/node/stop", operator_.Post(kBase + "/node/stop", {{"x", 1}}), 400);
  EXPECT_EQ(host_.node.Asked("stop").size(), 1U);
  Checked("POST", kBase + "/node/go-on",
          steward_.Post(kBase + "/node/go-on", {{"passphrase", kPassphrase}}), 204);
  EXPECT_EQ(
      host_.signer.Asked("go-on"),
      (std::vector<TestJson>{{{"do", "go-on"}, {"text", "00ff"}, {"passphrase", kPassphrase}}}));
  EXPECT_EQ(
      host_.node.Asked("go-on"),
      (std::vector<TestJson>{
          {{"do", "go-on"}, {"certificate", "ce"}, {"signature", "51"}, {"account", "steward"}}}));
}

TEST_F(ApiTest, Audit) {
  host_.node.Forget();
  const TestJson log = Checked("GET", kBase + "/audit", steward_.Get(kBase + "/audit")).json();
  EXPECT_EQ(log.at("entries").at(0).at("name"), "three-factor-rows");
  EXPECT_EQ(log.at("next"), 2);
  EXPECT_EQ(
      host_.node.Asked("audit"),
      (std::vector<TestJson>{{{"do", "audit"}, {"actor", ""}, {"before", 0}, {"limit", 100}}}));
  const std::string all = "?study=" + kStudyId + "&actor=anna&before=7&limit=2";
  Checked("GET", kBase + "/audit", operator_.Get(kBase + "/audit" + all));
  EXPECT_EQ(
      host_.node.Asked("audit").at(1),
      (TestJson{
          {"do", "audit"}, {"actor", "anna"}, {"before", 7}, {"limit", 2}, {"study", kStudyId}}));
  for (const char* bad : {"?study=abc", "?limit=0", "?limit=501", "?before=-1", "?before=x"})
    EXPECT_EQ(steward_.Get(kBase + "/audit" + bad).status, 404U) << bad;
  EXPECT_EQ(host_.node.Asked("audit").size(), 2U);
  // A log that was changed.
  const TestJson said = {{"entries", TestJson::array()},
                         {"next", 0},
                         {"count", 2},
                         {"head", std::string(64, 'e')},
                         {"fault", {{"number", 1}, {"what", "the entry is not there"}}}};
  host_.node.Say("audit", said);
  EXPECT_EQ(Checked("GET", kBase + "/audit", steward_.Get(kBase + "/audit")).json().at("fault"),
            said.at("fault"));
}

// Everything that changes something says for whom.
TEST_F(ApiTest, TellsTheNodeForWhom) {
  host_.node.Forget();
  operator_.Post(kBase + "/node/stop", TestJson::object());
  operator_.Post(kBase + "/invitations", {{"name", "west"}});
  analyst_.Post(kBase + "/studies", {{"file", StudyText()}, {"days", 14}});
  analyst_.Post(kStudyPath + "/withdraw", {{"reason", "a slip"}});
  steward_.Post(kStudyPath + "/reject", {{"reason", "no"}, {"passphrase", kPassphrase}});
  steward_.Post(kBase + "/parties/west/revoke", {{"passphrase", kPassphrase}});
  analyst_.Get(kStudyPath + "/report.html");
  const std::vector<std::pair<std::string, std::string>> who = {
      {"stop", "operator"},    {"invite", "operator"}, {"propose", "analyst"},
      {"withdraw", "analyst"}, {"decide", "steward"},  {"take-list", "steward"},
      {"result", "analyst"}};
  for (const auto& entry : who) {
    ASSERT_FALSE(host_.node.Asked(entry.first).empty()) << entry.first;
    EXPECT_EQ(host_.node.Asked(entry.first).at(0).value("account", ""), entry.second)
        << entry.first;
  }
}

TEST_F(ApiTest, StudiesAreListedAndShown) {
  const TestJson page =
      Checked("GET", kBase + "/studies", analyst_.Get(kBase + "/studies?state=all&limit=7")).json();
  EXPECT_EQ(
      host_.node.Asked("list"),
      (std::vector<TestJson>{{{"do", "list"}, {"which", "all"}, {"after", ""}, {"limit", 7}}}));
  EXPECT_EQ(page.at("next"), "17");
  const TestJson& study = page.at("studies").at(0);
  EXPECT_EQ(study.at("name"), "three-factor-rows");
  EXPECT_THAT(study.at("title").get<std::string>(), HasSubstr("three institutions"));
  EXPECT_EQ(study.at("own"), true);
  EXPECT_EQ(study.at("needs_decision"), true);
  // The file is asked for and parsed once.
  const size_t asked = host_.node.Asked("study").size();
  analyst_.Get(kBase + "/studies?after=17");
  EXPECT_EQ(host_.node.Asked("study").size(), asked);
  for (const char* bad : {"?state=none", "?limit=0", "?limit=101", "?limit=x",
                          "?limit=", "?limit=18446744073709551616"})
    EXPECT_EQ(analyst_.Get(kBase + "/studies" + bad).status, 404U) << bad;

  const TestJson one = Checked("GET", kBase + "/studies/{study}", analyst_.Get(kStudyPath)).json();
  EXPECT_EQ(one.at("file"), StudyText());
  EXPECT_EQ(one.at("table"), "pupils");
  EXPECT_EQ(one.at("result").at("report"), "");
  // Decided here already, or over: nothing to decide.
  TestJson said = StudyWhole();
  said["approved"] = TestJson::array({"south", "north"});
  host_.node.Say("study", said);
  EXPECT_EQ(analyst_.Get(kStudyPath).json().at("needs_decision"), false);
  host_.node.Say("study", StudyWhole("finished"));
  const TestJson over = Checked("GET", kBase + "/studies/{study}", analyst_.Get(kStudyPath)).json();
  EXPECT_EQ(over.at("needs_decision"), false);
  EXPECT_EQ(over.at("result").at("report"), kStudyPath + "/report.html");
  EXPECT_NE(over.at("tag"), one.at("tag"));
  host_.node.Say("study", [](const TestJson&) -> TestJson {
    throw Error(ErrorCode::kUsage, "there is no such study at this node", "List the studies.");
  });
  Checked("GET", kBase + "/studies/{study}", analyst_.Get(kStudyPath), 404);
}

// A peer wrote the file: what cannot be parsed has no name, and shows nothing.
TEST_F(ApiTest, HostileFilesHaveNoName) {
  TestJson said = StudyWhole();
  said["study"] = std::string(64, '7');
  said["file"] = "name = \"<script>alert(1)</script>\"\n[[[";
  host_.node.Say("study", said);
  const TestJson one = Checked("GET", kBase + "/studies/{study}",
                               analyst_.Get(kBase + "/studies/" + std::string(64, '7')))
                           .json();
  EXPECT_EQ(one.at("name"), "");
}

// Every file is read by the reader that the server was given, which is another process: by nobody else.
TEST_F(ApiTest, FilesAreReadByTheReaderAlone) {
  TestJson said = StudyWhole();
  said["study"] = std::string(64, '6');
  host_.node.Say("study", said);
  const int before = host_.files_read;
  const std::string one = kBase + "/studies/" + std::string(64, '6');
  EXPECT_EQ(analyst_.Get(one).json().at("name"), "three-factor-rows");
  EXPECT_EQ(analyst_.Get(one).json().at("name"), "three-factor-rows");
  EXPECT_EQ(host_.files_read, before + 1);
  host_.reader_is_gone = true;
  said["study"] = std::string(64, '5');
  host_.node.Say("study", said);
  EXPECT_EQ(analyst_.Get(kBase + "/studies/" + std::string(64, '5')).json().at("name"), "");
  const std::string check = kBase + "/studies/check", studies = kBase + "/studies";
  Checked("POST", check, analyst_.Post(check, {{"file", StudyText()}}), 500);
  Checked("POST", studies, analyst_.Post(studies, {{"file", StudyText()}, {"days", 14}}), 500);
  host_.reader_is_gone = false;
  EXPECT_TRUE(host_.node.Asked("propose").empty());
}

TEST_F(ApiTest, TextsAreCheckedAndProposed) {
  const std::string path = kBase + "/studies/check";
  const TestJson good = Checked("POST", path, analyst_.Post(path, {{"file", StudyText()}})).json();
  EXPECT_EQ(good.at("valid"), true);
  EXPECT_EQ(good.at("name"), "three-factor-rows");
  EXPECT_EQ(good.at("plan").at("study"), "three-factor-rows");
  EXPECT_THAT(good.at("plan_text").get<std::string>(), HasSubstr("north"));
  std::string broken = StudyText();
  broken.replace(broken.find("partita = 1"), 11, "partita = 9");
  const TestJson bad = Checked("POST", path, analyst_.Post(path, {{"file", broken}})).json();
  EXPECT_EQ(bad.at("valid"), false);
  EXPECT_EQ(bad.at("problem").at("code"), "bad-input");
  EXPECT_THAT(bad.at("problem").at("message").get<std::string>(), HasSubstr("the study:2:11: "));
  for (const char* none : {"", "\x01", "[[[[[[["})
    EXPECT_EQ(Checked("POST", path, analyst_.Post(path, {{"file", none}})).json().at("valid"),
              false);
  Checked("POST", path, analyst_.Post(path, {{"file", std::string((1 << 20) + 1, '#')}}), 400);
  // Of other sites alone.
  std::string others = StudyText();
  for (size_t at = 0; (at = others.find("north", at)) != std::string::npos;)
    others.replace(at, 5, "delta");
  const TestJson strange = Checked("POST", path, analyst_.Post(path, {{"file", others}})).json();
  EXPECT_EQ(strange.at("valid"), false);
  EXPECT_THAT(strange.at("problem").at("message").get<std::string>(),
              HasSubstr("north has no part in this study"));
  EXPECT_TRUE(strange.at("plan").is_object());
  EXPECT_TRUE(host_.node.Asked("propose").empty());

  const std::string studies = kBase + "/studies";
  Checked("POST", studies, analyst_.Post(studies, {{"file", broken}, {"days", 14}}), 422);
  Checked("POST", studies, analyst_.Post(studies, {{"file", others}, {"days", 14}}), 400);
  for (const int days : {0, 61})
    Checked("POST", studies, analyst_.Post(studies, {{"file", StudyText()}, {"days", days}}), 400);
  EXPECT_TRUE(host_.node.Asked("propose").empty());
  Checked("POST", studies, analyst_.Post(studies, {{"file", StudyText()}, {"days", 14}}));
  EXPECT_EQ(host_.node.Asked("propose").at(0).at("file"), StudyText());
}

// Sent again with its key: done once.
TEST_F(ApiTest, ARepeatedProposalIsOne) {
  const std::string body = TestJson{{"file", StudyText()}, {"days", 14}}.dump();
  const std::map<std::string, std::string> key = {{"Idempotency-Key", "12345678-1234-1234"}};
  const WebAnswer first = analyst_.Send("POST", kBase + "/studies", body, key);
  const WebAnswer again = analyst_.Send("POST", kBase + "/studies", body, key);
  EXPECT_EQ(first.status, 200U);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(host_.node.Asked("propose").size(), 1U);
  EXPECT_EQ(analyst_.Send("POST", kBase + "/studies", body, {{"Idempotency-Key", "short"}}).status,
            400U);
  EXPECT_EQ(analyst_
                .Send("POST", kBase + "/studies",
                      TestJson{{"file", StudyText()}, {"days", 15}}.dump(), key)
                .status,
            409U);
  EXPECT_EQ(host_.node.Asked("propose").size(), 1U);
}

TEST_F(ApiTest, AStewardSeesAndDecides) {
  const std::string path = kBase + "/studies/{study}";
  const TestJson screen =
      Checked("GET", path + "/for-steward", steward_.Get(kStudyPath + "/for-steward")).json();
  EXPECT_EQ(screen.at("code"), "abcdefghijklmnopqrstuvwxy");
  EXPECT_EQ(host_.signer.Asked("study"),
            (std::vector<TestJson>{
                {{"do", "study"}, {"documents", StudyWhole().at("documents")}, {"list", "d0c0"}}}));
  const TestJson form = {{"code", "abcdefghijklmnopqrstuvwxy"},
                         {"table", std::string(64, 'c')},
                         {"passphrase", kPassphrase},
                         {"min_cell", 10},
                         {"valid_until", "2027-01-20"}};
  Checked("POST", path + "/approve", steward_.Post(kStudyPath + "/approve", form));
  EXPECT_EQ(host_.signer.Asked("approve"),
            (std::vector<TestJson>{{{"do", "approve"},
                                    {"documents", StudyWhole().at("documents")},
                                    {"list", "d0c0"},
                                    {"code", "abcdefghijklmnopqrstuvwxy"},
                                    {"table", std::string(64, 'c')},
                                    {"passphrase", kPassphrase},
                                    {"min_cell", 10},
                                    {"valid_until", "2027-01-20T23:59:59Z"}}}));
  EXPECT_EQ(host_.node.Asked("decide"), (std::vector<TestJson>{{{"do", "decide"},
                                                                {"study", kStudyId},
                                                                {"decision", "approve"},
                                                                {"document", "5160"},
                                                                {"account", "steward"}}}));
  // The passphrase goes to the signer alone.
  for (const char* what : {"study", "parties", "decide", "status"}) {
    for (const TestJson& asked : host_.node.Asked(what))
      EXPECT_THAT(asked.dump(), Not(HasSubstr(kPassphrase)));
  }
  TestJson late = form;
  late["valid_until"] = "soon";
  Checked("POST", path + "/approve", steward_.Post(kStudyPath + "/approve", late), 400);

  Checked("POST", path + "/reject",
          steward_.Post(kStudyPath + "/reject",
                        {{"reason", "no ethics reference"}, {"passphrase", kPassphrase}}));
  EXPECT_EQ(host_.node.Asked("decide").at(1).at("decision"), "reject");
  EXPECT_EQ(host_.signer.Asked("reject").at(0).at("reason"), "no ethics reference");
  for (const char* reason : {"", "two\nlines", "\x7f"}) {
    Checked(
        "POST", path + "/reject",
        steward_.Post(kStudyPath + "/reject", {{"reason", reason}, {"passphrase", kPassphrase}}),
        400);
  }
  // What the signer says no to comes back as it said it, and nothing is decided.
  host_.signer.Say("approve", [](const TestJson&) -> TestJson {
    throw Error(ErrorCode::kRefused, "the passphrase is wrong", "Type it again.");
  });
  const WebAnswer no =
      Checked("POST", path + "/approve", steward_.Post(kStudyPath + "/approve", form), 409);
  EXPECT_EQ(no.json().at("message"), "the passphrase is wrong");
  EXPECT_EQ(host_.node.Asked("decide").size(), 2U);
}

TEST_F(ApiTest, Withdrawing) {
  const std::string path = kBase + "/studies/{study}/withdraw";
  Checked("POST", path, analyst_.Post(kStudyPath + "/withdraw", {{"reason", "a slip"}}));
  EXPECT_EQ(host_.node.Asked("withdraw").size(), 1U);
  EXPECT_TRUE(host_.signer.Asked("withdraw").empty());
  Checked("POST", path,
          steward_.Post(kStudyPath + "/withdraw", {{"reason", "x"}, {"passphrase", kPassphrase}}));
  EXPECT_EQ(host_.signer.Asked("withdraw").size(), 1U);
  EXPECT_EQ(host_.node.Asked("withdraw").size(), 2U);
  // An analyst takes back only what this site proposed.
  TestJson foreign = StudyWhole();
  foreign["proposer"] = "south";
  host_.node.Say("study", foreign);
  Checked("POST", path, analyst_.Post(kStudyPath + "/withdraw", {{"reason", "x"}}), 403);
  Checked("POST", path, steward_.Post(kStudyPath + "/withdraw", {{"reason", "x"}}));
  EXPECT_EQ(host_.node.Asked("withdraw").size(), 3U);
}

TEST_F(ApiTest, ReportsStandInASandbox) {
  const WebAnswer report = analyst_.Get(kStudyPath + "/report.html");
  EXPECT_EQ(report.status, 200U);
  EXPECT_EQ(report.body, "<!doctype html>");
  EXPECT_EQ(report.type, "text/html; charset=utf-8");
  const std::string policy = report.Header("content-security-policy");
  EXPECT_TRUE(policy.starts_with("sandbox allow-scripts; ")) << policy;
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("allow-same-origin")));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(report.Header("cross-origin-opener-policy"), "unsafe-none");
  EXPECT_EQ(analyst_.Get(kStudyPath + "/result.json").json(), (TestJson{{"a", 1}}));
  EXPECT_EQ(host_.node.Asked("result").size(), 4U) << "two pieces each";
  host_.node.Say("result", {{"size", int64_t{40} << 20}, {"bytes", "00"}});
  Checked("GET", kBase + "/studies/{study}/result.json", analyst_.Get(kStudyPath + "/result.json"),
          409);
  host_.node.Say("result", {{"size", 5}, {"bytes", ""}});
  Checked("GET", kBase + "/studies/{study}/result.json", analyst_.Get(kStudyPath + "/result.json"),
          500);
}

TEST_F(ApiTest, Parties) {
  const TestJson parties =
      Checked("GET", kBase + "/parties", analyst_.Get(kBase + "/parties")).json();
  EXPECT_EQ(parties.at("parties").at(0).at("known"), "digits");
  EXPECT_EQ(parties.at("parties").at(0).at("address"), "south.example:7400");
  EXPECT_EQ(parties.at("waiting").at(0).at("name"), "west");
  EXPECT_EQ(parties.at("pairings").at(0).at("state"), "digits");
  Checked("POST", kBase + "/invitations",
          operator_.Post(kBase + "/invitations", {{"name", "east"}}));
  Checked("POST", kBase + "/pairings", operator_.Post(kBase + "/pairings", {{"line", "a line"}}));
  const std::string one = kBase + "/pairings/{pairing}";
  EXPECT_EQ(Checked("GET", one, operator_.Get(kPairingPath)).json().at("shown"), "123456");
  Checked("POST", one + "/digits",
          operator_.Post(kPairingPath + "/digits", {{"digits", "654 321"}}));
  EXPECT_EQ(host_.node.Asked("digits").at(0).at("digits"), "654321");
  Checked("POST", kBase + "/parties/{party}/accept",
          steward_.Post(kBase + "/parties/west/accept", AcceptForm(6, 7)));
  Checked("POST", kBase + "/parties/{party}/revoke",
          steward_.Post(kBase + "/parties/west/revoke", {{"passphrase", kPassphrase}}));
  for (const char* what : {"accept", "revoke"})
    EXPECT_EQ(host_.signer.Asked(what).at(0).at("name"), "west");
  EXPECT_EQ(host_.signer.Asked("accept").at(0).at("introductions"), PartiesSaid().at("waiting"));
  EXPECT_EQ(host_.node.Asked("take-list").size(), 2U);
}

// Who introduced a party may say other keys while somebody compares the first ones: these are not signed.
TEST_F(ApiTest, OnlyTheKeysThatWereShownAreAccepted) {
  const std::string path = kBase + "/parties/{party}/accept", own = kBase + "/parties/west/accept";
  const auto introduced = [](const std::string& introducer, uint8_t node, uint8_t steward) {
    const Introduction west{"west", DigestOf(node), DigestOf(steward), "west.example:7400",
                            kWebNow - 3600};
    return TestJson{
        {"introduction", ToHex(EncodeIntroduction({introducer, "north", west, Signature()}))}};
  };
  for (const auto& [node, steward] : std::vector<std::pair<uint8_t, uint8_t>>{{8, 7}, {6, 9}}) {
    TestJson said = PartiesSaid();
    said["waiting"] = TestJson::array({introduced("south", node, steward)});
    host_.node.Say("parties", said);
    const WebAnswer no = Checked("POST", path, steward_.Post(own, AcceptForm(6, 7)), 409);
    EXPECT_EQ(no.code(), "untrusted");
  }
  EXPECT_TRUE(host_.signer.Asked("accept").empty());
  EXPECT_TRUE(host_.node.Asked("take-list").empty());
  // Of several introducers those with these keys count.
  TestJson said = PartiesSaid();
  said["waiting"] = TestJson::array({introduced("south", 8, 9), introduced("east", 6, 7)});
  host_.node.Say("parties", said);
  Checked("POST", path, steward_.Post(own, AcceptForm(6, 7)));
  EXPECT_EQ(host_.signer.Asked("accept").at(0).at("introductions"),
            TestJson::array({introduced("east", 6, 7)}));
  Checked("POST", path, steward_.Post(own, {{"passphrase", kPassphrase}}), 400);
}

TEST_F(ApiTest, APairingIsConfirmedTwice) {
  const std::string path = kBase + "/pairings/{pairing}/confirm";
  const std::string own = kPairingPath + "/confirm";
  Checked("POST", path, steward_.Post(own, {{"passphrase", kPassphrase}}), 409);
  host_.node.Say("pairing", PairingSaid("sign"));
  Checked("POST", path, steward_.Post(own, TestJson::object()), 409);
  Checked("POST", path, steward_.Post(own, {{"passphrase", kPassphrase}}));
  EXPECT_EQ(host_.signer.Asked("pairing"),
            (std::vector<TestJson>{{{"do", "pairing"},
                                    {"name", "east"},
                                    {"role", 1},
                                    {"hash", std::string(64, '8')},
                                    {"address", "north.example:7400"},
                                    {"passphrase", kPassphrase}}}));
  EXPECT_EQ(host_.node.Asked("sign-pairing").at(0).at("signature"), "51");
  // Met: the node does not say the hash any more; the page confirms by itself.
  TestJson met = PairingSaid("met");
  met["hash"] = std::string(64, '0');
  host_.node.Say("pairing", met);
  const TestJson shown =
      Checked("GET", kBase + "/pairings/{pairing}", steward_.Get(kPairingPath)).json();
  EXPECT_EQ(shown.at("listed"), false);
  EXPECT_EQ(shown.at("party").at("name"), "east");
  Checked("POST", path, steward_.Post(own, TestJson::object()));
  EXPECT_EQ(host_.signer.Asked("add").at(0).at("hash"), std::string(64, '8'));
  EXPECT_FALSE(host_.signer.Asked("add").at(0).contains("passphrase"));
  EXPECT_EQ(host_.node.Asked("take-list").size(), 1U);
  // On the list it waits for nobody any more.
  TestJson parties = PartiesSaid();
  parties["pairings"][0]["state"] = "met";
  host_.node.Say("parties", parties);
  const auto state = [&] {
    return Checked("GET", kBase + "/parties", steward_.Get(kBase + "/parties"))
        .json()
        .at("pairings")
        .at(0)
        .at("state");
  };
  EXPECT_EQ(state(), "met");
  PartyList list = DecodePartyList(FromHex(parties.at("list").get<std::string>()));
  ListedParty east;
  east.name = "east";
  const std::string certificate = met.at("party").at("node_certificate");
  east.node_key = crypto::Sha256Of(FromHex(certificate));
  east.steward_key = DigestOf(9);
  east.known_by = KnownBy::kDigits;
  east.known_at = kWebNow;
  list.parties = {east};
  parties["list"] = ToHex(EncodePartyList(list));
  host_.node.Say("parties", parties);
  EXPECT_EQ(state(), "over");
}

// Long polls: at once with another tag, when something changes, and after the wait.
TEST_F(ApiTest, EventsComeWhenSomethingIsNew) {
  const std::string path = kBase + "/studies/{study}/events";
  const TestJson first = Checked("GET", path, analyst_.Get(kStudyPath + "/events")).json();
  const std::string tag = first.at("tag");
  EXPECT_EQ(first, analyst_.Get(kStudyPath).json());
  EXPECT_EQ(analyst_.Get(kStudyPath + "/events?wait=0&after=" + tag).json().at("tag"), tag);
  std::string seen;
  std::thread page([&] {
    Browser own(host_);
    own.cookies = analyst_.cookies;
    seen = own.Get(kStudyPath + "/events?wait=25&after=" + tag).json().at("state");
  });
  host_.node.Say("study", StudyWhole("running"));
  page.join();
  EXPECT_EQ(seen, "running");
  const std::string node_tag =
      Checked("GET", kBase + "/events", analyst_.Get(kBase + "/events")).json().at("tag");
  host_.node.Say("list", {{"studies", TestJson::array()}, {"next", ""}});
  EXPECT_NE(analyst_.Get(kBase + "/events?after=" + node_tag).json().at("tag"), node_tag);
  for (const char* bad : {"?wait=26", "?wait=x", "?wait=-1", "?wait=999"})
    Checked("GET", kBase + "/events", analyst_.Get(kBase + "/events" + bad), 400);
}

// A node that says what nobody understands: who waits is told, and the process lives.
TEST_F(ApiTest, EventsOfANodeThatSaysLessAreAnError) {
  host_.node.Say("study", {{"study", kStudyId}});
  EXPECT_EQ(analyst_.Get(kStudyPath + "/events").status, 500U);
  host_.node.Say("study", StudyWhole());
  EXPECT_EQ(analyst_.Get(kStudyPath + "/events").status, 200U);
}

// A session that ends while its page waits gets nothing more.
TEST_F(ApiTest, EventsEndWithTheSession) {
  const std::string tag = analyst_.Get(kStudyPath + "/events").json().at("tag");
  unsigned status = 0;
  Browser own(host_);
  own.cookies = analyst_.cookies;
  const size_t before = host_.node.Asked("study").size();
  std::thread page([&] { status = own.Get(kStudyPath + "/events?wait=25&after=" + tag).status; });
  while (host_.node.Asked("study").size() == before) std::this_thread::yield();
  EXPECT_EQ(analyst_.Delete(kBase + "/session").status, 204U);
  host_.node.Say("study", StudyWhole("running"));
  page.join();
  EXPECT_EQ(status, 401U);
}

TEST_F(ApiTest, NothingOfThisMachineShows) {
  const std::vector<Error> errors = {
      Error(ErrorCode::kUnreachable, "no node serves in /srv/secret/folder",
            "Start it in /srv/secret"),
      Error(ErrorCode::kInternal, "bug at /srv/secret/source.cc", "x"),
      Error(ErrorCode::kStorage, "cannot write /srv/secret/state", "x"),
      Error(ErrorCode::kBadInput, "'/srv/secret/draft.json' is damaged", "look at /srv/secret"),
      Error(ErrorCode::kTimeout, "the node is busy", "Try again.")};
  for (const Error& error : errors) {
    const auto fail = [error](const TestJson&) -> TestJson { throw error; };
    for (const char* what : {"status", "study", "list", "parties", "pairing"})
      host_.node.Say(what, fail);
    for (const char* path : {"/node", "/studies", "/parties"}) {
      const WebAnswer answer = analyst_.Get(kBase + path);
      EXPECT_GE(answer.status, 409U) << answer.body;
      EXPECT_EQ(Api().Errors("GET", kBase + path, answer.status, answer.json()), "") << answer.body;
      EXPECT_THAT(answer.body, Not(HasSubstr("/srv"))) << path;
    }
    EXPECT_THAT(analyst_.Get(kStudyPath).body, Not(HasSubstr("/srv")));
  }
}

TEST(NoSignerTest, DecidesNothing) {
  WebHost host(false);
  host.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser browser(host);
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  EXPECT_EQ(browser.Get(kBase + "/session").json().at("signer"), false);
  const WebAnswer no =
      browser.Post(kStudyPath + "/approve",
                   {{"code", std::string(25, 'a')}, {"table", ""}, {"passphrase", kPassphrase}});
  EXPECT_EQ(no.status, 409U);
  EXPECT_THAT(no.json().at("hint").get<std::string>(), HasSubstr("terminal"));
  EXPECT_TRUE(host.node.Asked("decide").empty());
}

// What this process alone knows is told to the node: names of accounts that are there, nothing that was typed.
TEST(LoginNotesTest, NameAccountsAndNothingThatWasTyped) {
  WebHost host;
  host.accounts().Add("anna", Role::kAnalyst, kPassword, kWebNow);
  Browser somebody(host);
  const std::string session = kBase + "/session";
  const auto wrong = [&](const std::string& name) {
    EXPECT_EQ(somebody.Post(session, {{"name", name}, {"password", "not the password"}}).status,
              401U);
  };
  const auto note = [](const std::string& action, const std::string& subject,
                       const std::string& outcome) {
    return TestJson{{"do", "note"}, {"action", action}, {"subject", subject}, {"outcome", outcome}};
  };
  wrong("anna");
  // In the same second: counted, and told with the next.
  wrong("anna");
  EXPECT_EQ(host.node.Asked("note"), std::vector<TestJson>{note("login-failed", "anna", "")});
  host.now += 60;
  wrong("a password typed here");
  host.now += 60;
  EXPECT_EQ(somebody.LogIn("anna").status, 200U);
  TestJson login = note("login", "", "analyst");
  login["account"] = "anna";
  EXPECT_EQ(
      host.node.Asked("note"),
      (std::vector<TestJson>{note("login-failed", "anna", ""),
                             note("login-failed", "", "and 1 more since the one before"), login}));
}

// A node that does not take notes keeps nobody out.
TEST(LoginNotesTest, ANodeThatIsGoneKeepsNobodyOut) {
  WebHost host;
  host.accounts().Add("anna", Role::kAnalyst, kPassword, kWebNow);
  host.node.Say("note", [](const TestJson&) -> TestJson {
    throw Error(ErrorCode::kUnreachable, "no node serves");
  });
  Browser somebody(host);
  EXPECT_EQ(somebody.LogIn("anna").status, 200U);
  EXPECT_THAT(host.LogText(), HasSubstr("noting login"));
}

}  // namespace
}  // namespace partita::node::web::api_test
