// Faults in studies of rows of which nobody knows which match.
#include "tests/run/fault_scenarios.h"
#include "tests/run/matching/hidden_lists.h"

namespace partita::testing {
namespace {

using namespace run::hidden_lists;  // NOLINT(google-build-using-namespace)

FaultScenario OfHiddenRows(const std::string& method, const std::string& engine,
                           const std::string& analysis) {
  return {method, engine, [=] {
            MatchingGroup group(MatchingText(kExact));
            const std::vector<Row> people = People(0);
            for (size_t holder = 0; holder < 3; ++holder)
              group.Write(holder, TableOf(people, Lists(), holder, false));
            const OfAll<run::MatchedRows> matched = group.RunAndSave();
            const std::filesystem::path folder = MakeTemporaryFolder("faults");
            for (size_t holder = 0; holder < 3; ++holder) {
              const std::filesystem::path table = folder / kHolders[holder] / "data.csv";
              std::filesystem::create_directory(table.parent_path());
              std::filesystem::copy_file(group.Table(holder), table);
              run::SaveMatchedRows(matched[holder], run::MatchedRowsPath(table, "cohort"));
            }
            const std::string rows = Hidden(matched[0].record, matched[0].rows.size(), "exact");
            FaultStudy study =
                MakeFaultStudy(method + ", " + engine,
                               StudyText(rows, {.analysis = analysis, .engine = engine}), folder);
            study.own_folders = true;
            return study;
          }};
}

}  // namespace

std::vector<FaultScenario> HiddenFaults() {
  const std::string mle =
      "method = \"mle\"\nprotocol = \"pooled-moments\"\nfunction = \"sem\"\nmodel = \"y ~ x + "
      "z\"\n";
  std::vector<FaultScenario> all;
  for (const std::string engine : {"dealer", "shamir"}) {
    all.push_back(
        OfHiddenRows("hidden moments", engine, mle + "release = [\"estimates\", \"moments\"]\n"));
    all.push_back(OfHiddenRows("hidden robust", engine,
                               mle + "robust = true\nrelease = [\"moments\", \"robust\"]\n"));
    all.push_back(OfHiddenRows("hidden glm", engine,
                               "method = \"glm\"\nprotocol = \"sealed\"\nfamily = \"binomial\"\n"
                               "formula = \"sex ~ x + y\"\nrelease = [\"estimates\"]\n"));
  }
  return all;
}

}  // namespace partita::testing
