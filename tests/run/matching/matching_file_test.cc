#include "run/matching/matching_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/paths.h"

namespace partita::run::matching_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFile = R"(matching = 1
name = "cohort-2026"
keys = [["nid"], ["surname", "born"]]
duplicates = "leave-out"

[[column]]
name = "nid"
rule = "digits"
length = 10
check = "luhn"

[[column]]
name = "surname"
rule = "text"
marks = "drop"
punctuation = "drop"

[[column]]
name = "born"
rule = "date"
format = "YYYY-MM-DD"
missing_codes = ["1900-01-01"]

[[party]]
name = "clinic"
rows = 20000

[[party]]
name = "registry"
rows = 50000
[[party.column]]
name = "born"
header = "geburtsdatum"
format = "DD.MM.YYYY"
missing_codes = ["01.01.1900"]
)";

TEST(MatchingFileTest, ReadsWhatThePartiesAgreeOnAndWhereATableDiffers) {
  const MatchingFile file = ParseMatchingFile(kFile, "m.toml");
  EXPECT_EQ(file.name, "cohort-2026");
  EXPECT_EQ(file.title, "cohort-2026");
  ASSERT_EQ(file.parties.size(), 2U);
  const match::KeySpec& clinic = file.parties[0].keys;
  EXPECT_THAT(clinic.passes, ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_EQ(clinic.duplicates, match::Unusable::kLeaveOut);
  EXPECT_EQ(clinic.faulty, match::Unusable::kRefuse);
  EXPECT_EQ(clinic.columns[0].rule.kind, match::KeyRuleKind::kDigits);
  EXPECT_EQ(clinic.columns[0].rule.length, 10U);
  EXPECT_EQ(clinic.columns[0].rule.check, match::CheckDigit::kLuhn);
  EXPECT_TRUE(clinic.columns[1].rule.drop_marks);
  EXPECT_TRUE(clinic.columns[1].rule.drop_punctuation);
  EXPECT_EQ(clinic.columns[2].rule.format, "YYYY-MM-DD");
  EXPECT_THAT(file.parties[0].headers, ElementsAre("nid", "surname", "born"));
  const MatchingParty& registry = MatchingPartyByName(file, "registry");
  EXPECT_EQ(registry.rows, 50000U);
  EXPECT_THAT(registry.headers, ElementsAre("nid", "surname", "geburtsdatum"));
  EXPECT_EQ(registry.keys.columns[2].rule.format, "DD.MM.YYYY");
  EXPECT_THAT(registry.keys.columns[2].rule.missing_codes, ElementsAre("01.01.1900"));
  // Whatever the tables look like, one key.
  EXPECT_EQ(match::RulesDigest(registry.keys, 1), match::RulesDigest(clinic, 1));
  EXPECT_THROW(MatchingPartyByName(file, "clinik"), Error);
}

TEST(MatchingFileTest, TheLinkerIsTheLastPartyWhereverItStands) {
  const std::string linker = "[[party]]\nname = \"trust\"\nrole = \"linker\"\n";
  std::string text = kFile;
  text.insert(text.find("[[party]]"), linker);
  const MatchingFile file = ParseMatchingFile(text, "m.toml");
  EXPECT_EQ(file.linker, "trust");
  EXPECT_THAT(file.Names(), ElementsAre("clinic", "registry", "trust"));
  EXPECT_EQ(file.parties.size(), 2U);
  EXPECT_FALSE(ParseMatchingFile(kFile, "m.toml").linked());
  const auto refusal = [](const std::string& bad) -> std::string {
    try {
      ParseMatchingFile(bad, "m.toml");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(text + linker), HasSubstr("more than one linker"));
  EXPECT_THAT(refusal(kFile + linker + "rows = 5\n"), HasSubstr("a linker has no 'rows'"));
  EXPECT_THAT(refusal(kFile + linker + "[[party.column]]\nname = \"nid\"\n"),
              HasSubstr("a linker has no 'column'"));
  EXPECT_THAT(refusal(std::string(kFile) + "[[party]]\nname = \"trust\"\nrole = \"dealer\"\n"),
              HasSubstr("role"));
  EXPECT_THAT(refusal(std::string(kFile) + "[[party]]\nname = \"clinic\"\nrole = \"linker\"\n"),
              HasSubstr("clinic"));
  std::string alone = text;
  const size_t registry = alone.find("[[party]]\nname = \"registry\"");
  EXPECT_THAT(refusal(alone.substr(0, registry)), HasSubstr("2 to 5 holders"));
  try {
    MatchingPartyByName(file, "trust");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("party trust links and brings no table"));
  }
}

struct Mistake {
  std::string from, to;        // in kFile
  std::string place, message;  // of the error
};

TEST(MatchingFileTest, SaysWhereAndWhatIsWrong) {
  const std::vector<Mistake> mistakes = {
      {"matching = 1", "matching = 2", "1:", "matching"},
      {"keys = [[\"nid\"], [\"surname\", \"born\"]]\n", "", "1:", "keys"},
      {"[[\"nid\"], [\"surname\", \"born\"]]", "[]", "3:", "1 to 4 passes"},
      {"[[\"nid\"], [\"surname\", \"born\"]]", "[[\"nid\"], [\"nid\"], [\"surname\", \"born\"]]",
       "3:", "twice"},
      {"[[\"nid\"], [\"surname\", \"born\"]]", "[[\"nid\"], [\"surname\"]]",
       "3:", "no pass has the column"},
      {"[[\"nid\"], ", "[[\"nit\"], ", "3:", "nid"},
      {"duplicates = \"leave-out\"", "duplicates = \"keep\"", "4:", "leave-out"},
      {"rule = \"digits\"\nlength = 10", "rule = \"digits\"", "6:", "length"},
      {"length = 10", "length = 0", "9:", "from 1 to 40"},
      {"check = \"luhn\"", "check = \"loon\"", "10:", "luhn"},
      {"marks = \"drop\"", "length = 3", "15:", "for the rule digits"},
      {"rule = \"text\"", "rule = \"soundex\"", "14:", "text"},
      {"format = \"YYYY-MM-DD\"", "format = \"DD.MM.YY\"", "21:", "DD.MM.YYYY"},
      {"rows = 20000", "rows = 0", "26:", "from 1 to 10000000"},
      {"rows = 20000\n", "", "24:", "rows"},
      {"name = \"registry\"", "name = \"clinic\"", "28:", "clinic"},
      {"[[party.column]]\nname = \"born\"", "[[party.column]]\nname = \"bron\"", "32:", "born"},
      {"name = \"born\"\nheader", "name = \"nid\"\nheader", "34:", "for the rule date"},
      {"duplicates = ", "duplicate = ", "4:", "duplicate"},
      {"name = \"surname\"", "name = \"nid\"", "12:", "nid"},
  };
  for (const Mistake& mistake : mistakes) {
    std::string text = kFile;
    const size_t at = text.find(mistake.from);
    ASSERT_NE(at, std::string::npos) << mistake.from;
    text.replace(at, mistake.from.size(), mistake.to);
    try {
      ParseMatchingFile(text, "m.toml");
      ADD_FAILURE() << "accepted: " << mistake.to;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      const std::string all = error.message() + " " + error.hint();
      EXPECT_THAT(error.message(), HasSubstr("m.toml:" + mistake.place)) << mistake.to;
      EXPECT_THAT(all, HasSubstr(mistake.message)) << mistake.to;
      EXPECT_FALSE(error.hint().empty()) << mistake.to;
    }
  }
}

TEST(MatchingFileTest, TwoToFivePartiesTakePart) {
  std::string text = kFile;
  text.erase(text.find("[[party]]\nname = \"registry\""));
  EXPECT_THROW(ParseMatchingFile(text, "m.toml"), Error);
  for (int i = 0; i < 4; ++i)
    text += "[[party]]\nname = \"p" + std::to_string(i) + "\"\nrows = 5\n";
  EXPECT_EQ(ParseMatchingFile(text, "m.toml").parties.size(), 5U);
  text += "[[party]]\nname = \"p5\"\nrows = 5\n";
  EXPECT_THROW(ParseMatchingFile(text, "m.toml"), Error);
}

}  // namespace
}  // namespace partita::run::matching_file_test
