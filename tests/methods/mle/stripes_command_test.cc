// Stripes between processes over TLS: whoever has nothing to wait for in a stripe, as a dealer has not, is
// done with it, and gone, before slower parties have come to it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

namespace partita::testing::stripes_command_test {
namespace {

constexpr int kRows = 4100;

std::string StudyOf(const std::string& engine, int stripes) {
  const std::string helper =
      engine == "dealer" ? "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n" : "";
  return fmt::format(
      "partita = 1\nname = \"striped\"\n"
      "[[party]]\nname = \"a\"\nroles = [\"holder\", \"receiver\"]\ncolumns = [\"y\", \"x1\"]\n"
      "[[party]]\nname = \"b\"\nroles = [\"holder\"]\ncolumns = [\"x2\"]\n{}"
      "[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n"
      "[[variable]]\nname = \"y\"\ntype = \"numeric\"\nlower = 0\nupper = 10\n"
      "[[variable]]\nname = \"x1\"\ntype = \"numeric\"\nlower = 0\nupper = 10\n"
      "[[variable]]\nname = \"x2\"\ntype = \"numeric\"\nlower = 0\nupper = 10\n"
      "[engine]\nname = \"{}\"\nstripes = {}\n[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n"
      "[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\nfunction = \"regression\"\n"
      "model = \"y ~ x1 + x2\"\nrelease = [\"moments\"]\n",
      helper, kRows, engine, stripes);
}

// Numbers of one decimal that follow from the row's number.
double Cell(int row, int column) { return (row * (17 + 12 * column) % 101) / 10.0; }

class StripesCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string a = "id,y,x1\n", b = "id,x2\n";
    for (int row = 0; row < kRows; ++row) {
      a += fmt::format("k{:04},{},{}\n", row, Cell(row, 0), Cell(row, 1));
      b += fmt::format("k{:04},{}\n", row, Cell(row, 2));
    }
    StudyFolder::Write(In("a.csv"), a);
    StudyFolder::Write(In("b.csv"), b);
  }

  std::string In(const std::string& name) const { return folder_.path() + "/" + name; }

  nlohmann::json Analyses(const std::string& engine, int stripes) const {
    StudyFolder::Write(In("s.toml"), StudyOf(engine, stripes));
    const ProcessResult run =
        Partita({"study", "simulate", In("s.toml"), "--data", "a=" + In("a.csv"), "--data",
                 "b=" + In("b.csv"), "--output", In("result.json"), "--force"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.exit_code != 0
               ? nlohmann::json()
               : nlohmann::json::parse(StudyFolder::Read(In("result.json")))["analyses"];
  }

  StudyFolder folder_;
};

TEST_F(StripesCommandTest, FourHaveTheResultOfOne) {
  for (const char* engine : {"dealer", "ot"}) {
    SCOPED_TRACE(engine);
    const nlohmann::json whole = Analyses(engine, 1);
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(Analyses(engine, 4), whole);
  }
}

}  // namespace
}  // namespace partita::testing::stripes_command_test
