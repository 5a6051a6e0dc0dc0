// Dictionaries in the API: read by all roles, written by stewards, checked before, never over another version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/file/site_dictionary.h"
#include "tests/node/web/web_host.h"

namespace partita::node::web::dictionary_api_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTable = "/api/v1/tables/{table}/dictionary";
const std::string kSave = "/api/v1/tables/pupils/dictionary";
const std::string kVersion(64, '7');

TestJson Variable(const std::string& name, const TestJson& changes = TestJson::object()) {
  TestJson variable = {{"name", name},
                       {"type", "numeric"},
                       {"description", ""},
                       {"unit", ""},
                       {"lower", "0"},
                       {"upper", "40"},
                       {"levels", TestJson::array()},
                       {"missing_codes", TestJson::array()},
                       {"reference", ""},
                       {"contrasts", ""},
                       {"time", ""},
                       {"event", ""},
                       {"hidden", false}};
  for (const auto& [key, value] : changes.items()) variable[key] = value;
  return variable;
}

class DictionaryApiTest : public ::testing::Test {
 protected:
  DictionaryApiTest() {
    for (const Role role : {Role::kSteward, Role::kAnalyst, Role::kOperator, Role::kAuditor})
      host_.accounts().Add(RoleName(role), role, kPassword, kWebNow);
    EXPECT_EQ(steward_.LogIn("steward").status, 200U);
    // A node that keeps what it is given.
    host_.node.Say("dictionary", [this](const TestJson& request) -> TestJson {
      EXPECT_EQ(request.at("table"), "pupils");
      return {{"text", text_}, {"version", text_.empty() ? "" : kVersion}};
    });
    host_.node.Say("save-dictionary", [this](const TestJson& request) -> TestJson {
      if (request.at("version") != (text_.empty() ? "" : kVersion))
        throw Error(ErrorCode::kRefused, "the dictionary was saved by somebody else", "x");
      text_ = request.at("text");
      return {{"version", kVersion}, {"changes", TestJson::array()}};
    });
    host_.node.Say("draft-dictionary",
                   {{"variables", TestJson::array({{{"name", "hours"}, {"type", "numeric"}}})},
                    {"left_out", TestJson::array({{{"name", "pid"}, {"why", "names the row"}}})}});
  }
  static TestJson Checked(const std::string& path, const WebAnswer& answer, unsigned status = 200) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(Api().Errors("POST", path, answer.status, answer.json()), "") << answer.body;
    return answer.json();
  }

  WebHost host_;
  Browser steward_{host_};
  std::string text_;
};

TEST_F(DictionaryApiTest, StewardsAloneWrite) {
  for (const char* role : {"analyst", "operator", "auditor"}) {
    Browser browser(host_);
    ASSERT_EQ(browser.LogIn(role).status, 200U);
    for (const char* what : {"", "/check", "/draft"})
      Checked(kTable + what, browser.Post(kSave + what, TestJson::object()), 403);
  }
  for (const char* what : {"dictionary", "save-dictionary", "draft-dictionary"})
    EXPECT_TRUE(host_.node.Asked(what).empty());
}

TEST_F(DictionaryApiTest, WhatIsSavedIsTheFile) {
  const TestJson variables = TestJson::array(
      {Variable("hours", {{"description", "lessons a week"}, {"unit", "h"}}),
       Variable("class",
                {{"type", "ordered"}, {"lower", ""}, {"upper", ""}, {"levels", {"low", "high"}}}),
       Variable("income", {{"lower", ""}, {"upper", ""}, {"hidden", true}})});
  const TestJson saved =
      Checked(kTable, steward_.Post(kSave, {{"variables", variables}, {"version", ""}}));
  EXPECT_EQ(saved.at("dictionary").at("variables"), variables);
  EXPECT_EQ(saved.at("dictionary").at("version"), kVersion);
  ASSERT_EQ(saved.at("dictionary").at("offered").size(), 2U);
  EXPECT_EQ(saved.at("dictionary").at("offered").at(0).at("text"),
            "# lessons a week\n[[variable]]\nname = \"hours\"\ntype = \"numeric\"\nlower = 0\n"
            "upper = 40\nunit = \"h\"\n");
  EXPECT_THAT(saved.at("dictionary").at("offered").dump(), Not(HasSubstr("income")));
  const TestJson request = host_.node.Asked("save-dictionary").at(0);
  EXPECT_EQ(request.at("account"), "steward");  // for the audit log
  EXPECT_EQ(study::ParseSiteDictionary(request.at("text"), "d").variables.size(), 3U);
  // Somebody else was first.
  const TestJson again = {{"variables", variables}, {"version", std::string(64, '8')}};
  EXPECT_THAT(Checked(kTable, steward_.Post(kSave, again), 409).at("message").get<std::string>(),
              HasSubstr("somebody else"));
}

