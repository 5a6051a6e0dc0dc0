// What the pages may ask a node, where they have a user of their own.
#include "node/daemon/control_rights.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "base/error.h"

namespace partita::node::control_rights_test {
namespace {

std::optional<ErrorCode> Asks(Asker asker, const std::string& what, const std::string& account = "",
                              const std::string& action = "") {
  try {
    RequireMayAsk(asker, what, account, action);
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(ControlRightsTest, TheOwnUserMayAskEverything) {
  for (const char* what : {"status", "drain", "backup", "reopen", "stop", "decide", "note", "none"})
    EXPECT_EQ(Asks(Asker::kOwn, what), std::nullopt) << what;
}

TEST(ControlRightsTest, ThePagesReadWithoutAnAccount) {
  for (const char* what : {"status", "parties", "pairing", "list", "files", "study", "studies",
                           "tables", "audit", "go-on-text", "dictionary", "draft-dictionary"})
    EXPECT_EQ(Asks(Asker::kPages, what), std::nullopt) << what;
}

// Else the audit log would say that somebody at the terminal did it.
TEST(ControlRightsTest, ThePagesActForAnAccountOnly) {
  for (const char* what : {"invite", "digits", "take-list", "stop", "go-on", "propose", "decide",
                           "withdraw", "result", "save-dictionary"}) {
    EXPECT_EQ(Asks(Asker::kPages, what), ErrorCode::kRefused) << what;
    EXPECT_EQ(Asks(Asker::kPages, what, "anna"), std::nullopt) << what;
  }
  EXPECT_EQ(Asks(Asker::kPages, "note", "", "login"), ErrorCode::kRefused);
  EXPECT_EQ(Asks(Asker::kPages, "note", "", "export"), ErrorCode::kRefused);
  EXPECT_EQ(Asks(Asker::kPages, "note", "anna", "login"), std::nullopt);
  // Nobody has logged in: who it was is not known, or was who has the code of the terminal.
  EXPECT_EQ(Asks(Asker::kPages, "note", "", "login-failed"), std::nullopt);
  EXPECT_EQ(Asks(Asker::kPages, "note", "", "account-made"), std::nullopt);
}

TEST(ControlRightsTest, WhatPagesHaveNoButtonForTheyMayNotAsk) {
  for (const char* what : {"drain", "backup", "restored", "reopen", "kept-budgets", "keep",
                           "retention", "audit-check", "audit-sites", "", "Status", "none"}) {
    EXPECT_EQ(Asks(Asker::kPages, what), ErrorCode::kRefused) << what;
    EXPECT_EQ(Asks(Asker::kPages, what, "anna"), ErrorCode::kRefused) << what;
  }
}

}  // namespace
}  // namespace partita::node::control_rights_test
