// The record of processing in the API: who sees it, what is asked of the node for it, days and pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/web/web_host.h"

namespace partita::node::web::record_api_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRecord = "/api/v1/record";

class RecordApiTest : public ::testing::Test {
 protected:
  RecordApiTest() {
    for (const auto& [browser, role] : All()) {
      host_.accounts().Add(RoleName(role), role, kPassword, kWebNow);
      EXPECT_EQ(browser->LogIn(RoleName(role)).status, 200U);
    }
    TestJson log = LogSaid();
    host_.node.Say("audit", log);
    host_.node.Say("study", StudyWhole("finished"));
    host_.node.Forget();
  }
  static TestJson LogSaid() {
    return {{"entries", TestJson::array({{{"number", 2},
                                          {"time", "2027-01-16T08:00:00Z"},
                                          {"kind", "account"},
                                          {"actor", "anna"},
                                          {"action", "approval"},
                                          {"study", kStudyId},
                                          {"subject", "north"},
                                          {"outcome", ""},
                                          {"message", ""}}})},
            {"next", 0},
            {"count", 2},
            {"head", std::string(64, 'e')},
            {"fault", nullptr}};
  }
  std::vector<std::pair<Browser*, Role>> All() {
    return {{&steward_, Role::kSteward},
            {&analyst_, Role::kAnalyst},
            {&operator_, Role::kOperator},
            {&auditor_, Role::kAuditor}};
  }
  TestJson Checked(const WebAnswer& answer, unsigned status = 200) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(Api().Errors("GET", kRecord, answer.status, answer.json()), "") << answer.body;
    EXPECT_THAT(answer.body, Not(HasSubstr("/srv/secret")));
    return answer.json();
  }

  WebHost host_;
  Browser steward_{host_}, analyst_{host_}, operator_{host_}, auditor_{host_};
};

TEST_F(RecordApiTest, IsForAllButAnalysts) {
  for (const auto& [browser, role] : All())
    Checked(browser->Get(kRecord), role == Role::kAnalyst ? 403 : 200);
}

TEST_F(RecordApiTest, AnEntryIsOfTheNodeItsLogAndTheStudysFile) {
  const TestJson record = Checked(auditor_.Get(kRecord));
  EXPECT_EQ(record.at("site"), "north");
  EXPECT_EQ(record.at("next"), "17");
  ASSERT_EQ(record.at("entries").size(), 1U);
  const TestJson& entry = record.at("entries").at(0);
  EXPECT_EQ(entry.at("name"), "three-factor-rows");
  EXPECT_EQ(entry.at("recipients"), TestJson::array({"north"}));
  EXPECT_EQ(entry.at("variables").size(), 9U);
  EXPECT_EQ(entry.at("decisions").at(0).at("by"), "account anna");
  EXPECT_EQ(entry.at("result_until"), "2028-01-20T08:00:00Z");
  const std::vector<TestJson> logs = host_.node.Asked("audit");
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].at("study"), kStudyId);
}

TEST_F(RecordApiTest, DaysAndPagesAreAskedFor) {
  EXPECT_EQ(Checked(auditor_.Get(kRecord + "?from=2027-01-20&until=2027-01-15&after=4&limit=3"))
                .at("entries")
                .size(),
            1U);
  const TestJson asked = host_.node.Asked("list").at(0);
  EXPECT_EQ(asked.at("after"), "4");
  EXPECT_EQ(asked.at("limit"), 3);
  EXPECT_EQ(asked.at("which"), "all");
  for (const char* none : {"?from=2027-01-21", "?until=2027-01-14"})
    EXPECT_TRUE(Checked(auditor_.Get(kRecord + none)).at("entries").empty()) << none;
  for (const char* wrong : {"?from=yesterday", "?until=2027-02-30", "?limit=21", "?limit=0"})
    Checked(auditor_.Get(kRecord + wrong), 404);
}

TEST_F(RecordApiTest, ALogWithoutAnEndEnds) {
  TestJson log = LogSaid();
  log["next"] = 2;
  host_.node.Say("audit", log);
  Checked(auditor_.Get(kRecord), 500);
  EXPECT_EQ(host_.node.Asked("audit").size(), 2U);
}

TEST_F(RecordApiTest, AFileThatCannotBeReadHasNoWords) {
  TestJson study = StudyWhole("finished");
  study["file"] = "this is no study file";
  host_.node.Say("study", study);
  const TestJson record = Checked(auditor_.Get(kRecord));
  EXPECT_EQ(record.at("entries").at(0).at("name"), "");
  EXPECT_EQ(record.at("entries").at(0).at("study"), kStudyId);
}

}  // namespace
}  // namespace partita::node::web::record_api_test
