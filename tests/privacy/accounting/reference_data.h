// Rows of tests/references/dp_accounting.json.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/paths.h"

namespace partita::privacy::testing {

inline nlohmann::json Table(const std::string& name) {
  std::ifstream file(FixturePath("references/dp_accounting.json"));
  EXPECT_TRUE(file.good()) << "dp_accounting.json is missing";
  return nlohmann::json::parse(file).at("tables").at(name);
}

// Some tables hold numbers as strings.
inline double Number(const nlohmann::json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                           : value.get<double>();
}

inline double Near(const nlohmann::json& row, double value) {
  if (row.contains("tolerance_relative"))
    return row["tolerance_relative"].get<double>() * std::abs(value) + 1e-300;
  return row["tolerance"].get<double>();
}

}  // namespace partita::privacy::testing
