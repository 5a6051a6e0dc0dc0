// Entries of the record of processing: what they say of a study, and as text and CSV.
#include "node/record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "tests/paths.h"

namespace partita::node::record_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

// Rows and columns are split: south has x1 to x3 of one school; the receiver is north.
std::string SplitStudy(const std::string& declared) {
  return ReadFile(SourcePath("examples/three_factor/complex/study.toml"), 1 << 20, "a study") +
         declared;
}

Json Logged(uint64_t number, const std::string& time, const std::string& kind,
            const std::string& actor, const std::string& action, const std::string& subject) {
  return {{"number", number},   {"time", time},     {"kind", kind},
          {"actor", actor},     {"action", action}, {"study", "s"},
          {"subject", subject}, {"outcome", ""},    {"message", ""}};
}

// The newest first.
Json Log() {
  return Json::array({Logged(9, "2026-11-03T10:00:00Z", "node", "", "study-end", ""),
                      Logged(8, "2026-11-03T09:00:00Z", "node", "", "run-end", ""),
                      Logged(7, "2026-11-03T08:00:00Z", "node", "", "run-begin", ""),
                      Logged(6, "2026-11-02T09:00:00Z", "node", "", "run-end", ""),
                      Logged(5, "2026-11-02T08:00:00Z", "node", "", "run-begin", ""),
                      Logged(4, "2026-11-01T12:00:00Z", "party", "north", "approval", "north"),
                      Logged(3, "2026-11-01T11:00:00Z", "account", "anna", "approval", "south"),
                      Logged(2, "2026-11-01T10:00:00Z", "party", "north", "proposal", "")});
}

Json StudyAtNode(const std::string& state = "finished") {
  return {{"study", std::string(64, 'a')},
          {"state", state},
          {"proposer", "north"},
          {"charged", false},
          {"began", "2026-11-01T10:00:00Z"},
          {"table", "pupils"},
          {"kept",
           {{"ended", "2026-11-03T10:00:00Z"},
            {"result_until", "2027-11-03T10:00:00Z"},
            {"documents_until", "2036-11-02T22:00:00Z"},
            {"result_kept", true}}}};
}

Json Entry(const std::string& declared = "") {
  const FileRead read = ReadStudyFile(SplitStudy(declared), FileDepth::kVariables);
  EXPECT_FALSE(read.problem) << read.problem->message();
  return RecordEntry("south", StudyAtNode(), Log(), read);
}

const char kDeclared[] =
    "\n[study]\npurpose = \"Whether tests measure three abilities\"\nethics = \"EK 2026/117\"\n"
    "legal_basis = \"Article 9(2)(j) GDPR\"\ncontact = \"=cmd, \\\"x\\\"\"\n";

TEST(RecordTest, AnEntrySaysWhatTheStudyDid) {
  const Json entry = Entry(kDeclared);
  EXPECT_EQ(entry.at("purpose"), "Whether tests measure three abilities");
  EXPECT_EQ(entry.at("ethics"), "EK 2026/117");
  EXPECT_EQ(entry.at("legal_basis"), "Article 9(2)(j) GDPR");
  EXPECT_EQ(entry.at("unit"), "person");
  EXPECT_EQ(entry.at("methods"), Json::array({"mle"}));
  EXPECT_EQ(entry.at("recipients"), Json::array({"north"}));
  EXPECT_EQ(entry.at("parties").at(0),
            (Json{{"name", "north"}, {"roles", {"holder", "receiver"}}}));
  // Only what this site brings.
  ASSERT_EQ(entry.at("variables").size(), 3U);
  EXPECT_EQ(entry.at("variables").at(2),
            (Json{{"name", "x3"}, {"type", "numeric"}, {"unit", "points"}}));
  EXPECT_EQ(entry.at("first_run"), "2026-11-02T08:00:00Z");
  EXPECT_EQ(entry.at("last_run"), "2026-11-03T09:00:00Z");
  EXPECT_EQ(entry.at("ended"), "2026-11-03T10:00:00Z");
  EXPECT_EQ(entry.at("documents_until"), "2036-11-02T22:00:00Z");
  EXPECT_EQ(entry.at("may_have_opened"), true);
  const Json& decisions = entry.at("decisions");
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions.at(0), (Json{{"time", "2026-11-01T11:00:00Z"},
                                   {"party", "south"},
                                   {"decision", "approval"},
                                   {"by", "account anna"}}));
  EXPECT_EQ(decisions.at(1).at("by"), "party north");
}

