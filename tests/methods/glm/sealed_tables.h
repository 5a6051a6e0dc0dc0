// Made-up patients whose columns lie at two clinics, rows at two, or both: study texts and rows.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "methods/glm/sealed/own_blocks.h"
#include "methods/glm/sealed/plan_layout.h"
#include "methods/glm/study.h"
#include "methods/prepare_study.h"

namespace partita::methods::glm::testing {

// split: "columns" (first has age, smoker, years and score, second the rest), "rows", or "both" (a
// third clinic has whole rows). Engines of three parties have "both", or a receiver without rows.
inline std::string SealedText(const std::string& family, const std::string& formula,
                              const std::string& split, const std::string& engine = "dealer",
                              const std::string& missing = "refuse") {
  const bool columns = split != "rows";
  std::string text = "partita = 1\nname = \"patients\"\n";
  const auto party = [&](const std::string& name, const std::string& roles,
                         const std::string& rest) {
    text += fmt::format("[[party]]\nname = \"{}\"\nroles = [{}]\n{}", name, roles, rest);
  };
  const std::string first = "columns = [\"age\", \"smoker\", \"years\", \"score\"]\n",
                    second = "columns = [\"dose\", \"stage\", \"event\", \"visits\"]\n";
  const bool apart = engine != "dealer" && engine != "ot" && split != "both";
  party("first", apart ? "\"holder\"" : "\"holder\", \"receiver\"",
        columns ? first + "rows = [\"shared\"]\n" : "rows = [\"shared\"]\n");
  party("second", "\"holder\"", columns ? second + "rows = [\"shared\"]\n" : "rows = [\"own\"]\n");
  if (split == "both") party("third", "\"holder\"", "rows = [\"own\"]\n");
  if (engine == "dealer") party("helper", "\"dealer\"", "");
  if (apart) party("helper", "\"receiver\"", "");
  if (columns) text += "[table]\nkey = \"id\"\n";
  text += "[[rows]]\nname = \"shared\"\ncount = ROWS\n";
  if (split != "columns") text += "[[rows]]\nname = \"own\"\ncount = ROWS\n";
  const auto number = [&](const char* name, const char* type, double lower, double upper) {
    text += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"{}\"\nlower = {}\nupper = {}\n",
                        name, type, lower, upper);
  };
  number("age", "numeric", 20, 90);
  number("smoker", "integer", 0, 1);
  number("years", "numeric", 0.5, 4);
  number("score", "numeric", -10, 40);
  number("dose", "numeric", -1, 1);
  text +=
      "[[variable]]\nname = \"stage\"\ntype = \"factor\"\nlevels = [\"one\", \"two\", \"three\"]\n";
  number("event", "integer", 0, 1);
  number("visits", "integer", 0, 60);
  return text + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"{}\"\n[disclosure]\nmin_cell = 1\n"
                    "min_rows = 50\n[release]\naccept = \"table of covariates\"\n[engine]\n"
                    "name = \"{}\"\n[[analysis]]\nmethod = \"glm\"\nprotocol = \"sealed\"\n"
                    "family = \"{}\"\nformula = \"{}\"\nrelease = [\"estimates\"]\n",
                    missing, engine, family, formula);
}

// Such a study with weights of a kind, at the first or the second holder where columns are split.
// Frequencies are 0 to 4; others 0.2 to 3.2, sampling weights sometimes 0.
inline std::string WithWeights(std::string text, const std::string& kind, bool at_second) {
  const auto edit = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
  };
  const bool frequency = kind == "frequency";
  edit(at_second ? "\"visits\"]" : "\"score\"]",
       at_second ? "\"visits\", \"weight\"]" : "\"score\", \"weight\"]");
  edit("[design]\n",
       fmt::format("[[variable]]\nname = \"weight\"\ntype = \"{}\"\nlower = {}\nupper = {}\n"
                   "[design]\nweights = \"weight\"\nweights_type = \"{}\"\n",
                   frequency ? "integer" : "numeric", kind == "precision" ? 0.1 : 0,
                   frequency ? 4 : 5, kind));
  return text;
}

// The same with errors of clusters: of wards 0 to `most`, at the first or the second holder where columns are
// split. After WithWeights, which then are at the other one.
inline std::string WithWards(std::string text, int most, bool at_second) {
  const auto edit = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
  };
  edit(at_second ? "\"visits\"]" : "\"score\"]",
       at_second ? "\"visits\", \"ward\"]" : "\"score\", \"ward\"]");
  edit("[design]\n", fmt::format("[[variable]]\nname = \"ward\"\ntype = \"integer\"\nlower = 0\n"
                                 "upper = {}\n[design]\ncluster = \"ward\"\n",
                                 most));
  return text + "errors = \"cluster\"\n";
}

