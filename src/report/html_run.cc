#include "report/html_run.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text_table.h"
#include "report/html_text.h"
#include "report/json.h"
#include "report/numbers.h"
#include "report/plan_statements.h"
#include "report/privacy_html.h"

namespace partita::report {
namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

std::string OrUnknown(const std::string& text) { return text.empty() ? "not recorded" : text; }

std::string CoveredBy(const ApprovalFacts& approval) {
  if (approval.kind == "envelope") return "an envelope";
  return approval.kind == "policy" ? "a policy of its steward" : "this study";
}

std::string Approvals(const RunFacts& facts) {
  std::string out = Element("h3", "Approvals") + "\n";
  if (facts.approvals.empty()) return out + Paragraph("No approvals are recorded for this run.");
  HtmlTable table{"",
                  {"Party", "Decision", "Covers", "At", "Valid until", "Smallest cell",
                   "Fewest rows", "Signed by (certificate)"},
                  {5, 6},
                  {},
                  "approvals"};
  for (const ApprovalFacts& approval : facts.approvals) {
    const auto limit = [](uint64_t value) { return value == 0 ? "" : FormatCount(value); };
    table.Add({Escape(approval.party), Escape(approval.decision), CoveredBy(approval),
               Escape(approval.approved_at),
               Escape(approval.valid_until.empty() ? "no end" : approval.valid_until),
               limit(approval.min_cell), limit(approval.min_rows), Code(approval.signed_by)});
  }
  return out + RenderHtmlTable(table);
}

std::string ReleasesTable(const RunFacts& facts) {
  if (facts.releases.empty()) return Paragraph("Nothing was released.");
  HtmlTable table{"What was opened",
                  {"Release", "What", "To", "Mechanism", "Opened", "Allowed"},
                  {4, 5},
                  {},
                  ""};
  for (const ReleaseFacts& release : facts.releases) {
    table.Add({Escape(release.id), Escape(release.what), Escape(release.to),
               Escape(release.mechanism), FormatCount(release.opened),
               FormatCount(release.max_count)});
  }
  return RenderHtmlTable(table);
}

std::string DisclosureTable(const RunFacts& facts) {
  if (facts.disclosure.empty()) return {};
  HtmlTable table{"Disclosure checks before the release", {"About", "Rule", "Result"}, {}, {}, ""};
  for (const DisclosureFacts& check : facts.disclosure) {
    table.Add({Escape(check.variable), Escape(check.rule), check.passed ? "passed" : "NOT passed"});
  }
  return RenderHtmlTable(table);
}

// Reasons whose count is small at one party or more: differences between parties, totals and used
// rows would give such a count away, so it is hidden everywhere.
std::set<std::string> HiddenReasons(const RunFacts& facts) {
  std::set<std::string> hidden;
  for (const RowFacts& rows : facts.rows) {
    for (const ExclusionFacts& excluded : rows.excluded) {
      if (excluded.count > 0 && excluded.count < facts.min_cell) hidden.insert(excluded.reason);
    }
  }
  return hidden;
}

std::string RowsTable(const RunFacts& facts) {
  const std::set<std::string> hidden = HiddenReasons(facts);
  HtmlTable table{"Rows", {"Of", "Observed", "Used", "Excluded, and why"}, {1, 2}, {}, ""};
  for (const RowFacts& rows : facts.rows) {
    const bool known = rows.observed > 0 || rows.used == 0U;
    bool hides = rows.used.value_or(0) > 0 && *rows.used < facts.min_cell;
    std::string why;
    for (const ExclusionFacts& excluded : rows.excluded) {
      const bool small = excluded.count > 0 && excluded.count < facts.min_cell;
      const bool hide = !small && hidden.contains(excluded.reason);
      hides = hides || small || hide;
      const std::string count =
          hide ? "not shown" : SuppressedCount(excluded.count, facts.min_cell);
      why += Element("div", Escape(excluded.reason + ": " + count));
    }
    table.Add(
        {Escape(rows.scope),
         !known  ? "not known here"
         : hides ? "not shown"
                 : Escape(SuppressedCount(rows.observed, facts.min_cell)),
         // A declared count, which stands in the plan, less this one would be the small count.
         hides        ? "not shown"
         : !rows.used ? "not known here"
                      : Escape(SuppressedCount(*rows.used, facts.min_cell)),
         !why.empty() ? why
         : known      ? "none"
                      : ""});
  }
  return RenderHtmlTable(table) +
         Paragraph("Counts above 0 and below " + FormatCount(facts.min_cell) +
                       " are suppressed, and with them the numbers of this table that would "
                       "give them away.",
                   "note");
}

std::string VariablesTable(const RunFacts& facts) {
  HtmlTable table{
      "Variables",
      {"Variable", "Type", "Unit", "Held by", "Lower bound", "Upper bound", "Mean", "SD"},
      {4, 5, 6, 7},
      {},
      ""};
  for (const VariableFacts& variable : facts.variables) {
    const auto bound = [](const std::optional<double>& value) {
      return value ? Escape(Significant3(*value)) : std::string();
    };
    const auto moment = [&](const std::optional<double>& value) {
      if (!value || variable.n < facts.min_cell) return std::string();
      return Escape(Significant3(*value));
    };
    table.Add({Escape(variable.name), Escape(variable.type), Escape(variable.unit),
               Escape(variable.held_by), bound(variable.lower), bound(variable.upper),
               moment(variable.mean), moment(variable.sd)});
  }
  return RenderHtmlTable(table) +
         Paragraph(
             "Bounds are the dictionary's. Means and standard deviations are shown to three "
             "digits, where a release told them.",
             "note");
}

std::string CountCell(uint64_t count) { return count == 0 ? "" : FormatCount(count); }

std::string PhasesTable(const RunFacts& facts) {
  bool wire = false;
  for (const PhaseFacts& phase : facts.phases) {
    wire = wire || phase.wire_bytes_sent + phase.wire_bytes_received > 0;
  }
  HtmlTable table{"Phases at " + facts.party + " (payload in bytes)",
                  {"Phase", "Rounds", "Messages sent", "received", "Bytes sent", "received"},
                  {1, 2, 3, 4, 5, 6, 7, 8},
                  {},
                  ""};
  if (wire) table.header.insert(table.header.end(), {"On the wire, sent", "received"});
  table.header.push_back("Time");
  PhaseFacts total;
  const auto cells = [&](const PhaseFacts& phase, double seconds) {
    std::vector<std::string> row = {Escape(phase.phase),
                                    CountCell(phase.rounds),
                                    CountCell(phase.messages_sent),
                                    CountCell(phase.messages_received),
                                    CountCell(phase.bytes_sent),
                                    CountCell(phase.bytes_received)};
    if (wire) {
      row.push_back(CountCell(phase.wire_bytes_sent));
      row.push_back(CountCell(phase.wire_bytes_received));
    }
    row.push_back(Escape(FormatSeconds(seconds)));
    return row;
  };
  for (const PhaseFacts& phase : facts.phases) {
    table.Add(cells(phase, phase.seconds));
    total.rounds += phase.rounds;
    total.messages_sent += phase.messages_sent;
    total.messages_received += phase.messages_received;
    total.bytes_sent += phase.bytes_sent;
    total.bytes_received += phase.bytes_received;
    total.wire_bytes_sent += phase.wire_bytes_sent;
    total.wire_bytes_received += phase.wire_bytes_received;
  }
  total.phase = "total";
  table.Add(cells(total, facts.seconds_total));
  return RenderHtmlTable(table);
}

std::string PredictionTable(const PredictionFacts& prediction) {
  HtmlTable table{"What the plan predicted", {"", "Predicted", "Measured"}, {1, 2}, {}, ""};
  const auto& [predicted, measured] = prediction;
  table.Add(
      {"Time", Escape(FormatSeconds(predicted.seconds)), Escape(FormatSeconds(measured.seconds))});
  table.Add({"Rounds", FormatCount(predicted.rounds), FormatCount(measured.rounds)});
  table.Add({"Bytes", FormatCount(predicted.bytes), FormatCount(measured.bytes)});
  return RenderHtmlTable(table);
}

const char* AboutTitle(const std::string& about) {
  static constexpr std::pair<const char*, const char*> kTitles[] = {
      {"convergence", "Convergence"},
      {"agreement", "Agreement with the pooled fit"},
      {"differential-privacy", "Differential privacy"},
      {"adversary", "Whom it protects against"},
      {"standard-errors", "Standard errors"},
      {"not-done", "Not done"}};
  for (const auto& [name, title] : kTitles) {
    if (about == name) return title;
  }
  return "Note";
}

}  // namespace

