// [[analysis]] with method = "marginals": what it means, and every mistake with its place and a remedy.
#include "methods/marginals/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/data/tables.h"
#include "tests/methods/marginals/marginals_text.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::marginals::section_test {
namespace {

using testing::MarginalsText;
using testing::Options;

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {MarginalsReader()};
  return study::ParseStudyFile(text, "s.toml", readers);
}

TEST(MarginalsSection, ReadsEveryKey) {
  const study::StudyFile file = Parse(MarginalsText({}));
  EXPECT_EQ(file.analyses.front().protocol, kProtocol);
  const Spec& spec = SpecOf(file.analyses.front());
  ASSERT_EQ(spec.columns.size(), 4u);
  EXPECT_EQ(spec.epsilon, 3);
  EXPECT_EQ(spec.delta, 1e-5);
  EXPECT_EQ(spec.against, Against::kParties);
  EXPECT_EQ(spec.synthetic_rows, 50u);
  EXPECT_EQ(spec.synthetic_sets, 2u);
  const stats::marginals::TableSet set = TablesOfColumns(spec.columns);
  EXPECT_EQ(set.attributes[0].levels, 4u);  // bins
  EXPECT_EQ(set.attributes[1].levels, 6u);  // whole numbers
  EXPECT_EQ(set.attributes[2].levels, 2u);
  EXPECT_EQ(set.attributes[3].levels, 3u);  // two share one
  EXPECT_EQ(file.analyses.front().section->Uses().variables.size(), 4u);
}

TEST(MarginalsSection, HasDefaults) {
  Options options;
  options.analysis = "";
  options.missing = "complete";
  options.privacy += "against = \"outside\"\n";
  const study::StudyFile file = Parse(MarginalsText(options));
  const Spec& spec = SpecOf(file.analyses.front());
  EXPECT_EQ(spec.against, Against::kOutside);
  EXPECT_EQ(spec.synthetic_rows, 0u);
  const stats::marginals::TableSet set = TablesOfColumns(spec.columns);
  EXPECT_EQ(set.attributes[0].levels, 11u);  // ten bins, and missing
  EXPECT_EQ(LevelNames(spec.columns[0]).back(), "missing");
  EXPECT_EQ(LevelNames(spec.columns[0]).front(), "[0, 10)");
  EXPECT_EQ(LevelNames(spec.columns[3]), (std::vector<std::string>{"u", "v", "x", "y", "missing"}));
}

TEST(MarginalsSection, NamesMistakes) {
  const std::string text = MarginalsText({});
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "s.toml", text,
      {{"bins = 4", "bins = 1", "45:41:", "'bins' must be from 2", "equal width"},
       {"{variable = \"income\", bins = 4}", "{variable = \"sex\", bins = 4}",
        "45:38:", "'bins' is for", "remove"},
       {"\"visits\", \"sex\",", "\"visit\", \"sex\",", "45:45:", "'visit'", "visits"},
       {"\"visits\", \"sex\",", "\"sex\", \"sex\",", "45:52:", "sex", ""},
       {"rare = [\"x\", \"y\"]", "rare = [\"x\", \"w\"]", "45:94:", "w", "y"},
       {"epsilon = 3", "epsilon = 11", "49:11:", "'epsilon' must be", "epsilon = 1"},
       {"epsilon = 3\n", "", "48:1:", "epsilon", "epsilon = 1"},
       {"delta = 1e-5", "delta = 0.5", "50:9:", "'delta' must be", "1e-5"},
       {"adjacency = \"replace\"", "adjacency = \"add-remove\"",
        "43:1:", "which block 'all' declares", "leave out the count"},
       {"synthetic_rows = 50", "expected_rows = 9\nsynthetic_rows = 50",
        "46:17:", "declares its number", "remove"},
       {"synthetic_rows = 50\n", "", "46:18:", "without 'synthetic_rows'", "synthetic_rows ="},
       {"synthetic_rows = 50", "synthetic_rows = 0", "46:18:", "must be from 1", "rows to draw"},
       {"missing = \"refuse\"\nfaulty_rows = \"fill\"", "missing = \"mi\"",
        "42:1:", "knows no imputation", "missing = \"complete\""},
       {"faulty_rows = \"fill\"\n", "", "42:1:", "counts every row in every table",
        "missing = \"complete\""},
       {"synthetic_rows = 50\nsynthetic_sets = 2", "synthetic_rows = 2000000\nsynthetic_sets = 3",
        "46:18:", "24000000 cells in all", "synthetic draw"},
       {"bins = 4", "edges = [0, 100]", "45:42:", "'edges' has 2 numbers", "two bins or more"},
       {"bins = 4", "edges = [0, 50, 90]", "45:12:", "do not increase from its lower",
        "lower bound of the dictionary"},
       {"bins = 4", "bins = 4, edges = [0, 50, 100]", "45:52:", "how many bins", "remove 'bins'"},
       {"{variable = \"income\", bins = 4}", "{variable = \"sex\", edges = [0, 1]}",
        "45:39:", "'edges' is for", "remove"},
       {"synthetic_rows = 50", "impossible = [{sex = \"m\"}]\nsynthetic_rows = 50",
        "46:15:", "a level of each of two columns", "pregnant"},
       {"synthetic_rows = 50", "impossible = [{sex = \"x\", job = \"u\"}]\nsynthetic_rows = 50",
        "46:22:", "x", "m"},
       {"synthetic_rows = 50",
        "impossible = [{sex = \"m\", job = \"u\"}, {sex = \"f\", job = \"u\"}]\nsynthetic_rows = "
        "50",
        "43:1:", "'job' has no possible level of 'sex'", "Leave out"},
       {"synthetic_rows = 50", "targets = [\"income\", \"sex\", \"job\"]\nsynthetic_rows = 50",
        "46:11:", "3 of 4 columns are targets", "one or a few"},
       {"adjacency = \"replace\"\n",
        "adjacency = \"replace\"\n[analysis.utility]\ntest_rows = 300\nseed = 1\n",
        "53:13:", "300 are set aside", "a fifth"},
       {"adjacency = \"replace\"\n",
        "adjacency = \"replace\"\n[analysis.utility]\ntest_rows = 30\n", "52:1:", "seed", "seed ="},
       {"bins = 4", "bins = 590", "43:1:", "601 levels in all ('income' has 590)", "wider bins"}});
}

