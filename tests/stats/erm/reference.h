// tests/references/psgd.json and its small deterministic table.
#pragma once

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stats/erm/minimize.h"
#include "tests/paths.h"

namespace partita::stats::erm::testing {

inline nlohmann::json Reference(const std::string& name) {
  std::ifstream file(FixturePath("references/" + name));
  return nlohmann::json::parse(file);
}

inline Eigen::VectorXd AsVector(const nlohmann::json& values) {
  const auto plain = values.get<std::vector<double>>();
  return Eigen::Map<const Eigen::VectorXd>(plain.data(), static_cast<Eigen::Index>(plain.size()));
}

// x_ij = sin(0.7 i + 1.3 j + 0.2 i j) / sqrt(3), labels by the plane (1, -2, 0.5), four turned.
inline LabelledRows SmallTable() {
  LabelledRows rows{Eigen::MatrixXd(24, 3), Eigen::VectorXd(24)};
  const Eigen::Vector3d plane(1, -2, 0.5);
  for (int i = 0; i < 24; ++i) {
    for (int j = 0; j < 3; ++j) {
      rows.x(i, j) = std::sin(0.7 * i + 1.3 * j + 0.2 * i * j) / std::sqrt(3.0);
    }
    rows.y(i) = rows.x.row(i).dot(plane) >= 0 ? 1 : -1;
    if (i % 7 == 0) rows.y(i) = -rows.y(i);
  }
  return rows;
}

inline std::vector<LabelledRows> Parts(const LabelledRows& rows, const std::vector<int>& counts) {
  std::vector<LabelledRows> parts;
  int begin = 0;
  for (const int count : counts) {
    parts.push_back({rows.x.middleRows(begin, count), rows.y.segment(begin, count)});
    begin += count;
  }
  return parts;
}

}  // namespace partita::stats::erm::testing
