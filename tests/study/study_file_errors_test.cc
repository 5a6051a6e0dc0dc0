// Every mistake in a study file is found, with its place and a remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/file/study_file.h"
#include "tests/study/all_methods.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::study::study_file_errors_test {
namespace {

void ExpectMistake(const std::string& text, const Mistake& mistake) {
  study::ExpectMistake([](const std::string& study) { ParseStudyFile(study, "s.toml"); }, "s.toml",
                       text, mistake);
}

void ExpectMistakes(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    ExpectMistake(Edited(kSmallStudy, mistake.from, mistake.to), mistake);
  }
}

TEST(StudyFileErrorsTest, UnknownKeysInEveryTable) {
  ExpectMistakes({
      {"name = \"small\"", "nane = \"small\"", "2:1", "unknown key 'nane' in the study file",
       "did you mean 'name'"},
      {"columns = [\"x1\"", "colums = [\"x1\"", "6:1", "unknown key 'colums' in [[party]]",
       "did you mean 'columns'"},
      {"count = 156", "counts = 156", "16:1", "unknown key 'counts' in [[rows]]",
       "did you mean 'count'"},
      {"key = \"id\"", "keys = \"id\"", "18:1", "unknown key 'keys' in [table]",
       "did you mean 'key'"},
      {"lower = -10", "low = -10", "23:1", "unknown key 'low' in [[variable]]", "lower"},
      {"fraction_bits", "fractionbits", "44:1", "unknown key 'fractionbits' in [engine]",
       "did you mean 'fraction_bits'"},
      {"timeout_seconds", "timeout", "46:1", "unknown key 'timeout' in [network]",
       "timeout_seconds"},
      {"std_lv", "std.lv", "56:1", "unknown key 'std' in [[analysis]]", "std_lv"},
      {"[network]", "[networks]", "45:2", "unknown key 'networks' in the study file",
       "did you mean 'network'"},
      {"[[rows]]", "[[row]]", "14:3", "unknown key 'row' in the study file", "rows"},
  });
}

TEST(StudyFileErrorsTest, TheFirstUnknownKeyOfTheFileIsNamed) {
  ExpectMistake("partita = 1\nzz = 1\naa = 1\n", {"", "zz", "2:1", "unknown key 'zz'", "known"});
}

TEST(StudyFileErrorsTest, MissingKeys) {
  ExpectMistakes({
      {"partita = 1\n", "", "1:1", "the study file needs the key 'partita'", "partita = 1"},
      {"name = \"small\"\n", "", "1:1", "the study file needs the key 'name'", "name ="},
      {"name = \"north\"\n", "", "3:1", "[[party]] needs the key 'name'", "name ="},
      {"roles = [\"holder\"]\n", "", "7:1", "[[party]] needs the key 'roles'", "roles ="},
      {"name = \"all\"\n", "", "14:1", "[[rows]] needs the key 'name'", "name ="},
      {"missing = \"refuse\"\n", "", "61:1", "[design] needs the key 'missing'", "refuse"},
      {"name = \"x1\"\n", "", "20:1", "[[variable]] needs the key 'name'", "name ="},
      {"type = \"integer\"\n", "", "32:1", "[[variable]] needs the key 'type'", "numeric"},
      {"lower = -10\n", "", "20:1", "[[variable]] needs the key 'lower'", "lower ="},
      {"upper = 20.5\n", "", "20:1", "[[variable]] needs the key 'upper'", "upper ="},
      {"levels = [\"Pasteur\", \"Grant-White\"]\n", "", "37:1",
       "[[variable]] needs the key 'levels'", "levels ="},
      {"name = \"dealer\"\n", "", "42:1", "[engine] needs the key 'name'", "dealer"},
      {"method = \"mle\"\n", "", "47:1", "[[analysis]] needs the key 'method'", "mle"},
      {"protocol = \"pooled-moments\"\n", "", "47:1", "[[analysis]] needs the key 'protocol'",
       "pooled-moments"},
      {"function = \"cfa\"\n", "", "47:1", "[[analysis]] needs the key 'function'", "cfa"},
      {"model = \"\"\"\nf =~ x1 + x2 + x3\n\"\"\"\n", "", "47:1",
       "[[analysis]] needs the key 'model'", "=~"},
  });
  const std::string head = "partita = 1\nname = \"a\"\n";
  const std::string variable =
      "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = 0\nupper = 1\n";
  ExpectMistake(head, {"", "", "1:1", "needs the key 'variable'", "[[variable]]"});
  ExpectMistake(head + variable, {"", "", "1:1", "needs the table [design]", "missing ="});
  const std::string table = "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n";
  ExpectMistake(head + variable + table, {"", "", "1:1", "needs the key 'engine'", "[engine]"});
  const std::string engine = "[engine]\nname = \"dealer\"\n";
  ExpectMistake(head + variable + table + engine,
                {"", "", "1:1", "needs the key 'party'", "[[party]]"});
}

