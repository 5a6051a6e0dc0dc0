// Mean test errors on simulated data against tests/references/psgd.json: within 4 combined
// standard errors (20 data sets there, 10 here). The seed is fixed, so the outcome is too.
#include "stats/erm/simulated.h"

#include <gtest/gtest.h>

#include <cmath>

#include "crypto/prg.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/reference.h"

namespace partita::stats::erm::simulated_test {
namespace {

using testing::Reference;

struct Estimate {
  double mean = 0, se = 0;
};

Estimate MeanOver(const std::vector<double>& errors) {
  double sum = 0, squares = 0;
  for (const double error : errors) {
    sum += error;
    squares += error * error;
  }
  const auto n = static_cast<double>(errors.size());
  return {sum / n, std::sqrt((squares / n - sum * sum / (n * n)) / (n - 1))};
}

nlohmann::json Find(const nlohmann::json& results, const nlohmann::json& wanted) {
  for (const auto& row : results) {
    bool same = true;
    for (const auto& [key, value] : wanted.items()) {
      same =
          same && row.contains(key) &&
          (value.is_number_float() ? std::abs(row[key].get<double>() - value.get<double>()) < 1e-9
                                   : row[key] == value);
    }
    if (same) return row;
  }
  ADD_FAILURE() << "no such row: " << wanted;
  return {};
}

class SimulatedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int k = 0; k < 10; ++k) data_.push_back(DrawUnitBallData(10, 1000, 1000, variates_));
  }
  void ExpectReference(const Setting& setting, size_t draws, const nlohmann::json& wanted) {
    const nlohmann::json row = Find(results_, wanted);
    ASSERT_FALSE(row.is_null());
    std::vector<double> errors;
    for (const SimulatedData& data : data_) {
      errors.push_back(MeanTestError(data, setting, draws, variates_));
    }
    const Estimate here = MeanOver(errors);
    const double se = std::hypot(here.se, row["se"].get<double>());
    EXPECT_NEAR(here.mean, row["mean"], 4 * se) << wanted;
    EXPECT_LT(se, 0.02);  // precise enough to tell the methods apart
  }

  blr::TestRandom random_{7};
  blr::Variates variates_{random_};
  nlohmann::json results_ = Reference("psgd.json")["results"];
  std::vector<SimulatedData> data_;
};

TEST_F(SimulatedTest, MethodsHaveTheReferencesErrors) {
  Setting setting;
  ExpectReference(setting, 1, {{"method", "ERM"}, {"lambda", 0.1}});
  setting.epsilon = 0.2;
  setting.method = Method::kObjectivePerturbation;
  ExpectReference(setting, 10,
                  {{"method", "GOP"},
                   {"lambda", 0.1},
                   {"eps", 0.2},
                   {"delta", 0.05},
                   {"sigma_variant", "corrected"}});
  setting.rule = NoiseRule::kLinearModel;
  ExpectReference(setting, 10,
                  {{"method", "GOP"},
                   {"lambda", 0.1},
                   {"eps", 0.2},
                   {"delta", 0.05},
                   {"sigma_variant", "corrected_glm"}});
  setting.rule = NoiseRule::kPrinted;
  ExpectReference(setting, 5,
                  {{"method", "GOP"},
                   {"lambda", 0.1},
                   {"eps", 0.2},
                   {"delta", 0.05},
                   {"sigma_variant", "printed"}});
}

TEST_F(SimulatedTest, LocalAggregationHasTheReferencesErrors) {
  Setting setting;
  setting.method = Method::kLocalAggregation;
  setting.epsilon = 0.2;
  for (const size_t parties : {5, 15}) {
    setting.parties = parties;
    ExpectReference(
        setting, 10,
        {{"method", "LA"}, {"lambda", 0.1}, {"eps", 0.2}, {"K", parties}, {"split", "random"}});
  }
  setting.weights = {0.2, 0.2, 0.2, 0.2, 0.2};
  ExpectReference(setting, 10,
                  {{"method", "LA"}, {"lambda", 0.1}, {"eps", 0.2}, {"split", "skew1"}});
  setting.weights = {0.01, 0.29, 0.2, 0.25, 0.25};
  ExpectReference(setting, 10,
                  {{"method", "LA"}, {"lambda", 0.1}, {"eps", 0.2}, {"split", "skew3"}});
}

TEST_F(SimulatedTest, DescentHasTheReferencesErrors) {
  Setting setting;
  setting.method = Method::kDescent;
  size_t rows = 0;
  for (const auto& row : results_) {
    if (row["method"] != "DPGD_full_batch" || row["adjacency"] != "replace" ||
        row["T"].get<size_t>() > 30 || row["eps"].get<double>() > 0.5) {
      continue;
    }
    if (++rows % 4 != 0) continue;
    setting.epsilon = row["eps"];
    setting.delta = row["delta"];
    setting.lambda = row["lambda"];
    setting.iterations = row["T"];
    setting.step = row["step"];
    ExpectReference(setting, 5, row);
  }
  EXPECT_GT(rows, 8u);
}

TEST(SimulatedSplits, FollowTheWeights) {
  blr::TestRandom random(3);
  blr::Variates variates(random);
  const SimulatedData data = DrawUnitBallData(3, 100, 10, variates);
  EXPECT_LE(data.train.x.rowwise().norm().maxCoeff(), 1);
  const auto counts = [&](std::vector<double> weights) {
    std::vector<Eigen::Index> rows;
    for (const LabelledRows& part : SplitRows(data.train, weights, variates)) {
      rows.push_back(part.x.rows());
    }
    return rows;
  };
  EXPECT_EQ(counts({0.01, 0.29, 0.2, 0.25, 0.25}), (std::vector<Eigen::Index>{1, 29, 20, 25, 25}));
  EXPECT_EQ(counts({1, 1, 1}), (std::vector<Eigen::Index>{34, 33, 33}));
  EXPECT_EQ(counts({0.0001, 1, 1}), (std::vector<Eigen::Index>{1, 49, 50}));
}

}  // namespace
}  // namespace partita::stats::erm::simulated_test
