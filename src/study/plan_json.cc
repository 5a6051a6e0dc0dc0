// The plan as JSON and back.
#include <nlohmann/json.hpp>

#include "study/plan.h"

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

Json PhasesJson(const Plan& plan) {
  Json phases = Json::array();
  for (const PlanPhase& phase : plan.phases) {
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
    estimates.push_back({{"network", network.name},
                         {"latency_seconds", network.latency_seconds},
                         {"bytes_per_second", network.bytes_per_second},
                         {"seconds", EstimateSeconds(plan, network)}});
  }
  return estimates;
}

Plan ParsePlan(const Json& json) {
  Plan plan;
  if (json.at("schema_version").get<int>() != kPlanSchemaVersion) {
    throw Error(ErrorCode::kBadInput, "the plan has a schema version that is not known here",
                "read it with the version of Partita that wrote it");
  }
  plan.study = json.at("study");
  plan.title = json.at("title");
  plan.study_file_hash = json.at("study_file_hash");
  plan.method = json.at("method");
  plan.method_version = json.at("method_version");
  plan.protocol = json.at("protocol");
  plan.engine = json.at("engine");
  plan.partition = json.at("partition");
  plan.leakage_level = json.at("leakage_level");
  plan.assumptions = json.at("assumptions").get<std::vector<std::string>>();
  plan.notes = json.at("notes").get<std::vector<std::string>>();
  for (const Json& party : json.at("parties")) {
    plan.parties.push_back(
        {party.at("name"), party.at("roles"), party.at("contributes"), party.at("learns")});
  }
  for (const Json& phase : json.at("phases")) {
    PlanPhase& added = plan.phases.emplace_back();
    added.name = phase.at("name");
    added.rounds = phase.at("rounds");
    for (const Json& link : phase.at("links")) {
      added.links.push_back(
          {link.at("from"), link.at("to"), link.at("messages"), link.at("bytes")});
    }
  }
  for (const Json& item : json.at("correlations")) {
    plan.correlations.push_back({item.at("name"), item.at("count")});
  }
  for (const Json& item : json.at("releases")) {
    plan.releases.push_back({item.at("id"), item.at("what"), item.at("to"), item.at("mechanism"),
                             item.at("max_count")});
  }
  return plan;
}

}  // namespace

std::string RenderPlanJson(const Plan& plan, std::span<const NetworkModel> networks) {
  const PlanTotals totals = Totals(plan);
  const Json json = {
      {"schema_version", kPlanSchemaVersion},
      {"study", plan.study},
      {"title", plan.title},
      {"study_file_hash", plan.study_file_hash},
      {"method", plan.method},
      {"method_version", plan.method_version},
      {"protocol", plan.protocol},
      {"engine", plan.engine},
      {"partition", plan.partition},
      {"parties", PartiesJson(plan)},
      {"leakage_level", plan.leakage_level},
      {"releases", ReleasesJson(plan)},
      {"assumptions", plan.assumptions},
      {"phases", PhasesJson(plan)},
      {"totals",
       {{"rounds", totals.rounds}, {"messages", totals.messages}, {"bytes", totals.bytes}}},
      {"correlations", CorrelationsJson(plan)},
      {"estimates", EstimatesJson(plan, networks)},
      {"notes", plan.notes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Plan ParsePlanJson(const std::string& text) {
  try {
    return ParsePlan(Json::parse(text));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kBadInput, std::string("this is no plan of Partita: ") + error.what(),
                "a plan is the `data` of what `partita study plan --format json` writes");
  }
}

}  // namespace partita::study
