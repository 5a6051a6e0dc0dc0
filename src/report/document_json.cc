#include "report/document_json.h"

#include <nlohmann/json.hpp>

#include "report/facts_json.h"
#include "report/json.h"

namespace partita::report {
namespace {

using study::Document;
using study::DocumentInterval;
using study::DocumentIntervals;
using study::DocumentPlot;
using study::DocumentSection;
using study::DocumentSeries;

Json CellJson(const TableCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return std::get<double>(cell);
}

Json PlotJson(const DocumentPlot& plot) {
  Json series = Json::array();
  for (const DocumentSeries& line : plot.series)
    series.push_back({{"name", line.name}, {"x", line.x}, {"y", line.y}, {"upper", line.upper}});
  return {{"title", plot.title},
          {"x_label", plot.x_label},
          {"y_label", plot.y_label},
          {"note", plot.note},
          {"series", std::move(series)}};
}

Json IntervalsJson(const DocumentIntervals& plot) {
  Json rows = Json::array();
  for (const DocumentInterval& row : plot.rows) {
    rows.push_back(
        {{"name", row.name}, {"lower", row.lower}, {"middle", row.middle}, {"upper", row.upper}});
  }
  return {{"title", plot.title},
          {"x_label", plot.x_label},
          {"ratios", plot.ratios},
          {"rows", std::move(rows)}};
}

Json SectionJson(const DocumentSection& section) {
  Json tables = Json::array(), plots = Json::array(), intervals = Json::array();
  for (const CellTable& table : section.tables) tables.push_back(CellTableJson(table));
  for (const DocumentPlot& plot : section.plots) plots.push_back(PlotJson(plot));
  for (const DocumentIntervals& plot : section.intervals) intervals.push_back(IntervalsJson(plot));
  return {{"heading", section.heading},
          {"paragraphs", section.paragraphs},
          {"tables", std::move(tables)},
          {"plots", std::move(plots)},
          {"intervals", std::move(intervals)}};
}

std::vector<double> ReadNumbers(const Json& json) {
  std::vector<double> numbers;
  for (const Json& number : json) numbers.push_back(NumberOrNan(number));
  return numbers;
}

DocumentPlot ReadPlot(const Json& json) {
  DocumentPlot plot{json.at("title"), json.at("x_label"), json.at("y_label"), {}};
  plot.note = json.value("note", "");  // results of before it are read as well
  for (const Json& line : json.at("series")) {
    plot.series.push_back({line.at("name"), ReadNumbers(line.at("x")), ReadNumbers(line.at("y"))});
    study::DocumentSeries& series = plot.series.back();
    if (line.contains("upper")) series.upper = ReadNumbers(line.at("upper"));
    if (series.x.size() != series.y.size() ||
        (!series.upper.empty() && series.upper.size() != series.x.size()))
      throw Json::other_error::create(501, "a line of a plot lacks coordinates", nullptr);
  }
  return plot;
}

DocumentIntervals ReadIntervals(const Json& json) {
  DocumentIntervals plot{json.at("title"), json.at("x_label"), json.at("ratios"), {}};
  for (const Json& row : json.at("rows")) {
    plot.rows.push_back({row.at("name"), NumberOrNan(row.at("lower")),
                         NumberOrNan(row.at("middle")), NumberOrNan(row.at("upper"))});
  }
  return plot;
}

}  // namespace

Json CellTableJson(const CellTable& table) {
  Json rows = Json::array();
  for (const std::vector<TableCell>& row : table.rows) {
    Json cells = Json::array();
    for (const TableCell& cell : row) cells.push_back(CellJson(cell));
    rows.push_back(std::move(cells));
  }
  return {{"title", table.title}, {"columns", table.columns}, {"rows", std::move(rows)}};
}

CellTable ReadCellTable(const Json& json) {
  CellTable table{json.at("title"), json.at("columns"), {}};
  for (const Json& cells : json.at("rows")) {
    std::vector<TableCell> row;
    for (const Json& cell : cells) {
      if (cell.is_string()) {
        row.emplace_back(cell.get<std::string>());
      } else {
        row.emplace_back(NumberOrNan(cell));
      }
    }
    if (row.size() != table.columns.size()) {
      throw Json::other_error::create(501, "a row of a table is not as long as its header",
                                      nullptr);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void AppendDocument(const Document& document, Json& json) {
  Json sections = Json::array(), files = Json::array();
  for (const DocumentSection& section : document.sections) {
    if (!section.own_rows) sections.push_back(SectionJson(section));
  }
  for (const study::DocumentFile& file : document.files) files.push_back(file.name);
  json["document"] = {
      {"title", document.title}, {"sections", std::move(sections)}, {"files", std::move(files)}};
  json["result"] = document.json.empty() ? Json::object() : Json::parse(document.json);
}

Document ReadDocument(const Json& json) {
  const Json& body = json.at("document");
  Document document;
  document.title = body.at("title");
  for (const Json& section : body.at("sections")) {
    DocumentSection read{section.at("heading"), section.at("paragraphs")};
    for (const Json& table : section.at("tables")) read.tables.push_back(ReadCellTable(table));
    for (const Json& plot : section.at("plots")) read.plots.push_back(ReadPlot(plot));
    // Results of before there were any are read as well.
    for (const Json& plot : section.value("intervals", Json::array()))
      read.intervals.push_back(ReadIntervals(plot));
    document.sections.push_back(std::move(read));
  }
  for (const Json& file : body.at("files")) document.files.push_back({file.get<std::string>(), ""});
  document.json = json.at("result").dump();
  for (const study::Ending ending : {study::Ending::kConverged, study::Ending::kNotTrained}) {
    document.ending = ending;
    if (json.at("status").get<std::string>() == study::EndingName(ending)) return document;
  }
  document.ending = study::Ending::kNotConverged;
  return document;
}

}  // namespace partita::report