std::string StatementsHtml(std::span<const Statement> statements) {
  Items items;
  for (const Statement& statement : statements) {
    items.emplace_back(AboutTitle(statement.about), statement.text);
  }
  return Element("div", Definitions(items), "statements") + "\n";
}

std::string StudyHtml(const study::Plan& plan, const RunFacts& facts) {
  Items items = {{"Study", plan.study}};
  AddDeclared(plan, items);
  items.insert(items.end(),
               {{"Method", plan.method + " version " + std::to_string(plan.method_version)},
                {"Protocol", plan.protocol},
                {"Engine", plan.engine},
                {"Partition", plan.partition},
                {"Report of", facts.party},
                {"Started", OrUnknown(facts.started_at)}});
  HtmlTable hashes{"Hashes (SHA-256)", {"Of", "Value"}, {}, {}, "hashes"};
  for (const auto& [name, hash] :
       {std::pair{"agreement", &facts.agreement_hash},
        std::pair{"agreement and tables", &facts.study_hash}, std::pair{"plan", &facts.plan_hash},
        std::pair{"run", &facts.run_id}}) {
    hashes.Add({name, hash->empty() ? "not recorded" : Code(*hash)});
  }
  return Section("study", "Study and approvals",
                 Definitions(items) + RenderHtmlTable(hashes) + Approvals(facts));
}