TEST(RecordTest, AStudyThatGoesOnOrCannotBeReadHasItsNumber) {
  Json open = StudyAtNode("settled");
  open["kept"] = nullptr;
  const Json entry = RecordEntry("south", open, Json::array(), FileRead());
  EXPECT_EQ(entry.at("study"), std::string(64, 'a'));
  EXPECT_EQ(entry.at("name"), "");
  EXPECT_EQ(entry.at("ended"), "");
  EXPECT_EQ(entry.at("result_until"), "");
  EXPECT_EQ(entry.at("may_have_opened"), false);
  Json failed = StudyAtNode("failed");
  failed["charged"] = true;
  EXPECT_EQ(RecordEntry("south", failed, Log(), FileRead()).at("may_have_opened"), true);
  EXPECT_THAT(RecordText(Json::array({entry})), HasSubstr("kept: until it is over"));
}

TEST(RecordTest, DaysCutTheRecord) {
  const Json study = StudyAtNode();
  const auto within = [&](const std::string& from, const std::string& until) {
    return WasOpenWithin(study, DayAsked(from, false), DayAsked(until, true));
  };
  EXPECT_TRUE(within("", ""));
  EXPECT_TRUE(within("2026-11-03", ""));
  EXPECT_FALSE(within("2026-11-04", ""));
  EXPECT_TRUE(within("", "2026-11-01"));
  EXPECT_FALSE(within("", "2026-10-31"));
  EXPECT_TRUE(within("2026-11-02", "2026-11-02"));
  Json open = study;
  open["kept"] = nullptr;
  EXPECT_TRUE(WasOpenWithin(open, DayAsked("2031-01-01", false), std::nullopt));
  EXPECT_EQ(DayAsked("2026-11-03", false), ParseUtc("2026-11-03T00:00:00Z"));
  EXPECT_EQ(DayAsked("2026-11-03", true), ParseUtc("2026-11-03T23:59:59Z"));
  for (const char* wrong : {"2026", "2026-13-01", "2026-02-30", "2026-11-03T10:00:00Z", "x"}) {
    EXPECT_THROW(DayAsked(wrong, false), Error) << wrong;
    EXPECT_THROW(DayAsked(wrong, true), Error) << wrong;
  }
}

TEST(RecordTest, TextSaysItInWords) {
  const std::string text = RecordText(Json::array({Entry(kDeclared)}));
  for (const char* said :
       {"2026-11-01", "finished on 2026-11-03T10:00:00Z, proposed by north",
        "something was opened, or may have been", "ethics reference: EK 2026/117",
        "legal basis: Article 9(2)(j) GDPR", "results go to: north", "of table pupils",
        "approval of south by account anna", "north (holder, receiver)"})
    EXPECT_THAT(text, HasSubstr(said));
  EXPECT_THAT(RecordText(Json::array({Entry()})), Not(HasSubstr("ethics")));
  EXPECT_EQ(RecordText(Json::array()), "no studies");
}

// Comma, quotation marks, and what a spreadsheet would compute.
TEST(RecordTest, CsvIsQuotedAndHasNoFormulas) {
  const std::string csv = RecordCsv(Json::array({Entry(kDeclared)}));
  EXPECT_THAT(csv, ::testing::StartsWith("study,name,title,purpose,ethics,legal_basis,contact,"));
  EXPECT_THAT(csv, HasSubstr(",\"'=cmd, \"\"x\"\"\","));
  EXPECT_THAT(csv, HasSubstr("2026-11-01T11:00:00Z approval of south by account anna; "));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_TRUE(csv.ends_with(",yes,2027-11-03T10:00:00Z,2036-11-02T22:00:00Z\r\n"));
}

TEST(RecordTest, AChildSaysTheSameOfAFile) {
  const std::string text = SplitStudy(kDeclared);
  const FileRead here = ReadStudyFile(text, FileDepth::kVariables);
  const FileRead there =
      DecodeFileAnswer(AnswerFileOrder(EncodeFileOrder(text, FileDepth::kVariables)));
  EXPECT_EQ(there.use, here.use);
  EXPECT_EQ(there.use.declared.ethics, "EK 2026/117");
  EXPECT_EQ(there.variables, here.variables);
}

}  // namespace
}  // namespace partita::node::record_test
