// The audit of a private study: the example passes from every side, and each part of its design
// that is made wrong is found. False alarms: 1e-6 for every audit of runs (ten); the replay has
// none.
#include "methods/mle/check/audit_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "methods/prepare_study.h"
#include "privacy/audit/trade_off_audit.h"
#include "study/file/study_file.h"
#include "tests/paths.h"

namespace partita::methods::mle::audit_study_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

MleStudy Example() {
  return PrepareMleStudy(LoadStudyFile(SourcePath("examples/private_regression/study.toml")));
}

StudyAudit Audit(const MleStudy& study, uint64_t runs = 100) {
  StudyAuditOptions options;
  options.runs = runs;
  options.rows_per_block = 20;
  crypto::SystemRandom random;
  SilentProgress progress;
  return AuditStudy(study, options, random, progress);
}

double MuFrom(const StudyAuditView& view) {
  return privacy::AuditMu(view.with, view.without).mu_lower;
}

// Mean difference of the worlds in standard deviations of `with`: of Gaussian outputs, mu itself, with a
// standard error below 1.5 / sqrt(runs).
double Distance(const StudyAuditView& view) {
  const auto runs = static_cast<double>(view.with.runs());
  double with = 0, without = 0, squares = 0;
  for (const double value : view.with.values) with += value / runs;
  for (const double value : view.without.values) without += value / runs;
  for (const double value : view.with.values) squares += (value - with) * (value - with) / runs;
  return std::abs(with - without) / std::sqrt(squares);
}

// The shares of three parties leave an outsider sqrt(2 / 3) of what a party sees, 0.37 of 0.45: twenty
// standard errors above the half. (The auditor's own bound may fall anywhere below.)
TEST(AuditStudyTest, TheExampleKeepsItsPromiseFromEverySide) {
  const MleStudy study = Example();
  const StudyAudit audit = Audit(study, 40000);
  EXPECT_TRUE(audit.replay.empty()) << audit.replay[0];
  ASSERT_EQ(audit.views.size(), 1 + study.num_computing);
  EXPECT_EQ(audit.views[0].adversary, "outside analyst");
  for (const StudyAuditView& view : audit.views) {
    EXPECT_LE(MuFrom(view), audit.mu) << view.adversary;
    EXPECT_GE(Distance(view), 0.5 * audit.mu) << view.adversary;
    EXPECT_GT(MuFrom(view), 0) << view.adversary;
  }
}

TEST(AuditStudyTest, TooLittleNoiseIsFoundFromInside) {
  MleStudy study = Example();
  study.privacy->noise.share_variance = privacy::Divide(study.privacy->noise.share_variance, 4);
  const StudyAudit audit = Audit(study, 40000);
  for (size_t view = 1; view < audit.views.size(); ++view) {
    EXPECT_GT(MuFrom(audit.views[view]), audit.mu) << audit.views[view].adversary;
  }
}

TEST(AuditStudyTest, RowsLongerThanTheBoundAreFoundByReplay) {
  MleStudy study = Example();
  // A bound that shortens nearly every row.
  PrivacyPromise promise = study.privacy->promise;
  promise.norm = 0.3;
  study.privacy =
      DesignPrivateMoments(promise, study.computations.front().task, study.privacy->release,
                           static_cast<uint32_t>(study.num_computing));
  EXPECT_TRUE(Audit(study).replay.empty());
  // The rows are clipped at ten times the bound that the sensitivity is of.
  study.privacy->promise.norm = 3;
  EXPECT_THAT(Audit(study).replay, Contains(HasSubstr("neighbours differ by")));
}

TEST(AuditStudyTest, ASensitivityThatIsTooSmallIsFoundByReplay) {
  MleStudy study = Example();
  study.privacy->sensitivity = privacy::GridL2Sensitivity(study.privacy->sensitivity.value() / 10);
  EXPECT_THAT(Audit(study).replay, Contains(HasSubstr("declared is")));
}

TEST(AuditStudyTest, AStudyWithoutNoiseIsRefused) {
  MleStudy study = Example();
  study.privacy.reset();
  EXPECT_THROW(Audit(study), Error);
}

}  // namespace
}  // namespace partita::methods::mle::audit_study_test