TEST(MarginalsSection, ReadsWhatIsDeclared) {
  Options options;
  options.analysis =
      "columns = [{variable = \"income\", edges = [0, 1, 10, 100]}, \"visits\", \"sex\", \"job\"]\n"
      "impossible = [{job = \"u\", sex = \"f\"}, {income = \"[0, 1)\", visits = \"5\"}]\n"
      "targets = [\"sex\"]\n";
  options.privacy +=
      "[analysis.utility]\ntest_rows = 60\nseed = 7\ntargets = [{variable = \"sex\", level = "
      "\"m\"}]\n";
  const study::StudyFile file = Parse(MarginalsText(options));
  const Spec& spec = SpecOf(file.analyses.front());
  EXPECT_EQ(LevelNames(spec.columns[0]),
            (std::vector<std::string>{"[0, 1)", "[1, 10)", "[10, 100]"}));
  ASSERT_EQ(spec.impossible.size(), 2u);
  EXPECT_EQ(spec.impossible[0].first, 2u);
  EXPECT_EQ(spec.impossible[0].first_level, 0u);
  EXPECT_EQ(spec.impossible[0].second, 3u);
  EXPECT_EQ(spec.impossible[1].second_level, 5u);
  EXPECT_EQ(spec.targets, (std::vector<uint32_t>{2}));
  EXPECT_EQ(spec.utility.test_rows, 60u);
  EXPECT_EQ(spec.utility.seed, 7u);
  ASSERT_EQ(spec.utility.targets.size(), 1u);
  EXPECT_EQ(spec.utility.targets[0].level, 1u);
}

// Pairs that scores choose: so many, or twice as many as columns where there are more pairs than that.
TEST(MarginalsSection, NamesTriples) {
  Options options;
  options.analysis =
      "columns = [\"income\", \"visits\", \"sex\", \"job\"]\ntriples = [{columns = [\"job\", "
      "\"income\", \"sex\"]}]\n";
  const std::string text = MarginalsText(options);
  const study::StudyFile file = Parse(text);
  const Spec& spec = SpecOf(file.analyses.front());
  ASSERT_EQ(spec.triples.size(), 1u);
  EXPECT_EQ(spec.triples[0], (stats::marginals::Triple{0, 2, 3}));
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "s.toml", text,
      {{"[\"job\", \"income\", \"sex\"]", "[\"job\", \"sex\"]", "46:12:", "names three columns",
        "smoking"},
       {"[\"job\", \"income\", \"sex\"]", "[\"job\", \"sex\", \"sex\"]", "46:38:", "sex", ""},
       {"[\"job\", \"income\", \"sex\"]", "[\"job\", \"sex\", \"age\"]", "46:38:", "age", "job"},
       {"triples = [", "triples = [{columns = [\"sex\", \"job\", \"income\"]}, ",
        "43:1:", "stands twice", "each triple once"},
       {"triples =", "select = \"scores\"\npairs = 3\ntriples =", "48:11:", "'triples' with select",
        "select = \"all\""}});
}