TEST(StudyFileErrorsTest, WrongTypes) {
  ExpectMistakes({
      {"partita = 1", "partita = \"1\"", "1:11",
       "'partita' in the study file must be a whole number, not text", "whole number"},
      {"name = \"small\"", "name = 3", "2:8",
       "'name' in the study file must be text, not a whole number", "double quotes"},
      {"roles = [\"holder\"]", "roles = \"holder\"", "9:9", "'roles' in [[party]] must be a list",
       "["},
      {"[\"x1\", \"x2\"]", "[\"x1\", 2]", "6:18", "'columns' in [[party]] must be text",
       "double quotes"},
      {"count = 156", "count = 156.5", "16:9",
       "'count' in [[rows]] must be a whole number, not a number", "whole"},
      {"lower = -10", "lower = \"-10\"", "23:9",
       "'lower' in [[variable]] must be a number, not text", "number"},
      {"std_lv = true", "std_lv = \"true\"", "56:10",
       "'std_lv' in [[analysis]] must be true or false", "without quotes"},
      {"fixed_x = false", "fixed_x = 2020-01-01", "58:11", "not a date", "true or false"},
      {"[engine]\nname = \"dealer\"\nfraction_bits = 38\n", "", "1:1", "needs the key 'engine'",
       "dealer"},
      {"[[rows]]\nname = \"all\"\ncount = 156\n", "[rows]\nname = \"all\"\n", "14:1",
       "[rows] is written with single brackets", "[[rows]]"},
  });
  ExpectMistake(
      "partita = 1\nname = \"a\"\nvariable = [1]\n",
      {"", "", "3:13", "must be tables, each under a header [[variable]]", "[[variable]]"});
  ExpectMistake(
      "engine = 2\n" + Edited(kSmallStudy, "[engine]\nname = \"dealer\"\nfraction_bits = 38\n", ""),
      {"", "", "1:10", "'engine' in the study file must be a table", "[engine]"});
}

