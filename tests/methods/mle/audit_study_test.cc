// The audit of a private study: the example passes from every side, and each part of its design
// that is made wrong is found. False alarms: 1e-6 for every audit of runs (ten); the replay has
// none.
#include "methods/mle/check/audit_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(AuditStudyTest, TheExampleKeepsItsPromiseFromEverySide) {
  const MleStudy study = Example();
  const StudyAudit audit = Audit(study, 40000);
  EXPECT_TRUE(audit.replay.empty()) << audit.replay[0];
  ASSERT_EQ(audit.views.size(), 1 + study.num_computing);
  EXPECT_EQ(audit.views[0].adversary, "outside analyst");
  for (const StudyAuditView& view : audit.views) {
    EXPECT_LE(MuFrom(view), audit.mu) << view.adversary;
    EXPECT_GE(MuFrom(view), 0.5 * audit.mu) << view.adversary;
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
