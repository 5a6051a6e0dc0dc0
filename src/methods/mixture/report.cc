// The result of a mixture study, for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "crypto/hash.h"
#include "crypto/prg.h"
#include "data/csv_writer.h"
#include "methods/mixture/cells.h"
#include "methods/mixture/study.h"
#include "methods/mixture/synthetic.h"
#include "study/plan/document.h"

namespace partita::methods::mixture {

namespace {

// Rows and tables that are drawn to see what synthetic rows can teach: V of independent columns is
// then about 0.02.
constexpr size_t kLearningRows = 5000, kLearningTables = 5;

study::DocumentTable ColumnTable(const MixtureStudy& study) {
  study::DocumentTable table{"Columns", {"column", "held by", "encoding", "parameters"}, {}};
  const stats::mixture::Layout& layout = study.plan.request.layout;
  for (size_t f = 0; f < study.columns.size(); ++f) {
    const ModelColumn& column = study.columns[f];
    table.rows.push_back({column.encoding.column.name, study.parties[column.party].name,
                          std::string(data::EncodingKindName(column.encoding.kind)),
                          static_cast<double>(NumStatistics(layout.features[f]))});
  }
  return table;
}

study::DocumentTable WeightTable(const ModelWeights& weights) {
  study::DocumentTable table{
      "Weights of the components, largest first", {"component", "weight"}, {}};
  for (size_t k = 0; k < weights.weights.size(); ++k)
    table.rows.push_back({static_cast<double>(k + 1), weights.weights[k]});
  return table;
}

study::DocumentPlot WeightPlot(const ModelWeights& weights) {
  study::DocumentSeries line{"weight", {}, {}};
  for (size_t k = 0; k < weights.weights.size(); ++k) {
    line.x.push_back(static_cast<double>(k + 1));
    line.y.push_back(weights.weights[k]);
  }
  return {"Weights of the components", "component, largest first", "weight", {std::move(line)}};
}

study::DocumentTable LossTable(const privacy::Statement& statement) {
  study::DocumentTable table{
      "What each adversary learns of one row at most", {"adversary", "adjacency", "loss"}, {}};
  for (const study::PlanPrivacy& row : StatementRowsOf(statement))
    table.rows.push_back({row.adversary, row.adjacency, row.loss});
  return table;
}

study::DocumentSection MixturePrivacySection(const privacy::Statement& statement) {
  study::DocumentSection section{"Privacy of this run", {statement.mechanism}};
  section.tables.push_back(LossTable(statement));
  section.paragraphs.insert(section.paragraphs.end(), statement.caveats.begin(),
                            statement.caveats.end());
  return section;
}

std::string LostText(const MixtureStudy& study, const RunResult& run, bool went_on) {
  const uint64_t lost = run.openings - run.state.step, planned = study.spec().iterations;
  std::string text = went_on ? "The run went on where an earlier attempt stopped."
                             : "The run was not interrupted.";
  if (lost > 0) {
    text += fmt::format(
        " Lost: {} of the openings that may have happened then. Nobody has them, they are counted "
        "below, and {} were in reserve for them.",
        lost, study.plan.request.reserve);
  }
  if (run.state.step < planned) {
    text += fmt::format(
        " {} of the {} planned iterations are missing: the model is not trained as the study says.",
        planned - run.state.step, planned);
  }
  return text;
}

// How often rows were used tells of the batches, which hide a row from outsiders: the parties know
// them, and nobody else is told. Batches of other modes use every row as often as the plan says.
study::DocumentSection UsesSection(const MixtureStudy& study, const RunResult& run) {
  const uint64_t uses = std::max<uint64_t>(1, run.max_uses);
  study::DocumentSection section{
      "Uses of rows in this run",
      {fmt::format("The row that was used most was in {} batches. That is known to the parties and "
                   "to the dealer; shown here and kept in no file.",
                   run.max_uses)}};
  section.tables.push_back(LossTable(study.StateOf({run.openings, uses})));
  section.own_rows = true;
  return section;
}

study::DocumentTable PairTable(const std::string& title,
                               const std::vector<stats::mixture::Association>& associations,
                               bool with_real) {
  constexpr size_t kPairs = 15;
  study::DocumentTable table{title, {"pair", "synthetic"}, {}};
  if (with_real) table.columns.emplace_back("real");
  for (const stats::mixture::Association& pair : Strongest(associations, kPairs)) {
    std::vector<study::DocumentCell> row = {pair.first + ", " + pair.second, pair.synthetic};
    if (with_real) row.emplace_back(pair.real);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// What a holder asks of its test rows.
UtilityRequest UtilityRequestOf(const MixtureStudy& study, size_t party) {
  UtilityRequest request;
  for (const MixtureTarget& target : study.spec().utility.targets) {
    for (const ModelColumn& column : study.columns) {
      if (column.party != party || column.encoding.column.name != target.variable) continue;
      request.target = target.variable;
      request.level = target.level;
    }
  }
  return request;
}

study::DocumentTable SpreadTable(const Utility& utility) {
  study::DocumentTable table{
      fmt::format("Over {} synthetic tables, each from a posterior draw of its own",
                  utility.tables.size()),
      {"against the real rows", "mean", "least", "most"},
      {}};
  const auto add = [&](const std::string& what, auto number) {
    std::vector<double> values;
    for (const TableUtility& one : utility.tables) values.push_back(number(one));
    const Spread spread = SpreadOf(values);
    table.rows.push_back({what, spread.mean, spread.least, spread.most});
  };
  add("distance of the marginals", [](const TableUtility& one) { return one.marginals; });
  if (!utility.associations.empty())
    add("Cramer's V off by", [](const TableUtility& one) { return one.associations; });
  if (utility.from_synthetic) {
    const std::string of = fmt::format(" of {} = {}", utility.target, utility.level);
    add("AUC" + of, [](const TableUtility& one) { return one.prediction->auc; });
    add("error" + of, [](const TableUtility& one) { return 1 - one.prediction->accuracy; });
  }
  return table;
}

study::DocumentTable PredictionTable(const Utility& utility) {
  study::DocumentTable table{fmt::format("Predicting whether {} is {} on the rows set aside",
                                         utility.target, utility.level),
                             {"trained on", "error", "AUC", "log loss"},
                             {}};
  const auto add = [&](const std::string& rows, const stats::mixture::PredictionScore& score) {
    table.rows.push_back({rows, 1 - score.accuracy, score.auc, score.log_loss});
  };
  add("synthetic rows, on average", *utility.from_synthetic);
  add("own training rows", *utility.from_real);
  return table;
}

study::DocumentTable CellsTable(const FittedModel& own, const Utility& utility) {
  constexpr size_t kCells = 10;
  study::DocumentTable table{
      "Shares that differ most", {"column", "cell", "real", "synthetic"}, {}};
  for (const CellShare& share : FarthestApart(CellShares(own.columns, utility.marginals), kCells)) {
    table.rows.push_back({share.column, share.cell, share.real, share.synthetic});
  }
  return table;
}

study::DocumentSection OwnColumns(const MixtureStudy& study, size_t party, const FittedModel& model,
                                  const RealRows& real, crypto::RandomSource& random) {
  if (real.test.front().empty() || (real.train && real.train->front().empty())) {
    study::DocumentSection nothing{"Own columns, real against synthetic",
                                   {"No row of this party can be compared with the model: none has "
                                    "a usable value in every column."}};
    nothing.own_rows = true;
    return nothing;
  }
  const FittedModel own = ModelOfParty(model, party);
  const Utility utility = JudgeSynthetic(own, real, UtilityRequestOf(study, party), random);
  study::DocumentSection section{
      "Own columns, real against synthetic",
      {fmt::format("Log density of the {}: {:.4f} nats per row at the mean of the model, "
                   "{:.4f} over 20 draws of it. {}",
                   real.train ? fmt::format("{} rows set aside", study.spec().utility.test_rows)
                              : "real rows",
                   utility.plug_in, utility.predictive,
                   real.train ? "The model was not learned from them; everything here is computed "
                                "on them."
                              : "The model was learned from these rows and may fit them better "
                                "than others."),
       "Exact, computed from this party's rows and columns; shown here and kept in no file. To "
       "tell "
       "anybody is a release of its own."}};
  if (utility.poor_for_learning()) {
    section.paragraphs.push_back(fmt::format(
        "POOR FOR LEARNING: of what real rows teach about {} = {} synthetic rows teach less than "
        "half (AUC {:.2f} against {:.2f}, where 0.5 is guessing). A classifier learned from them "
        "is of no use on real rows.",
        utility.target, utility.level, utility.from_synthetic->auc, utility.from_real->auc));
  }
  section.tables.push_back(SpreadTable(utility));
  study::DocumentTable marginals{"Distance of the marginals", {"column", "total variation"}, {}};
  for (const stats::mixture::MarginalDistance& marginal : utility.marginals)
    marginals.rows.push_back({marginal.name, marginal.total_variation});
  section.tables.push_back(std::move(marginals));
  section.tables.push_back(CellsTable(own, utility));
  if (!utility.associations.empty()) {
    section.tables.push_back(
        PairTable("Cramer's V, the strongest pairs", utility.associations, true));
  }
  if (utility.from_synthetic) section.tables.push_back(PredictionTable(utility));
  section.own_rows = true;
  return section;
}

study::DocumentTable StrengthTable(const std::vector<ColumnStrength>& strengths, size_t tables) {
  study::DocumentTable table{
      fmt::format("Cramer's V of each column with the one it goes with most, over {} synthetic "
                  "tables",
                  tables),
      {"column", "mean", "least", "most"},
      {}};
  for (const ColumnStrength& column : strengths) {
    table.rows.push_back({column.column, column.association.mean, column.association.least,
                          column.association.most});
  }
  return table;
}

// Names of columns that hardly go with any other one.
std::vector<std::string> WeakColumns(const std::vector<ColumnStrength>& strengths) {
  std::vector<std::string> weak;
  for (const ColumnStrength& column : strengths) {
    if (column.association.mean < kWeakAssociation) weak.push_back(column.column);
  }
  return weak;
}

// The same for everybody who has the model: what is said of it must not differ by chance.
crypto::Prg StreamOfModel(const FittedModel& model) {
  ByteWriter writer;
  writer.String("partita mixture: what synthetic rows can teach");
  writer.String(ModelJson(model));
  return crypto::Prg(crypto::Key(crypto::Sha256Of(writer.bytes())));
}

// What can be learned from synthetic rows at most: functions of the model, at every party.
study::DocumentSection LearningSection(const std::vector<ColumnStrength>& strengths,
                                       const std::vector<std::string>& weak) {
  study::DocumentSection section{"What synthetic rows can teach"};
  if (weak.empty()) {
    section.paragraphs.emplace_back(
        "Every column goes with another one. Whether it does so as in the real rows only their "
        "holders can see.");
  } else {
    section.paragraphs.push_back(fmt::format(
        "POOR FOR LEARNING: in synthetic rows {} of {} columns hardly go with any other (Cramer's "
        "V below {}): {}. Nothing can be learned from synthetic rows about these columns from the "
        "others, whatever the real rows are and however well the model fits each column.",
        weak.size(), strengths.size(), kWeakAssociation, fmt::join(weak, ", ")));
  }
  section.paragraphs.emplace_back(
      "Computed from rows drawn from the model, which everybody has who has the model: nothing was "
      "opened or charged for it, and no table was chosen by it.");
  section.tables.push_back(StrengthTable(strengths, kLearningTables));
  return section;
}

study::DocumentSection SyntheticSection(const MixtureStudy& study, const FittedModel& model,
                                        crypto::RandomSource& random) {
  constexpr size_t kCompared = 10000;
  study::DocumentSection section{
      "Synthetic data",
      {fmt::format("{} of {} rows, each from a posterior draw of its own.",
                   study.spec().synthetic_sets == 1
                       ? "One table"
                       : fmt::format("{} tables", study.spec().synthetic_sets),
                   study.spec().synthetic_rows),
       kSyntheticPurpose,
       "The associations below are those of synthetic rows; the real ones between columns of "
       "different holders nobody has computed."}};
  section.tables.push_back(PairTable("Cramer's V in synthetic rows, the strongest pairs",
                                     SyntheticAssociations(model, kCompared, random), false));
  return section;
}

// Writes the tables into the document; returns their names.
nlohmann::ordered_json AddMixtureTables(const MixtureStudy& study, const FittedModel& model,
                                        crypto::RandomSource& random, study::Document& document) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  if (study.spec().synthetic_rows == 0) return names;
  const std::vector<data::Table> drawn =
      DrawTables(model, study.spec().synthetic_rows, study.spec().synthetic_sets, random);
  for (size_t i = 0; i < drawn.size(); ++i) {
    const std::string name = SyntheticFile(i);
    document.files.push_back({name, data::WriteCsv(drawn[i])});
    names.push_back(name);
  }
  document.sections.push_back(SyntheticSection(study, model, random));
  return names;
}

FittedModel ModelOf(const MixtureStudy& study, const RunResult& run,
                    const privacy::Statement& statement) {
  FittedModel model;
  model.parties = run::OnlineNames(study);
  model.parties.resize(study.num_computing);
  model.columns = study.columns;
  model.mean = run.state.mean;
  model.log_scale = run.state.log_scale;
  model.steps = run.state.step;
  model.planned_steps = study.spec().iterations;
  model.privacy = privacy::StatementJson(statement);
  return model;
}

}  // namespace

study::Document ReportMixture(const MixtureStudy& study, size_t party, const MixtureResult& result,
                              crypto::RandomSource& random) {
  const RunResult& run = result.run;
  // Not with the uses that there were: whoever reads it does not know the batches.
  const Made made{run.openings, {}};
  const privacy::Statement statement = study.StateOf(made);
  const uint64_t max_uses =
      StepsOf(study.plan, study.audience, made).max_uses.value_or(run.openings);
  const FittedModel model = ModelOf(study, run, statement);
  const ModelWeights weights = WeightsOf(model);

  study::Document document;
  document.title = fmt::format("mixture of {} components over {} columns", study.spec().components,
                               study.columns.size());
  study::DocumentSection fitted{
      "Model",
      {fmt::format("{} iterations went into the model; {} components have a weight above 0.02.",
                   run.state.step, weights.active),
       LostText(study, run, result.went_on),
       fmt::format("Sums opened: {}; the statement holds for rows in up to {} batches.",
                   run.openings, max_uses)}};
  fitted.tables = {WeightTable(weights), ColumnTable(study)};
  fitted.plots = {WeightPlot(weights)};
  document.sections = {std::move(fitted), MixturePrivacySection(statement)};
  document.files.push_back({kModelFile, ModelJson(model)});
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  const bool trained = run.state.step >= study.spec().iterations;
  if (!trained) document.ending = study::Ending::kNotTrained;
  if (party == study.receiver && (trained || result.accept_useless))
    tables = AddMixtureTables(study, model, random, document);
  crypto::Prg rows_of_model = StreamOfModel(model);
  const std::vector<ColumnStrength> strengths =
      ColumnStrengths(model, kLearningRows, kLearningTables, rows_of_model);
  const std::vector<std::string> weak = WeakColumns(strengths);
  document.sections.push_back(LearningSection(strengths, weak));
  if (result.own) document.sections.push_back(OwnColumns(study, party, model, *result.own, random));
  if (study.plan.request.batch_mode == stats::mixture::BatchMode::kPoisson)
    document.sections.push_back(UsesSection(study, run));
  document.json = nlohmann::ordered_json{{"components", study.spec().components},
                                         {"weights", weights.weights},
                                         {"active_components", weights.active},
                                         {"iterations", run.state.step},
                                         {"planned_iterations", study.spec().iterations},
                                         {"reserve", study.plan.request.reserve},
                                         {"openings", run.openings},
                                         {"lost_openings", run.openings - run.state.step},
                                         {"max_uses", max_uses},
                                         {"noise_multiplier", study.plan.request.noise_multiplier},
                                         {"model", "model.json"},
                                         {"synthetic", tables},
                                         {"poor_for_learning", weak},
                                         {"privacy", nlohmann::ordered_json::parse(model.privacy)}}
                      .dump();
  return document;
}

}  // namespace partita::methods::mixture
