// The result of a mixture study, for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"
#include "methods/dpvi/synthetic.h"
#include "runtime/mixture_study.h"
#include "study/document.h"

namespace partita::runtime {

namespace dpvi = methods::dpvi;

namespace {

study::DocumentTable ColumnTable(const MixtureStudy& study) {
  study::DocumentTable table{"Columns", {"column", "held by", "encoding", "parameters"}, {}};
  const stats::mixture::Layout& layout = study.plan.request.layout;
  for (size_t f = 0; f < study.columns.size(); ++f) {
    const dpvi::ModelColumn& column = study.columns[f];
    table.rows.push_back({column.encoding.column.name, study.parties[column.party].name,
                          std::string(data::EncodingKindName(column.encoding.kind)),
                          static_cast<double>(NumStatistics(layout.features[f]))});
  }
  return table;
}

study::DocumentTable WeightTable(const dpvi::ModelWeights& weights) {
  study::DocumentTable table{
      "Weights of the components, largest first", {"component", "weight"}, {}};
  for (size_t k = 0; k < weights.weights.size(); ++k)
    table.rows.push_back({static_cast<double>(k + 1), weights.weights[k]});
  return table;
}

study::DocumentSection PrivacySection(const privacy::Statement& statement) {
  study::DocumentSection section{"Privacy of this run", {statement.mechanism}};
  study::DocumentTable table{
      "What each adversary learns of one row at most", {"adversary", "adjacency", "loss"}, {}};
  for (const study::PlanPrivacy& row : StatementRowsOf(statement))
    table.rows.push_back({row.adversary, row.adjacency, row.loss});
  section.tables.push_back(std::move(table));
  section.paragraphs.insert(section.paragraphs.end(), statement.caveats.begin(),
                            statement.caveats.end());
  return section;
}

std::string Lost(const dpvi::RunResult& run, bool went_on) {
  if (!went_on) return "The run was not interrupted.";
  return fmt::format(
      "The run went on where an earlier attempt stopped; {} of the iterations that may have been "
      "opened then were lost, and are counted below.",
      run.openings - run.state.step);
}

}  // namespace

study::Document ReportMixture(const MixtureStudy& study, const MixtureResult& result,
                              bool with_tables, crypto::RandomSource& random) {
  const dpvi::RunResult& run = result.run;
  const privacy::Statement statement = dpvi::StateRun(
      study.plan, study.audience, {run.openings, std::max<uint64_t>(1, run.max_uses)});
  dpvi::FittedModel model;
  model.parties = OnlineNames(study);
  model.parties.resize(study.num_computing);
  model.columns = study.columns;
  model.mean = run.state.mean;
  model.log_scale = run.state.log_scale;
  model.steps = run.state.step;
  model.privacy = privacy::StatementJson(statement);
  const dpvi::ModelWeights weights = dpvi::WeightsOf(model);

  study::Document document;
  document.title = fmt::format("mixture of {} components over {} columns", study.spec().components,
                               study.columns.size());
  study::DocumentSection fitted{
      "Model",
      {fmt::format("{} iterations went into the model; {} components have a weight above 0.02.",
                   run.state.step, weights.active),
       Lost(run, result.went_on),
       fmt::format("Sums opened: {}; the row that was used most was in {} batches.", run.openings,
                   run.max_uses)}};
  fitted.tables = {WeightTable(weights), ColumnTable(study)};
  document.sections = {std::move(fitted), PrivacySection(statement)};
  document.files.push_back({"model.json", dpvi::ModelJson(model)});

  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  if (with_tables && study.spec().synthetic_rows > 0) {
    const std::vector<data::Table> drawn =
        dpvi::DrawTables(model, study.spec().synthetic_rows, study.spec().synthetic_sets, random);
    for (size_t i = 0; i < drawn.size(); ++i) {
      const std::string name = fmt::format("synthetic_{}.csv", i + 1);
      document.files.push_back({name, data::WriteCsv(drawn[i])});
      tables.push_back(name);
    }
    document.sections.push_back(
        {"Synthetic data",
         {fmt::format("{} tables of {} rows, each from a posterior draw of its own.", drawn.size(),
                      study.spec().synthetic_rows),
          dpvi::kSyntheticPurpose}});
  }
  document.json = nlohmann::ordered_json{{"components", study.spec().components},
                                         {"weights", weights.weights},
                                         {"active_components", weights.active},
                                         {"iterations", run.state.step},
                                         {"openings", run.openings},
                                         {"max_uses", run.max_uses},
                                         {"noise_multiplier", study.plan.request.noise_multiplier},
                                         {"model", "model.json"},
                                         {"synthetic", tables},
                                         {"privacy", nlohmann::ordered_json::parse(model.privacy)}}
                      .dump();
  return document;
}

}  // namespace partita::runtime
