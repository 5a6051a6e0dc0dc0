// As ctime_test, for what takes longer.
#include <gtest/gtest.h>

#include "tests/ctime/primitives.h"
#include "tests/ctime/under_memcheck.h"

namespace partita::ctime::ctime_slow_test {
namespace {

class ConstantTimeSlowTest : public ::testing::TestWithParam<Primitive> {
 protected:
  static void SetUpTestSuite() { RequireMemcheck(Reports::kFail); }
};

TEST_P(ConstantTimeSlowTest, DependsOnNoSecret) {
  const unsigned before = NumReports();
  GetParam().run();
  EXPECT_EQ(NumReports(), before) << GetParam().name << ": memcheck's report stands above";
}

INSTANTIATE_TEST_SUITE_P(Slow, ConstantTimeSlowTest, ::testing::ValuesIn(SlowPrimitives()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace partita::ctime::ctime_slow_test
