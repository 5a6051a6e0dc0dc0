// The API against a real node over its control socket: what one asks is what the other understands. The node's
// jobs are a program that fails, so a proposed study stays where it is.
#include "node/daemon/daemon.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/utc_time.h"
#include "crypto/random.h"
#include "crypto/signature.h"
#include "node/daemon/control_socket.h"
#include "node/job/closed.h"
#include "node/job/statement.h"
#include "node/store/sqlite_store.h"
#include "study/approval/persons.h"
#include "tests/node/web/web_host.h"

namespace partita::node::web::daemon_test {
namespace {

namespace fs = std::filesystem;

const std::string kApi = "/api/v1";

class WebAtDaemonTest : public ::testing::Test {
 protected:
  WebAtDaemonTest() {
    fs::remove_all(home_);
    fs::create_directories(home_);
    // A port that is free now.
    const std::string address = net::Listen("127.0.0.1", "0").address;
    InitNodeFolder(folder_, "north", address);
    RegisterSteward(folder_, *steward_.certificate);
    Serve();
    const fs::path socket = folder_.control();
    for (const char* what : {"status", "list", "files", "study", "parties", "invite", "join",
                             "propose", "withdraw", "stop", "result", "studies", "pairing",
                             "digits", "audit", "audit-check", "note", "tables"}) {
      host_.node.Say(what, [socket](const TestJson& request) {
        return TestJson::parse(AskControl(socket, request.dump(), std::chrono::seconds(60)));
      });
    }
    host_.accounts().Add("anna", Role::kAnalyst, kPassword, kWebNow);
    host_.accounts().Add("otto", Role::kOperator, kPassword, kWebNow);
    EXPECT_EQ(analyst_.LogIn("anna").status, 200U);
    EXPECT_EQ(operator_.LogIn("otto").status, 200U);
  }
  ~WebAtDaemonTest() override {
    daemon_.reset();
    fs::remove_all(home_);
  }

  void Serve(const std::vector<std::string>& job = {"/bin/false"}) {
    daemon_ = std::make_unique<Daemon>(DaemonOptions{folder_, [](const std::string&) {}, job});
  }

  TestJson Checked(const std::string& method, const std::string& path, const WebAnswer& answer,
                   unsigned status = 200) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(Api().Errors(method, path, answer.status, answer.json()), "") << answer.body;
    EXPECT_EQ(answer.body.find(home_.string()), std::string::npos) << answer.body;
    return answer.json();
  }

