// The sealed fit equals lavaan's, its costs are as planned, and what it cannot fit is refused.
#include "base/error.h"
#include "tests/methods/mle/sealed_references.h"

namespace partita::methods::mle::sealed_fit_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using mpc::Engine;
using testing::Case;
using testing::ExpectLavaan;
using testing::Load;
using testing::Openings;
using testing::RunSealed;
using testing::Share;

// Models that need few steps.
TEST(Sealed, EqualsLavaan) {
  ExpectLavaan("reg_simple", 4);
  ExpectLavaan("path_indirect", 6);
  ExpectLavaan("growth_openmx5", 8);
}
TEST(Sealed, EqualsLavaanOnReplicated) { ExpectLavaan("path_indirect", 6, "replicated"); }

TEST(Sealed, PlanHasTheRoundsAndBytes) {
  const Case c = Load("reg_simple");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 2;
  mpc::testing::RunOptions options;
  options.releases = SealedReleases(model, Openings(), "party0");
  mpc::testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
    SilentProgress progress;
    FitSealed(engine, model, Openings(), Share(engine, c), progress);
  });
}

// Too few steps: the bit says so.
TEST(Sealed, SaysWhenItHasNotConverged) {
  const Case c = Load("growth_openmx5");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 1;
  EXPECT_FALSE(RunSealed(c, model, "dealer", 2).estimates.converged);
}

TEST(Sealed, RefusesWhatItCannotFit) {
  const auto refused = [](const std::string& syntax, double second_width) {
    stats::SemModelOptions options;
    const stats::ParameterTable table = stats::BuildParameterTable(syntax, options);
    VectorXd widths = VectorXd::Ones(static_cast<Index>(table.observed.size()));
    widths(1) = second_width;
    try {
      PrepareSealed(table, VectorXd::Zero(widths.size()), widths);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused("y ~ b*x + z\n", 1));
  EXPECT_TRUE(refused("y ~ x\nx ~ y\n", 1));
  EXPECT_TRUE(refused("y ~ b*x + c*z\nb == 2*c\n", 1));
  EXPECT_TRUE(refused("f =~ x1 + x2 + x3\nx1 ~~ e*x1\nx2 ~~ e*x2\n", 2));
}

}  // namespace
}  // namespace partita::methods::mle::sealed_fit_test