void AddDeclared(const study::Plan& plan, std::vector<std::pair<std::string, std::string>>& items) {
  for (const study::Declared& declared : study::AllOf(plan.declared)) {
    if (!declared.text->empty()) items.emplace_back(declared.label, *declared.text);
  }
}

std::string PartiesTable(const study::Plan& plan) {
  HtmlTable table{
      "Who puts in and learns what", {"Party", "Roles", "Puts in", "Learns"}, {}, {}, ""};
  for (const study::PlanParty& party : plan.parties) {
    const std::string learns =
        party.learns.empty() ? "nothing beyond the plan" : Bullets(party.learns);
    table.Add({Escape(party.name), Escape(List(party.roles)),
               Escape(party.contributes.empty() ? "no data" : party.contributes), learns});
  }
  return RenderHtmlTable(table);
}

std::string AssumptionsHtml(const study::Plan& plan) {
  if (plan.assumptions.empty()) return {};
  return Element("h3", "Assumptions") + "\n" + Bullets(plan.assumptions);
}

std::string LearnedHtml(const study::Plan& plan, const RunFacts& facts) {
  const std::string level = facts.leakage_level.empty() ? plan.leakage_level : facts.leakage_level;
  std::string out = PartiesTable(plan) + ReleasesTable(facts) + DisclosureTable(facts);
  out += Element("h3", "Leakage") + "\n" + Paragraph("Level reached: " + level + ".") +
         Bullets(facts.leakage);
  if (!facts.privacy.empty()) {
    out += Element("h3", "Privacy statement") + "\n" + Bullets(facts.privacy);
    if (plan.privacy_statement) out += TradeOffsHtml(*plan.privacy_statement);
  }
  return Section("learned", "Who learned what", out + AssumptionsHtml(plan));
}

std::string DataHtml(const RunFacts& facts) {
  if (facts.rows.empty() && facts.variables.empty()) return {};
  std::string out;
  if (!facts.rows.empty()) out += RowsTable(facts);
  if (!facts.variables.empty()) out += VariablesTable(facts);
  return Section("data", "Data", out);
}

std::string TrafficData(const RunFacts& facts) {
  Json phases = Json::array();
  double start = 0;
  for (const PhaseFacts& phase : facts.phases) {
    std::string note;
    if (phase.bytes_sent + phase.bytes_received > 0) {
      note = FormatBytes(phase.bytes_sent) + " sent, " + FormatBytes(phase.bytes_received) +
             " received";
    }
    phases.push_back(
        {{"phase", phase.phase}, {"start", start}, {"seconds", phase.seconds}, {"note", note}});
    start += phase.seconds;
  }
  return phases.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string TrafficHtml(const RunFacts& facts) {
  if (facts.phases.empty()) return {};
  std::string out = Figure({{"plot", "traffic"}},
                           "Phases of the run on a time line; the table below has the numbers",
                           "What " + facts.party + " did when, phase after phase, with payload.");
  out += PhasesTable(facts);
  if (facts.prediction) out += PredictionTable(*facts.prediction);
  return Section("traffic", "Traffic and time", out);
}

}  // namespace partita::report
