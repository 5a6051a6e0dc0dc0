// The result of a study of method `marginals`, for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"
#include "methods/marginals/counts.h"
#include "methods/marginals/study.h"
#include "methods/marginals/table_one.h"
#include "run/method/plan_privacy.h"
#include "stats/marginals/consistent.h"
#include "stats/marginals/noise.h"

namespace partita::methods::marginals {
namespace {

using Json = nlohmann::ordered_json;
using stats::marginals::CandidateName;
using stats::marginals::Choice;
using stats::marginals::CountTable;

constexpr size_t kPairsShown = 20;

study::DocumentTable CandidateTable(const Choice& choice) {
  study::DocumentTable table{"Candidates, by their distance from fresh noise on the same tables",
                             {"generator", "distance", "share of the rows"},
                             {}};
  for (size_t i = 0; i < choice.candidates.size(); ++i) {
    table.rows.push_back({CandidateName(choice.candidates[i]), choice.scores[i],
                          fmt::format("{:.0f} %", 100 * choice.shares[i])});
  }
  return table;
}

// Root mean squared difference of a cell, in rows, by the squared distance of the table.
double CellError(const CountTable& table, double squared_distance) {
  return std::sqrt(std::max(squared_distance, 0.0) / static_cast<double>(table.cells()));
}

// With its interval at 95 %.
struct TableError {
  size_t table = 0;
  double estimate = 0, lower = 0, upper = 0;
};

// Of measured tables, by the least that the error is; then by its estimate.
std::vector<TableError> TableErrors(const MarginalsStudy& study, const OpenedTables& opened,
                                    const Choice& choice) {
  std::vector<TableError> errors;
  for (size_t t = 0; t < study.task.set.tables.size(); ++t) {
    if (!opened.noisy.Measured(t)) continue;
    const CountTable& table = study.task.set.tables[t];
    const auto& [estimate, standard_error] = choice.distances[t];
    errors.push_back({t, CellError(table, estimate),
                      CellError(table, estimate - kTwoSided * standard_error),
                      CellError(table, estimate + kTwoSided * standard_error)});
  }
  std::ranges::stable_sort(errors, [](const TableError& a, const TableError& b) {
    return std::pair(a.lower, a.estimate) > std::pair(b.lower, b.estimate);
  });
  return errors;
}

study::DocumentTable DistanceTable(const MarginalsStudy& study, const OpenedTables& opened,
                                   const Choice& choice) {
  const std::vector<TableError> errors = TableErrors(study, opened, choice);
  study::DocumentTable table{
      fmt::format("Counted tables that the generator misses most (of {})", errors.size()),
      {"table", "cells", "estimated error of a cell (rows)", "lower", "upper"},
      {}};
  for (const TableError& error : errors) {
    if (table.rows.size() == kPairsShown) break;
    if (error.estimate == 0) continue;  // noise explains all
    const CountTable& one = study.task.set.tables[error.table];
    table.rows.push_back({TableName(study.task.set, one), static_cast<double>(one.cells()),
                          error.estimate, error.lower, error.upper});
  }
  return table;
}

study::DocumentSection GeneratorSection(const MarginalsStudy& study, const OpenedTables& opened,
                                        const Choice& choice) {
  study::DocumentSection section{
      "Generator",
      {fmt::format("Rows come from {}, chosen among {} by splitting the noise in public: each was "
                   "fitted to one half and compared with the other, and gets the share of the rows "
                   "with which all "
                   "together are nearest to it. No privacy was spent for it, and no row was read.",
                   ChoiceName(choice), choice.scores.size())}};
  if (choice.IsIndependent()) {
    section.paragraphs.emplace_back(
        "Columns of synthetic rows are independent of each other: under this noise nothing more "
        "can be learned from the tables.");
  }
  section.tables = {CandidateTable(choice)};
  study::DocumentTable distances = DistanceTable(study, opened, choice);
  if (distances.rows.empty()) {
    section.paragraphs.emplace_back(
        "Noise explains all differences between the tables and what the generator makes of them.");
  } else {
    section.paragraphs.push_back(
        fmt::format("Errors of cells are estimated from the noise's other half, for a fit with "
                    "more noise than the one that rows are drawn from. Their intervals are of that "
                    "noise, at 95 % each: from 0 on, noise may explain all of the difference. At "
                    "most {} tables are listed.",
                    kPairsShown));
    section.tables.push_back(std::move(distances));
  }
  if (!study.rows()) {
    section.paragraphs.push_back(fmt::format(
        "The number of rows is not public; estimated from all tables it is {:.0f}.", choice.rows));
  }
  return section;
}

Json OneWayJson(const MarginalsStudy& study, const OpenedTables& opened) {
  Json columns = Json::array();
  for (size_t a = 0; a < study.spec.columns.size(); ++a) {
    const std::span<const double> counts =
        study.task.set.tables[a].Of(std::span<const double>(opened.noisy.cells));
    columns.push_back({{"column", study.task.set.attributes[a].name},
                       {"levels", LevelNames(study.spec.columns[a])},
                       {"counts", std::vector<double>(counts.begin(), counts.end())}});
  }
  return columns;
}

Json TablesOfResult(const MarginalsStudy& study, const OpenedTables& opened, const Choice& choice) {
  Json tables = Json::array();
  for (size_t t = 0; t < study.task.set.tables.size(); ++t) {
    const CountTable& table = study.task.set.tables[t];
    if (!opened.noisy.Measured(t)) continue;
    Json names = Json::array();
    for (const uint32_t a : table.Attributes()) names.push_back(study.task.set.attributes[a].name);
    tables.push_back({{"columns", names},
                      {"cells", table.cells()},
                      {"noise_stddev", opened.noisy.Stddev(t)},
                      {"squared_distance", choice.distances[t].estimate},
                      {"standard_error", choice.distances[t].standard_error}});
  }
  return tables;
}

// Of every pair, by its score.
Json ScoresOfResult(const MarginalsStudy& study, const OpenedTables& opened) {
  const stats::marginals::TableSet& set = study.task.set;
  Json scores = Json::array();
  for (size_t p = 0; p < opened.scores.scores.size(); ++p) {
    const CountTable& table = set.tables[set.attributes.size() + p];
    scores.push_back(
        {{"columns", {set.attributes[table.first].name, set.attributes[table.second].name}},
         {"score", opened.scores.scores[p]},
         {"noise_stddev", opened.scores.noise_stddev},
         {"counted", opened.noisy.Measured(set.attributes.size() + p)}});
  }
  return scores;
}

}  // namespace

study::DocumentSection StatementSection(const MarginalsStudy& study) {
  study::DocumentSection section{"Privacy", {study.statement.mechanism}};
  study::DocumentTable table{
      "What each adversary learns of one row at most", {"adversary", "adjacency", "loss"}, {}};
  for (const study::PlanPrivacy& row : run::PlanPrivacyRows(study.statement)) {
    table.rows.push_back({row.adversary, row.adjacency, row.loss});
  }
  section.tables.push_back(std::move(table));
  section.paragraphs.insert(section.paragraphs.end(), study.statement.caveats.begin(),
                            study.statement.caveats.end());
  return section;
}

study::Document MarginalsDocument(const MarginalsStudy& study, size_t party,
                                  const MarginalsRun& result, crypto::RandomSource& random) {
  const OpenedTables opened = OpenedBy(study, result);
  const Choice choice = ChooseFor(opened);
  study::Document document;
  document.title = study.file.title.empty() ? "Tables of " + study.file.name : study.file.title;
  document.sections = {GeneratorSection(study, opened, choice), CountSection(study, opened),
                       StatementSection(study)};
  if (study.spec.group) {
    document.sections.insert(document.sections.begin(), TableOneSection(study, opened));
  }
  if (study.task.scored) document.sections.push_back(ScoreSection(study, opened));
  if (!study.spec.impossible.empty()) document.sections.push_back(ImpossibleSection(study, opened));
  if (result.own)
    document.sections.push_back(OwnRowsSection(study, opened, choice, *result.own, random));
  document.files.push_back({kTablesFile, TablesJson(opened)});
  document.files.push_back({kCountsFile, CountsCsv(study, opened)});
  if (!study.spec.triples.empty())
    document.files.push_back({kTriplesFile, TriplesCsv(study, opened)});
  Json synthetic = Json::array();
  if (party == study.receiver && study.spec.synthetic_rows > 0) {
    const std::vector<data::Table> drawn =
        DrawTables(opened, choice, study.spec.synthetic_rows, study.spec.synthetic_sets, random);
    for (size_t i = 0; i < drawn.size(); ++i) {
      document.files.push_back({SyntheticRowsFile(i), data::WriteCsv(drawn[i])});
      synthetic.push_back(SyntheticRowsFile(i));
    }
    document.sections.push_back(
        {"Synthetic rows",
         {fmt::format("{} of {} rows.",
                      drawn.size() == 1 ? "One table" : fmt::format("{} tables", drawn.size()),
                      study.spec.synthetic_rows),
          kRowsPurpose}});
  }
  Json candidates = Json::array();
  for (size_t i = 0; i < choice.scores.size(); ++i) {
    candidates.push_back({{"generator", CandidateName(choice.candidates[i])},
                          {"distance", choice.scores[i]},
                          {"share", choice.shares[i]}});
  }
  Json json = {{"rows", choice.rows},
               {"noise_stddev", study.design.noise_stddev()},
               {"generator", ChoiceName(choice)},
               {"candidates", candidates},
               {"counts", OneWayJson(study, opened)},
               {"quartiles", QuartilesJson(study, opened)},
               {"tables", TablesOfResult(study, opened, choice)},
               {"model", kTablesFile},
               {"synthetic", synthetic},
               {"privacy", Json::parse(opened.privacy)}};
  if (study.spec.group) json["table_one"] = TableOneJson(study, opened);
  if (study.task.scored) json["scores"] = ScoresOfResult(study, opened);
  document.json = json.dump();
  return document;
}

}  // namespace partita::methods::marginals
