// Studies that ask for checked cells: released exactly where every pattern of the rows in the clear
// has nobody or enough, without each holder's own rows as well, and where columns are split no own
// pattern tells another's column; what the plan says of it; and where the study is refused before
// anybody reads data.
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
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeRows;
using ::testing::Not;
using testing::Row;
using testing::Split;
using testing::Splits;
using testing::StudyText;

const Split kRows = Splits()[0], kColumns = Splits()[1], kBoth = Splits()[2];

Design CheckedCells() {
  Design design;
  design.rule = "accept = \"checked cells\"\n";
  design.analyses = {"model = \"y ~ sex.m + region.b + region.c\"\n"};
  return design;
}

// With a discrete outcome, of four values: 24 cells with the covariates.
Design Discrete() {
  Design design = CheckedCells();
  design.analyses = {"model = \"w ~ sex.m + region.b + region.c\"\n"};
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

// Columns split: the holders, by the block that they lack (-1: none) and the variables of the table
// that they have.
struct ColumnHolder {
  int lacks = -1;
  std::vector<std::string> columns;
};
const std::vector<ColumnHolder> kColumnHolders = {{-1, {}}, {-1, {"sex", "w"}}, {-1, {"region"}}};
const std::vector<ColumnHolder> kBothHolders = {
    {1, {"sex", "region", "w"}}, {0, {"sex", "region"}}, {0, {"w"}}};

std::string PatternOf(const Row& row, const std::vector<std::string>& columns) {
  std::string pattern;
  for (const std::string& column : columns) pattern += testing::Cell(row, column) + " ";
  return pattern;
}

bool SplitPasses(const std::vector<Row>& rows, size_t min_cell,
                 const std::vector<ColumnHolder>& holders) {
  const std::vector<std::string> variables = {"sex", "region", "w"};
  std::map<std::string, size_t> counts;
  std::map<std::string, std::set<std::string>> values;
  for (const Row& row : rows) {
    ++counts["all " + PatternOf(row, variables)];
    for (size_t h = 0; h < holders.size(); ++h) {
      const std::string own = fmt::format("{} {}", h, PatternOf(row, holders[h].columns));
      if (row.block == holders[h].lacks) ++counts[own];
      for (const std::string& variable : variables) {
        if (std::count(holders[h].columns.begin(), holders[h].columns.end(), variable) == 0)
          values[own + variable].insert(PatternOf(row, {variable}));
      }
    }
  }
  return std::all_of(counts.begin(), counts.end(),
                     [&](const auto& count) { return count.second >= min_cell; }) &&
         std::all_of(values.begin(), values.end(),
                     [](const auto& taken) { return taken.second.size() > 1; });
}

TEST(PatternCellsStudy, ReleasesWhatPassesInPlainCodeWhereColumnsAreSplit) {
  const auto expect = [](const Split& split, const std::vector<ColumnHolder>& holders,
                         const std::string& engine, size_t num_rows, uint64_t seeds) {
    SCOPED_TRACE(split.name + " " + engine);
    std::set<bool> seen;
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      SCOPED_TRACE(seed);
      const std::vector<Row> rows = MakeRows(num_rows, seed, false);
      const bool passes = SplitPasses(rows, 5, holders);
      seen.insert(passes);
      ExpectEnds(testing::RunEnds(split, Discrete(), engine, rows), passes);
    }
    EXPECT_EQ(seen.size(), 2u);
  };
  expect(kColumns, kColumnHolders, "dealer", 230, 8);
  expect(kColumns, kColumnHolders, "replicated", 230, 8);
  expect(kBoth, kBothHolders, "dealer", 460, 6);
  expect(kBoth, kBothHolders, "shamir", 460, 6);
}

// As many in each of the 24 cells of Discrete.
std::vector<Row> RowsOfAllCells(size_t num_each) {
  std::vector<Row> rows = MakeRows(24 * num_each, 1, false);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int cell = static_cast<int>(i % 24);
    rows[i].sex = cell % 2;
    rows[i].region = cell / 2 % 3;
    rows[i].weight = cell / 6;
  }
  return rows;
}

