// Made-up rows, the ways to split them, and runs of a study over them: for tests of what a design
// does to a result.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "run/simulate/simulate.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"

namespace partita::methods::mle::testing {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct Row {
  double y = 0, x1 = 0, x2 = 0, age = 0;
  int sex = 0, region = 0, weight = 1;  // sex: f, m; region: a, b, c
  int block = 0;
};

inline std::vector<Row> MakeRows(size_t n, uint64_t seed, bool missing) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Row> rows(n);
  for (size_t i = 0; i < n; ++i) {
    Row& row = rows[i];
    row.block = i < n / 2 ? 0 : 1;
    row.sex = static_cast<int>(random() % 2);
    row.region = static_cast<int>(random() % 3);
    row.weight = static_cast<int>(random() % 4);
    row.age = 18 + static_cast<double>(random() % 60);
    row.x1 = normal(random) + 0.3 * row.sex;
    row.x2 = 0.5 * row.x1 + normal(random) + 0.8 * row.block;
    row.y = 1 + 0.7 * row.x1 - 0.4 * row.x2 + 0.5 * (row.region == 1) + normal(random) +
            2.0 * row.block;
    if (!missing) continue;
    if (uniform(random) < 0.1) row.y = kMissing;
    if (uniform(random) < 0.1) row.x1 = kMissing;
    if (uniform(random) < 0.05) row.age = kMissing;
  }
  return rows;
}

inline const std::vector<std::string> kVariables = {"y", "x1", "x2", "age", "sex", "region", "w"};

inline std::string Cell(const Row& row, const std::string& name) {
  const auto number = [](double x) { return std::isnan(x) ? std::string() : fmt::format("{}", x); };
  if (name == "y") return number(row.y);
  if (name == "x1") return number(row.x1);
  if (name == "x2") return number(row.x2);
  if (name == "age") return number(row.age);
  if (name == "sex") return row.sex == 0 ? "f" : "m";
  if (name == "region") return std::string(1, static_cast<char>('a' + row.region));
  return fmt::format("{}", row.weight);
}

// Holder of every variable (columns split) by row block; a block with one name in `whole` is held
// by that holder alone.
struct Split {
  std::string name;
  std::map<std::string, std::vector<std::string>> columns;  // by party
  std::map<std::string, std::vector<int>> blocks;           // by party
  bool shared = true;
};

inline std::vector<Split> Splits() {
  return {
      {"horizontal", {{"p", kVariables}, {"q", kVariables}}, {{"p", {0}}, {"q", {1}}}, false},
      {"vertical",
       {{"p", {"y", "age"}}, {"q", {"x1", "sex", "w"}}, {"r", {"x2", "region"}}},
       {{"p", {0, 1}}, {"q", {0, 1}}, {"r", {0, 1}}}},
      {"complex",
       {{"p", kVariables}, {"q", {"y", "sex", "region"}}, {"r", {"x1", "x2", "age", "w"}}},
       {{"p", {0}}, {"q", {1}}, {"r", {1}}}},
  };
}

struct Design {
  std::string population, design = "site = \"ignore\"\nmissing = \"refuse\"\n";
  std::string release = "[\"moments\"]", protocol = "pooled-moments", function = "sem";
  std::string disclosure;
  // [release]; by default sealed fits are compared with all their digits.
  std::string rule = "grid = \"full\"\naccept = \"table of covariates\"\n";
  std::map<std::string, double> upper;  // bounds of y, x1, x2 that are not 20
  std::vector<std::string> analyses;    // TOML of each [[analysis]] without the common keys
};

inline std::string Quoted(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "\"" : ", \"") + name + "\"";
  return "[" + list + "]";
}