struct SealedCase {
  std::string text;
  uint64_t seed = 1;
  size_t rows = 300;  // of each block
  bool separated = false, dose_is_age = false;
  bool many_visits = false;  // of few smokers, almost none of others
  // Beside it the dose is little for smokers and 0 for others, so that its coefficient is large.
  bool little_dose = false;
  bool score_is_exact = false;   // a linear function of age and smoking
  double score_rest = 0;         // standard deviation of what is left beside it
  bool one_weighs = false;       // the first row 5, others 0.2 or nothing
  double cost_shape = 0;         // of WithCosts: the dispersion's inverse
  bool costs_follow = false;     // from age and dose
  size_t wards = 12;             // of WithWards: wards 1, 2, ...; 0: a row each, from ward 0 on
  bool ward_of_lacking = false;  // rows that lack an age are all in ward 0
  size_t in_one_ward = 0;   // the last rows, all in ward 1; those before them in 2 to 14 in turn
  double visits_times = 0;  // visits are this many, times an exponential variate
};

// The same with costs in the place of years: gamma with that shape.
inline SealedCase WithCosts(SealedCase made, double shape) {
  const std::string bounds = "name = \"years\"\ntype = \"numeric\"\nlower = 0.5\nupper = 4\n";
  made.text.replace(made.text.find(bounds), bounds.size(),
                    "name = \"years\"\ntype = \"numeric\"\nlower = 0.001\nupper = 500\n");
  made.cost_shape = shape;
  return made;
}

inline GlmStudy SealedStudyOf(const SealedCase& made) {
  std::string text = made.text;
  for (size_t at = text.find("ROWS"); at != std::string::npos; at = text.find("ROWS"))
    text.replace(at, 4, std::to_string(made.rows));
  return PrepareGlmStudy(ParseStudyFile(text, "study.toml"));
}

// Behind everything else, so that no other number changes.
inline void AddWards(const SealedCase& made, std::mt19937_64& random, data::Table& table) {
  data::Column& last = table.columns.back();
  if (last.schema.name != "ward") return;
  const std::vector<double>& ages = table.columns.front().numbers;
  for (size_t r = 0; r < made.rows; ++r) {
    const size_t ward = made.wards == 0 ? r : 1 + random() % made.wards;
    const size_t in_turn = r + made.in_one_ward < made.rows ? 2 + r % 13 : 1;
    const bool lacks = made.ward_of_lacking && std::isnan(ages[r]);
    last.numbers.push_back(lacks ? 0 : static_cast<double>(made.in_one_ward > 0 ? in_turn : ward));
  }
}

inline data::Table PatientTable(const GlmStudy& study, std::mt19937_64& random,
                                const SealedCase& made) {
  data::Table table;
  table.num_rows = made.rows;
  for (const data::ColumnSchema& schema : study.file.dictionary.columns) {
    table.columns.emplace_back();
    table.columns.back().schema = schema;
  }
  std::uniform_real_distribution<double> uniform;
  const auto add = [&](size_t column, double value) {
    const data::ColumnSchema& schema = table.columns[column].schema;
    table.columns[column].numbers.push_back(std::clamp(value, schema.lower, schema.upper));
  };
  const bool lacks = study.file.design.missing == study::MissingPolicy::kComplete;
  for (size_t r = 0; r < made.rows; ++r) {
    const double age = 20 + 70 * uniform(random), years = 0.5 + 3.5 * uniform(random);
    const double dose = made.dose_is_age ? (age - 55) / 35 : 2 * uniform(random) - 1;
    const double smoker = uniform(random) < (made.many_visits ? 0.05 : 0.35) ? 1 : 0;
    const double own_dose = made.little_dose ? smoker / 80 : dose;
    const auto stage = static_cast<int32_t>(random() % 3);
    const double eta = -1 + 0.02 * age - 0.6 * dose + 0.5 * smoker + 0.3 * stage;
    const double event = uniform(random) < 1 / (1 + std::exp(0.6 - eta)) ? 1 : 0;
    add(0, lacks && uniform(random) < 0.1 ? std::nan("") : age);
    add(1, smoker);
    const double cost = made.cost_shape == 0
                            ? years
                            : std::gamma_distribution<double>(
                                  made.cost_shape, std::exp(eta) / made.cost_shape)(random);
    add(2, made.costs_follow ? std::exp(0.02 * age - 0.6 * dose) : cost);
    const double score = std::normal_distribution<double>(10 + 3 * eta, 4)(random);
    // Of the score's own deviation, so that no other number changes.
    const double rest = made.score_rest * (score - 10 - 3 * eta) / 4;
    add(3, made.score_is_exact ? 0.25 * age - 3 * smoker + rest : score);
    add(4, lacks && uniform(random) < 0.1 ? std::nan("") : own_dose);
    table.columns[5].codes.push_back(stage);
    add(6, made.separated && smoker == 1 ? 1 : event);
    const double rate = made.many_visits ? (smoker == 1 ? 50 : 0.2) : std::exp(eta) * years;
    const double visits = std::poisson_distribution<int>(rate)(random);
    add(7, made.visits_times == 0 ? visits
                                  : std::round(made.visits_times * std::exp(eta) *
                                               std::exponential_distribution<double>(1)(random)));
    if (study.file.design.weights.empty()) continue;
    const study::WeightsKind kind = study.file.design.weights_kind;
    const bool none = kind == study::WeightsKind::kSampling && uniform(random) < 0.1;
    const bool copies = kind == study::WeightsKind::kFrequency;
    if (made.one_weighs) {
      add(8, r == 0 ? 5 : none ? 0 : 0.2);
      continue;
    }
    add(8, none ? 0 : copies ? static_cast<double>(random() % 5) : 0.2 + 3 * uniform(random));
  }
  AddWards(made, random, table);
  return table;
}