TEST(StudyFileErrorsTest, ValuesOutOfRange) {
  ExpectMistakes({
      {"partita = 1", "partita = 2", "1:11", "cannot read format 2", "partita = 1"},
      {"count = 156", "count = 0", "16:9", "'count' must be between 1 and", "number of rows"},
      {"count = 156", "count = 10000000001", "16:9", "'count' must be between 1 and", "rows"},
      {"missing = \"refuse\"", "missing = \"drop\"", "63:11",
       "'missing' in [design] cannot be 'drop'", "refuse"},
      {"type = \"integer\"", "type = \"int\"", "34:8", "'type' in [[variable]] cannot be 'int'",
       "integer"},
      {"type = \"integer\"", "type = \"key\"", "34:8", "a key is no variable", "[table]"},
      {"lower = -10", "lower = 21", "24:9", "'upper' of 'x1' must be above 'lower'", "smallest"},
      {"lower = -10", "lower = 20.5", "24:9", "'upper' of 'x1' must be above 'lower'", "smallest"},
      {"lower = -10", "lower = nan", "23:9", "finite", "smallest"},
      {"upper = 20.5", "upper = inf", "24:9", "finite", "largest"},
      {"lower = -10\nupper = 20.5", "lower = -1e308\nupper = 1e308", "24:9", "'upper'", "largest"},
      {"upper = 7", "upper = 7.5", "36:9", "whole numbers", "numeric"},
      {"upper = 7", "upper = 9007199254740994", "36:9", "below 2^53", "numeric"},
      {"fraction_bits = 38", "fraction_bits = 19", "44:17", "between 20 and 50", "40"},
      {"fraction_bits = 38", "fraction_bits = 51", "44:17", "between 20 and 50", "40"},
      {"fraction_bits = 38", "input_bits = 19", "44:14", "between 20 and 50", "30"},
      {"fraction_bits = 38", "input_bits = 51", "44:14", "between 20 and 50", "30"},
      {"fraction_bits = 38", "stripes = 0", "44:11", "between 1 and 4096", "leave the key out"},
      {"fraction_bits = 38", "stripes = 4097", "44:11", "between 1 and 4096", "leave the key out"},
      {"timeout_seconds = 2.5", "timeout_seconds = 0.5", "46:19", "between 1 and 86400", "60"},
      {"timeout_seconds = 2.5", "timeout_seconds = 86401", "46:19", "between 1 and 86400", "60"},
      {"timeout_seconds = 2.5", "timeout_seconds = nan", "46:19", "between 1 and 86400", "60"},
      {"name = \"dealer\"", "name = \"deler\"", "43:8", "'name' in [engine] cannot be 'deler'",
       "did you mean 'dealer'"},
      {"method = \"mle\"", "method = \"ml\"", "48:10", "cannot be 'ml'", "did you mean 'mle'"},
      {"\"pooled-moments\"", "\"pooled-moment\"", "49:12", "cannot be 'pooled-moment'",
       "did you mean 'pooled-moments'"},
      {"function = \"cfa\"", "function = \"efa\"", "50:12", "cannot be 'efa'",
       "did you mean 'cfa'"},
      {"f =~ x1 + x2 + x3\n", " \n\t\n", "51:9", "the model is empty", "lavaan"},
      {"f =~ x1 + x2 + x3\n", std::string(kMaxModelBytes + 1, '#'), "51:9", "longer than 65536",
       "shorten"},
      {"\"observed\"", "\"obs\"", "59:15", "cannot be 'obs'", "observed"},
      {"\"intercepts\"", "\"intercept\"", "55:28", "cannot be 'intercept'",
       "did you mean 'intercepts'"},
      {"group = \"school\"", "group = \"scool\"", "54:9", "cannot be 'scool'",
       "did you mean 'school'"},
      {"group = \"school\"", "group = \"x1\"", "54:9", "'x1' is not a factor", "levels"},
      {"group = \"school\"\n", "", "54:15", "'group_equal' without 'group'", "group ="},
      {"key = \"id\"", "key = \"x1\"", "18:7", "the key 'x1' is also a variable", "dictionary"},
      {"key = \"id\"", "key = \"\"", "18:7", "'key' in [table] is not usable", "characters"},
      {"key = \"id\"", "key = \"id\"\nblock = \"id\"", "19:9", "the same column", "row block"},
      {"key = \"id\"", "key = \"id\"\nblock = \"school\"", "19:9",
       "'all' is no level of the variable 'school'", "levels"},
      {"key = \"id\"", "key = \"id\"\nblock = \"x1\"", "19:9",
       "'all' is no level of the variable 'x1'", "factor"},
      {"key = \"id\"", "separator = \"|\"", "18:13", "'separator' in [table] cannot be '|'", ";"},
      {"[design]", "[population]\nmax_rows_per_person = 0\n[design]", "62:23",
       "'max_rows_per_person' must be between 1 and 1000000", "one person"},
      {"decimal = \".\"", "decimal = \",\"", "19:11", "the same character", "separator"},
      {"[\"Pasteur\", \"Grant-White\"]", "[\"Pasteur\"]", "40:10", "2 to 1000 levels, not 1",
       "value"},
      {"reference = \"Grant-White\"", "reference = \"GrantWhite\"", "41:13",
       "cannot be 'GrantWhite'", "did you mean 'Grant-White'"},
  });
}

