// What a sealed fit makes of a point: with a right inverse all numbers, with a wrong one none.
#include "methods/mle/sealed/end.h"
#include "methods/mle/sealed/trial.h"
#include "tests/methods/mle/sealed_references.h"

namespace partita::methods::mle::sealed_end_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::Shared;
using testing::Case;
using testing::Load;

// The point, as steps leave it, with an inverse that is changed.
using Change = std::function<Shared(Engine& engine, const Shared& inverse)>;

struct Opened {
  bool converged = false;
  std::vector<Int128> reached;
  VectorXd scalars;  // of all rows
};

constexpr double kRows = 400;

Opened EndOf(const Case& c, const SealedModel& model, const VectorXd& theta, const Change& change,
             const std::string& kind) {
  Opened opened;
  const SealedOpenings openings = {"main", 0, false, true, 6};
  mpc::testing::RunOptions options;
  options.kind = kind;
  options.num_parties = kind == "dealer" ? 2 : 3;
  const auto body = [&](Engine& engine, size_t process) {
    const std::vector<SealedSample> samples = testing::Share(engine, c);
    const SealedProblem problem = ScaleProblem(engine, model, samples);
    SealedPoint at;
    at.theta = Bounded(engine.Public(EncodeMatrix(theta, kSealedBits)), kLargestParameter);
    BeginSteps(problem, at);
    for (SampleAt& sample : at.samples) sample.inverse = change(engine, sample.inverse);
    const mpc::ReleaseGrid grid = {
        6, engine.Public(EncodeMatrix(Eigen::MatrixXd::Constant(1, 1, kRows), 0)), 1024};
    SealedEnd end = EndAt(problem, at, SampleScalarsOf(problem), openings, grid);
    const auto bit = engine.RevealBits("out", {&end.converged, 1}, mpc::kEverybody).front();
    const auto reached =
        engine.Reveal("out", {&end.marks.front().reached, 1}, mpc::kEverybody).front().values;
    const auto totals = engine.Reveal("out", {&end.scalars, 1}, mpc::kEverybody).front().values;
    if (process != 0) return;
    opened.converged = mpc::GetBit(bit, 0, 0);
    opened.reached = reached;
    opened.scalars.resize(3);
    for (Index i = 0; i < 3; ++i) {
      opened.scalars(i) = std::ldexp(
          mpc::DecodeFixed(totals[static_cast<size_t>(i)], end.scalars.fraction_bits), -6);
    }
  };
  mpc::testing::RunAndComparePlan(options, body);
  return opened;
}

class SealedEndTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SealedEndTest, NothingIsMadeOfAnInverseThatIsNone) {
  const Case c = Load("path_indirect");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 8;
  const VectorXd theta = [&] {
    const VectorXd opened = testing::RunSealed(c, model, "dealer", 2).estimates.x;
    VectorXd all = VectorXd::Zero(model.ram.num_parameters);
    for (size_t i = 0; i < model.opened.size(); ++i)
      all(model.opened[i]) = opened(static_cast<Index>(i));
    return all;
  }();
  const auto end = [&](const Change& change) { return EndOf(c, model, theta, change, GetParam()); };
  const double chisq = kRows * testing::Number(c.reference["fit"]["chisq"]) / c.moments[0].n;

  // As the steps leave it, and so far away as a step that was taken may leave it.
  for (const double scale : {1.0, 1.0 + 1.0 / 16}) {
    const Opened right = end([&](Engine& engine, const Shared& inverse) {
      const Shared scaled = Bounded(mpc::TimesConstant(engine, inverse, scale, 4), kLargestEntry);
      return Bounded(engine.Rescale({&scaled, 1}, kSealedBits).front(), 1 / kSmallestPivot);
    });
    EXPECT_TRUE(right.converged) << scale;
    for (const Int128 reached : right.reached) EXPECT_GT(reached, 0) << scale;
    EXPECT_NEAR(right.scalars(0), chisq, 0x1p-5) << scale;
  }
  // Nowhere near: E = -I, E = I, and what is beyond all bounds.
  for (const int factor : {2, 0, 1 << 20}) {
    const Opened wrong = end([&](Engine& engine, const Shared& inverse) {
      return Bounded(engine.Scale(inverse, factor), 1 / kSmallestPivot);
    });
    EXPECT_FALSE(wrong.converged) << factor;
    for (const Int128 reached : wrong.reached) EXPECT_EQ(reached, 0) << factor;
    EXPECT_GT(wrong.scalars(0), kRows * kWorst / 2) << factor;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, SealedEndTest, ::testing::Values("dealer", "replicated"));

}  // namespace
}  // namespace partita::methods::mle::sealed_end_test