inline bool HasColumn(const data::Table& table, const std::string& name) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const data::Column& column) { return column.schema.name == name; });
}

// Of every party, and all rows that take part.
struct SealedRows {
  std::vector<std::vector<OwnBlock>> blocks;
  std::vector<std::vector<Int128>> counts;
  stats::glm::Rows pooled;
  uint64_t clusters = 0;  // values of which their holder has a row that it does not leave out
  bool large_weight = false;
};

inline SealedRows SealedRowsOf(const GlmStudy& study, const SealedCase& made) {
  std::mt19937_64 random(made.seed);
  SealedRows rows;
  rows.blocks.resize(study.num_computing);
  rows.counts.assign(study.num_computing, std::vector<Int128>(NumCounts(study.task)));
  const CountTables tables(study.task.spec, study.factors);
  std::vector<stats::glm::Rows> pooled;
  const std::string& cluster = study.task.spec.cluster;
  std::map<std::pair<size_t, double>, uint32_t> clusters;  // by holder and value
  std::vector<uint32_t> cluster_of_row;
  std::set<std::pair<size_t, double>> own_values;
  for (size_t b = 0; b < study.partition.blocks.size(); ++b) {
    const data::Table all = PatientTable(study, random, made);
    data::Table whole = all;
    study.DeriveColumns(whole);
    run::TakenRows taken;
    run::OwnRows counts;
    const std::vector<size_t> indices = RowsTaken(study, whole, taken, counts);
    pooled.push_back(OwnDataOf(study.task.spec, tables, whole, indices).rows);
    for (const data::SegmentPart& part : study.partition.segments[b].parts) {
      for (const size_t v : part.variables) {
        if (cluster.empty() || study.partition.variables[v] != cluster) continue;
        for (const size_t r : indices) {
          const auto next = static_cast<uint32_t>(clusters.size());
          const std::pair<size_t, double> key = {part.party, whole.Get(cluster).numbers[r]};
          cluster_of_row.push_back(clusters.emplace(key, next).first->second);
        }
      }
      auto table = std::make_shared<data::Table>();
      table->num_rows = all.num_rows;
      for (const size_t v : part.variables)
        table->columns.push_back(all.Get(study.partition.variables[v]));
      study.DeriveColumns(*table);
      data::Holding holding;
      holding.party = part.party;
      holding.table = table;
      holding.blocks = {{b, 0, all.num_rows, study.partition.segments[b].shared()}};
      run::OwnRows own_counts;
      if (study.partition.BlocksOf(part.party).size() == 1) {
        EXPECT_NE(study.PrepareRows(part.party, holding, own_counts), nullptr);
      }
      for (const size_t r : RowsTaken(study, *table, taken, own_counts)) {
        if (!cluster.empty() && HasColumn(*table, cluster))
          own_values.emplace(part.party, table->Get(cluster).numbers[r]);
      }
      SealedLayout of_block = study.layout;
      of_block.blocks = {study.layout.blocks[b]};
      rows.blocks[part.party].resize(study.layout.blocks.size());
      rows.blocks[part.party][b] =
          OwnBlocksOf(study.task.spec, of_block, part.party, holding, taken.taken).front();
      if (!study.partition.segments[b].shared()) {
        std::vector<size_t> kept;
        for (size_t r = 0; r < all.num_rows; ++r) {
          if (taken.taken[r] != 0) kept.push_back(r);
        }
        rows.counts[part.party] = OwnDataOf(study.task.spec, tables, *table, kept).counts;
      }
    }
  }
  rows.pooled = stats::glm::Pooled(pooled);
  rows.pooled.clusters = cluster_of_row;
  rows.clusters = own_values.size();
  rows.large_weight = made.one_weighs;
  return rows;
}

}  // namespace partita::methods::glm::testing
