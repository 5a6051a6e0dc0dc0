// Every composed value of the reference table lies inside our interval, and the interval is as
// narrow as promised.
#include "privacy/accounting/pld.h"
#include "tests/privacy/accounting/reference_data.h"
#include "tests/thorough.h"

namespace partita::privacy::testing::reference_test {
namespace {

PldResult ExpectEpsilon(const std::string& what, const Mechanism& mechanism, uint64_t uses,
                        double delta, double exact, double tolerance, double relative_width) {
  PldOptions options;
  options.relative_width = relative_width;
  const PldResult result = PldEpsilon({{mechanism, uses}}, delta, options);
  EXPECT_LE(result.value.lower, exact + tolerance) << what;
  EXPECT_GE(result.value.upper, exact - tolerance) << what;
  EXPECT_LE(result.value.upper - result.value.lower, relative_width * result.value.upper) << what;
  EXPECT_TRUE(result.reached) << what;
  return result;
}

void ExpectDelta(const std::string& what, const Mechanism& mechanism, uint64_t uses, double epsilon,
                 double exact, double tolerance) {
  const PldResult result = PldDelta({{mechanism, uses}}, epsilon, {});
  EXPECT_LE(result.value.lower, exact * (1 + tolerance)) << what;
  EXPECT_GE(result.value.upper, exact * (1 - tolerance)) << what;
}

// For `./test` every third row also against one that is replaced, and at other epsilons.
TEST(ReferenceTest, SampledGaussians) {
  size_t number = 0;
  for (const auto& row : Table("A_poisson_subsampled_gaussian")) {
    const bool whole = Thorough() || number++ % 3 == 0;
    const auto& in = row["inputs"];
    const double rate = in["q"], sigma = in["sigma"], delta = in["delta"];
    const uint64_t uses = in["T"];
    const std::string id = row["id"];
    const Mechanism both = GaussianMechanism(sigma, {Adjacency::kAddRemove, rate});
    const Mechanism replace = GaussianMechanism(sigma, {Adjacency::kReplace, rate});
    const PldResult result = ExpectEpsilon(id, both, uses, delta, row["exact"]["eps_add_remove"],
                                           row["tolerance"]["eps_add_remove"], 1e-3);
    if (whole) {
      ExpectEpsilon(id + " replace", replace, uses, delta, row["exact"]["eps_sub"],
                    row["tolerance"]["eps_sub"], 1e-3);
    }
    // Each direction on its own.
    EXPECT_LE(result.forward.lower, row["exact"]["eps_remove"].get<double>() + 1e-9) << id;
    EXPECT_GE(result.forward.upper, row["exact"]["eps_remove"].get<double>() - 1e-9) << id;
    EXPECT_LE(result.backward.lower, row["exact"]["eps_add"].get<double>() + 1e-9) << id;
    EXPECT_GE(result.backward.upper, row["exact"]["eps_add"].get<double>() - 1e-9) << id;
    if (!whole || !row.contains("delta_at_epsilon") || rate < 1e-3) continue;
    for (const auto& point : row["delta_at_epsilon"]) {
      if (point.contains("delta_remove")) {
        const double exact =
            std::max(point["delta_remove"].get<double>(), point.value("delta_add", 0.0));
        ExpectDelta(id, both, uses, point["epsilon"], exact, point["tolerance_relative"]);
      }
      if (point.contains("delta_sub"))
        ExpectDelta(id + " replace", replace, uses, point["epsilon"], point["delta_sub"],
                    point["tolerance_relative"]);
    }
  }
}

// To one in a thousand every row is above; to one in ten thousand `./test` takes every fourth.
TEST(ReferenceTest, TheSettingOfDpviVpdToOneInTenThousand) {
  size_t number = 0;
  for (const auto& row : Table("A_poisson_subsampled_gaussian")) {
    if (row["inputs"]["q"].get<double>() < 1e-3) continue;
    if (number++ % 4 != 0 && !Thorough()) continue;
    const auto& in = row["inputs"];
    ExpectEpsilon(row["id"], GaussianMechanism(in["sigma"], {Adjacency::kAddRemove, in["q"]}),
                  in["T"], in["delta"], row["exact"]["eps_add_remove"],
                  row["tolerance"]["eps_add_remove"], 1e-4);
  }
}

TEST(ReferenceTest, DiscreteGaussians) {
  for (const auto& row : Table("B_discrete_gaussian")) {
    const auto& in = row["inputs"];
    const Mechanism mechanism = DiscreteGaussianMechanism(in["sigma"], in["sensitivity"], {});
    ExpectEpsilon(row["id"], mechanism, in["T"], in["delta"], row["exact"]["epsilon"],
                  row["tolerance"], 1e-3);
    for (const auto& point : row["exact"].value("delta_at_epsilon", nlohmann::json::array()))
      ExpectDelta(row["id"], mechanism, in["T"], point["epsilon"], point["delta"],
                  point["tolerance_relative"]);
    for (const auto& point : row.value("delta_at_epsilon", nlohmann::json::array()))
      ExpectDelta(row["id"], mechanism, in["T"], point["epsilon"], point["delta"],
                  point["tolerance_relative"]);
  }
}

TEST(ReferenceTest, OptimalCompositionByTheAccountant) {
  for (const auto& row : Table("D_epsdelta_homogeneous_optimal_composition")) {
    const auto& in = row["inputs"];
    const Mechanism mechanism = ApproximateDpMechanism({in["epsilon"], in["delta"]});
    const PldResult result = PldDelta({{mechanism, in["k"]}}, in["target_epsilon"], {});
    const double exact = row["exact"]["total_delta"];
    EXPECT_LE(result.value.lower, exact * (1 + 1e-9) + 1e-15) << in;
    EXPECT_GE(result.value.upper, exact * (1 - 1e-9) - 1e-15) << in;
    EXPECT_LE(result.value.upper - result.value.lower, 1e-6 * exact + 1e-12) << in;
  }
}

}  // namespace
}  // namespace partita::privacy::testing::reference_test
