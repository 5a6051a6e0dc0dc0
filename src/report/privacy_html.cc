#include "report/privacy_html.h"

#include <nlohmann/json.hpp>

#include "privacy/rounded_text.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/json.h"

namespace partita::report {
namespace {

constexpr int kEpsilonDigits = 4, kErrorDigits = 3;
// Type I errors of the table, among those of the points.
constexpr double kShownAlphas[] = {0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75};

std::string RoundedCell(double value, int digits, bool up) {
  return Escape(privacy::RoundedText(value, digits, up));
}

std::string EpsilonCell(const privacy::PrivacyLoss& loss) {
  return loss.infinite ? "unlimited" : RoundedCell(loss.epsilon_upper, kEpsilonDigits, true);
}

std::string StatementTable(const privacy::Statement& statement) {
  HtmlTable table{
      "How much about one person",
      {"Who", "Neighbours", "Epsilon, at most", "Delta", "Right guesses, at most", "Because"},
      {2, 3, 4},
      {},
      ""};
  for (const privacy::StatementRow& row : statement.rows) {
    std::string because = row.reason;
    if (row.uses_realised)
      because += "; used " + std::to_string(*row.uses_realised) + " times in this run";
    table.Add({Escape(AdversaryText(row.adversary)), std::string(AdjacencyName(row.adjacency)),
               EpsilonCell(row.loss),
               row.loss.infinite ? "" : Escape(privacy::DeltaText(row.loss.delta)),
               Escape(RightGuessesText(row.loss)), Escape(because)});
  }
  return RenderHtmlTable(table);
}

std::string TradeOffTable(const privacy::StatementRow& row) {
  HtmlTable table{"Misses (type II error) of the best test",
                  {"False alarms", "Misses, at least", "at most"},
                  {0, 1, 2},
                  {},
                  ""};
  for (const privacy::TradeOffPoint& point : row.loss.trade_off) {
    for (double shown : kShownAlphas) {
      if (point.alpha != shown) continue;
      table.Add({RoundedCell(point.alpha, kErrorDigits, true),
                 RoundedCell(point.beta_lower, kErrorDigits, false),
                 RoundedCell(point.beta_upper, kErrorDigits, true)});
    }
  }
  return RenderHtmlTable(table);
}

// Those from `first` on with the same loss, as one name.
std::string Everybody(const privacy::Statement& statement, size_t first) {
  const privacy::StatementRow& same = statement.rows[first];
  std::string names;
  for (size_t i = first; i < statement.rows.size(); ++i) {
    const privacy::StatementRow& row = statement.rows[i];
    if (row.adjacency != same.adjacency || !(row.loss == same.loss)) continue;
    names += (names.empty() ? "" : "; ") + AdversaryText(row.adversary);
  }
  return names;
}

// Whether an earlier row has the same plot.
bool IsRepeated(const privacy::Statement& statement, size_t row) {
  for (size_t i = 0; i < row; ++i) {
    if (statement.rows[i].adjacency == statement.rows[row].adjacency &&
        statement.rows[i].loss == statement.rows[row].loss)
      return true;
  }
  return false;
}

std::string ProfileTable(const std::vector<ProfileLine>& profile) {
  HtmlTable table{
      "Delta of every epsilon", {"Epsilon", "Delta, at least", "at most"}, {0, 1, 2}, {}, ""};
  for (const ProfileLine& line : profile) {
    table.Add({RoundedCell(line.epsilon, kEpsilonDigits + 1, true),
               RoundedCell(line.delta_lower, kEpsilonDigits, false),
               RoundedCell(line.delta_upper, kEpsilonDigits, true)});
  }
  return RenderHtmlTable(table);
}

Json ProfileJson(const std::vector<ProfileLine>& profile) {
  Json lines = Json::array();
  for (const ProfileLine& line : profile) {
    lines.push_back(
        {{"epsilon", line.epsilon}, {"lower", line.delta_lower}, {"upper", line.delta_upper}});
  }
  return lines;
}

}  // namespace

std::string TradeOffsHtml(const privacy::Statement& statement) {
  std::string out;
  for (size_t i = 0; i < statement.rows.size(); ++i) {
    const privacy::StatementRow& row = statement.rows[i];
    if (row.loss.trade_off.empty() || IsRepeated(statement, i)) continue;
    const std::string who = Everybody(statement, i);
    out += Element("h3", Escape("What can be found out by: " + who)) + "\n";
    out += Figure({{"plot", "trade-off"}, {"row", std::to_string(i)}},
                  "Type II error against type I error of the best test of " + who +
                      "; the table below has the numbers",
                  PlainSentence(row.adjacency, row.loss) + " (" +
                      std::string(AdjacencyName(row.adjacency)) +
                      ".) No test comes below the points that the solid line joins; on the dashed "
                      "diagonal one learns nothing.");
    out += TradeOffTable(row);
  }
  return out;
}

std::string StatementHtml(const privacy::Statement& statement) {
  CheckStatement(statement);
  return Paragraph(statement.mechanism) + StatementTable(statement) + TradeOffsHtml(statement) +
         Bullets(statement.caveats);
}

std::string StatementPlots(const privacy::Statement& statement) {
  Json rows = Json::array();
  for (const privacy::StatementRow& row : statement.rows) {
    Json points = Json::array();
    for (const privacy::TradeOffPoint& point : row.loss.trade_off) {
      points.push_back(
          {{"alpha", point.alpha}, {"lower", point.beta_lower}, {"upper", point.beta_upper}});
    }
    rows.push_back({{"adversary", AdversaryText(row.adversary)}, {"points", points}});
  }
  return rows.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string WithTradeOffs(const std::string& plot_data, const privacy::Statement& statement) {
  Json json = plot_data.empty() ? Json::object() : Json::parse(plot_data);
  json["privacy"] = Json::parse(StatementPlots(statement));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string RenderPrivacyHtml(const PrivacyPage& page) {
  HtmlPage html;
  html.title = page.title + " - Partita";
  html.header =
      Paragraph("Partita privacy", "kicker") + Element("h1", Escape(page.title)) + "\n" +
      Paragraph("What can be found out about one person, and what certainly cannot.", "about");
  html.main = Section("statement", "Privacy statement", StatementHtml(page.statement));
  if (!page.profile.empty()) {
    html.main += Section(
        "profile", "Epsilon and delta",
        Figure({{"plot", "profile"}}, "Delta against epsilon; the table below has the numbers",
               "Every pair on or above the line holds for the outside analyst (" + page.adjacency +
                   ").") +
            ProfileTable(page.profile));
  }
  html.footer = Paragraph("Made by Partita. This file needs no network.");
  html.data = WithTradeOffs(Json{{"profile", ProfileJson(page.profile)}}.dump(), page.statement);
  return RenderHtmlPage(html);
}

}  // namespace partita::report
