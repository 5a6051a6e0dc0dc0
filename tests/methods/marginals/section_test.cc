// [[analysis]] with method = "marginals": what it means, and every mistake with its place and a remedy.
#include "methods/marginals/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
      {{"bins = 4", "bins = 1", "44:41:", "'bins' must be from 2", "equal width"},
       {"{variable = \"income\", bins = 4}", "{variable = \"sex\", bins = 4}",
        "44:38:", "'bins' is for", "remove"},
       {"\"visits\", \"sex\",", "\"visit\", \"sex\",", "44:45:", "'visit'", "visits"},
       {"\"visits\", \"sex\",", "\"sex\", \"sex\",", "44:52:", "sex", ""},
       {"rare = [\"x\", \"y\"]", "rare = [\"x\", \"w\"]", "44:94:", "w", "y"},
       {"epsilon = 3", "epsilon = 11", "48:11:", "'epsilon' must be", "epsilon = 1"},
       {"epsilon = 3\n", "", "47:1:", "epsilon", "epsilon = 1"},
       {"delta = 1e-5", "delta = 0.5", "49:9:", "'delta' must be", "1e-5"},
       {"adjacency = \"replace\"", "adjacency = \"add-remove\"", "50:13:", "number of rows",
        "replace"},
       {"synthetic_rows = 50\n", "", "45:18:", "without 'synthetic_rows'", "synthetic_rows ="},
       {"synthetic_rows = 50", "synthetic_rows = 0", "45:18:", "must be from 1", "rows to draw"},
       {"missing = \"refuse\"", "missing = \"mi\"", "42:1:", "knows no imputation",
        "missing = \"complete\""}});
}

}  // namespace
}  // namespace partita::methods::marginals::section_test