TEST(StudyFileErrorsTest, KeysThatDoNotFitTheType) {
  ExpectMistakes({
      {"unit = \"points\"", "levels = [\"a\", \"b\"]", "25:10",
       "only factors and ordered variables have levels", "'levels'"},
      {"unit = \"points\"", "reference = \"a\"", "25:13",
       "only factors and ordered variables have levels", "'reference'"},
      {"reference = \"Grant-White\"", "lower = 0", "41:9", "instead of bounds", "'lower'"},
      {"reference = \"Grant-White\"", "unit = \"m\"", "41:8", "instead of bounds", "'unit'"},
      {"reference = \"Grant-White\"", "missing_codes = [\"Pasteur\"]", "41:18",
       "'Pasteur' is a level and a missing code", "remove"},
  });
}

TEST(StudyFileErrorsTest, Duplicates) {
  ExpectMistakes({
      {"name = \"south\"", "name = \"north\"", "8:8", "party 'north' is there twice",
       "the first one is on line 4"},
      {"name = \"x3\"", "name = \"x1\"", "33:8", "variable 'x1' is there twice", "line 21"},
      {"[table]", "[[rows]]\nname = \"all\"\n[table]", "18:8", "row block 'all' is there twice",
       "line 15"},
      {"[\"x1\", \"x2\"]", "[\"x1\", \"x1\"]", "6:18", "columns 'x1' is there twice", "line 6"},
      {"[\"holder\", \"receiver\"]", "[\"holder\", \"holder\"]", "5:20",
       "role 'holder' is there twice", "5"},
      {"[\"Pasteur\", \"Grant-White\"]", "[\"Pasteur\", \"Pasteur\"]", "40:22",
       "level 'Pasteur' is there twice", "40"},
      {"[\"-9\", \"NA\"]", "[\"-9\", \"-9\"]", "26:24", "missing code '-9' is there twice", "26"},
      {"[\"loadings\", \"intercepts\"]", "[\"loadings\", \"loadings\"]", "55:28",
       "group_equal 'loadings' is there twice", "55"},
  });
}

