// Policies in the API: who sees them, who ends one, and that the API adds none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/web/routes.h"
#include "tests/node/web/web_host.h"

namespace partita::node::web::policy_api_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kPolicies = "/api/v1/policies";
const std::string kEnd = kPolicies + "/hours-again/end";
const TestJson kWord = {{"passphrase", kPassphrase}};

class PolicyApiTest : public ::testing::Test {
 protected:
  PolicyApiTest() {
    for (const auto& [browser, role] : All()) {
      host_.accounts().Add(RoleName(role), role, kPassword, kWebNow);
      EXPECT_EQ(browser->LogIn(RoleName(role)).status, 200U);
    }
    host_.node.Forget();
    host_.signer.Forget();
  }
  ~PolicyApiTest() override { EXPECT_THAT(host_.LogText(), Not(HasSubstr(kPassphrase))); }

  std::vector<std::pair<Browser*, Role>> All() {
    return {{&steward_, Role::kSteward},
            {&analyst_, Role::kAnalyst},
            {&operator_, Role::kOperator},
            {&auditor_, Role::kAuditor}};
  }
  static TestJson Checked(const std::string& method, const std::string& path,
                          const WebAnswer& answer, unsigned status = 200) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(Api().Errors(method, path, answer.status, answer.json()), "") << answer.body;
    return answer.json();
  }

  WebHost host_;
  Browser steward_{host_}, analyst_{host_}, operator_{host_}, auditor_{host_};
};

TEST_F(PolicyApiTest, AreShownToStewardsAndAuditors) {
  for (Browser* browser : {&steward_, &auditor_}) {
    const TestJson shown = Checked("GET", kPolicies, browser->Get(kPolicies));
    const TestJson& policy = shown.at("policies").at(0);
    EXPECT_EQ(policy.at("name"), "hours-again");
    EXPECT_EQ(policy.at("tables"), TestJson::array({"pupils"}));
    EXPECT_EQ(policy.at("text"), "partita_envelope = 2\n");
    // By the node's file, which a reader parses.
    EXPECT_EQ(policy.at("uses").at(0).at("name"), "three-factor-rows");
  }
  for (Browser* browser : {&analyst_, &operator_})
    Checked("GET", kPolicies, browser->Get(kPolicies), 403);
  EXPECT_EQ(host_.signer.Asked("policy-list").size(), 2U);
}

// The signer keeps what it signed for ever; the node may not know the study any more.
TEST_F(PolicyApiTest, AStudyThatIsGoneHasNoName) {
  host_.node.Say("study", [](const TestJson&) -> TestJson {
    throw Error(ErrorCode::kUsage, "there is no such study at this node", "List the studies.");
  });
  const TestJson shown = Checked("GET", kPolicies, steward_.Get(kPolicies));
  EXPECT_EQ(shown.at("policies").at(0).at("uses").at(0).at("name"), "");
}

TEST_F(PolicyApiTest, AreEndedByTheStewardAlone) {
  for (Browser* browser : {&analyst_, &operator_, &auditor_})
    Checked("POST", kPolicies + "/{policy}/end", browser->Post(kEnd, kWord), 403);
  EXPECT_THAT(host_.signer.Asked("policy-end"), IsEmpty());
  Checked("POST", kPolicies + "/{policy}/end", steward_.Post(kEnd, kWord));
  EXPECT_EQ(host_.signer.Asked("policy-end"),
            (std::vector<TestJson>{
                {{"do", "policy-end"}, {"name", "hours-again"}, {"passphrase", kPassphrase}}}));
  EXPECT_EQ(host_.node.Asked("note"), (std::vector<TestJson>{{{"do", "note"},
                                                              {"action", "policy-ended"},
                                                              {"subject", "hours-again"},
                                                              {"outcome", ""},
                                                              {"account", "steward"}}}));
}

TEST_F(PolicyApiTest, WhatWasNotEndedIsNotNoted) {
  host_.signer.Say("policy-end", [](const TestJson&) -> TestJson {
    throw Error(ErrorCode::kRefused, "the passphrase is wrong", "Type it again.");
  });
  Checked("POST", kPolicies + "/{policy}/end", steward_.Post(kEnd, kWord), 409);
  EXPECT_THAT(host_.node.Asked("note"), IsEmpty());
  const TestJson more = {{"passphrase", kPassphrase}, {"text", "partita_envelope = 2\n"}};
  Checked("POST", kPolicies + "/{policy}/end", steward_.Post(kEnd, more), 400);
}

// Whoever takes over this process, or a steward's browser, widens nothing.
TEST_F(PolicyApiTest, NoneIsAdded) {
  EXPECT_EQ(steward_.Post(kPolicies, {{"text", "x"}, {"passphrase", kPassphrase}}).status, 405U);
  for (const Route& route : Routes()) {
    if (route.path.starts_with(kPolicies) && route.method != "GET") {
      EXPECT_EQ(route.path, kPolicies + "/{policy}/end");
    }
  }
  const std::string study = "/api/v1/studies/" + kStudyId + "/for-steward";
  const TestJson screen =
      Checked("GET", "/api/v1/studies/{study}/for-steward", steward_.Get(study));
  EXPECT_EQ(screen.at("policy_draft"), "partita_envelope = 2\n");
  EXPECT_EQ(screen.at("no_policy"), TestJson::array());
  EXPECT_THAT(host_.signer.Asked("policy-add"), IsEmpty());
}

TEST(PolicyApiWithoutASignerTest, SaysSo) {
  WebHost host(false);
  host.accounts().Add("anna", Role::kSteward, kPassword, kWebNow);
  Browser browser(host);
  ASSERT_EQ(browser.LogIn("anna").status, 200U);
  const WebAnswer answer = browser.Get(kPolicies);
  EXPECT_EQ(answer.status, 409U);
  EXPECT_THAT(answer.body, HasSubstr("these pages have no signer"));
}

}  // namespace
}  // namespace partita::node::web::policy_api_test
