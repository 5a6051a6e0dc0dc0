#include "methods/marginals/own_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "methods/marginals/study.h"
#include "stats/blr/variates.h"
#include "stats/marginals/apportion.h"
#include "stats/mixture/held_out_rows.h"
#include "stats/mixture/utility.h"

namespace partita::methods::marginals {
namespace {

using stats::marginals::Codes;
using stats::marginals::TableSet;
using stats::mixture::PredictionScore;

constexpr size_t kJudgedRows = 20000;  // that are drawn for it

Codes Columns(const Codes& codes, const std::vector<uint32_t>& attributes) {
  Codes own;
  for (const uint32_t a : attributes) own.push_back(codes[a]);
  return own;
}

std::vector<double> SharesOfRows(const TableSet& set, const Codes& codes) {
  std::vector<double> shares = stats::marginals::Count(set, codes);
  for (double& share : shares) share /= static_cast<double>(codes.front().size());
  return shares;
}

// A logistic regression of the target on a holder's other columns.
PredictionScore Predict(const TableSet& set, const Codes& train, const Codes& test,
                        const ColumnLevel& target) {
  std::vector<stats::mixture::Feature> features;
  for (const stats::marginals::Attribute& attribute : set.attributes) {
    features.push_back(
        {attribute.name, stats::mixture::Family::kCategorical, attribute.levels, 1, 0});
  }
  const auto values = [](const Codes& codes) {
    stats::mixture::Values columns;
    for (const std::vector<uint16_t>& column : codes) {
      columns.emplace_back(column.begin(), column.end());
    }
    return columns;
  };
  return stats::mixture::TrainAndTest(stats::mixture::MakeLayout(std::move(features)),
                                      values(train), values(test),
                                      set.attributes[target.attribute].name, target.level);
}

// Rows beside those that were set aside.
struct ComparedRows {
  std::string name;
  Codes codes;  // of the holder's columns
};

study::DocumentTable OwnDistances(const TableSet& set, const OwnBlock& block,
                                  const std::vector<ComparedRows>& all) {
  study::DocumentTable table{
      fmt::format("Distance from the {} rows of {} set aside (total variation)",
                  block.test.front().size(), block.name),
      {"rows", "single columns", "pairs of columns"},
      {}};
  const std::vector<double> test = SharesOfRows(set, block.test);
  for (const ComparedRows& rows : all) {
    const stats::marginals::MeanVariation mean = stats::marginals::MeanOf(
        set, stats::marginals::TotalVariations(set, test, SharesOfRows(set, rows.codes)));
    table.rows.push_back({rows.name, mean.one_way, mean.pairs});
  }
  return table;
}

study::DocumentTable OwnPrediction(const TableSet& set, const OwnBlock& block,
                                   const std::vector<ComparedRows>& all, const ColumnLevel& target,
                                   const std::string& level) {
  study::DocumentTable table{fmt::format("Predicting whether {} is {} on the rows of {} set aside",
                                         set.attributes[target.attribute].name, level, block.name),
                             {"learned from", "error", "AUC", "log loss"},
                             {}};
  for (const ComparedRows& rows : all) {
    const PredictionScore score = Predict(set, rows.codes, block.test, target);
    table.rows.push_back({rows.name, 1 - score.accuracy, score.auc, score.log_loss});
  }
  return table;
}

}  // namespace

OwnBlock SetAside(const UtilitySpec& utility, const std::string& block,
                  const std::vector<uint32_t>& attributes, const Codes& codes) {
  const stats::mixture::RowSplit split = stats::mixture::SplitRows(
      static_cast<uint32_t>(codes.front().size()), utility.test_rows, utility.seed);
  return {block, attributes, stats::mixture::SelectRows(codes, split.train),
          stats::mixture::SelectRows(codes, split.test)};
}

std::string SetAsideText(const MarginalsStudy& study) {
  const UtilitySpec& utility = study.spec.utility;
  std::string text = fmt::format(
      "{} rows of each block are set aside by the public seed {} and never counted: {} rows are. "
      "They stay with "
      "their holders, who compare synthetic rows with them, each for its own columns and on its "
      "own terminal.",
      utility.test_rows, utility.seed, study.ExpectedRows());
  for (const ColumnLevel& target : utility.targets) {
    text += fmt::format(" Whoever holds '{}' predicts whether it is '{}' from its other columns.",
                        study.task.set.attributes[target.attribute].name,
                        LevelNames(study.spec.columns[target.attribute])[target.level]);
  }
  return text;
}

study::DocumentSection OwnRowsSection(const MarginalsStudy& study, const OpenedTables& opened,
                                      const stats::marginals::Choice& choice,
                                      const std::vector<OwnBlock>& own,
                                      crypto::RandomSource& random) {
  study::DocumentSection section{
      "Own columns, rows set aside against synthetic ones",
      {"The first line is what chance does between rows of the same table. Independent: the same "
       "synthetic rows, each column shuffled by itself; where they come as close, synthetic rows "
       "tell nothing of "
       "pairs.",
       "Exact, computed from this party's rows and columns; shown here and kept in no file. To "
       "tell anybody is a "
       "release of its own."}};
  section.own_rows = true;
  const Codes synthetic = DrawLevels(opened, choice, kJudgedRows, random);
  Codes shuffled = synthetic;
  stats::blr::Variates variates(random);
  for (std::vector<uint16_t>& column : shuffled) {
    stats::marginals::Shuffle(std::span<uint16_t>(column), variates);
  }
  for (const OwnBlock& block : own) {
    std::vector<stats::marginals::Attribute> attributes;
    for (const uint32_t a : block.attributes) attributes.push_back(study.task.set.attributes[a]);
    const TableSet set = stats::marginals::AllTables(std::move(attributes));
    const std::vector<ComparedRows> all = {{"counted rows", block.counted},
                                           {"synthetic", Columns(synthetic, block.attributes)},
                                           {"independent", Columns(shuffled, block.attributes)}};
    section.tables.push_back(OwnDistances(set, block, all));
    for (const ColumnLevel& target : study.spec.utility.targets) {
      const auto found = std::ranges::find(block.attributes, target.attribute);
      if (found == block.attributes.end()) continue;
      const ColumnLevel own_target = {static_cast<uint32_t>(found - block.attributes.begin()),
                                      target.level};
      section.tables.push_back(
          OwnPrediction(set, block, all, own_target,
                        LevelNames(study.spec.columns[target.attribute])[target.level]));
    }
  }
  return section;
}

}  // namespace partita::methods::marginals