TEST(StudyFileErrorsTest, Names) {
  ExpectMistakes({
      {"name = \"small\"", "name = \"Small\"", "2:8", "'Small' is no study name", "small letters"},
      {"name = \"small\"", "name = \"\"", "2:8", "'' is no study name", "1 to 64"},
      {"name = \"small\"", "name = \"" + std::string(65, 'a') + "\"", "2:8", "no study name",
       "1 to 64"},
      {"name = \"north\"", "name = \"north_1\"", "4:8", "'north_1' is no party name",
       "small letters"},
      {"name = \"north\"", "name = \"-north\"", "4:8", "'-north' is no party name", "starting"},
      {"name = \"all\"", "name = \"a b\"", "15:8", "'a b' is no row block name", "letters"},
      {"name = \"x1\"", "name = \"1x\"", "21:8", "'1x' is no variable name",
       "starting with a letter"},
      {"name = \"x1\"", "name = \"x\xC3\xA9\"", "21:8", "'x\?\?' is no variable name", "letters"},
      // Nothing that a terminal obeys passes, and messages show none of it.
      {"name = \"small\"", "name = \"a\\u001b[2J\"", "2:8", "'a?[2J' is no study name", "letters"},
      {"unit = \"points\"", "unit = \"a\\u009b\"", "25:8", "'unit' in [[variable]] is not usable",
       "control"},
      {"unit = \"points\"", "unit = \"a\\u202e\"", "25:8", "'unit' in [[variable]] is not usable",
       "control"},
      {"unit = \"points\"", "unit = \"a\\u2066\"", "25:8", "'unit' in [[variable]] is not usable",
       "control"},
      {"unit = \"points\"", "unit = \" a\"", "25:8", "'unit' in [[variable]] is not usable",
       "outer spaces"},
      {"name = \"small\"", "name = \"small\"\ntitle = \"a\\nb\"", "3:9",
       "'title' in the study file", "one line"},
      {"name = \"small\"", "name = \"small\"\n[study]\nethics = \"\"", "4:10",
       "'ethics' in [study] is not usable", "1 to 200 bytes"},
      {"name = \"small\"", "name = \"small\"\n[study]\nethics = \"a\\u202e\"", "4:10",
       "'ethics' in [study] is not usable", "control"},
      {"name = \"small\"", "name = \"small\"\n[study]\ncontact = \"" + std::string(201, 'c') + "\"",
       "4:11", "'contact' in [study] is not usable", "1 to 200 bytes"},
      {"name = \"small\"",
       "name = \"small\"\n[study]\npurpose = \"" + std::string(1001, 'c') + "\"", "4:11",
       "'purpose' in [study] is not usable", "1 to 1000 bytes"},
      {"name = \"small\"", "name = \"small\"\n[study]\nethic = \"a\"", "4:1",
       "unknown key 'ethic' in [study]", "did you mean 'ethics'"},
      {"name = \"small\"", "name = \"small\"\n[study]\nethics = 7", "4:10", "'ethics'",
       "double quotes"},
  });
}

TEST(StudyFileErrorsTest, RolesThatDoNotFit) {
  const std::string helper = "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  ExpectMistakes({
      {"[\"holder\", \"receiver\"]", "[\"holder\", \"reciever\"]", "5:20",
       "'roles' in [[party]] cannot be 'reciever'", "did you mean 'receiver'"},
      {"[\"holder\", \"receiver\"]", "[]", "5:9", "party 'north' has no role", "holder"},
      {"[\"holder\", \"receiver\"]", "[\"holder\"]", "3:1", "exactly one receiver, not 0",
       "receiver"},
      {"roles = [\"holder\"]", "roles = [\"holder\", \"receiver\"]", "7:1",
       "exactly one receiver, not 2", "receiver"},
      {"[\"holder\", \"receiver\"]\ncolumns = [\"x1\", \"x2\"]", "[\"receiver\"]", "6:1",
       "two holders at least, not 1", "holder"},
      {"[\"dealer\"]", "[\"dealer\", \"receiver\"]", "13:20",
       "the dealer 'helper' has another role", "somebody else"},
      {helper, "", "3:1", "needs exactly one dealer, not 0", "roles = [\"dealer\"]"},
      {helper, helper + Edited(helper, "helper", "other"), "14:1",
       "needs exactly one dealer, not 2", "dealer"},
      {"name = \"dealer\"", "name = \"replicated\"", "11:1", "'replicated' has no dealer",
       "[engine]"},
      {"roles = [\"dealer\"]", "roles = [\"dealer\"]\nrows = [\"all\"]", "14:8",
       "party 'helper' holds no data", "remove"},
      {"[\"x1\", \"x2\"]", "[\"x1\", \"X2x\"]", "6:18", "'columns' in [[party]] cannot be 'X2x'",
       "did you mean 'x2'"},
      {"[\"x1\", \"x2\"]", "[]", "6:11", "'columns' is empty", "leave the key out"},
      {"[\"x1\", \"x2\"]", "[\"x1\"]\nrows = [\"al\"]", "7:9", "'rows' in [[party]] cannot be 'al'",
       "did you mean 'all'"},
  });
  const std::string two = Edited(Edited(kSmallStudy, helper, ""), "\"dealer\"", "\"replicated\"");
  ExpectMistake(two, {"", "two parties", "7:1", "exactly three parties, not 2", "dealer"});
  const std::string ot = Edited(kSmallStudy, "name = \"dealer\"", "name = \"ot\"");
  ExpectMistake(ot, {"", "a dealer", "11:1", "'ot' has no dealer", "[engine]"});
  const std::string three =
      Edited(ot, "roles = [\"dealer\"]", "roles = [\"holder\"]\ncolumns = [\"x3\"]");
  ExpectMistake(three, {"", "three parties", "11:1", "exactly two parties, not 3", "replicated"});
  const std::string shamir =
      Edited(Edited(kSmallStudy, helper, ""), "name = \"dealer\"", "name = \"shamir\"");
  ExpectMistake(shamir, {"", "two parties", "7:1", "three to seven parties, not 2", "dealer"});
  const std::string named = "[engine]\nname = \"dealer\"\n";
  ExpectMistake(Edited(kSmallStudy, named, named + "threshold = 1\n"),
                {"", "another engine", "44:13", "'dealer' has no threshold", "shamir"});
  const auto with = [&](const std::string& threshold) {
    return Edited(Edited(three, "name = \"ot\"", "name = \"shamir\""), "name = \"shamir\"\n",
                  "name = \"shamir\"\nthreshold = " + threshold + "\n");
  };
  ExpectMistake(with("0"), {"", "too small", "45:13", "between 1 and 3", "leave the key out"});
  ExpectMistake(with("2"), {"", "half", "11:1", "among 3 parties the engine 'shamir' withstands 1",
                            "as many as can be"});
}

