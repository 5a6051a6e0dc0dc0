// Reads fits made by lavaan (JSON) into parameter tables and moments.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "stats/sem/fit.h"

namespace partita::stats::testing {

using Json = nlohmann::json;

inline Json ReadJson(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  return Json::parse(file);
}

// NA in R is null in JSON.
inline double Number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

inline Eigen::VectorXd ToVector(const Json& values) {
  Eigen::VectorXd out(static_cast<Eigen::Index>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[static_cast<Eigen::Index>(i)] = Number(values[i]);
  }
  return out;
}

inline Eigen::MatrixXd ToMatrix(const Json& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixXd out(n, n == 0 ? 0 : static_cast<Eigen::Index>(rows[0].size()));
  for (Eigen::Index i = 0; i < n; ++i) {
    out.row(i) = ToVector(rows[static_cast<std::size_t>(i)]).transpose();
  }
  return out;
}

inline std::vector<GroupMoments> SampleMoments(const Json& reference) {
  std::vector<GroupMoments> moments;
  for (const Json& group : reference["moments"]) {
    const Eigen::MatrixXd covariance = ToMatrix(group["sample_cov"]);
    // lavaan lists no means without a mean structure, and they play no part then.
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(covariance.rows());
    if (!group["sample_mean"].empty()) mean = ToVector(group["sample_mean"]);
    moments.push_back({group["n"].get<double>(), mean, covariance});
  }
  return moments;
}

// Variables that only predict: the covariates whose moments fixed.x fixes.
inline std::set<std::string> Covariates(const Json& parameters) {
  std::set<std::string> predictors, explained;
  for (const Json& row : parameters) {
    if (row["op"] == "~") {
      predictors.insert(row["rhs"]);
      explained.insert(row["lhs"]);
    }
    if (row["op"] == "=~") {
      explained.insert(row["rhs"]);
      explained.insert(row["lhs"]);
    }
  }
  std::set<std::string> out;
  std::set_difference(predictors.begin(), predictors.end(), explained.begin(), explained.end(),
                      std::inserter(out, out.begin()));
  return out;
}

// The parameter table behind a reference, built from its rows (not from its model text). Rows of
// lavaan's own constraints (.p5. == .p9.) are left out: equal labels say the same.
inline ParameterTable TableOf(const Json& reference) {
  ParameterTable table;
  table.meanstructure = reference["meanstructure"];
  table.observed = reference["moments"][0]["names"].get<std::vector<std::string>>();
  for (const Json& group : reference["moments"]) {
    table.groups.push_back(group["group"].is_string() ? group["group"].get<std::string>() : "");
  }
  const std::set<std::string> covariates = Covariates(reference["parameters"]);
  const Json& options = reference["lavaan_options"];
  table.fixed_x = options.value("fixed.x", true) && !covariates.empty();
  if (table.fixed_x) {
    for (const std::string& name : table.observed) {
      if (covariates.count(name) > 0) table.exogenous_covariates.push_back(name);
    }
  }
  for (const Json& json : reference["parameters"]) {
    Parameter row;
    row.lhs = json["lhs"];
    row.op = json["op"];
    row.rhs = json["rhs"];
    if (row.op == "==" && row.lhs.substr(0, 2) == ".p") continue;
    row.group = row.op == ":=" || row.op == "==" ? 0 : json["group"].get<int>();
    row.label = json["label"];
    if (row.op == "==") row.label.clear();
    row.value = Number(json["est"]);
    if (json["free"].get<bool>()) {
      row.free = ++table.num_free;
      row.value = 0;
    } else if (row.op == "=~" || row.op == "~" || row.op == "~~" || row.op == "~1") {
      row.exogenous = table.fixed_x && covariates.count(row.lhs) > 0 &&
                      (row.op == "~1" || covariates.count(row.rhs) > 0);
      if (row.exogenous) row.value = 0;  // the fit must take it from the sample
    }
    if (row.op == "=~" &&
        std::find(table.latent.begin(), table.latent.end(), row.lhs) == table.latent.end()) {
      table.latent.push_back(row.lhs);
    }
    table.rows.push_back(row);
  }
  return table;
}

// Rows of the reference that TableOf keeps, in the same order.
inline std::vector<Json> KeptRows(const Json& reference) {
  std::vector<Json> kept;
  for (const Json& row : reference["parameters"]) {
    if (row["op"] == "==" && row["lhs"].get<std::string>().substr(0, 2) == ".p") continue;
    kept.push_back(row);
  }
  return kept;
}

}  // namespace partita::stats::testing
