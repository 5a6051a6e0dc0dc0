// The plan as JSON and back.
#include <nlohmann/json.hpp>

#include "base/json_problem.h"
#include "study/plan/plan.h"

namespace partita::study {
namespace {

using Json = nlohmann::ordered_json;

Json PartiesJson(const Plan& plan) {
  Json parties = Json::array();
  for (const PlanParty& party : plan.parties) {
    parties.push_back({{"name", party.name},
                       {"roles", party.roles},
                       {"contributes", party.contributes},
                       {"learns", party.learns}});
  }
  return parties;
}

Json PhasesJson(const std::vector<PlanPhase>& plan_phases) {
  Json phases = Json::array();
  for (const PlanPhase& phase : plan_phases) {
    Json links = Json::array();
    for (const PlanLink& link : phase.links) {
      links.push_back({{"from", link.from},
                       {"to", link.to},
                       {"messages", link.messages},
                       {"bytes", link.bytes}});
    }
    phases.push_back({{"name", phase.name}, {"rounds", phase.rounds}, {"links", links}});
  }
  return phases;
}

Json TotalsJson(const PlanTotals& totals) {
  return {{"rounds", totals.rounds}, {"messages", totals.messages}, {"bytes", totals.bytes}};
}

Json ReleasesJson(const Plan& plan) {
  Json releases = Json::array();
  for (const PlanRelease& release : plan.releases) {
    releases.push_back({{"id", release.id},
                        {"what", release.what},
                        {"to", release.to},
                        {"mechanism", release.mechanism},
                        {"max_count", release.max_count}});
  }
  return releases;
}

Json CorrelationsJson(const Plan& plan) {
  Json correlations = Json::array();
  for (const PlanCorrelation& correlation : plan.correlations) {
    correlations.push_back({{"name", correlation.name}, {"count", correlation.count}});
  }
  return correlations;
}

Json EstimatesJson(const Plan& plan, std::span<const NetworkModel> networks) {
  Json estimates = Json::array();
  for (const NetworkModel& network : networks) {
    Json phases = Json::array();
    for (const PlanPhase& phase : plan.phases)
      phases.push_back({{"phase", phase.name}, {"seconds", EstimateSeconds(phase, network)}});
    estimates.push_back({{"network", network.name},
                         {"latency_seconds", network.latency_seconds},
                         {"bytes_per_second", network.bytes_per_second},
                         {"seconds", EstimateSeconds(plan, network)},
                         {"phases", phases},
                         {"slowest", SlowestPhase(plan, network)}});
  }
  return estimates;
}

Json AnalysesJson(const Plan& plan) {
  Json analyses = Json::array();
  for (const PlanAnalysis& analysis : plan.analyses) {
    analyses.push_back({{"name", analysis.name},
                        {"protocol", analysis.protocol},
                        {"model", analysis.model},
                        {"rows", analysis.rows},
                        {"free_parameters", analysis.free_parameters}});
  }
  return analyses;
}

Json ChecksJson(const Plan& plan) {
  Json checks = Json::array();
  for (const PlanCheck& check : plan.checks) {
    checks.push_back({{"analysis", check.analysis},
                      {"variable", check.variable},
                      {"rule", check.rule},
                      {"minimum", check.minimum},
                      {"warning", check.warning}});
  }
  return checks;
}

Json BitsJson(const std::optional<PlanBits>& bits) {
  if (!bits) return {};
  return {{"opened", bits->opened},     {"table", bits->table}, {"rows", bits->rows},
          {"patterns", bits->patterns}, {"grid", bits->grid},   {"passes", bits->passes},
          {"meaning", bits->meaning}};
}

Json ExposuresJson(const Plan& plan) {
  Json exposures = Json::array();
  for (const PlanExposure& exposure : plan.exposures) {
    exposures.push_back({{"of", exposure.of},
                         {"to", exposure.to},
                         {"opened", exposure.opened},
                         {"statistics", exposure.statistics},
                         {"level", exposure.level},
                         {"exposes", exposure.exposes},
                         {"bits", BitsJson(exposure.bits)}});
  }
  return exposures;
}

Json PrivacyJson(const Plan& plan) {
  Json rows = Json::array();
  for (const PlanPrivacy& row : plan.privacy) {
    rows.push_back(
        {{"adversary", row.adversary}, {"adjacency", row.adjacency}, {"loss", row.loss}});
  }
  return rows;
}

Json PrivacyStatementJson(const Plan& plan) {
  if (!plan.privacy_statement) return {};
  return Json::parse(privacy::StatementJson(*plan.privacy_statement));
}

Json UtilityJson(const Plan& plan) {
  Json rows = Json::array();
  for (const PlanUtility& row : plan.utility) {
    rows.push_back({{"analysis", row.analysis},
                    {"parameter", row.parameter},
                    {"standard_error", row.standard_error},
                    {"inflation", row.inflation},
                    {"smallest_effect", row.smallest_effect},
                    {"smallest_effect_dp", row.smallest_effect_dp}});
  }
  return rows;
}

Json PredictionsJson(const Plan& plan) {
  Json rows = Json::array();
  for (const PlanPrediction& row : plan.predictions) {
    rows.push_back(
        {{"network", row.network}, {"seconds", row.seconds}, {"wire_bytes", row.wire_bytes}});
  }
  return rows;
}

Json AlternativesJson(const Plan& plan, std::span<const NetworkModel> networks) {
  Json rows = Json::array();
  for (const PlanAlternative& alternative : plan.alternatives) {
    Json estimates = Json::array();
    for (const NetworkModel& network : networks) {
      estimates.push_back(
          {{"network", network.name}, {"seconds", EstimateSeconds(alternative, network)}});
    }
    rows.push_back({{"schedule", alternative.schedule},
                    {"result", alternative.result},
                    {"rounds", alternative.rounds},
                    {"bytes", alternative.bytes},
                    {"estimates", estimates}});
  }
  return rows;
}

PlanBits ParseBits(const Json& json) {
  return {json.at("opened"), json.at("table"),  json.at("rows"),   json.at("patterns"),
          json.at("grid"),   json.at("passes"), json.at("meaning")};
}

void ParseContract(const Json& json, Plan& plan) {
  for (const Json& item : json.at("analyses")) {
    plan.analyses.push_back({item.at("name"), item.at("protocol"), item.at("model"),
                             item.at("rows"), item.at("free_parameters")});
  }
  for (const Json& item : json.at("checks")) {
    plan.checks.push_back({item.at("analysis"), item.at("variable"), item.at("rule"),
                           item.at("minimum"), item.at("warning")});
  }
  for (const Json& item : json.at("exposures")) {
    plan.exposures.push_back({item.at("of"), item.at("to"), item.at("opened"),
                              item.at("statistics"), item.at("level"), item.at("exposes")});
    // Plans of releases before the release rule have none.
    if (item.contains("bits") && !item.at("bits").is_null())
      plan.exposures.back().bits = ParseBits(item.at("bits"));
  }
  for (const Json& item : json.at("privacy")) {
    plan.privacy.push_back({item.at("adversary"), item.at("adjacency"), item.at("loss")});
  }
  if (json.contains("privacy_statement") && !json.at("privacy_statement").is_null())
    plan.privacy_statement = privacy::ParseStatementJson(json.at("privacy_statement").dump());
  for (const Json& item : json.at("utility")) {
    plan.utility.push_back({item.at("analysis"), item.at("parameter"), item.at("standard_error"),
                            item.at("inflation"), item.at("smallest_effect"),
                            item.at("smallest_effect_dp")});
  }
  for (const Json& item : json.at("predictions")) {
    plan.predictions.push_back({item.at("network"), item.at("seconds"), item.at("wire_bytes")});
  }
}

void ParsePhases(const Json& json, std::vector<PlanPhase>& phases) {
  for (const Json& phase : json) {
    PlanPhase& added = phases.emplace_back();
    added.name = phase.at("name");
    added.rounds = phase.at("rounds");
    for (const Json& link : phase.at("links")) {
      added.links.push_back(
          {link.at("from"), link.at("to"), link.at("messages"), link.at("bytes")});
    }
  }
}

Plan ParsePlan(const Json& json) {
  Plan plan;
  if (json.at("schema_version").get<int>() != kPlanSchemaVersion) {
    throw Error(ErrorCode::kBadInput, "the plan has a schema version that is not known here",
                "read it with the version of Partita that wrote it");
  }
  plan.study = json.at("study");
  plan.title = json.at("title");
  // In plans of studies that say so.
  if (json.contains("declared")) {
    const Json& declared = json.at("declared");
    plan.declared = {declared.at("purpose"), declared.at("ethics"), declared.at("legal_basis"),
                     declared.at("contact")};
  }
  plan.study_file_hash = json.at("study_file_hash");
  plan.method = json.at("method");
  plan.method_version = json.at("method_version");
  plan.protocol = json.at("protocol");
  plan.engine = json.at("engine");
  if (json.contains("threshold") && !json.at("threshold").is_null())
    plan.threshold = json.at("threshold").get<uint32_t>();
  plan.partition = json.at("partition");
  plan.leakage_level = json.at("leakage_level");
  plan.assumptions = json.at("assumptions").get<std::vector<std::string>>();
  plan.notes = json.at("notes").get<std::vector<std::string>>();
  for (const Json& party : json.at("parties")) {
    plan.parties.push_back(
        {party.at("name"), party.at("roles"), party.at("contributes"), party.at("learns")});
  }
  ParsePhases(json.at("phases"), plan.phases);
  // Plans of releases before stored correlations have none.
  if (json.contains("preparation")) ParsePhases(json.at("preparation"), plan.preparation);
  for (const Json& item : json.at("correlations")) {
    plan.correlations.push_back({item.at("name"), item.at("count")});
  }
  for (const Json& item : json.at("releases")) {
    plan.releases.push_back({item.at("id"), item.at("what"), item.at("to"), item.at("mechanism"),
                             item.at("max_count")});
  }
  ParseContract(json, plan);
  return plan;
}

}  // namespace

std::string RenderPlanJson(const Plan& plan, std::span<const NetworkModel> networks) {
  Json json = {{"schema_version", kPlanSchemaVersion},
               {"study", plan.study},
               {"title", plan.title},
               {"study_file_hash", plan.study_file_hash},
               {"method", plan.method},
               {"method_version", plan.method_version},
               {"protocol", plan.protocol},
               {"engine", plan.engine},
               {"threshold", plan.threshold ? Json(*plan.threshold) : Json()},
               {"partition", plan.partition},
               {"parties", PartiesJson(plan)},
               {"leakage_level", plan.leakage_level},
               {"analyses", AnalysesJson(plan)},
               {"releases", ReleasesJson(plan)},
               {"checks", ChecksJson(plan)},
               {"exposures", ExposuresJson(plan)},
               {"privacy", PrivacyJson(plan)},
               {"privacy_statement", PrivacyStatementJson(plan)},
               {"utility", UtilityJson(plan)},
               {"predictions", PredictionsJson(plan)},
               {"assumptions", plan.assumptions},
               {"phases", PhasesJson(plan.phases)},
               {"totals", TotalsJson(Totals(plan))},
               {"preparation", PhasesJson(plan.preparation)},
               {"preparation_totals", TotalsJson(Totals(std::span(plan.preparation)))},
               {"correlations", CorrelationsJson(plan)},
               {"estimates", EstimatesJson(plan, networks)},
               {"notes", plan.notes}};
  if (IsSaid(plan.declared)) {
    Json& declared = json["declared"];
    for (const Declared& one : AllOf(plan.declared)) declared[one.key] = *one.text;
  }
  if (!plan.alternatives.empty()) json["alternatives"] = AlternativesJson(plan, networks);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Plan ParsePlanJson(const std::string& text) {
  try {
    return ParsePlan(Json::parse(text));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kBadInput,
                "this is no plan of Partita: " + JsonProblem(error.id, error.what()),
                "a plan is the `data` of what `partita study plan --format json` writes");
  }
}

}  // namespace partita::study
