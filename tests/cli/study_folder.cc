#include "tests/cli/study_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace partita::testing {
namespace {

constexpr char kStudy[] = R"(partita = 1
name = "small"
title = "A small study"

[[party]]
name = "north"
roles = ["holder", "receiver"]
columns = ["x1", "x2"]

[[party]]
name = "south"
roles = ["holder"]
columns = ["x3"]

[[party]]
name = "dealer"
roles = ["dealer"]

[[rows]]
name = "all"
count = 40

[table]
key = "id"

[[variable]]
name = "x1"
type = "numeric"
lower = -10
upper = 10

[[variable]]
name = "x2"
type = "numeric"
lower = -10
upper = 10

[[variable]]
name = "x3"
type = "numeric"
lower = -10
upper = 10

[design]
site = "ignore"
missing = "refuse"

[engine]
name = "dealer"

[[analysis]]
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "sem"
model = """
x3 ~ x1 + x2
"""
)";

}  // namespace

StudyFolder::StudyFolder() {
  path_ = ::testing::TempDir() + "/partita-study-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
  std::filesystem::create_directories(path_ + "/north");
  std::filesystem::create_directories(path_ + "/south");
  Write(study_file(), kStudy);
  std::string north = "id,x1,x2\n", south = "id,x3\n";
  // Mock numbers without a pattern that a model could fit exactly.
  for (int i = 0; i < 40; ++i) {
    const double x1 = ((i * 37) % 41) / 10.0 - 2, x2 = ((i * 23 + 5) % 43) / 10.0 - 2;
    const double noise = ((i * 29 + 11) % 31) / 10.0 - 1.5;
    north += fmt::format("p{:03},{:.1f},{:.1f}\n", i, x1, x2);
    south += fmt::format("p{:03},{:.6f}\n", i, 0.5 * x1 - 0.25 * x2 + noise);
  }
  Write(data("north"), north);
  Write(data("south"), south);
}

StudyFolder::~StudyFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void StudyFolder::MakeHorizontal() {
  Edit(study_file(), "columns = [\"x1\", \"x2\"]", "rows = [\"first\"]");
  Edit(study_file(), "columns = [\"x3\"]", "rows = [\"second\"]");
  Edit(study_file(), "[[rows]]\nname = \"all\"\ncount = 40",
       "[[rows]]\nname = \"first\"\n\n[[rows]]\nname = \"second\"");
  Edit(study_file(), "key = \"id\"\n", "");
  std::istringstream north(Read(data("north"))), south(Read(data("south")));
  std::string left, right, first = "id,x1,x2,x3\n", second = first;
  std::getline(north, left);
  std::getline(south, right);
  for (int i = 0; std::getline(north, left) && std::getline(south, right); ++i) {
    (i < 20 ? first : second) += left + right.substr(right.find(',')) + "\n";
  }
  Write(data("north"), first);
  Write(data("south"), second);
}

void StudyFolder::Edit(const std::string& file, const std::string& from, const std::string& to) {
  std::string text = Read(file);
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " is not in " << file;
  Write(file, text.replace(at, from.size(), to));
}

std::string StudyFolder::Read(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void StudyFolder::Write(const std::string& file, const std::string& text) {
  std::ofstream(file) << text;
}

}  // namespace partita::testing
