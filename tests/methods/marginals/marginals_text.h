// Studies of method `marginals` over four columns, and their tables.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

namespace partita::methods::marginals::testing {

enum class Split { kColumns, kRows };

inline constexpr const char* kNames[] = {"north", "south", "west", "east", "centre"};

struct Options {
  std::string engine = "dealer";
  Split split = Split::kColumns;
  size_t rows = 300;
  bool declares_rows = true;       // else no block has a count
  size_t parties = 0;              // of rows split, two to five; 0: as few as the engine takes
  std::string missing = "refuse";  // with faulty_rows = "fill"
  std::string population;
  std::string method = "marginals";
  std::string analysis =
      "columns = [{variable = \"income\", bins = 4}, \"visits\", \"sex\", {variable = \"job\", "
      "rare = "
      "[\"x\", \"y\"]}]\nsynthetic_rows = 50\nsynthetic_sets = 2\n";
  std::string privacy = "epsilon = 3\ndelta = 1e-5\nadjacency = \"replace\"\n";
};

inline std::string MarginalsText(const Options& options) {
  const bool columns = options.split == Split::kColumns;
  std::string text = "partita = 1\nname = \"registry\"\n";
  const auto party = [&](const std::string& name, const std::string& held, size_t number) {
    text += fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\n{}", name,
                        number == 0 ? ", \"receiver\"" : "",
                        columns ? fmt::format("columns = [{}]\n", held)
                                : fmt::format("rows = [\"r{}\"]\n", number));
  };
  const bool three = options.engine == "replicated" || options.engine == "shamir";
  const size_t holders = options.parties > 0 ? options.parties : three ? 3 : 2;
  party("north", "\"income\", \"sex\"", 0);
  party("south", three ? "\"visits\"" : "\"visits\", \"job\"", 1);
  for (size_t p = 2; p < holders; ++p) party(kNames[p], "\"job\"", p);
  if (options.engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  const size_t blocks = columns ? 1 : holders;
  for (size_t b = 0; b < blocks; ++b)
    text += fmt::format("[[rows]]\nname = \"{}\"\n{}", columns ? "all" : fmt::format("r{}", b),
                        options.declares_rows ? fmt::format("count = {}\n", options.rows) : "");
  if (columns) text += "[table]\nkey = \"id\"\n";
  return text + fmt::format(
                    "[[variable]]\nname = \"income\"\ntype = \"numeric\"\nlower = 0\nupper = 100\n"
                    "[[variable]]\nname = \"visits\"\ntype = \"integer\"\nlower = 0\nupper = 5\n"
                    "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n"
                    "[[variable]]\nname = \"job\"\ntype = \"factor\"\nlevels = [\"u\", \"v\", "
                    "\"x\", \"y\"]\n"
                    "{}[design]\nsite = \"ignore\"\nmissing = \"{}\"\n{}[engine]\nname = \"{}\"\n"
                    "[[analysis]]\nmethod = \"{}\"\n{}[analysis.privacy]\n{}",
                    options.population, options.missing,
                    options.missing == "refuse" ? "faulty_rows = \"fill\"\n" : "", options.engine,
                    options.method, options.analysis, options.privacy);
}

// One table of all columns; visits follow income, job follows sex.
struct RegistryRow {
  double income = 0;
  int visits = 0;
  bool man = false;
  char job = 'u';
};

inline std::vector<RegistryRow> RegistryRows(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<RegistryRow> rows;
  for (size_t n = 0; n < count; ++n) {
    RegistryRow row;
    row.income = 100 * static_cast<double>(random() >> 11) * 0x1p-53;
    row.visits = static_cast<int>(row.income / 20);
    row.man = random() % 2 == 0;
    row.job = row.man ? 'u' : "vxy"[random() % 3];
    rows.push_back(row);
  }
  return rows;
}

// By party: of columns split the rows with keys, else each party's own rows.
inline std::vector<std::string> RegistryTables(const Options& options, size_t parties = 2) {
  std::vector<std::string> tables;
  if (options.split == Split::kRows) {
    for (size_t p = 0; p < parties; ++p) {
      tables.emplace_back("income,visits,sex,job\n");
      for (const RegistryRow& row : RegistryRows(options.rows, p)) {
        tables.back() +=
            fmt::format("{:.4f},{},{},{}\n", row.income, row.visits, row.man ? "m" : "f", row.job);
      }
    }
    return tables;
  }
  tables = {"id,income,sex\n", parties == 3 ? "id,visits\n" : "id,visits,job\n"};
  if (parties == 3) tables.emplace_back("id,job\n");
  const std::vector<RegistryRow> rows = RegistryRows(options.rows, 0);
  for (size_t n = 0; n < rows.size(); ++n) {
    tables[0] += fmt::format("k{},{:.4f},{}\n", n, rows[n].income, rows[n].man ? "m" : "f");
    tables[1] += fmt::format("k{},{}", n, rows[n].visits);
    tables[1] += parties == 3 ? "\n" : fmt::format(",{}\n", rows[n].job);
    if (parties == 3) tables[2] += fmt::format("k{},{}\n", n, rows[n].job);
  }
  return tables;
}

}  // namespace partita::methods::marginals::testing
