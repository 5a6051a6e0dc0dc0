// Tables of survival times for tests: lung and veteran, as tests/references/survival has them.
#pragma once

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace partita::stats::survival::testing {

using TextColumns = std::map<std::string, std::vector<std::string>>;

inline TextColumns ReadColumns(const std::string& name) {
  std::ifstream file(FixturePath("tables/" + name));
  std::vector<std::string> names;
  TextColumns columns;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
      if (cell.size() > 1 && cell.front() == '"') cell = cell.substr(1, cell.size() - 2);
      cells.push_back(cell);
    }
    if (names.empty()) {
      names = cells;
      continue;
    }
    for (size_t c = 0; c < names.size(); ++c) columns[names[c]].push_back(cells.at(c));
  }
  if (columns.empty()) throw std::runtime_error("no rows in " + name);
  return columns;
}

// "lgpl/lung.csv", "months of lgpl/lung.csv", "one group of lgpl/lung.csv": a group in "group";
// "two factors of lgpl/veteran.csv": treatment and earlier therapy there;
// "late entries of lgpl/lung.csv": times of entry in "enter".
inline TextColumns ReadTable(const std::string& description) {
  const size_t of = description.rfind(' ');
  const std::string name = of == std::string::npos ? description : description.substr(of + 1);
  TextColumns columns = ReadColumns(name);
  columns["group"] = columns[name == "lgpl/lung.csv" ? "sex" : "celltype"];
  if (description.starts_with("one group")) {
    for (std::string& group : columns["group"]) group = "1";
  }
  if (description.starts_with("months")) {
    for (std::string& time : columns["time"])
      time = std::to_string(static_cast<int>(std::ceil(std::stod(time) / 30)));
  }
  if (description.starts_with("two factors")) {
    for (size_t r = 0; r < columns["group"].size(); ++r)
      columns["group"][r] = columns.at("trt")[r] + ", " + columns.at("prior")[r];
  }
  if (description.starts_with("late")) {
    for (const std::string& age : columns.at("age"))
      columns["enter"].push_back(std::stod(age) > 63 ? "40" : "0");
  }
  return columns;
}

}  // namespace partita::stats::survival::testing