// Two holders, also sealed. If all of one region are men, whoever has the regions knows who they
// are, though no cell has few rows.
TEST(PatternCellsStudy, NoPatternOfOnesColumnsTellsAnothers) {
  const Split two{"two",
                  {{"p", {"y", "x1", "x2", "age", "region"}}, {"q", {"sex", "w"}}},
                  {{"p", {0, 1}}, {"q", {0, 1}}}};
  const auto expect = [&](const std::vector<Row>& rows, bool passes) {
    for (const std::string engine : {"dealer", "ot"}) {
      SCOPED_TRACE(engine);
      ExpectEnds(testing::RunEnds(two, Discrete(), engine, rows), passes);
    }
    ExpectEnds(testing::RunEnds(two, Sealed(Discrete()), "dealer", rows), passes);
  };
  std::vector<Row> rows = RowsOfAllCells(6);
  expect(rows, true);
  for (Row& row : rows) row.sex = row.region == 2 ? 1 : row.sex;
  expect(rows, false);
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

// Whole numbers and factors find the pattern of a row, of the parts that the holder has: one of few
// among many. A row that takes no part is not there.
TEST(PatternCellsStudy, RowsHaveThePatternsOfTheirHoldersColumns) {
  data::Table table;
  table.num_rows = 4;
  table.columns.resize(2);
  table.columns[0].schema.name = "f";
  table.columns[0].schema.levels = {"a", "b", "c"};
  table.columns[0].codes = {0, 2, 2, 1};
  table.columns[1].schema.name = "i";
  table.columns[1].numbers = {-1, 0, 0, -1};
  data::Holding holding;
  holding.table = std::make_shared<const data::Table>(table);
  holding.blocks = {{0, 0, 1, false}, {1, 1, 3, false}};
  MleStudy study = Prepare(CheckedCells());
  study.pattern_table = PatternTable{{{"f", 0, 3}, {"x", 0, 5}, {"i", -1, 2}}, 30};
  study.partition.holders[0].columns = {"i", "f"};
  EXPECT_EQ(OwnPatternsOf(study, holding, {1, 1, 1, 1}), (OwnPatterns{{0}, {5, 5, 2}}));
  EXPECT_EQ(OwnPatternsOf(study, holding, {0, 1, 0, 1}), (OwnPatterns{{}, {5, 2}}));
  study.partition.holders[0].columns = {"i"};
  EXPECT_EQ(OwnPatternsOf(study, holding, {1, 1, 1, 1}), (OwnPatterns{{0}, {1, 1, 0}}));
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

TEST(PatternCellsStudy, ThePlanSaysWhatIsCheckedWhereColumnsAreSplit) {
  const auto texts = [](const Split& split) {
    const study::Plan plan = run::BuildPlan(Prepare(Discrete(), split));
    std::vector<std::string> found = {plan.checks.back().rule,
                                      plan.exposures.front().bits.value().meaning};
    for (const study::PlanRelease& release : plan.releases) {
      if (release.id == kPatternCellsRelease) found.push_back(release.what);
    }
    EXPECT_EQ(found.size(), 3u);
    EXPECT_THAT(study::RenderPlanText(plan, {}), HasSubstr("knows who has each of their patterns"));
    return found;
  };
  const std::string own_rows = "also without each holder's own rows",
                    two_values = "every column that it lacks has two values at least";
  EXPECT_THAT(texts(kColumns), Each(AllOf(HasSubstr(two_values), Not(HasSubstr(own_rows)))));
  EXPECT_THAT(texts(kBoth), Each(AllOf(HasSubstr(two_values), HasSubstr(own_rows))));
  // 24 cells; p knows nothing but who takes part: 2 + 3 + 4 values; q 8 x 3, r 3 x (2 + 4). The
  // first rounds are the product.
  const study::Plan plan = run::BuildPlan(Prepare(Discrete(), kColumns));
  const auto phase =
      std::find_if(plan.phases.begin(), plan.phases.end(),
                   [&](const study::PlanPhase& p) { return p.name == kPatternCellsPhase; });
  ASSERT_NE(phase, plan.phases.end());
  EXPECT_EQ(phase->rounds, 1u + (1 + 3) + 1 + (1 + 3) + 1);
}

TEST(PatternCellsStudy, IsRefusedByNameWhereItDoesNotApply) {
  EXPECT_THAT(Refusal(CheckedCells()), IsEmpty());
  // Whoever has the outcome knows it row by row.
  for (const Split& split : {kColumns, kBoth}) {
    EXPECT_THAT(Refusal(CheckedCells(), split),
                HasSubstr("outcomes included where columns are split, and 'y' may be any number"));
    EXPECT_THAT(Refusal(Discrete(), split), IsEmpty());
    Design subset = Discrete();
    subset.analyses.front() += "subset = [{variable = \"age\", at_least = 18}]\n";
    EXPECT_THAT(Refusal(subset, split), HasSubstr("a subset tells"));
    Design population = Discrete();
    population.population = "subset = [{variable = \"age\", at_least = 18}]\n";
    EXPECT_THAT(Refusal(population, split), HasSubstr("a subset tells"));
    Design complete = Discrete();
    complete.design = "site = \"ignore\"\nmissing = \"complete\"\n";
    EXPECT_THAT(Refusal(complete, split), HasSubstr("missing = \"complete\" tells"));
  }
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
Ended RunWith(const Split& split, const Design& design, const std::vector<Row>& rows,
              uint64_t min_cell) {
  const std::string folder = partita::testing::MakeTemporaryFolder("cells");
  const MleStudy study =
      PrepareMleStudy(ParseStudyFile(StudyText(split, design, "dealer", rows), "study.toml"));
  testing::WriteTables(split, rows, folder);
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

// Enough for `least`, too few for one more. What was opened then are the answers of the checks, and
// nothing else.
void ExpectHeldToTheStrictest(const Split& split, const Design& design,
                              const std::vector<Row>& rows, uint64_t least) {
  SCOPED_TRACE(split.name);
  const Ended passed = RunWith(split, design, rows, least);
  EXPECT_EQ(net::Describe(passed.errors), "");
  const Ended stopped = RunWith(split, design, rows, least + 1);
  for (size_t party = 0; party < split.columns.size(); ++party) {
    ASSERT_TRUE(stopped.errors[party]);
    EXPECT_THAT(stopped.errors[party]->message(),
                HasSubstr(fmt::format("no row or at least {}", least + 1)));
    for (const mpc::CountingReleaseGate::Count& count : stopped.openings[party]) {
      const bool answer =
          count.release.id == kDisclosureRelease || count.release.id == kPatternCellsRelease;
      EXPECT_EQ(count.opened, answer ? 1u : 0u) << count.release.id;
    }
  }
}

TEST(PatternCellsStudy, HoldsToTheStrictestStewardAndOpensNothingElse) {
  // Six rows of every pattern at the second holder.
  ExpectHeldToTheStrictest(kRows, CheckedCells(), RowsOfOneHolder(), 6);
  ExpectHeldToTheStrictest(kColumns, Discrete(), RowsOfAllCells(10), 10);
}

}  // namespace
}  // namespace partita::methods::mle::pattern_cells_study_test
