// Loads the cases of references/robust.json with the rows of their tables.
#pragma once

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "stats/sem/linear_statistics.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats::testing {

struct RobustCase {
  Json reference;
  ParameterTable table;
  StatisticsScale scale;                             // bounds that somebody might write down
  std::vector<Eigen::MatrixXd> rows;                 // per group, columns of table.observed
  std::vector<std::vector<std::uint64_t>> clusters;  // per group; empty: none
  std::vector<GroupMoments> moments;
};

inline std::vector<std::string> SplitCsvLine(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) {
    cell.erase(
        std::remove_if(cell.begin(), cell.end(), [](char c) { return c == '"' || c == '\r'; }),
        cell.end());
    cells.push_back(cell);
  }
  return cells;
}

inline ParameterTable TableOfCase(const Json& reference) {
  SemModelOptions options;
  const std::string wrapper = reference["wrapper"];
  options.family = wrapper == "cfa"   ? SemFamily::kCfa
                   : wrapper == "sem" ? SemFamily::kSem
                                      : SemFamily::kGrowth;
  options.meanstructure = reference["meanstructure"].get<bool>();
  options.groups = reference["group_levels"].get<std::vector<std::string>>();
  options.group_equal = reference["group_equal"].get<std::vector<std::string>>();
  return BuildParameterTable(reference["model"], options);
}

inline GroupMoments MomentsOfRows(const Eigen::MatrixXd& rows) {
  const double n = static_cast<double>(rows.rows());
  const Eigen::VectorXd mean = rows.colwise().mean();
  const Eigen::MatrixXd centred = rows.rowwise() - mean.transpose();
  return {n, mean, centred.transpose() * centred / n};
}

inline RobustCase LoadRobustCase(const std::string& id) {
  const Json all = ReadJson(FixturePath("references/robust.json"));
  RobustCase out;
  for (const Json& reference : all["cases"]) {
    if (reference["id"] == id) out.reference = reference;
  }
  if (out.reference.is_null()) throw std::runtime_error("no case " + id);
  const std::string path = out.reference["data"];
  out.table = TableOfCase(out.reference);

  std::ifstream file(SourcePath(path));
  if (!file) throw std::runtime_error("cannot open " + path);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = SplitCsvLine(line);
  const auto column = [&header](const std::string& name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  std::vector<std::vector<Eigen::VectorXd>> rows(out.table.groups.size());
  const std::uint64_t cluster_size = out.reference["cluster_size"].get<std::uint64_t>();
  if (cluster_size > 0) out.clusters.resize(rows.size());
  for (std::uint64_t at = 0; std::getline(file, line); ++at) {
    const std::vector<std::string> cells = SplitCsvLine(line);
    std::size_t g = 0;
    if (rows.size() > 1) {
      const std::string level = cells.at(column(out.reference["group"]));
      g = static_cast<std::size_t>(
          std::find(out.table.groups.begin(), out.table.groups.end(), level) -
          out.table.groups.begin());
    }
    Eigen::VectorXd row(static_cast<Eigen::Index>(out.table.observed.size()));
    for (std::size_t i = 0; i < out.table.observed.size(); ++i) {
      row[static_cast<Eigen::Index>(i)] = std::stod(cells.at(column(out.table.observed[i])));
    }
    rows.at(g).push_back(row);
    if (cluster_size > 0) out.clusters[g].push_back(at / cluster_size);
  }
  for (const std::vector<Eigen::VectorXd>& group : rows) {
    Eigen::MatrixXd matrix(static_cast<Eigen::Index>(group.size()), group.front().size());
    for (std::size_t r = 0; r < group.size(); ++r)
      matrix.row(static_cast<Eigen::Index>(r)) = group[r];
    out.moments.push_back(MomentsOfRows(matrix));
    out.rows.push_back(std::move(matrix));
  }
  const Eigen::Index p = out.rows.front().cols();
  out.scale = {Eigen::VectorXd(p), Eigen::VectorXd(p)};
  for (Eigen::Index i = 0; i < p; ++i) {
    double lower = out.rows.front().col(i).minCoeff(), upper = out.rows.front().col(i).maxCoeff();
    for (const Eigen::MatrixXd& group : out.rows) {
      lower = std::min(lower, group.col(i).minCoeff());
      upper = std::max(upper, group.col(i).maxCoeff());
    }
    lower = std::floor(lower - 0.2 * (upper - lower));
    upper = std::ceil(upper + 0.1 * (upper - lower));
    out.scale.centre[i] = (lower + upper) / 2;
    out.scale.half_width[i] = (upper - lower) / 2;
  }
  return out;
}

// The row of our table that a row of the reference is.
inline std::optional<std::size_t> FindRow(const ParameterTable& table, const Json& row) {
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const Parameter& own = table.rows[r];
    const bool same = own.lhs == row["lhs"] && own.op == row["op"] &&
                      (own.op == ":=" || own.rhs == row["rhs"]) &&
                      (own.op == ":=" || own.group == row["group"]);
    if (same) return r;
  }
  return {};
}

}  // namespace partita::stats::testing
