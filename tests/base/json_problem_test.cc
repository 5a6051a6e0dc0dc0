#include "base/json_problem.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace partita::json_problem_test {
namespace {

using Json = nlohmann::json;

std::string ProblemOf(const std::function<void()>& read) {
  try {
    read();
  } catch (const Json::exception& error) {
    return JsonProblem(error.id, error.what());
  }
  return "none";
}

TEST(JsonProblemTest, SaysWhatIsWrongInOwnWords) {
  EXPECT_EQ(ProblemOf([] { return Json::parse("{\"a\":\n  1,}"); }),
            "it is no JSON (line 2, column 5)");
  EXPECT_EQ(ProblemOf([] { return Json::parse("\"\xff\""); }), "it is no JSON (line 1, column 2)");
  EXPECT_EQ(ProblemOf([] { return Json::parse("1e999"); }), "a number in it is too large");
  EXPECT_EQ(ProblemOf([] { return Json::object().at("rows"); }), "'rows' is missing");
  EXPECT_EQ(ProblemOf([] { return Json::array().at(3); }), "a list in it is too short");
  EXPECT_EQ(ProblemOf([] { return Json("many").get<double>(); }),
            "something in it is no number, and should be one");
  EXPECT_EQ(ProblemOf([] { return Json("many").at("rows"); }),
            "something in it is of another type than it should be");
  EXPECT_EQ(ProblemOf([]() -> Json {
              throw Json::other_error::create(501, "it has no analysis", nullptr);
            }),
            "it has no analysis");
  EXPECT_EQ(JsonProblem(101, ""), "it is no JSON");
}

}  // namespace
}  // namespace partita::json_problem_test
