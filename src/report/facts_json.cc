#include "report/facts_json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "report/json.h"

namespace partita::report {
namespace {

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <typename T>
std::optional<T> ReadOptional(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}

template <typename T, typename F>
Json ListJson(const std::vector<T>& items, F item_json) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(item_json(item));
  return list;
}

template <typename T, typename F>
std::vector<T> ReadList(const Json& list, F read_item) {
  std::vector<T> items;
  for (const Json& item : list) items.push_back(read_item(item));
  return items;
}

Json PhaseJson(const PhaseFacts& phase) {
  return {{"phase", phase.phase},
          {"rounds", phase.rounds},
          {"messages_sent", phase.messages_sent},
          {"messages_received", phase.messages_received},
          {"bytes_sent", phase.bytes_sent},
          {"bytes_received", phase.bytes_received},
          {"wire_bytes_sent", phase.wire_bytes_sent},
          {"wire_bytes_received", phase.wire_bytes_received},
          {"seconds", phase.seconds}};
}

PhaseFacts ReadPhase(const Json& json) {
  PhaseFacts phase;
  phase.phase = json.at("phase");
  phase.rounds = json.at("rounds");
  phase.messages_sent = json.at("messages_sent");
  phase.messages_received = json.at("messages_received");
  phase.bytes_sent = json.at("bytes_sent");
  phase.bytes_received = json.at("bytes_received");
  phase.wire_bytes_sent = json.at("wire_bytes_sent");
  phase.wire_bytes_received = json.at("wire_bytes_received");
  phase.seconds = NumberOrNan(json.at("seconds"));
  return phase;
}

Json ReleaseJson(const ReleaseFacts& release) {
  return {{"id", release.id},
          {"what", release.what},
          {"to", release.to},
          {"mechanism", release.mechanism},
          {"max_count", release.max_count},
          {"opened", release.opened}};
}

ReleaseFacts ReadRelease(const Json& json) {
  return {json.at("id"),        json.at("what"),      json.at("to"),
          json.at("mechanism"), json.at("max_count"), json.at("opened")};
}

Json ApprovalJson(const ApprovalFacts& approval) {
  return {{"party", approval.party},
          {"decision", approval.decision},
          {"kind", approval.kind},
          {"signed_by", approval.signed_by},
          {"approved_at", approval.approved_at},
          {"valid_until", approval.valid_until},
          {"min_cell", approval.min_cell},
          {"min_rows", approval.min_rows}};
}

ApprovalFacts ReadApproval(const Json& json) {
  return {json.at("party"),       json.at("decision"),    json.at("kind"),     json.at("signed_by"),
          json.at("approved_at"), json.at("valid_until"), json.at("min_cell"), json.at("min_rows")};
}

Json RowsJson(const RowFacts& rows) {
  const auto exclusion = [](const ExclusionFacts& facts) -> Json {
    return {{"reason", facts.reason}, {"count", facts.count}};
  };
  return {{"scope", rows.scope},
          {"observed", rows.observed},
          {"used", rows.used ? Json(*rows.used) : Json()},
          {"excluded", ListJson(rows.excluded, exclusion)}};
}

RowFacts ReadRows(const Json& json) {
  const auto exclusion = [](const Json& item) -> ExclusionFacts {
    return {item.at("reason"), item.at("count")};
  };
  const Json& used = json.at("used");
  return {json.at("scope"), json.at("observed"),
          used.is_null() ? std::optional<uint64_t>() : used.get<uint64_t>(),
          ReadList<ExclusionFacts>(json.at("excluded"), exclusion)};
}

Json DisclosureJson(const DisclosureFacts& check) {
  return {{"variable", check.variable}, {"rule", check.rule}, {"passed", check.passed}};
}

DisclosureFacts ReadDisclosure(const Json& json) {
  return {json.at("variable"), json.at("rule"), json.at("passed")};
}

Json VariableJson(const VariableFacts& variable) {
  return {{"name", variable.name},
          {"type", variable.type},
          {"unit", variable.unit},
          {"held_by", variable.held_by},
          {"lower", OrNull(variable.lower)},
          {"upper", OrNull(variable.upper)},
          {"n", variable.n},
          {"mean", OrNull(variable.mean)},
          {"sd", OrNull(variable.sd)}};
}

VariableFacts ReadVariable(const Json& json) {
  return {json.at("name"),
          json.at("type"),
          json.at("unit"),
          json.at("held_by"),
          ReadOptional<double>(json.at("lower")),
          ReadOptional<double>(json.at("upper")),
          json.at("n"),
          ReadOptional<double>(json.at("mean")),
          ReadOptional<double>(json.at("sd"))};
}

Json CostJson(const CostFacts& cost) {
  return {{"seconds", cost.seconds}, {"rounds", cost.rounds}, {"bytes", cost.bytes}};
}

CostFacts ReadCost(const Json& json) {
  return {NumberOrNan(json.at("seconds")), json.at("rounds"), json.at("bytes")};
}

Json HistoryJson(const HistoryFacts& history) {
  const auto point = [](const HistoryPoint& at) -> Json {
    return {{"iteration", at.iteration},
            {"log_likelihood", at.log_likelihood},
            {"max_scaled_gradient", at.max_scaled_gradient}};
  };
  return {{"analysis", history.analysis}, {"points", ListJson(history.points, point)}};
}

HistoryFacts ReadHistory(const Json& json) {
  const auto point = [](const Json& at) -> HistoryPoint {
    return {at.at("iteration"), NumberOrNan(at.at("log_likelihood")),
            NumberOrNan(at.at("max_scaled_gradient"))};
  };
  return {json.at("analysis"), ReadList<HistoryPoint>(json.at("points"), point)};
}

}  // namespace

