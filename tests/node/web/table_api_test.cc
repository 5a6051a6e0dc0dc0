// Tables in the API: what all people of the site see, what stewards and auditors see, and that files of peers are read
// by the reader alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/web/web_host.h"

namespace partita::node::web::table_api_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTables = "/api/v1/tables", kBudgets = "/api/v1/tables/budgets";

// A study of this site's table, newest first in lists.
TestJson UseSaid(char digit, const TestJson& approved) {
  TestJson said = StudySaid("finished");
  said["study"] = std::string(64, digit);
  said["approved"] = approved;
  said["table"] = "pupils";
  return said;
}

class TableApiTest : public ::testing::Test {
 protected:
  TableApiTest() {
    for (Browser* browser : {&steward_, &analyst_, &operator_, &auditor_}) {
      const Role role = browser == &steward_    ? Role::kSteward
                        : browser == &analyst_  ? Role::kAnalyst
                        : browser == &operator_ ? Role::kOperator
                                                : Role::kAuditor;
      host_.accounts().Add(RoleName(role), role, kPassword, kWebNow);
      EXPECT_EQ(browser->LogIn(RoleName(role)).status, 200U);
    }
  }
  static TestJson Checked(const std::string& path, const WebAnswer& answer, unsigned status = 200) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(Api().Errors("GET", path, answer.status, answer.json()), "") << answer.body;
    EXPECT_THAT(answer.body, Not(HasSubstr("/srv/secret")));
    return answer.json();
  }

  WebHost host_;
  Browser steward_{host_}, analyst_{host_}, operator_{host_}, auditor_{host_};
};

TEST_F(TableApiTest, AllSeeKindsAndUses) {
  for (Browser* browser : {&steward_, &analyst_, &operator_, &auditor_}) {
    const TestJson shown = Checked(kTables, browser->Get(kTables));
    ASSERT_EQ(shown.at("tables").size(), 2U);
    const TestJson& pupils = shown.at("tables").at(0);
    EXPECT_EQ(pupils.at("name"), "pupils");
    EXPECT_EQ(pupils.at("source"), "CSV file");
    ASSERT_EQ(pupils.at("studies").size(), 1U);
    EXPECT_EQ(pupils.at("studies").at(0).at("name"), "three-factor-rows");
    EXPECT_EQ(pupils.at("studies").at(0).at("approved"), true);
    EXPECT_TRUE(shown.at("tables").at(1).at("studies").empty());
    // Neither rows nor budgets, whatever the node says of them.
    for (const char* number : {"156", "87.5", "school-hours"})
      EXPECT_THAT(shown.dump(), Not(HasSubstr(number)));
  }
  for (const TestJson& request : host_.node.Asked("tables"))
    EXPECT_EQ(request.at("budgets"), false);
}

TEST_F(TableApiTest, StewardsAndAuditorsSeeBudgets) {
  for (Browser* browser : {&analyst_, &operator_}) Checked(kBudgets, browser->Get(kBudgets), 403);
  EXPECT_TRUE(host_.node.Asked("tables").empty());
  for (Browser* browser : {&steward_, &auditor_}) {
    const TestJson shown = Checked(kBudgets, browser->Get(kBudgets));
    const TestJson& pupils = shown.at("tables").at(0);
    EXPECT_EQ(pupils.at("frozen").at("rows"), 156);
    EXPECT_EQ(pupils.at("frozen").at("name"), "three-factor-rows");
    EXPECT_EQ(pupils.at("budget").at("lines").at(0).at("left"), "87.5 %");
    EXPECT_EQ(pupils.at("budget").at("history").at(0).at("study"), "school-hours");
    const TestJson& wards = shown.at("tables").at(1);
    EXPECT_TRUE(wards.at("budget").is_null());
    EXPECT_THAT(wards.at("problem").get<std::string>(), HasSubstr("no account"));
  }
}

// Only what a steward here approved describes the table; read once, by the reader.
TEST_F(TableApiTest, VariablesAreThoseOfTheNewestApprovedStudy) {
  TestJson said = TablesSaidByNode(false);
  said["studies"] = TestJson::array({UseSaid('1', TestJson::array({"south"})),
                                     UseSaid('2', TestJson::array({"north", "south"})),
                                     UseSaid('3', TestJson::array({"north"}))});
  host_.node.Say("tables", said);
  const int before = host_.files_read;
  const TestJson shown = Checked(kTables, analyst_.Get(kTables));
  const TestJson& dictionary = shown.at("tables").at(0).at("dictionary");
  EXPECT_EQ(dictionary.at("study"), std::string(64, '2'));
  ASSERT_FALSE(dictionary.at("variables").empty());
  EXPECT_EQ(dictionary.at("variables").at(0).at("name"), "x1");
  EXPECT_EQ(shown.at("tables").at(0).at("studies").size(), 3U);
  const int after = host_.files_read;
  EXPECT_GT(after, before);
  Checked(kTables, analyst_.Get(kTables));
  EXPECT_EQ(host_.files_read, after);
  // Without an approval there is none.
  said["studies"] = TestJson::array({UseSaid('1', TestJson::array({"south"}))});
  host_.node.Say("tables", said);
  EXPECT_TRUE(
      Checked(kTables, analyst_.Get(kTables)).at("tables").at(0).at("dictionary").is_null());
}

// A reader that a file breaks takes no page with it.
TEST_F(TableApiTest, AFileThatBreaksItsReaderHasNoVariables) {
  host_.reader_is_gone = true;
  const TestJson shown = Checked(kTables, analyst_.Get(kTables));
  EXPECT_TRUE(shown.at("tables").at(0).at("dictionary").at("variables").empty());
  EXPECT_EQ(shown.at("tables").at(0).at("studies").at(0).at("name"), "");
}

TEST_F(TableApiTest, ANodeThatCannotLookSaysSo) {
  host_.node.Say("tables", [](const TestJson&) -> TestJson {
    throw Error(ErrorCode::kUnreachable, "the job that looks at the tables cannot be started", "x");
  });
  Checked(kTables, steward_.Get(kTables), 502);
  Checked(kBudgets, steward_.Get(kBudgets), 502);
}

}  // namespace
}  // namespace partita::node::web::table_api_test
