// The main function of all test programs. A program holds the tests of many files:
//
//     mpc_tests                          all of them
//     mpc_tests mpc/bits_test.cc         those of one file, as ctest calls it
//
// Gtest's own options come after it and mean what they always do; a --gtest_filter of one's own is
// taken instead of the file. Exits with 2 if there is no test in the file, or if two files have
// tests of one name, which a filter could not tell apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <string_view>

namespace {

// The names of the tests of a file as a filter of gtest, by the file's path below tests/.
std::string FilterOf(const std::string& file) {
  std::string filter;
  std::map<std::string, std::string> file_of_test;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      const std::string name = std::string(suite.name()) + "." + test.name();
      const auto [known, is_new] = file_of_test.emplace(name, test.file());
      if (!is_new) {
        std::cerr << "test " << name << " stands in " << known->second << " and again in "
                  << test.file() << ": rename one\n";
        return {};
      }
      if (std::string_view(test.file()).ends_with("tests/" + file)) filter += name + ":";
    }
  }
  if (filter.empty()) std::cerr << "no test of this program stands in tests/" << file << "\n";
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc > 1 && std::string_view(argv[1]).ends_with(".cc") && GTEST_FLAG_GET(filter) == "*") {
    const std::string filter = FilterOf(argv[1]);
    if (filter.empty()) return 2;
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
