// Studies that ask for checked cells: released exactly where every pattern of the rows in the clear
// has nobody or enough, without each holder's own rows as well; what the plan says of it; and where
// the study is refused before anybody reads data.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "methods/mle/study/pattern_cells.h"
#include "methods/mle/study/protocol.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "run/party/study_engine.h"
#include "tests/methods/mle/design_study.h"
#include "tests/net/parties.h"
#include "tests/paths.h"

namespace partita::methods::mle::pattern_cells_study_test {
namespace {

using ::testing::AllOf;
using testing::Design;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeRows;
using ::testing::Not;
using testing::Row;
using testing::Split;
using testing::Splits;
using testing::StudyText;

const Split kRows = Splits()[0];

Design CheckedCells() {
  Design design;
  design.rule = "accept = \"checked cells\"\n";
  design.analyses = {"model = \"y ~ sex.m + region.b + region.c\"\n"};
  return design;
}

Design Sealed(Design design) {
  design.protocol = "sealed";
  design.release = "[\"estimates\", \"standard-errors\"]";
  return design;
}

MleStudy Prepare(const Design& design, const Split& split = kRows) {
  return PrepareMleStudy(
      ParseStudyFile(StudyText(split, design, "dealer", MakeRows(100, 1, false)), "study.toml"));
}

std::string Refusal(const Design& design, const Split& split = kRows) {
  try {
    Prepare(design, split);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.message();
  }
  return "";
}

// Whether every pattern that `pattern` gives has no row or min_cell: of all, and of each block.
// There are two holders, so that a block is what the other one is left with.
bool PlainPasses(const std::vector<Row>& rows, size_t min_cell,
                 const std::function<std::string(const Row&)>& pattern) {
  std::map<std::string, size_t> cells;
  for (const Row& row : rows) {
    ++cells[pattern(row)];
    ++cells[fmt::format("{} of {}", pattern(row), row.block)];
  }
  return std::all_of(cells.begin(), cells.end(),
                     [&](const auto& cell) { return cell.second >= min_cell; });
}

std::string SexAndRegion(const Row& row) { return fmt::format("{} {}", row.sex, row.region); }

void ExpectEnds(const std::vector<run::PartyEnd>& ends, bool passes) {
  for (const run::PartyEnd& end : ends) {
    if (passes) {
      ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
      continue;
    }
    ASSERT_TRUE(end.error) << end.party;
    if (end.party == "dealer") continue;
    EXPECT_EQ(end.error->code(), ErrorCode::kRefused) << end.party;
    EXPECT_THAT(end.error->message(), AllOf(HasSubstr("nothing was released"),
                                            HasSubstr("which combination it is nobody learns")));
  }
  if (passes) testing::ExpectPlanned(ends);
}

// Both answers, on tables where chance decides.
TEST(PatternCellsStudy, ReleasesWhatPassesInPlainCode) {
  std::set<bool> seen;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Row> rows = MakeRows(90, seed, false);
    const bool passes = PlainPasses(rows, 5, SexAndRegion);
    seen.insert(passes);
    ExpectEnds(testing::RunEnds(kRows, CheckedCells(), "dealer", rows), passes);
  }
  EXPECT_EQ(seen.size(), 2u);
}

// Thirty rows of every pattern at one holder; the other has two of one.
std::vector<Row> RowsOfOneHolder() {
  std::vector<Row> rows;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int sex = 0; sex < 2; ++sex) {
    for (int region = 0; region < 3; ++region) {
      for (int i = 0; i < 36; ++i) {
        Row row;
        row.sex = sex;
        row.region = region;
        row.y = normal(random) + sex;
        row.block = i < 30 ? 0 : 1;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

TEST(PatternCellsStudy, SealedEstimatesAreReleasedOrStoppedByTheCellsOfTheOthers) {
  std::vector<Row> rows = RowsOfOneHolder();
  for (const std::string engine : {"dealer", "ot"}) {
    SCOPED_TRACE(engine);
    ExpectEnds(testing::RunEnds(kRows, CheckedCells(), engine, rows), true);
  }
  ExpectEnds(testing::RunEnds(kRows, Sealed(CheckedCells()), "dealer", rows), true);
  // 34 rows together, of which the other holder has four.
  rows.erase(rows.end() - 2, rows.end());
  ExpectEnds(testing::RunEnds(kRows, Sealed(CheckedCells()), "dealer", rows), false);
}

// Rows that take no part are in no cell: those outside the subset, and incomplete ones.
TEST(PatternCellsStudy, CountsTheRowsThatTakePart) {
  std::vector<Row> rows = RowsOfOneHolder();
  for (Row& row : rows) row.age = 50;
  Design design = CheckedCells();
  design.population = "subset = [{variable = \"age\", at_least = 18}]\n";
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  ExpectEnds(testing::RunEnds(kRows, design, "dealer", rows), true);
  for (const bool subset : {true, false}) {
    std::vector<Row> fewer = rows;
    Row& first = fewer[fewer.size() - 1];
    Row& second = fewer[fewer.size() - 2];
    (subset ? first.age : first.y) = subset ? 17 : testing::kMissing;
    (subset ? second.age : second.y) = subset ? 17 : testing::kMissing;
    ExpectEnds(testing::RunEnds(kRows, design, "dealer", fewer), false);
  }
}

// Whole numbers by their bounds, a cut by its intervals, outcomes of robust standard errors and
// the group; variables of all analyses together.
TEST(PatternCellsStudy, CellsAreThoseOfTheDictionary) {
  const auto cells = [](const std::vector<std::string>& analyses) {
    Design design = CheckedCells();
    design.analyses = analyses;
    return Prepare(design).pattern_table->num_cells;
  };
  EXPECT_EQ(cells({"model = \"y ~ sex.m + region.b + region.c\"\n"}), 6u);
  EXPECT_EQ(cells({"model = \"y ~ region.b\"\n"}), 3u);
  EXPECT_EQ(cells({"model = \"y ~ w + age\"\n"}), 4u * 121);
  EXPECT_EQ(cells({"model = \"y ~ w\"\ngroup = \"region\"\n"}), 4u * 3);
  EXPECT_EQ(
      cells({"name = \"a\"\nmodel = \"y ~ w\"\n", "name = \"b\"\nmodel = \"x1 ~ w + sex.m\"\n"}),
      4u * 2);
  // A mediator explains, and so it is a covariate.
  EXPECT_EQ(cells({"model = \"\"\"\nw ~ sex.m\ny ~ w + sex.m\n\"\"\"\n"}), 4u * 2);
  const std::string cut =
      "[[derived]]\nname = \"old\"\nfrom = \"age\"\ntransform = \"cut\"\npoints = [40, 60]\n"
      "labels = [\"young\", \"middle\", \"old\"]\n";
  EXPECT_EQ(cells({"model = \"y ~ old.old + sex.m\"\n" + cut}), 3u * 2);
  EXPECT_EQ(cells({"model = \"y ~ old.old + age\"\n" + cut}), 121u);
  Design robust = CheckedCells();
  robust.release = "[\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]";
  robust.analyses = {"model = \"w ~ sex.m\"\nrobust = true\n"};
  EXPECT_EQ(Prepare(robust).pattern_table->num_cells, 2u * 4);
  robust.analyses = {"model = \"y ~ sex.m\"\nrobust = true\n"};
  EXPECT_THAT(Refusal(robust), HasSubstr("'y' may be any number"));
}

// Whole numbers and cuts find the cell of a row: one pattern of few among many.
TEST(PatternCellsStudy, RowsAreCountedInTheirCells) {
  data::Table table;
  table.num_rows = 4;
  table.columns.resize(2);
  table.columns[0].schema.name = "f";
  table.columns[0].schema.levels = {"a", "b", "c"};
  table.columns[0].codes = {0, 2, 2, 1};
  table.columns[1].schema.name = "i";
  table.columns[1].numbers = {-1, 0, 0, -1};
  const PatternTable patterns{{{"f", 0, 3}, {"i", -1, 2}}, 6};
  EXPECT_EQ(CountPatternCells(patterns, table, {1, 1, 1, 1}),
            (std::vector<uint64_t>{1, 0, 1, 0, 0, 2}));
  EXPECT_EQ(CountPatternCells(patterns, table, {0, 1, 0, 1}),
            (std::vector<uint64_t>{0, 0, 1, 0, 0, 1}));
}

TEST(PatternCellsStudy, ThePlanSaysWhatIsChecked) {
  const study::Plan plan = run::BuildPlan(Prepare(CheckedCells()));
  const std::string text = study::RenderPlanText(plan, {});
  EXPECT_THAT(text, HasSubstr("released by way (a)"));
  EXPECT_THAT(text, HasSubstr("B = "));
  const auto phase = [&](const std::string& name) {
    return std::find_if(plan.phases.begin(), plan.phases.end(),
                        [&](const study::PlanPhase& p) { return p.name == name; });
  };
  ASSERT_NE(phase(kPatternCellsPhase), plan.phases.end());
  EXPECT_LT(phase(kPatternCellsPhase), phase("release"));
  // 18 cells of both tables and each one's; undeclared rows, 2^21 + 1 at most: 23 bits.
  EXPECT_EQ(phase(kPatternCellsPhase)->rounds, (1u + 5) + 1 + (1 + 3) + 1);
  ASSERT_FALSE(plan.checks.empty());
  EXPECT_EQ(plan.checks.back().variable, "pattern cells");
  EXPECT_EQ(plan.checks.back().minimum, 5u);
  const study::PlanBits& bits = plan.exposures.front().bits.value();
  EXPECT_FALSE(bits.passes);
  EXPECT_THAT(bits.meaning, AllOf(HasSubstr("6 pattern cells"), HasSubstr("one bit opens")));
  // Without: neither the phase nor the words.
  Design other = CheckedCells();
  other.rule = "accept = \"table of covariates\"\n";
  const study::Plan without = run::BuildPlan(Prepare(other));
  EXPECT_THAT(study::RenderPlanText(without, {}), Not(HasSubstr("pattern cells")));
}

TEST(PatternCellsStudy, IsRefusedByNameWhereItDoesNotApply) {
  EXPECT_THAT(Refusal(CheckedCells()), IsEmpty());
  for (const size_t split : {1, 2})
    EXPECT_THAT(Refusal(CheckedCells(), Splits()[split]), HasSubstr("columns are split"));
  const auto with = [](auto change) {
    Design design = CheckedCells();
    change(design);
    return Refusal(design);
  };
  EXPECT_THAT(with([](Design& d) { d.analyses = {"model = \"y ~ sex.m + x1\"\n"}; }),
              HasSubstr("'x1' may be any number"));
  EXPECT_THAT(with([](Design& d) {
                d.design = "site = \"ignore\"\nmissing = \"fiml\"\npatterns = [[], [\"y\"]]\n";
              }),
              HasSubstr("complete rows"));
  EXPECT_THAT(with([](Design& d) {
                d.design =
                    "site = \"ignore\"\nmissing = \"refuse\"\nweights = \"w\"\n"
                    "weights_type = \"frequency\"\n";
              }),
              HasSubstr("weights"));
  EXPECT_THAT(with([](Design& d) {
                d.design = "site = \"fixed\"\nmissing = \"refuse\"\n";
                d.analyses.front() += "meanstructure = false\n";
              }),
              HasSubstr("site = \"fixed\""));
  EXPECT_THAT(with([](Design& d) {
                d.analyses = {"name = \"a\"\nmodel = \"y ~ sex.m\"\n",
                              "name = \"b\"\nmodel = \"y ~ sex.m\"\n"
                              "subset = [{variable = \"age\", at_least = 18}]\n"};
              }),
              HasSubstr("'b' has a subset of its own"));
  EXPECT_THAT(with([](Design& d) { d.disclosure = "min_cell = 2\n"; }),
              HasSubstr("a min_cell of 3 or more; it is 2"));
  EXPECT_THAT(
      with([](Design& d) { d.analyses = {"model = \"y ~ age + w + sex.m + region.b + x2\"\n"}; }),
      HasSubstr("'x2'"));
}

// 121 ages, 4 weights, 2 sexes and 3 regions are 2904 combinations; with 5 regions 4840.
TEST(PatternCellsStudy, TakesSoManyCellsAndNoMore) {
  Design design = CheckedCells();
  design.analyses = {"model = \"y ~ age + w + sex.m + region.b\"\n"};
  std::string text = StudyText(kRows, design, "dealer", MakeRows(100, 1, false));
  EXPECT_EQ(PrepareMleStudy(ParseStudyFile(text, "s")).pattern_table->num_cells, 2904u);
  const std::string levels = "[\"a\", \"b\", \"c\"]";
  text.replace(text.find(levels), levels.size(), "[\"a\", \"b\", \"c\", \"d\", \"e\"]");
  try {
    PrepareMleStudy(ParseStudyFile(text, "s"));
    ADD_FAILURE() << "4840 cells were taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("4096 cells at most"));
  }
}

// Every other kind of study.
TEST(PatternCellsStudy, IsForExactResultsOfModelsOnly) {
  size_t refused = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourcePath("examples"))) {
    if (entry.path().filename() != "study.toml") continue;
    SCOPED_TRACE(entry.path().string());
    std::string text = LoadStudyFile(entry.path().string()).text;
    const auto whole = PrepareStudy(ParseStudyFile(text, "study.toml"));
    if (whole->Method().name == "mle" && !whole->IsPrivate()) continue;
    text.insert(text.find("[engine]"), "[release]\naccept = \"checked cells\"\n");
    try {
      PrepareStudy(ParseStudyFile(text, "study.toml"));
      ADD_FAILURE() << "was taken";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("checked cells"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 2u);
}

struct Ended {
  std::vector<std::optional<Error>> errors;
  std::vector<std::vector<mpc::CountingReleaseGate::Count>> openings;  // by process
};

// With a minimum that approvals raised.
Ended RunWith(const std::vector<Row>& rows, uint64_t min_cell) {
  const std::string folder = partita::testing::MakeTemporaryFolder("cells");
  const Design design = CheckedCells();
  const MleStudy study =
      PrepareMleStudy(ParseStudyFile(StudyText(kRows, design, "dealer", rows), "study.toml"));
  testing::WriteTables(kRows, rows, folder);
  study::DisclosureSpec disclosure = study.file.disclosure;
  disclosure.min_cell = min_cell;
  Ended run;
  run.openings.resize(study.parties.size());
  run.errors =
      net::RunChannels(net::MemoryParties(study.parties.size()), [&](net::Channel& channel) {
        mpc::CountingReleaseGate gate;
        gate.Reserve(study.releases);
        SilentProgress progress;
        crypto::SystemRandom random;
        const study::Party& party = study.parties[channel.self()];
        const run::LocalData local =
            party.holder ? run::LoadLocalData(study, channel.self(),
                                              folder + "/" + party.name + "/data.csv", {}, progress)
                         : run::NoLocalData(study);
        const auto engine = run::MakeStudyEngine(study, channel, gate);
        run::RunInput input{local.method.get(), disclosure, &random};
        input.channel = &channel;
        try {
          study.Run(*engine, input, progress);
        } catch (const Error& error) {
          run.openings[channel.self()] = gate.counts();
          channel.Abort(error);
          throw;
        }
        run.openings[channel.self()] = gate.counts();
      });
  std::filesystem::remove_all(folder);
  return run;
}

// Six rows of every pattern at the second holder: enough for 6, too few for 7. What was opened then
// are the answers of the checks, and nothing else.
TEST(PatternCellsStudy, HoldsToTheStrictestStewardAndOpensNothingElse) {
  const std::vector<Row> rows = RowsOfOneHolder();
  const Ended passed = RunWith(rows, 6);
  EXPECT_EQ(net::Describe(passed.errors), "");
  const Ended stopped = RunWith(rows, 7);
  for (size_t party = 0; party < 2; ++party) {
    ASSERT_TRUE(stopped.errors[party]);
    EXPECT_THAT(stopped.errors[party]->message(), HasSubstr("no row or at least 7"));
    for (const mpc::CountingReleaseGate::Count& count : stopped.openings[party]) {
      const bool answer =
          count.release.id == kDisclosureRelease || count.release.id == kPatternCellsRelease;
      EXPECT_EQ(count.opened, answer ? 1u : 0u) << count.release.id;
    }
  }
}

}  // namespace
}  // namespace partita::methods::mle::pattern_cells_study_test
