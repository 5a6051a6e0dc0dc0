// Memcheck reports what is planted: a branch on a secret, a table read at a secret place, a loop of
// a secret length. What it prints is expected here.
#include <gtest/gtest.h>

#include "tests/ctime/primitives.h"
#include "tests/ctime/under_memcheck.h"

namespace partita::ctime::ctime_faulty_test {
namespace {

class FaultyTimeTest : public ::testing::TestWithParam<Primitive> {
 protected:
  static void SetUpTestSuite() { RequireMemcheck(Reports::kExpected); }
};

TEST_P(FaultyTimeTest, IsReported) {
  const unsigned before = NumReports();
  GetParam().run();
  EXPECT_GT(NumReports(), before) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(Planted, FaultyTimeTest, ::testing::ValuesIn(FaultyPrimitives()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace partita::ctime::ctime_faulty_test
