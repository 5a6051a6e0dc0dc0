// The three tables of tests/references/glm/posteriors.json, standardised as there.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "stats/mcmc/targets.h"
#include "tests/paths.h"

namespace partita::stats::mcmc::testing {

using Columns = std::map<std::string, std::vector<std::string>>;

inline Columns ReadColumns(const std::string& name) {
  std::ifstream file(FixturePath("tables/" + name));
  const auto cells = [](std::string line) {
    std::vector<std::string> row;
    std::erase(line, '"');
    std::erase(line, '\r');
    std::stringstream stream(line);
    std::string cell;
    while (std::getline(stream, cell, ',')) row.push_back(cell);
    return row;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = cells(line);
  Columns columns;
  while (std::getline(file, line)) {
    const std::vector<std::string> row = cells(line);
    for (size_t j = 0; j < header.size(); ++j) {
      columns[header[j]].push_back(j < row.size() ? row[j] : "");
    }
  }
  return columns;
}

inline Eigen::VectorXd Numbers(const std::vector<std::string>& cells) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(cells.size()));
  for (size_t i = 0; i < cells.size(); ++i) {
    values(static_cast<Eigen::Index>(i)) =
        cells[i].empty() || cells[i] == "NA" ? std::nan("") : std::stod(cells[i]);
  }
  return values;
}

inline Eigen::VectorXd Indicator(const std::vector<std::string>& cells, const std::string& level) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(cells.size()));
  for (size_t i = 0; i < cells.size(); ++i) {
    values(static_cast<Eigen::Index>(i)) = cells[i] == level ? 1 : 0;
  }
  return values;
}

// A column of ones, then the predictors with mean 0 and standard deviation 1 (divisor n).
inline Eigen::MatrixXd Standardised(const std::vector<Eigen::VectorXd>& predictors) {
  Eigen::MatrixXd x(predictors.front().size(), static_cast<Eigen::Index>(predictors.size()) + 1);
  x.col(0).setOnes();
  for (size_t j = 0; j < predictors.size(); ++j) {
    const Eigen::VectorXd centred = predictors[j].array() - predictors[j].mean();
    x.col(static_cast<Eigen::Index>(j) + 1) =
        centred / std::sqrt(centred.squaredNorm() / static_cast<double>(centred.size()));
  }
  return x;
}

struct Registry {
  std::string name;
  Eigen::MatrixXd x;
  Eigen::VectorXd y, event;  // event: of the survival model only
};

inline Registry Birthwt() {
  Columns c = ReadColumns("gpl/birthwt.csv");
  return {"birthwt_logit",
          Standardised({Numbers(c["age"]), Numbers(c["lwt"]), Numbers(c["smoke"]), Numbers(c["ht"]),
                        Numbers(c["ui"])}),
          Numbers(c["low"]),
          {}};
}

inline Registry Quine() {
  Columns c = ReadColumns("gpl/quine.csv");
  return {
      "quine_poisson",
      Standardised({Indicator(c["Sex"], "M"), Indicator(c["Eth"], "N"), Indicator(c["Lrn"], "SL")}),
      Numbers(c["Days"]),
      {}};
}

// Rows with a missing cell are left out.
inline Registry Lung() {
  Columns c = ReadColumns("lgpl/lung.csv");
  const std::vector<Eigen::VectorXd> all = {Numbers(c["age"]), Numbers(c["sex"]),
                                            Numbers(c["ph.ecog"]), Numbers(c["time"]),
                                            Numbers(c["status"])};
  std::vector<Eigen::Index> complete;
  for (Eigen::Index i = 0; i < all[0].size(); ++i) {
    bool whole = true;
    for (const auto& column : all) whole = whole && std::isfinite(column(i));
    if (whole) complete.push_back(i);
  }
  const Eigen::VectorXd status = all[4](complete);
  return {"lung_weibull", Standardised({all[0](complete), all[1](complete), all[2](complete)}),
          all[3](complete), status.array() - status.minCoeff()};
}

// The rows first, first + step, first + 2 step, ...: what one of `step` parties holds.
inline TargetPtr PartOf(const Registry& registry, Eigen::Index first, Eigen::Index step) {
  std::vector<Eigen::Index> rows;
  for (Eigen::Index i = first; i < registry.y.size(); i += step) rows.push_back(i);
  const Eigen::MatrixXd x = registry.x(rows, Eigen::all);
  const Eigen::VectorXd y = registry.y(rows);
  if (registry.name == "birthwt_logit") return LogisticTarget(x, y);
  if (registry.name == "quine_poisson") return PoissonTarget(x, y);
  return WeibullTarget({x, y, registry.event(rows)});
}

}  // namespace partita::stats::mcmc::testing