TEST_F(DictionaryApiTest, AllRolesRead) {
  TestJson said = TablesSaidByNode(false);
  said["tables"][0]["dictionary"] = {
      {"text", "[[variable]]\nname = \"income\"\ntype = \"numeric\"\npeers = \"hidden\"\n"},
      {"version", kVersion}};
  said["tables"][1]["dictionary"] = {{"text", "/srv/secret/x = "}, {"version", kVersion}};
  host_.node.Say("tables", said);
  for (const char* role : {"steward", "analyst", "operator", "auditor"}) {
    Browser browser(host_);
    ASSERT_EQ(browser.LogIn(role).status, 200U);
    const WebAnswer answer = browser.Get("/api/v1/tables");
    EXPECT_EQ(Api().Errors("GET", "/api/v1/tables", 200, answer.json()), "") << answer.body;
    const TestJson own = answer.json().at("tables").at(0).at("own");
    EXPECT_EQ(own.at("variables").at(0).at("hidden"), true);
    EXPECT_TRUE(own.at("offered").empty());
    EXPECT_NE(answer.json().at("tables").at(1).at("own").at("problem"), "");
    EXPECT_THAT(answer.body, Not(HasSubstr("/srv/secret")));
  }
}

TEST_F(DictionaryApiTest, ChecksByTheReaderOfStudyFiles) {
  text_ = "[[variable]]\nname = \"hours\"\ntype = \"numeric\"\nlower = 0\nupper = 20\n";
  const auto check = [&](const TestJson& variables) {
    return Checked(kTable + "/check", steward_.Post(kSave + "/check", {{"variables", variables}}));
  };
  const TestJson fine = check(TestJson::array({Variable("hours")}));
  EXPECT_TRUE(fine.at("problems").empty());
  EXPECT_EQ(fine.at("changes"), TestJson::array({"'hours': upper bound '40' instead of '20'"}));
  EXPECT_EQ(fine.at("version"), kVersion);
  const TestJson wrong = check(TestJson::array(
      {Variable("hours", {{"lower", "50"}}), Variable("rows"), Variable("two words")}));
  ASSERT_EQ(wrong.at("problems").size(), 2U);
  EXPECT_EQ(wrong.at("problems").at(0).at("variable"), 0);
  EXPECT_THAT(wrong.at("problems").at(0).at("message").get<std::string>(),
              HasSubstr("must be above 'lower'"));
  EXPECT_EQ(wrong.at("problems").at(1).at("variable"), 2);
  EXPECT_TRUE(host_.node.Asked("save-dictionary").empty());
}

// Columns are hidden until a steward says otherwise, and no cell is told.
TEST_F(DictionaryApiTest, ADraftIsHidden) {
  const TestJson draft =
      Checked(kTable + "/draft", steward_.Post(kSave + "/draft", TestJson::object()));
  EXPECT_EQ(draft.at("variables"),
            TestJson::array({Variable("hours", {{"lower", ""}, {"upper", ""}, {"hidden", true}})}));
  EXPECT_EQ(draft.at("left_out").at(0).at("name"), "pid");
}

TEST_F(DictionaryApiTest, BodiesAreReadStrictly) {
  TestJson missing = Variable("x"), more = Variable("x", {{"seen", 1}});
  missing.erase("unit");
  const TestJson bad[] = {
      {{"version", ""}},
      {{"variables", "x"}, {"version", ""}},
      {{"variables", TestJson::array({1})}, {"version", ""}},
      {{"variables", TestJson::array({missing})}, {"version", ""}},
      {{"variables", TestJson::array({more})}, {"version", ""}},
      {{"variables", TestJson::array({Variable("x", {{"levels", "a"}})})}, {"version", ""}},
      {{"variables", TestJson::array({Variable("x", {{"levels", {1}}})})}, {"version", ""}},
      {{"variables", TestJson::array({Variable("x", {{"hidden", "no"}})})}, {"version", ""}},
      {{"variables", std::vector<TestJson>(2001, Variable("x"))}, {"version", ""}}};
  for (const TestJson& body : bad) {
    const WebAnswer answer = steward_.Post(kSave, body);
    EXPECT_EQ(answer.status, 400U) << body.dump().substr(0, 300);
  }
  EXPECT_TRUE(host_.node.Asked("save-dictionary").empty());
}

// The signer compares: what was shown goes to it.
TEST_F(DictionaryApiTest, ApprovingNamesTheTableThatWasShown) {
  const std::string approve = "/api/v1/studies/" + kStudyId + "/approve";
  const std::string code(25, 'a');
  EXPECT_EQ(steward_.Post(approve, {{"code", code}, {"passphrase", kPassphrase}}).status, 400U);
  const TestJson body = {
      {"code", code}, {"table", std::string(64, 'c')}, {"passphrase", kPassphrase}};
  EXPECT_EQ(steward_.Post(approve, body).status, 200U);
  ASSERT_EQ(host_.signer.Asked("approve").size(), 1U);
  EXPECT_EQ(host_.signer.Asked("approve").at(0).at("table"), std::string(64, 'c'));
}

}  // namespace
}  // namespace partita::node::web::dictionary_api_test
