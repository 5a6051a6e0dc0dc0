#include "report/covariance_json.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace partita::report {

nlohmann::ordered_json CovarianceJson(std::span<const std::string> names,
                                      const Eigen::MatrixXd& covariance,
                                      const Eigen::VectorXd& steps) {
  using Json = nlohmann::ordered_json;
  if (covariance.size() == 0) return nullptr;
  Json values = Json::array();
  for (const auto row : covariance.rowwise())
    values.push_back(std::vector<double>(row.begin(), row.end()));
  Json json = {{"names", Json(std::vector<std::string>(names.begin(), names.end()))},
               {"values", std::move(values)},
               {"steps", nullptr}};
  if (steps.size() > 0) json["steps"] = std::vector<double>(steps.begin(), steps.end());
  return json;
}

}  // namespace partita::report
