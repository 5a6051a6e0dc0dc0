// Real tables of R's packages with R's fits (tests/references/glm/real.json): the table in the hands of several parties, at
// each level, on each engine, with rows, columns or both split, and the study of it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "methods/glm/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/glm/reference_text.h"

namespace partita::methods::glm::real_tables {

using nlohmann::json;

inline const json& References() {
  static const json references =
      json::parse(std::ifstream(FixturePath("references/glm/real.json")));
  return references;
}

inline const json& TableOf(const json& fit) {
  return References()["tables"][fit["table"].get<std::string>()];
}

inline data::Schema DictionaryOf(const json& table) {
  data::Schema schema;
  for (const json& column : table["columns"]) {
    const std::string name = column["name"];
    if (column.contains("levels")) {
      schema.columns.push_back(testing::Factor(name, column["levels"]));
    } else if (column["type"] == "integer") {
      schema.columns.push_back(testing::Integer(name, column["lower"], column["upper"]));
    } else {
      schema.columns.push_back(testing::Number(name, column["lower"], column["upper"]));
    }
  }
  return schema;
}

// A fit and how it is made: level "aggregates", "iterates" or "sealed"; split "rows", "columns" (of two holders) or "both" (rows
// whose columns two holders have, and rows of a third).
struct Case {
  const json* fit;
  std::string level, engine, split = "rows";

