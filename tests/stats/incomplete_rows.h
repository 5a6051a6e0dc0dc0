// Tables with empty cells, and lavaan's fits of them.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "stats/sem/fiml.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats::testing {

// The named columns of a table; empty cells are missing.
inline Eigen::MatrixXd ReadColumns(const std::filesystem::path& file,
                                   const std::vector<std::string>& names) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot open " + file.string());
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells;
    std::stringstream text(line);
    std::string cell;
    while (std::getline(text, cell, ',')) cells.push_back(cell);
    if (!line.empty() && line.back() == ',') cells.emplace_back();
    return cells;
  };
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> header = split(line);
  std::vector<std::vector<std::string>> rows;
  while (std::getline(stream, line)) rows.push_back(split(line));
  Eigen::MatrixXd values(static_cast<Eigen::Index>(rows.size()),
                         static_cast<Eigen::Index>(names.size()));
  for (size_t v = 0; v < names.size(); ++v) {
    const auto column =
        static_cast<size_t>(std::find(header.begin(), header.end(), names[v]) - header.begin());
    for (size_t r = 0; r < rows.size(); ++r) {
      const std::string& cell = rows[r].at(column);
      values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(v)) =
          cell.empty() ? std::numeric_limits<double>::quiet_NaN() : std::stod(cell);
    }
  }
  return values;
}

struct IncompleteReference {
  Json reference;
  ParameterTable table;
  std::vector<PatternMoments> patterns;
};

inline IncompleteReference LoadIncomplete(const std::string& name) {
  IncompleteReference loaded;
  loaded.reference = ReadJson(FixturePath("references/sem/" + name + ".json"));
  loaded.table = TableOf(loaded.reference);
  loaded.patterns = PatternsOf(
      ReadColumns(SourcePath(loaded.reference["data"].get<std::string>()), loaded.table.observed),
      0);
  return loaded;
}

// Of values in units of the variables.
inline std::vector<GroupSample> Samples(const std::vector<PatternMoments>& patterns,
                                        const Eigen::VectorXd& unit) {
  double total = 0;
  for (const PatternMoments& pattern : patterns) total += pattern.moments.n;
  std::vector<GroupSample> samples;
  for (const PatternMoments& pattern : patterns) {
    const Eigen::VectorXd inverse = unit(pattern.observed).cwiseInverse();
    GroupSample sample;
    sample.group = pattern.group;
    sample.observed = pattern.observed;
    sample.n = pattern.moments.n;
    sample.weight = sample.n / total;
    sample.mean = inverse.cwiseProduct(pattern.moments.mean);
    sample.covariance = inverse.asDiagonal() * pattern.moments.covariance * inverse.asDiagonal();
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace partita::stats::testing