inline std::string StudyText(const Split& split, const Design& design, const std::string& engine,
                             const std::vector<Row>& rows) {
  std::string toml = "partita = 1\nname = \"design\"\n";
  if (!design.population.empty()) toml += "[population]\n" + design.population;
  for (const auto& [party, columns] : split.columns) {
    std::vector<std::string> blocks;
    for (int b : split.blocks.at(party)) blocks.push_back(fmt::format("b{}", b));
    toml += fmt::format(
        "[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = {}\n"
        "rows = {}\n",
        party, party == "p" ? ", \"receiver\"" : "", Quoted(columns), Quoted(blocks));
  }
  if (engine == "dealer") toml += "[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  for (int b = 0; b < 2; ++b) {
    toml += fmt::format("[[rows]]\nname = \"b{}\"\n", b);
    const auto count =
        std::count_if(rows.begin(), rows.end(), [b](const Row& row) { return row.block == b; });
    if (split.shared) toml += fmt::format("count = {}\n", count);
  }
  toml += "[table]\n";
  if (split.shared) toml += "key = \"id\"\nblock = \"block\"\n";
  for (const std::string name : {"y", "x1", "x2"})
    toml +=
        fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -20\nupper = {}\n",
                    name, design.upper.count(name) > 0 ? design.upper.at(name) : 20);
  toml += "[[variable]]\nname = \"age\"\ntype = \"integer\"\nlower = 0\nupper = 120\n";
  toml += "[[variable]]\nname = \"w\"\ntype = \"integer\"\nlower = 0\nupper = 3\n";
  toml += "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n";
  toml += "[[variable]]\nname = \"region\"\ntype = \"factor\"\nlevels = [\"a\", \"b\", \"c\"]\n";
  toml += fmt::format("[design]\n{}[engine]\nname = \"{}\"\n", design.design, engine);
  if (!design.disclosure.empty()) toml += "[disclosure]\n" + design.disclosure;
  toml += "[release]\n" + design.rule;
  for (const std::string& analysis : design.analyses) {
    toml += fmt::format(
        "[[analysis]]\nmethod = \"mle\"\nprotocol = \"{}\"\n"
        "release = {}\nfunction = \"{}\"\n{}",
        design.protocol, design.release, design.function, analysis);
  }
  return toml;
}

inline void WriteTables(const Split& split, const std::vector<Row>& rows,
                        const std::string& folder) {
  for (const auto& [party, columns] : split.columns) {
    std::filesystem::create_directories(folder + "/" + party);
    std::ofstream csv(folder + "/" + party + "/data.csv");
    csv << "id,block";
    for (const std::string& column : columns) csv << "," << column;
    csv << "\n";
    const std::vector<int>& blocks = split.blocks.at(party);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (std::find(blocks.begin(), blocks.end(), rows[i].block) == blocks.end()) continue;
      csv << "k" << i << ",b" << rows[i].block;
      for (const std::string& column : columns) csv << "," << Cell(rows[i], column);
      csv << "\n";
    }
  }
}

inline std::vector<run::PartyEnd> RunStudyFile(const std::string& study_file) {
  const MleStudy study = PrepareMleStudy(LoadStudyFile(study_file));
  std::vector<std::filesystem::path> data;
  for (const study::Party& party : study.parties)
    data.push_back(run::DefaultDataPath(study_file, party.name));
  SilentProgress progress;
  return run::SimulateInProcess(study, data, {}, progress);
}

inline void ExpectPlanned(const std::vector<run::PartyEnd>& ends) {
  const study::Plan& plan = ends[0].outcome->plan;
  uint64_t planned = 0, counted = 0;
  for (const study::PlanPhase& phase : plan.phases) {
    for (const study::PlanLink& link : phase.links) planned += link.bytes;
  }
  for (const run::PartyEnd& end : ends) {
    for (const net::PhaseTraffic& traffic : end.outcome->traffic) {
      for (const net::LinkTraffic& link : traffic.links) counted += link.bytes_sent;
    }
  }
  EXPECT_EQ(planned, counted);
}

inline std::vector<run::PartyEnd> RunEnds(const Split& split, const Design& design,
                                          const std::string& engine, const std::vector<Row>& rows) {
  const std::string folder = partita::testing::MakeTemporaryFolder("design");
  std::ofstream(folder + "/study.toml") << StudyText(split, design, engine, rows);
  WriteTables(split, rows, folder);
  std::vector<run::PartyEnd> ends = RunStudyFile(folder + "/study.toml");
  std::filesystem::remove_all(folder);
  return ends;
}

// Why a study with this design is refused, "accepted" if it is not.
inline std::string RefusalOf(const Design& design, const Split& split) {
  try {
    PrepareMleStudy(
        ParseStudyFile(StudyText(split, design, "dealer", MakeRows(100, 1, false)), "study.toml"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "accepted";
}

inline std::vector<MleResult> RunSplit(const Split& split, const Design& design,
                                       const std::string& engine, const std::vector<Row>& rows) {
  const std::vector<run::PartyEnd> ends = RunEnds(split, design, engine, rows);
  std::vector<MleResult> results;
  for (const run::PartyEnd& end : ends) {
    EXPECT_FALSE(end.error) << end.party << ": " << end.error->message();
    if (results.empty() && end.outcome)
      results = partita::testing::MleResultsOf(*end.outcome);  // the receiver is first
  }
  if (!results.empty()) ExpectPlanned(ends);
  return results;
}

}  // namespace partita::methods::mle::testing
