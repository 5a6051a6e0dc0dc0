// docs/exit-codes.md says of every error what it ends with and what peers are told of it.
#include "cli/terminal/exit_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "net/stop.h"
#include "tests/paths.h"

namespace partita::cli::exit_code_test {
namespace {

constexpr size_t kErrorCodes = static_cast<size_t>(ErrorCode::kInternal) + 1;

std::string Page() {
  std::stringstream text;
  text << std::ifstream(SourcePath("docs/exit-codes.md")).rdbuf();
  return text.str();
}

// The row of the table that begins with `first`: its cells.
std::vector<std::string> Row(const std::string& page, const std::string& first) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| " + first + " |", 0) != 0) continue;
    std::vector<std::string> cells;
    std::istringstream rest(line.substr(2));
    for (std::string cell; std::getline(rest, cell, '|');) {
      const size_t begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
      if (begin != std::string::npos) cells.push_back(cell.substr(begin, end - begin + 1));
    }
    return cells;
  }
  return {};
}

TEST(ExitCodeTest, ThePageSaysOfEveryErrorHowItEnds) {
  const std::string page = Page();
  std::set<std::string> names;
  for (size_t i = 0; i < kErrorCodes; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const std::string name(ErrorCodeName(code));
    EXPECT_TRUE(names.insert(name).second) << name;
    const std::vector<std::string> row = Row(page, "`" + name + "`");
    ASSERT_EQ(row.size(), 4u) << name;
    const std::string exit_code = std::to_string(ExitCodeOf(code));
    EXPECT_EQ(row[1], exit_code) << name;
    EXPECT_FALSE(Row(page, exit_code).empty()) << exit_code;
    if (code == ErrorCode::kPeerLost) continue;  // what the lost party told is passed on
    EXPECT_EQ(row[3], net::ReasonText(net::ReasonFor(code))) << name;
  }
}

TEST(ExitCodeTest, ThePageAndTheManualHaveTheSameCodes) {
  const std::string page = Page();
  std::vector<int> codes;
  for (const ExitCodeMeaning& row : ExitCodes()) {
    EXPECT_FALSE(Row(page, std::to_string(row.code)).empty()) << row.code;
    codes.push_back(row.code);
  }
  EXPECT_TRUE(std::is_sorted(codes.begin(), codes.end()));
  std::vector<int> on_page;
  for (int code = 0; code < 256; ++code) {
    if (!Row(page, std::to_string(code)).empty()) on_page.push_back(code);
  }
  EXPECT_EQ(codes, on_page);
}

}  // namespace
}  // namespace partita::cli::exit_code_test