  std::string text(const char* key) const {
    const json& value = (*fit)[key];
    return value.is_null() ? "" : value.get<std::string>();
  }
  bool keyed() const { return split != "rows"; }
};

inline std::string NameOf(const Case& made) {
  return fmt::format("{}: {} {} {} {}, level {}, engine {}, {} split", made.text("table"),
                     made.text("family"), made.text("link"), made.text("formula"),
                     made.text("errors"), made.level, made.engine, made.split);
}

inline data::Table Empty(const data::Table& like) {
  data::Table table;
  for (const data::Column& column : like.columns) {
    table.columns.emplace_back();
    table.columns.back().schema = column.schema;
  }
  return table;
}

// Rows to parts by a hash of their number, or all rows of a cluster to one part, so that clusters are R's.
inline std::vector<data::Table> DealRows(const data::Table& all, const std::string& cluster,
                                         size_t parts) {
  std::vector<data::Table> dealt(parts, Empty(all));
  std::vector<double> seen;
  for (size_t r = 0; r < all.num_rows; ++r) {
    size_t number = r;
    if (!cluster.empty()) {
      const double value = all.Get(cluster).numbers[r];
      number = static_cast<size_t>(std::find(seen.begin(), seen.end(), value) - seen.begin());
      if (number == seen.size()) seen.push_back(value);
    }
    data::Table& part = dealt[(static_cast<uint32_t>(number) * 2654435761U >> 16) % parts];
    ++part.num_rows;
    for (size_t c = 0; c < all.columns.size(); ++c) {
      const data::Column& from = all.columns[c];
      if (from.schema.levels.empty()) {
        part.columns[c].numbers.push_back(from.numbers[r]);
      } else {
        part.columns[c].codes.push_back(from.codes[r]);
      }
    }
  }
  return dealt;
}

// Every second column.
inline data::Table HalfOf(const data::Table& all, size_t first) {
  data::Table half;
  half.num_rows = all.num_rows;
  for (size_t c = first; c < all.columns.size(); c += 2) half.columns.push_back(all.columns[c]);
  return half;
}

inline std::string KeyedCsv(const data::Table& table) {
  std::istringstream lines(testing::CsvOf(table));
  std::string csv, line;
  for (size_t r = 0; std::getline(lines, line); ++r)
    csv += (r == 0 ? std::string("id") : fmt::format("k{:05}", r)) + "," + line + "\n";
  return csv;
}

// A value of the JSON as TOML has it.
inline std::string DerivedText(const json& table) {
  std::string text;
  for (const json& derived : table["derived"]) {
    text += "[[derived]]\n";
    for (const auto& [key, value] : derived.items())
      text += fmt::format("{} = {}\n", key, value.dump());
  }
  return text;
}

inline std::string PartyText(const std::string& name, const std::string& roles,
                             const data::Table* columns, const std::string& rows) {
  std::string text = fmt::format("[[party]]\nname = \"{}\"\nroles = [{}]\n", name, roles);
  if (columns != nullptr) {
    std::string names;
    for (const data::Column& column : columns->columns)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", column.schema.name);
    text += fmt::format("columns = [{}]\n", names);
  }
  return rows.empty() ? text : text + fmt::format("rows = [\"{}\"]\n", rows);
}

inline std::string AnalysisText(const Case& made) {
  std::string text = "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n";
  const auto line = [&](const char* key) {
    const std::string value = made.text(key);
    return value.empty() ? "" : fmt::format("{} = \"{}\"\n", key, value);
  };
  for (const char* key : {"weights", "weights_type"}) text += line(key);
  if (made.text("errors") == "cluster") text += line("cluster");
  text += fmt::format(
      "[disclosure]\nmin_cell = 1\n[release]\naccept = \"table of covariates\"\n[engine]\nname = "
      "\"{}\"\n[[analysis]]\nmethod = \"glm\"\nprotocol = \"{}\"\nrelease = [\"estimates\"]\n",
      made.engine, made.level);
  const json& steps = (*made.fit)["steps"];
  if (steps.contains(made.level)) text += fmt::format("steps = {}\n", steps[made.level].get<int>());
  for (const char* key : {"family", "link", "formula", "errors"}) text += line(key);
  return text;
}

struct Dealt {
  std::string text;
  std::vector<data::Table> parts;   // of whole rows
  std::vector<std::string> tables;  // of the holders
};

inline Dealt Deal(const Case& made) {
  const json& table = TableOf(*made.fit);
  const data::Schema dictionary = DictionaryOf(table);
  const data::Table all = testing::ReadParts(table["file"], dictionary, 1).front();
  const std::string cluster = made.text("errors") == "cluster" ? made.text("cluster") : "";
  const bool three = made.engine == "replicated" || made.engine == "shamir";
  Dealt dealt;
  const size_t blocks = made.split == "columns" ? 1 : made.split == "both" ? 2 : 3;
  dealt.parts = DealRows(all, cluster, made.engine == "ot" && blocks == 3 ? 2 : blocks);
  dealt.text = "partita = 1\nname = \"reference\"\n";
  const std::string reader = "\"holder\", \"receiver\"";
  if (made.keyed()) {
    // Engines of three parties have a receiver without rows where nobody else is the third.
    const bool apart = three && made.split == "columns";
    for (size_t p = 0; p < 2; ++p) {
      const data::Table half = HalfOf(dealt.parts.front(), p);
      dealt.text +=
          PartyText(fmt::format("p{}", p), p == 0 && !apart ? reader : "\"holder\"", &half, "r0");
      dealt.tables.push_back(KeyedCsv(half));
    }
    if (apart) dealt.text += PartyText("reader", "\"receiver\"", nullptr, "");
    if (made.split == "both") {
      dealt.text += PartyText("p2", "\"holder\"", nullptr, "r1");
      dealt.tables.push_back(KeyedCsv(dealt.parts.back()));
    }
  } else {
    for (size_t p = 0; p < dealt.parts.size(); ++p) {
      dealt.text += PartyText(fmt::format("p{}", p), p == 0 ? reader : "\"holder\"", nullptr,
                              fmt::format("r{}", p));
      dealt.tables.push_back(testing::CsvOf(dealt.parts[p]));
    }
  }
  if (made.engine == "dealer") dealt.text += PartyText("helper", "\"dealer\"", nullptr, "");
  if (made.keyed()) dealt.text += "[table]\nkey = \"id\"\n";
  for (size_t b = 0; b < dealt.parts.size(); ++b)
    dealt.text += fmt::format("[[rows]]\nname = \"r{}\"\ncount = {}\n", b, dealt.parts[b].num_rows);
  for (const data::ColumnSchema& schema : dictionary.columns)
    dealt.text += testing::VariableText(schema);
  dealt.text += DerivedText(table) + AnalysisText(made);
  return dealt;
}

// At level sealed the grid is finer than a study file may ask for: what opens is within 2^-17 standard errors of what is
// computed. At level iterates it decides what has converged, and is that of every study.
inline constexpr int kFineGridBits = 16;

inline GlmStudy Prepared(const Case& made, const std::string& text) {
  GlmStudy study = PrepareGlmStudy(ParseStudyFile(text, "study.toml"));
  if (made.level == "sealed") study.task.grid_bits = kFineGridBits;
  return study;
}

}  // namespace partita::methods::glm::real_tables