TEST(StudyFileErrorsTest, SharedRowsNeedCountAndKey) {
  ExpectMistakes({
      {"count = 156\n", "", "14:1", "row block 'all' is held by 2 parties and needs a 'count'",
       "[[rows]]"},
      {"[[rows]]\nname = \"all\"\ncount = 156\n", "", "1:1", "needs a 'count'", "[[rows]]"},
      {"key = \"id\"\n", "", "17:1", "row block 'all' is held by 2 parties and needs a 'key'",
       "key = \"id\""},
      {"[table]", "[[rows]]\nname = \"more\"\ncount = 2\n[table]", "20:1",
       "party 'north' holds 2 row blocks and needs a 'block' column", "block ="},
  });
}

TEST(StudyFileErrorsTest, NotToml) {
  ExpectMistakes({
      {"name = \"small\"", "name = small", "2:8", "", "double quotes"},
      {"name = \"small\"", "name = \"small", "2:14", "", "closing quote"},
      {"name = \"small\"", "name = \"small\"\nname = \"again\"", "3:8", "name", "twice"},
      {"name = \"small\"", "name = \"\xff\"", "2:8", "", "TOML"},
  });
}

TEST(StudyFileErrorsTest, TooMany) {
  std::string parties, blocks, variables;
  for (size_t i = 0; i < kMaxParties; ++i) {
    parties += "[[party]]\nname = \"p" + std::to_string(i) + "\"\nroles = [\"holder\"]\n";
  }
  for (size_t i = 0; i < kMaxRowBlocks; ++i) {
    blocks += "[[rows]]\nname = \"b" + std::to_string(i) + "\"\n";
  }
  for (size_t i = 0; i < kMaxVariables; ++i) {
    variables += "[[variable]]\nname = \"v" + std::to_string(i) +
                 "\"\ntype = \"numeric\"\nlower = 0\nupper = 1\n";
  }
  ExpectMistake(kSmallStudy + parties, {"", "parties", "247:1", "too many parties", "64"});
  ExpectMistake(kSmallStudy + blocks, {"", "blocks", "2110:1", "too many row blocks", "1024"});
  ExpectMistake(kSmallStudy + variables,
                {"", "variables", "10044:1", "too many variables", "2000"});
}

}  // namespace
}  // namespace partita::study::study_file_errors_test