  fs::path home_ = fs::path(::testing::TempDir()) / ("web-daemon-" + std::to_string(::getpid()));
  NodeFolder folder_{home_ / "north"};
  const crypto::Identity steward_ = crypto::MakeIdentity({.name = "north"});
  std::unique_ptr<Daemon> daemon_;
  WebHost host_;
  Browser analyst_{host_}, operator_{host_};
};

TEST_F(WebAtDaemonTest, AStudyFromItsProposalToItsEnd) {
  const TestJson made =
      Checked("POST", kApi + "/studies",
              analyst_.Post(kApi + "/studies", {{"file", StudyText()}, {"days", 14}}));
  const std::string id = made.at("study"), path = kApi + "/studies/" + id;
  const TestJson open =
      Checked("GET", kApi + "/studies", analyst_.Get(kApi + "/studies?state=open"));
  ASSERT_EQ(open.at("studies").size(), 1U);
  EXPECT_EQ(open.at("studies").at(0).at("name"), "three-factor-rows");
  EXPECT_EQ(open.at("studies").at(0).at("own"), true);
  EXPECT_EQ(open.at("studies").at(0).at("needs_decision"), false);
  EXPECT_EQ(open.at("next"), "");
  EXPECT_TRUE(analyst_.Get(kApi + "/studies?state=over").json().at("studies").empty());
  const TestJson one = Checked("GET", kApi + "/studies/{study}", analyst_.Get(path));
  EXPECT_EQ(one.at("file"), StudyText());
  EXPECT_EQ(one.at("state"), "proposed");
  Checked("GET", kApi + "/studies/{study}/result.json", analyst_.Get(path + "/result.json"), 404);

  const TestJson gone = Checked("POST", kApi + "/studies/{study}/withdraw",
                                analyst_.Post(path + "/withdraw", {{"reason", "a slip"}}));
  EXPECT_EQ(gone.at("state"), "withdrawn");
  EXPECT_TRUE(analyst_.Get(kApi + "/studies?state=open").json().at("studies").empty());
  const TestJson over = Checked("GET", kApi + "/studies", analyst_.Get(kApi + "/studies"));
  ASSERT_EQ(over.at("studies").size(), 1U);
  EXPECT_EQ(over.at("studies").at(0).at("reason"), "a slip");
}

// Pages of those that ended last, without a gap and without one twice.
TEST_F(WebAtDaemonTest, EndedStudiesComeByPages) {
  const std::string open =
      analyst_.Post(kApi + "/studies", {{"file", StudyText()}, {"days", 14}}).json().at("study");
  daemon_.reset();
  std::vector<std::string> ended;
  {
    crypto::SystemRandom random;
    SqliteStore store(folder_.state() / "node.sqlite", random);
    Study study = store.Open().open.at(0);
    study.phase = Phase::kFinished;
    study.discarded = true;
    for (uint8_t i = 1; i <= 5; ++i) {
      study.id.fill(i);
      Change change;
      change.study = study;
      store.Commit(change);
      ended.insert(ended.begin(), ToHex(study.id));
    }
  }
  Serve();
  std::vector<std::string> seen;
  std::string after;
  int pages = 0;
  do {
    const TestJson page = analyst_.Get(kApi + "/studies?state=over&limit=2&after=" + after).json();
    for (const TestJson& study : page.at("studies")) seen.push_back(study.at("study"));
    after = page.at("next");
    ++pages;
  } while (!after.empty() && pages < 10);
  EXPECT_EQ(seen, ended);
  const TestJson all = analyst_.Get(kApi + "/studies?limit=2").json();
  EXPECT_EQ(all.at("studies").size(), 3U);
  EXPECT_EQ(all.at("studies").at(0).at("study"), open);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(analyst_.Get(kApi + "/studies?after=99999999999999999999").status, 404U);
}

TEST_F(WebAtDaemonTest, ResultsComeWhole) {
  const std::string id =
      analyst_.Post(kApi + "/studies", {{"file", StudyText()}, {"days", 14}}).json().at("study");
  const fs::path run = folder_.run() / id;
  fs::create_directories(run / "result");
  // More than one piece, and no multiple of it.
  std::string report = "<!doctype html>";
  while (report.size() < (size_t{5} << 20) + 7) report += std::to_string(report.size());
  WriteFileAtomically((run / "result" / "report.html").string(), report);
  WriteFileAtomically((run / "result" / "result.json").string(), "{}");
  const std::string path = kApi + "/studies/" + id;
  EXPECT_EQ(analyst_.Get(path).json().at("result").at("report"), path + "/report.html");
  EXPECT_EQ(analyst_.Get(path + "/report.html").body, report);
  EXPECT_EQ(analyst_.Get(path + "/result.json").body, "{}");
}

TEST_F(WebAtDaemonTest, PartiesAndTheNode) {
  const TestJson node = Checked("GET", kApi + "/node", operator_.Get(kApi + "/node"));
  EXPECT_EQ(node.at("name"), "north");
  EXPECT_EQ(node.at("stopped"), false);
  const std::string tag = operator_.Get(kApi + "/events").json().at("tag");
  EXPECT_EQ(operator_.Get(kApi + "/events?wait=0&after=" + tag).json().at("tag"), tag);
  const TestJson line = Checked("POST", kApi + "/invitations",
                                operator_.Post(kApi + "/invitations", {{"name", "west"}}));
  const TestJson parties = Checked("GET", kApi + "/parties", operator_.Get(kApi + "/parties"));
  ASSERT_EQ(parties.at("pairings").size(), 1U);
  EXPECT_EQ(parties.at("pairings").at(0).at("number"), line.at("number"));
  EXPECT_EQ(parties.at("pairings").at(0).at("state"), "open");
  const std::string pairing = kApi + "/pairings/" + line.at("number").get<std::string>();
  EXPECT_EQ(Checked("GET", kApi + "/pairings/{pairing}", operator_.Get(pairing)).at("name"),
            "west");
  Checked("POST", kApi + "/pairings/{pairing}/digits",
          operator_.Post(pairing + "/digits", {{"digits", "123456"}}), 400);
  Checked("POST", kApi + "/pairings", operator_.Post(kApi + "/pairings", {{"line", "no line"}}),
          422);
  EXPECT_NE(operator_.Get(kApi + "/events?after=" + tag).json().at("tag"), tag);
  EXPECT_EQ(operator_.Post(kApi + "/node/stop", TestJson::object()).status, 204U);
  EXPECT_EQ(operator_.Get(kApi + "/node").json().at("stopped"), true);
}

// Closed by the mark of a restore, open by the steward's word for that mark, closed by the next one, and by one that
// cannot be read.
TEST_F(WebAtDaemonTest, TablesThatARestoreClosedAreTold) {
  const auto ask = [this](const TestJson& request) {
    return TestJson::parse(AskControl(folder_.control(), request.dump(), std::chrono::seconds(60)));
  };
  const auto status = [&ask] { return ask({{"do", "status"}}).at("restored"); };
  const auto page = [this] {
    return Checked("GET", kApi + "/node", operator_.Get(kApi + "/node")).at("restored");
  };
  const auto put = [this](const Bytes& bytes) {
    WriteFileAtomically(folder_.restored().string(),
                        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  const auto reopen = [&ask](const RestoredMark& mark, const crypto::Identity& key) {
    const Digest digest = DigestOf(mark);
    const Signature word = SignFields(key, kReopenDomain, Bytes(digest.begin(), digest.end()));
    ask({{"do", "reopen"},
         {"certificate", ToHex(word.certificate)},
         {"signature", ToHex(word.signature)}});
  };
  EXPECT_EQ(status(), nullptr);
  EXPECT_EQ(page(), nullptr);

  RestoredMark mark{"north", kWebNow, {}, {Digest{1}, Digest{2}}, {}};
  const std::string time = FormatUtc(kWebNow);
  put(Encode(mark));
  EXPECT_EQ(status(), (TestJson{{"time", time},
                                {"closed", true},
                                {"accounts", 2},
                                {"kept", 0},
                                {"asked", 0},
                                {"answered", 0}}));
  EXPECT_EQ(page(), (TestJson{{"time", time}, {"closed", true}, {"asked", 0}, {"answered", 0}}));
  EXPECT_THROW(reopen(mark, crypto::MakeIdentity({.name = "north"})), Error);
  EXPECT_EQ(page().at("closed"), true);

  reopen(mark, steward_);
  EXPECT_EQ(status(), (TestJson{{"time", time},
                                {"closed", false},
                                {"accounts", 2},
                                {"kept", 0},
                                {"asked", 0},
                                {"answered", 0}}));
  EXPECT_EQ(page(), (TestJson{{"time", time}, {"closed", false}, {"asked", 0}, {"answered", 0}}));

  mark.nonce[0] = 1;
  put(Encode(mark));
  EXPECT_EQ(page().at("closed"), true) << "the steward signed for another restore";

  put({7});
  EXPECT_EQ(status(), (TestJson{{"time", ""},
                                {"closed", true},
                                {"accounts", 0},
                                {"kept", 0},
                                {"asked", 0},
                                {"answered", 0}}));
  EXPECT_EQ(page(), (TestJson{{"time", ""}, {"closed", true}, {"asked", 0}, {"answered", 0}}));
}

// From the pages to the log of the node and back.
TEST_F(WebAtDaemonTest, TheAuditLogTellsWhatWasDone) {
  host_.accounts().Add("audrey", Role::kAuditor, kPassword, kWebNow);
  Browser auditor(host_);
  EXPECT_EQ(auditor.LogIn("audrey").status, 200U);
  EXPECT_EQ(Browser(host_).LogIn("anna", "not the password").status, 401U);
  const std::string id =
      analyst_.Post(kApi + "/studies", {{"file", StudyText()}, {"days", 14}}).json().at("study");
  analyst_.Post(kApi + "/studies/" + id + "/withdraw", {{"reason", "a slip"}});
  operator_.Post(kApi + "/invitations", {{"name", "west"}});
  operator_.Post(kApi + "/node/stop", TestJson::object());
  const auto lines = [&](const std::string& query) {
    std::vector<std::string> told;
    const TestJson log = Checked("GET", kApi + "/audit", auditor.Get(kApi + "/audit" + query));
    EXPECT_TRUE(log.at("fault").is_null());
    for (const TestJson& entry : log.at("entries")) {
      std::string line = entry.at("action");
      for (const char* key : {"kind", "actor", "subject", "name", "outcome"}) {
        const std::string text = entry.at(key);
        if (!text.empty() && !text.starts_with("version")) line += " " + text;
      }
      told.insert(told.begin(), line);
    }
    return told;
  };
  EXPECT_EQ(lines(""), (std::vector<std::string>{
                           "serve node", "login account anna analyst",
                           "login account otto operator", "login account audrey auditor",
                           "login-failed node anna", "proposal account anna three-factor-rows",
                           "withdrawal account anna north three-factor-rows a slip",
                           "study-end account anna three-factor-rows withdrawn by north: a slip",
                           "invitation account otto west", "stop account otto"}));
  EXPECT_EQ(lines("?study=" + id).size(), 3U);
  EXPECT_EQ(lines("?actor=otto"),
            (std::vector<std::string>{"login account otto operator", "invitation account otto west",
                                      "stop account otto"}));
  EXPECT_EQ(lines("?before=3"),
            (std::vector<std::string>{"serve node", "login account anna analyst"}));
  EXPECT_EQ(analyst_.Get(kApi + "/audit").status, 403U);
  // It outlives the process, and follows itself.
  daemon_.reset();
  Serve();
  EXPECT_EQ(lines("").size(), 11U);
  const auto ask = [&](const TestJson& request) {
    return TestJson::parse(AskControl(folder_.control(), request.dump(), std::chrono::seconds(60)));
  };
  EXPECT_EQ(ask({{"do", "audit-check"}, {"from", 1}}), (TestJson{{"next", 0}, {"fault", nullptr}}));
  // Nobody notes what the node writes by itself.
  for (const char* action : {"approval", "run-end", "party-listed", "anything"}) {
    EXPECT_THROW(ask({{"do", "note"}, {"action", action}, {"subject", "west"}, {"outcome", ""}}),
                 Error);
  }
  // What only they know: it is not about a study.
  for (const char* action : {"export", "policy-ended", "deputy-named", "deputy-ended"}) {
    EXPECT_NO_THROW(ask({{"do", "note"}, {"action", action}, {"subject", "kim"}, {"outcome", ""}}));
    EXPECT_EQ(lines("").back(), std::string(action) + " terminal kim");
  }
}

// Where two persons decide, whoever proposed the study here is none of them: an account, or the deputy of its name.
TEST_F(WebAtDaemonTest, NobodyDecidesOnAnOwnProposal) {
  const std::string id =
      analyst_.Post(kApi + "/studies", {{"file", StudyText()}, {"days", 14}}).json().at("study");
  const auto decide = [&](uint64_t stewards, const std::string& deputy,
                          const std::string& account) {
    study::Approval approval;
    approval.party = "north";
    approval.study = "three-factor-rows";
    approval.software_version = "0.1.0";
    approval.stewards = stewards;
    study::SignedApproval document = study::SignApproval(approval, steward_);
    if (!deputy.empty()) {
      document.deputy = study::SignDeputy("north", deputy, Digest{1}, 0, 1, steward_);
      document.steward_certificate = crypto::EncodeCertificate(*steward_.certificate);
    }
    TestJson request = {{"do", "decide"},
                        {"study", id},
                        {"decision", "approve"},
                        {"document", study::RenderApproval(document)}};
    if (!account.empty()) request["account"] = account;
    try {
      AskControl(folder_.control(), request.dump(), std::chrono::seconds(60));
      return std::string("none");
    } catch (const Error& error) {
      return error.message();
    }
  };
  const std::string own = "anna proposed this study, and nobody decides on an own proposal";
  EXPECT_EQ(decide(2, "", "anna"), own);
  EXPECT_EQ(decide(2, "anna", "otto"), own);
  EXPECT_EQ(decide(2, "anna", ""), own);
  // Others, and where one person decides: the study does not wait yet.
  const std::string not_yet = "the study is proposed: it cannot be approved now";
  EXPECT_EQ(decide(2, "kim", "otto"), not_yet);
  EXPECT_EQ(decide(2, "", ""), not_yet);
  EXPECT_EQ(decide(1, "anna", "anna"), not_yet);
}

// A job says what there is; the node adds which studies use it, and what was frozen for them.
TEST_F(WebAtDaemonTest, TablesAreAJobsWord) {
  const std::string tables = kApi + "/tables", budgets = tables + "/budgets";
  const TestJson refused = Checked("GET", tables, analyst_.Get(tables), 409);
  EXPECT_EQ(refused.at("message"), "the job that looks at the tables ended without an answer");
  const std::string id =
      analyst_.Post(kApi + "/studies", {{"file", StudyText()}, {"days", 14}}).json().at("study");
  daemon_.reset();
  // An errand: the length of the frame, version, kind (job/wire.h). Jobs of studies it serves badly.
  const std::string script =
      "kind=$(dd bs=10 count=1 <&3 2>/dev/null | od -An -tu1 -j5 -N1 | tr -d ' '); "
      "places='\"name\": \"pupils\", \"source\": \"CSV file\", \"present\": true'; "
      "more=; test $kind = 64 || more=', \"exact_served\": false, \"problem\": \"\", "
      "\"budget\": null'; echo \"{\\\"tables\\\": [{$places$more}]}\" >&3";
  Serve({"/bin/sh", "-c", script, "job"});
  const fs::path folder = folder_.run() / id;
  fs::create_directories(folder);
  WriteFileAtomically((folder / "table").string(), "pupils");
  const TestJson shown = Checked("GET", tables, analyst_.Get(tables)).at("tables").at(0);
  EXPECT_EQ(shown.at("name"), "pupils");
  ASSERT_EQ(shown.at("studies").size(), 1U);
  EXPECT_EQ(shown.at("studies").at(0).at("study"), id);
  EXPECT_EQ(shown.at("studies").at(0).at("approved"), false);
  host_.accounts().Add("stefan", Role::kSteward, kPassword, kWebNow);
  Browser steward(host_);
  ASSERT_EQ(steward.LogIn("stefan").status, 200U);
  EXPECT_TRUE(
      Checked("GET", budgets, steward.Get(budgets)).at("tables").at(0).at("frozen").is_null());
  CommitStatement statement;
  statement.table = "pupils";
  statement.rows = 156;
  statement.missing = 3;
  const Bytes commit = Encode(SignCommit(statement, crypto::MakeIdentity({.name = "north"})));
  WriteFileAtomically((folder / "statement").string(),
                      {reinterpret_cast<const char*>(commit.data()), commit.size()});
  const TestJson frozen =
      Checked("GET", budgets, steward.Get(budgets)).at("tables").at(0).at("frozen");
  EXPECT_EQ(frozen.at("rows"), 156);
  EXPECT_EQ(frozen.at("missing_cells"), 3);
}

}  // namespace
}  // namespace partita::node::web::daemon_test
