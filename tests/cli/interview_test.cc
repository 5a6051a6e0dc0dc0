// Questions that options answer, or people, or nobody.
#include "cli/terminal/interview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace partita::cli::interview_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(InterviewTest, WithNobodyToAskDefaultsAreTakenAndTheRestIsMissing) {
  Interview interview({});
  EXPECT_EQ(interview.Say("said", "--a", "A"), "said");
  EXPECT_EQ(interview.Say("", "--b", "B", "default"), "default");
  EXPECT_EQ(interview.Say("", "--c", "C", ""), "");
  interview.RequireAll();
  EXPECT_EQ(interview.Say("", "--d", "D"), "");
  EXPECT_EQ(interview.Say("", "--e", "E"), "");
  EXPECT_THAT(interview.taken(), ElementsAre(std::make_pair("--b", "default")));
  EXPECT_THAT(interview.missing(), ElementsAre("--d", "--e"));
  try {
    interview.RequireAll();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("--d, --e"));
  }
}

TEST(InterviewTest, AsksForWhatIsNotSaidUntilThereIsAnAnswer) {
  std::vector<std::string> answers = {" first ", "", "", "at last"}, questions;
  size_t next = 0;
  Interview interview([&](const std::string& question) -> std::optional<std::string> {
    questions.push_back(question);
    if (next == answers.size()) return std::nullopt;
    return answers[next++];
  });
  EXPECT_EQ(interview.Say("said", "--a", "A"), "said");
  EXPECT_EQ(interview.Say("", "--b", "B", "default"), "first");
  EXPECT_EQ(interview.Say("", "--c", "C", "default"), "default");
  EXPECT_EQ(interview.Say("", "--d", "D"), "at last") << "an empty line is no answer";
  EXPECT_THAT(questions, ElementsAre("B [default]: ", "C [default]: ", "D: ", "D: "));
  EXPECT_THROW(interview.Say("", "--e", "E"), Error) << "the input ended";
  EXPECT_TRUE(interview.taken().empty()) << "who answers knows";
}

}  // namespace
}  // namespace partita::cli::interview_test