TEST(MarginalsSection, SelectsByScores) {
  Options options;
  options.analysis += "select = \"scores\"\npairs = 3\n";
  const std::string text = MarginalsText(options);
  const study::StudyFile file = Parse(text);
  EXPECT_EQ(SpecOf(file.analyses.front()).pairs, 3u);
  EXPECT_EQ(file.analyses.front().section->Uses().releases.size(), 3u);
  const study::StudyFile all = Parse(MarginalsText({}));
  EXPECT_FALSE(SpecOf(all.analyses.front()).pairs);
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "s.toml", text,
      {{"\"scores\"", "\"best\"", "48:10:", "best", "scores"},
       {"select = \"scores\"\n", "", "48:9:", "'pairs' with select = \"all\"", "\"scores\""},
       {"select = \"scores\"", "select = \"all\"", "49:9:", "'pairs' with select", "\"scores\""},
       {"pairs = 3", "pairs = 3\ngroup = \"sex\"", "50:9:", "'group' with select", "\"group\""},
       {"pairs = 3", "pairs = 6", "49:9:", "must be from 1 to 5", "some of the 6 pairs"},
       {"pairs = 3", "pairs = 0", "49:9:", "must be from 1 to 5", "some of the 6 pairs"},
       {"pairs = 3\n", "", "48:10:", "would measure all pairs", "select = \"all\""},
       {"pairs = 3", "pairs = 3\ntargets = [\"sex\"]", "50:11:", "beside select", "remove one"}});
}

// Pairs with one column: Table 1.
TEST(MarginalsSection, SelectsAGroup) {
  Options options;
  options.analysis += "select = \"group\"\ngroup = \"sex\"\n";
  const std::string text = MarginalsText(options);
  const study::StudyFile file = Parse(text);
  EXPECT_EQ(SpecOf(file.analyses.front()).group, 2u);
  EXPECT_EQ(file.analyses.front().section->Uses().releases.size(), 1u);
  study::ExpectMistakes([](const std::string& edited) { Parse(edited); }, "s.toml", text,
                        {{"group = \"sex\"\n", "", "43:1:", "group", "group = \"arm\""},
                         {"group = \"sex\"", "group = \"age\"", "49:9:", "age", "sex"},
                         {"group = \"sex\"", "group = \"sex\"\npairs = 2",
                          "50:9:", "'pairs' with select", "\"scores\""},
                         {"group = \"sex\"", "group = \"sex\"\ntargets = [\"job\"]",
                          "50:11:", "beside select", "remove one"}});
}

// Rows whose number is not public: no count, and a guess for the forecast.
TEST(MarginalsSection, HiddenNumbersOfRows) {
  Options options;
  options.split = testing::Split::kRows;
  options.declares_rows = false;
  options.privacy = "epsilon = 3\ndelta = 1e-5\nadjacency = \"add-remove\"\n";
  options.analysis += "expected_rows = 500\n";
  const study::StudyFile file = Parse(MarginalsText(options));
  const Spec& spec = SpecOf(file.analyses.front());
  EXPECT_EQ(spec.adjacency, privacy::Adjacency::kAddRemove);
  EXPECT_EQ(spec.expected_rows, 500u);
  const std::string text = MarginalsText(options);
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "s.toml", text,
      {{"expected_rows = 500\n", "", "42:1:", "expected_rows", "expected_rows = 5000"},
       {"\"add-remove\"", "\"replace\"", "42:1:", "takes the number of rows as public",
        "add-remove"},
       {"\"add-remove\"\n", "\"add-remove\"\n[analysis.utility]\ntest_rows = 9\nseed = 1\n",
        "52:1:", "by their place among a public number", "leave out"}});
}

// What is said of a column counts, not what would be taken if nothing were: ten bins do not fit
// into five days.
TEST(MarginalsSection, TakesFewBinsOfFewDays) {
  Options options;
  const std::string text = study::Edited(
      MarginalsText(options), "name = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 5",
      "name = \"visits\"\ntype = \"date\"\nlower = 2024-02-27\nupper = 2024-03-02");
  EXPECT_THROW(Parse(text), Error);
  const study::StudyFile file = Parse(
      study::Edited(text, "\"visits\", \"sex\",", "{variable = \"visits\", bins = 3}, \"sex\","));
  const Spec& spec = SpecOf(file.analyses.front());
  EXPECT_EQ(LevelNames(spec.columns[1]),
            (std::vector<std::string>{"2024-02-27 to 2024-02-28", "2024-02-29",
                                      "2024-03-01 to 2024-03-02"}));
}

// A number is counted under the name that contains it, and under no other.
TEST(MarginalsSection, BinsAreNamedByWhatTheyCount) {
  const data::ColumnSchema age = data::Integer("age", 0, 22);
  const LevelColumn column = {{age, data::EncodingKind::kBins, 22, {}}, false};
  const std::vector<std::string> names = LevelNames(column);
  data::Table table;
  table.num_rows = 23;
  table.columns.push_back({age, {}, {}, {}});
  for (int x = 0; x <= 22; ++x) table.columns[0].numbers.push_back(x);
  const std::vector<uint16_t> levels = LevelsOf(column, table, 0, 23);
  for (int x = 0; x <= 22; ++x) {
    const std::string& name = names[levels[static_cast<size_t>(x)]];
    const size_t to = name.find(" to ");
    EXPECT_LE(std::stoi(name), x) << name;
    EXPECT_GE(std::stoi(to == std::string::npos ? name : name.substr(to + 4)), x) << name;
  }
}

}  // namespace
}  // namespace partita::methods::marginals::section_test
