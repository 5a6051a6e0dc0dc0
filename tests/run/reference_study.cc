#include "tests/run/reference_study.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/paths.h"

namespace partita::testing {
namespace {

using nlohmann::json;

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  size_t Column(const std::string& name) const {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  }
};

std::vector<std::string> SplitLine(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  std::string cell;
  while (std::getline(stream, cell, ',')) cells.push_back(cell);
  if (!line.empty() && line.back() == ',') cells.emplace_back();
  return cells;
}

CsvTable ReadPlainCsv(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  CsvTable table;
  std::string line;
  std::getline(file, line);
  table.header = SplitLine(line);
  while (std::getline(file, line)) table.rows.push_back(SplitLine(line));
  return table;
}

// Public bounds written by hand, at least 1.5 times the observed range; columns not named get the
// data set's default.
struct Bounds {
  double lower, upper;
};
Bounds BoundsOf(const std::string& data, const std::string& column) {
  static const std::map<std::string, Bounds> kDefault = {
      {"holzinger_swineford_1939.csv", {-10, 20}},
      {"political_democracy.csv", {-10, 20}},
      {"demo_growth.csv", {-30, 40}},
      {"hs_mcar20.csv", {-10, 20}},
      {"growth_mar.csv", {-30, 40}},
      {"openmx_my_longitudinal.csv", {-50, 100}},
      {"openmx_demo_one_factor.csv", {-10, 10}},
      {"winequality_red.csv", {-20, 40}},
  };
  static const std::map<std::string, Bounds> kColumn = {
      {"volatile_acidity", {-1, 5}}, {"chlorides", {-1, 2}}, {"sulphates", {-2, 5}},
      {"quality", {-5, 15}},         {"alcohol", {0, 30}},
  };
  const std::string file = std::filesystem::path(data).filename().string();
  auto by_column = kColumn.find(column);
  if (file == "winequality_red.csv" && by_column != kColumn.end()) return by_column->second;
  return kDefault.at(file);
}

struct PartyRows {
  std::string id;
  std::vector<std::string> columns;
  std::vector<bool> holds;  // by row
};

std::vector<PartyRows> ReadParties(const json& partition, const CsvTable& table) {
  std::vector<PartyRows> parties;
  for (const json& party : partition["parties"]) {
    PartyRows rows{party["id"], party["columns"], std::vector<bool>(table.rows.size(), false)};
    std::transform(rows.id.begin(), rows.id.end(), rows.id.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (party.contains("rows_where")) {
      const size_t column = table.Column(party["rows_where"]["column"]);
      for (size_t r = 0; r < table.rows.size(); ++r)
        rows.holds[r] = table.rows[r][column] == party["rows_where"]["equals"];
    } else if (party["rows"] == "all") {
      rows.holds.assign(table.rows.size(), true);
    } else {
      for (const json& range : party["rows"]) {
        for (size_t r = range[0]; r < range[1]; ++r) rows.holds[r] = true;
      }
    }
    parties.push_back(std::move(rows));
  }
  return parties;
}

std::string Quoted(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  return "[" + list + "]";
}

// Of [design]: the patterns of the table's empty cells; with them, [disclosure] lets every count
// pass.
std::string MissingLines(const CsvTable& table, const std::vector<PartyRows>& parties) {
  std::set<std::string> columns;
  for (const PartyRows& party : parties) columns.insert(party.columns.begin(), party.columns.end());
  std::set<std::vector<std::string>> patterns;
  for (const std::vector<std::string>& row : table.rows) {
    std::vector<std::string> missing;
    for (const std::string& column : columns) {
      if (row[table.Column(column)].empty()) missing.push_back(column);
    }
    patterns.insert(std::move(missing));
  }
  if (patterns == std::set<std::vector<std::string>>{{}}) return "missing = \"refuse\"\n";
  std::string list;
  for (const std::vector<std::string>& pattern : patterns)
    list += (list.empty() ? "" : ", ") + Quoted(pattern);
  return "missing = \"fiml\"\npatterns = [" + list + "]\n\n[disclosure]\nmin_cell = 1\n";
}

}  // namespace

std::vector<std::string> CompleteDataReferences() {
  return {"growth_linear6",      "growth_openmx5", "growth_predictors", "hs_cfa3",
          "hs_cfa3_group",       "hs_cfa3_mean",   "hs_cfa3_stdlv",     "onefactor",
          "path_indirect",       "poldem_sem",     "poldem_sem_eq",     "reg_multiple",
          "reg_multiple_fixedx", "reg_simple",     "saturated_hs9"};
}

json LoadReference(const std::string& id) {
  return json::parse(std::ifstream(FixturePath("references/sem/" + id + ".json")));
}

std::string MakeTemporaryFolder(const std::string& name) {
  std::string folder = ::testing::TempDir() + "/partita-" + name + "-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

std::string WriteReferenceStudy(const json& reference, const json& partition,
                                const std::string& folder, const ReferenceStudyOptions& options) {
  const std::string data = reference["data"];
  const CsvTable table = ReadPlainCsv(SourcePath(data));
  const size_t num_rows = table.rows.size();
  std::vector<PartyRows> parties = ReadParties(partition, table);
  if (options.reverse_parties) std::reverse(parties.begin(), parties.end());

  // Row blocks: rows with the same set of holders.
  std::map<std::vector<bool>, size_t> block_of_holders;
  std::vector<size_t> block(num_rows);
  std::vector<size_t> block_count;
  for (size_t r = 0; r < num_rows; ++r) {
    std::vector<bool> holders;
    for (const PartyRows& party : parties) holders.push_back(party.holds[r]);
    auto [it, added] = block_of_holders.try_emplace(holders, block_count.size());
    if (added) block_count.push_back(0);
    block[r] = it->second;
    ++block_count[block[r]];
  }

  // The grouping factor goes to one holder of every block.
  const std::string group =
      reference["group"].is_null() ? "" : reference["group"].get<std::string>();
  std::set<size_t> group_holders;
  if (!group.empty()) {
    for (const auto& [holders, index] : block_of_holders) {
      std::vector<size_t> list;
      for (size_t h = 0; h < holders.size(); ++h) {
        if (holders[h]) list.push_back(h);
      }
      group_holders.insert(options.last_holder_groups ? list.back() : list.front());
    }
    // Complex partitions: a party that holds it anywhere holds it for all its rows, so one holder
    // of everything must do.
    if (partition["type"] == "complex") {
      for (size_t h = 0; h < parties.size(); ++h) {
        if (std::all_of(parties[h].holds.begin(), parties[h].holds.end(),
                        [](bool b) { return b; })) {
          group_holders = {h};
          if (!options.last_holder_groups) break;
        }
      }
    }
  }

  std::string toml = fmt::format("partita = 1\nname = \"reference\"\ntitle = \"{}\"\n",
                                 reference["title"].get<std::string>());
  bool shared_blocks = false;
  bool several_blocks = false;
  for (size_t h = 0; h < parties.size(); ++h) {
    PartyRows& party = parties[h];
    if (group_holders.count(h) != 0) party.columns.push_back(group);
    std::set<size_t> blocks;
    for (size_t r = 0; r < num_rows; ++r) {
      if (party.holds[r]) blocks.insert(block[r]);
    }
    several_blocks |= blocks.size() > 1;
    std::vector<std::string> names;
    for (size_t b : blocks) names.push_back(fmt::format("b{}", b));
    toml +=
        fmt::format("\n[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = {}\nrows = {}\n",
                    party.id, h == 0 ? ", \"receiver\"" : "", Quoted(party.columns), Quoted(names));
  }
  if (options.engine == "dealer") toml += "\n[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  for (const auto& [holders, index] : block_of_holders) {
    const bool shared = std::count(holders.begin(), holders.end(), true) > 1;
    shared_blocks |= shared;
    toml += fmt::format("\n[[rows]]\nname = \"b{}\"\n", index);
    if (shared) toml += fmt::format("count = {}\n", block_count[index]);
  }
  // Fits are compared with all their digits.
  toml += "\n[release]\naccept = \"table of covariates\"\n";
  if (!options.on_grid) toml += "grid = \"full\"\n";
  toml += "\n[design]\nsite = \"ignore\"\n" + MissingLines(table, parties) + "\n[table]\n";
  if (shared_blocks) toml += "key = \"rowid\"\n";
  if (several_blocks) toml += "block = \"segment\"\n";

  std::vector<std::string> variables;
  for (const PartyRows& party : parties) {
    for (const std::string& column : party.columns) {
      if (std::find(variables.begin(), variables.end(), column) == variables.end())
        variables.push_back(column);
    }
  }
  for (const std::string& variable : variables) {
    toml += fmt::format("\n[[variable]]\nname = \"{}\"\n", variable);
    if (variable == group) {
      // Order of appearance, as lavaan.
      std::vector<std::string> levels;
      for (const auto& row : table.rows) {
        const std::string& level = row[table.Column(group)];
        if (std::find(levels.begin(), levels.end(), level) == levels.end()) levels.push_back(level);
      }
      toml += fmt::format("type = \"factor\"\nlevels = {}\n", Quoted(levels));
    } else {
      const Bounds bounds = BoundsOf(data, variable);
      toml += fmt::format("type = \"numeric\"\nlower = {}\nupper = {}\n",
                          bounds.lower * options.unit_factor, bounds.upper * options.unit_factor);
    }
  }
  const json& lavaan = reference["lavaan_options"];
  toml += fmt::format(
      "\n[engine]\nname = \"{}\"\n\n[[analysis]]\nmethod = \"mle\"\nprotocol = \"{}\"\n",
      options.engine, options.protocol);
  if (options.robust) {
    toml +=
        "robust = true\n"
        "release = [\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]\n";
  } else {
    const std::string needed = options.protocol == "likelihood" ? "[\"likelihood\"]"
                               : options.protocol == "sealed"   ? "[\"estimates\"]"
                                                                : "[\"moments\"]";
    toml += fmt::format("release = {}\n", options.release.empty() ? needed : options.release);
  }
  toml += fmt::format("function = \"{}\"\n", reference["lavaan_function"].get<std::string>());
  toml += fmt::format("model = \"\"\"\n{}\n\"\"\"\n", reference["model"].get<std::string>());
  if (!group.empty()) toml += fmt::format("group = \"{}\"\n", group);
  if (lavaan.contains("std.lv")) toml += fmt::format("std_lv = {}\n", lavaan["std.lv"].get<bool>());
  if (lavaan.contains("meanstructure"))
    toml += fmt::format("meanstructure = {}\n", lavaan["meanstructure"].get<bool>());
  if (lavaan.contains("fixed.x"))
    toml += fmt::format("fixed_x = {}\n", lavaan["fixed.x"].get<bool>());

  std::mt19937_64 random(options.shuffle_seed);
  for (const PartyRows& party : parties) {
    std::filesystem::create_directories(folder + "/" + party.id);
    std::ofstream csv(folder + "/" + party.id + "/data.csv");
    csv << "rowid,segment";
    for (const std::string& column : party.columns) csv << "," << column;
    csv << "\n";
    std::vector<size_t> order;
    for (size_t r = 0; r < num_rows; ++r) {
      if (party.holds[r]) order.push_back(r);
    }
    std::shuffle(order.begin(), order.end(), random);
    for (size_t r : order) {
      csv << "row" << r << ",b" << block[r];
      for (const std::string& column : party.columns) {
        const std::string& cell = table.rows[r][table.Column(column)];
        csv << ","
            << (options.unit_factor == 1 || column == group || cell.empty()
                    ? cell
                    : fmt::format("{}", std::stod(cell) * options.unit_factor));
      }
      csv << "\n";
    }
  }
  std::ofstream(folder + "/study.toml") << toml;
  return folder + "/study.toml";
}

}  // namespace partita::testing
