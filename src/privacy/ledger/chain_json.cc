// The chain of an account as JSON: readable fields beside the canonical bytes that are hashed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "privacy/ledger/audit.h"

namespace partita::privacy::ledger {
namespace {

using Json = nlohmann::ordered_json;

// JSON readers keep 53 bits of a number.
std::string Units(uint64_t units) { return std::to_string(units); }

Json CostJson(const Cost& cost) {
  return {{"rdp_units", Units(cost.rdp)}, {"delta_units", Units(cost.delta)}};
}

Json FilterJson(const Filter& filter) {
  return {{"order", static_cast<double>(filter.order) / (1 << kOrderBits)},
          {"budget", CostJson(filter.budget)}};
}

Json BudgetJson(const Budget& budget) {
  return {{"adjacency", AdjacencyName(budget.adjacency)},
          {"epsilon", budget.epsilon},
          {"delta", budget.delta},
          {"approximate_delta", budget.approximate_delta}};
}

Json PolicyJson(const Policy& policy) {
  constexpr const char* kRules[] = {"refused", "allowed", "counted"};
  Json json;
  json["table"] = policy.table;
  json["outside"] = BudgetJson(policy.outside);
  if (policy.insider.has_value()) {
    json["insider"] = BudgetJson(*policy.insider);
    json["coalition"] = policy.coalition;
  }
  json["exact"] = kRules[static_cast<size_t>(policy.exact)];
  if (policy.exact == ExactRule::kCounted) json["max_exact"] = policy.max_exact;
  return json;
}

Json ChargeJson(const Charge& charge) {
  Json json;
  json["release"] = charge.release;
  json["adversary"] = AdversaryText(charge.adversary);
  json["adjacency"] = AdjacencyName(charge.adjacency);
  json["mechanism"] = MechanismText(charge.mechanism);
  json["count"] = charge.count;
  return json;
}

Json ExactJson(const ExactRelease& exact) {
  return {{"release", exact.release},
          {"what", exact.what},
          {"to", exact.to},
          {"values", exact.values},
          {"sufficient_statistics", exact.sufficient_statistics},
          {"variables", exact.variables}};
}

struct BodyJson {
  Json& json;

  void operator()(const Opened& opened) const {
    json["policy"] = PolicyJson(opened.policy);
    json["outside_filter"] = FilterJson(opened.outside);
    if (opened.insider.has_value()) json["insider_filter"] = FilterJson(*opened.insider);
  }
  void operator()(const Reserved& reserved) const {
    json["run_id"] = ToHex(reserved.run_id);
    json["agreement_hash"] = ToHex(reserved.agreement_hash);
    json["study"] = reserved.study;
    json["charges"] = Json::array();
    for (const Charge& charge : reserved.charges) json["charges"].push_back(ChargeJson(charge));
    json["exact"] = Json::array();
    for (const ExactRelease& exact : reserved.exact) json["exact"].push_back(ExactJson(exact));
    json["outside"] = CostJson(reserved.outside);
    json["insider"] = CostJson(reserved.insider);
  }
  void operator()(const Spent& spent) const { json["reservation"] = spent.reservation; }
  void operator()(const Refunded& refunded) const {
    json["reservation"] = refunded.reservation;
    json["why"] = refunded.why;
  }
  void operator()(const Countersigned& signed_by) const {
    json["reservation"] = signed_by.reservation;
    json["peer"] = signed_by.peer;
    json["head"] = signed_by.head;
  }
  void operator()(const PolicyChanged& changed) const {
    json["policy"] = PolicyJson(changed.policy);
    json["outside_filter"] = FilterJson(changed.outside_filter);
    if (changed.insider_filter.has_value())
      json["insider_filter"] = FilterJson(*changed.insider_filter);
    json["outside"] = CostJson(changed.outside);
    json["insider"] = CostJson(changed.insider);
    json["why"] = changed.why;
  }
};

Json EntryJson(const Entry& entry) {
  Json json;
  json["sequence"] = entry.sequence;
  json["at"] = entry.stamp.at;
  json["by"] = entry.stamp.by;
  json["kind"] = EntryKind(entry.body);
  std::visit(BodyJson{json}, entry.body);
  if (entry.mark)
    json["journal"] = {{"row", entry.mark->number}, {"hash", ToHex(entry.mark->hash)}};
  json["bytes"] = ToHex(EncodeEntry(entry));
  json["hash"] = ToHex(entry.hash);
  return json;
}

std::array<uint8_t, 32> DigestFromJson(const Json& json) {
  const Bytes bytes = FromHex(json.get<std::string>());
  std::array<uint8_t, 32> digest{};
  if (bytes.size() != digest.size()) throw Error(ErrorCode::kBadInput, "a hash of a wrong length");
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

}  // namespace

std::string ChainJson(const Pseudonym& pseudonym, const std::vector<Entry>& entries) {
  Json json;
  json["ledger"] = 1;
  json["pseudonym"] = ToHex(pseudonym);
  json["entries"] = Json::array();
  for (const Entry& entry : entries) json["entries"].push_back(EntryJson(entry));
  // Texts were made elsewhere: what is no UTF-8 is shown as such, the bytes beside it are exact.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<Entry> ReadChainJson(const std::string& text, const std::string& file) {
  Pseudonym pseudonym{};
  std::vector<Entry> entries;
  bool canonical = false;
  try {
    const Json json = Json::parse(text);
    pseudonym = DigestFromJson(json.at("pseudonym"));
    for (const Json& item : json.at("entries")) {
      entries.push_back(DecodeEntry(FromHex(item.at("bytes").get<std::string>())));
      entries.back().hash = DigestFromJson(item.at("hash"));
    }
    canonical = ChainJson(pseudonym, entries) == text;
  } catch (const Json::exception&) {
    canonical = false;
  } catch (const Error&) {
    canonical = false;
  }
  if (!canonical) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} is not a privacy ledger as Partita exports it", file),
                "export it again; nothing in it may be changed, not even blanks");
  }
  VerifyEntries(pseudonym, entries);
  return entries;
}

std::string StandingJson(const Standing& standing) {
  const auto part = [](const Budget& budget, const Filter& filter, const Cost& spent,
                       const Cost& reserved) {
    return Json{{"budget", BudgetJson(budget)},
                {"filter", FilterJson(filter)},
                {"spent", CostJson(spent)},
                {"reserved", CostJson(reserved)},
                {"epsilon_after", EpsilonAfter(budget, filter, spent + reserved)}};
  };
  Json json;
  json["policy"] = PolicyJson(standing.policy);
  json["outside"] = part(standing.policy.outside, standing.outside, standing.spent.outside,
                         standing.reserved.outside);
  if (standing.insider.has_value()) {
    json["insider"] = part(*standing.policy.insider, *standing.insider, standing.spent.insider,
                           standing.reserved.insider);
  }
  json["exact_spent"] = standing.spent.exact;
  json["exact_reserved"] = standing.reserved.exact;
  json["exact_values_spent"] = standing.spent.exact_values;
  json["studies_spent"] = standing.studies_spent;
  json["studies_open"] = standing.reservations.size();
  json["policy_changes"] = standing.policy_changes;
  json["pseudonym"] = ToHex(standing.head.pseudonym);
  json["sequence"] = standing.head.sequence;
  json["hash"] = ToHex(standing.head.hash);
  json["qualifications"] = Qualifications(standing);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace partita::privacy::ledger