double NumberOrNan(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json HeadJson(const std::string& status, const study::Plan& plan, const RunFacts& facts) {
  return {
      {"schema_version", kResultSchemaVersion},
      {"status", status},
      {"software",
       {{"name", "partita"}, {"version", facts.software_version}, {"libraries", facts.libraries}}},
      {"study", {{"name", plan.study}, {"title", plan.title}}},
      {"party", facts.party},
      {"started_at", facts.started_at},
      {"hashes",
       {{"agreement", facts.agreement_hash},
        {"agreement_and_tables", facts.study_hash},
        {"plan", facts.plan_hash},
        {"run_id", facts.run_id}}}};
}

void AppendFacts(const study::Plan& plan, const RunFacts& facts, Json& json) {
  json["approvals"] = ListJson(facts.approvals, ApprovalJson);
  json["min_cell"] = facts.min_cell;
  json["rows"] = ListJson(facts.rows, RowsJson);
  json["variables"] = ListJson(facts.variables, VariableJson);
  json["disclosure"] = ListJson(facts.disclosure, DisclosureJson);
  json["releases"] = ListJson(facts.releases, ReleaseJson);
  json["corrected"] = facts.corrected;
  Json& learned = json["learned"] = Json::array();
  for (const study::PlanParty& party : plan.parties) {
    learned.push_back({{"party", party.name}, {"roles", party.roles}, {"learns", party.learns}});
  }
  json["leakage"] = {{"level", facts.leakage_level}, {"sentences", facts.leakage}};
  json["privacy"] = facts.privacy;
  json["digits_of_agreement"] = OrNull(facts.digits_of_agreement);
  json["history"] = ListJson(facts.history, HistoryJson);
  json["traffic"] = ListJson(facts.phases, PhaseJson);
  json["seconds_total"] = facts.seconds_total;
  json["prediction"] = Json();
  if (facts.prediction) {
    json["prediction"] = {{"predicted", CostJson(facts.prediction->predicted)},
                          {"measured", CostJson(facts.prediction->measured)}};
  }
  json["plan"] = Json::parse(study::RenderPlanJson(plan, {}));
}

RunFacts ReadFacts(const Json& json) {
  RunFacts facts;
  facts.party = json.at("party");
  facts.started_at = json.at("started_at");
  facts.software_version = json.at("software").at("version");
  facts.libraries = json.at("software").at("libraries").get<std::vector<std::string>>();
  const Json& hashes = json.at("hashes");
  facts.agreement_hash = hashes.at("agreement");
  facts.study_hash = hashes.at("agreement_and_tables");
  facts.plan_hash = hashes.at("plan");
  facts.run_id = hashes.at("run_id");
  facts.approvals = ReadList<ApprovalFacts>(json.at("approvals"), ReadApproval);
  facts.min_cell = json.at("min_cell");
  facts.rows = ReadList<RowFacts>(json.at("rows"), ReadRows);
  facts.variables = ReadList<VariableFacts>(json.at("variables"), ReadVariable);
  facts.disclosure = ReadList<DisclosureFacts>(json.at("disclosure"), ReadDisclosure);
  facts.releases = ReadList<ReleaseFacts>(json.at("releases"), ReadRelease);
  if (json.contains("corrected")) {
    facts.corrected = json.at("corrected").get<std::vector<std::string>>();
  }
  facts.leakage_level = json.at("leakage").at("level");
  facts.leakage = json.at("leakage").at("sentences").get<std::vector<std::string>>();
  facts.privacy = json.at("privacy").get<std::vector<std::string>>();
  facts.digits_of_agreement = ReadOptional<int>(json.at("digits_of_agreement"));
  facts.history = ReadList<HistoryFacts>(json.at("history"), ReadHistory);
  facts.phases = ReadList<PhaseFacts>(json.at("traffic"), ReadPhase);
  facts.seconds_total = NumberOrNan(json.at("seconds_total"));
  const Json& prediction = json.at("prediction");
  if (!prediction.is_null()) {
    facts.prediction = {ReadCost(prediction.at("predicted")), ReadCost(prediction.at("measured"))};
  }
  return facts;
}

}  // namespace partita::report
