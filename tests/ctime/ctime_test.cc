// Nothing that the quick primitives do shows in their time: no branch on a secret, no address made
// from one (poison.h). The program starts itself again under valgrind.
#include <gtest/gtest.h>

#include "tests/ctime/primitives.h"
#include "tests/ctime/under_memcheck.h"

namespace partita::ctime::ctime_test {
namespace {

class ConstantTimeTest : public ::testing::TestWithParam<Primitive> {
 protected:
  static void SetUpTestSuite() { RequireMemcheck(Reports::kFail); }
};

TEST_P(ConstantTimeTest, DependsOnNoSecret) {
  const unsigned before = NumReports();
  GetParam().run();
  EXPECT_EQ(NumReports(), before) << GetParam().name << ": memcheck's report stands above";
}

INSTANTIATE_TEST_SUITE_P(Quick, ConstantTimeTest, ::testing::ValuesIn(QuickPrimitives()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace partita::ctime::ctime_test
