// Moments with noise of rows of which nobody knows which match: the join's, with the law of noise that the
// plan states; what holders see is the same whichever of their rows match; what the promise would not be
// true of is refused by name.
#include <gmock/gmock.h>

#include <cmath>

#include "methods/mle/study/study.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "run/rehearse/rehearsal.h"
#include "tests/run/matching/hidden_lists.h"
#include "tests/run/matching/hidden_views.h"

namespace partita::run::hidden_private_test {
namespace {

using namespace hidden_lists;  // NOLINT(google-build-using-namespace)

using methods::mle::MleStudy;
using methods::mle::NoiseStddev;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Private(const std::string& more = "", const std::string& promise = "epsilon = 100\n") {
  return "method = \"mle\"\nprotocol = \"pooled-moments\"\nfunction = \"sem\"\nmodel = \"y ~ x + "
         "z\"\nrelease = [\"moments\"]\n" +
         more + "[analysis.privacy]\ndelta = 1e-6\nadjacency = \"replace\"\nnorm = 1.8\n" +
         "planning_rows = 50\n" + promise;
}

std::vector<Int128> OpenedTo(const std::vector<PartyEnd>& ends, const std::string& party) {
  std::vector<Int128> numbers;
  for (const Opening& opening : EndOf(ends, party).outcome->openings) {
    for (const mpc::IntMatrix& matrix : opening.values)
      numbers.insert(numbers.end(), matrix.values.begin(), matrix.values.end());
  }
  return numbers;
}

class HiddenPrivateTest : public HiddenLists {
 protected:
  // What a holder's own machine says of its list.
  std::string Loading(const std::string& matching_more) {
    people_ = People(0);
    group_ = std::make_unique<MatchingGroup>(MatchingText(kNobody + matching_more));
    Write(false);
    results_ = group_->RunAndSave();
    rows_ = Hidden(results_[0].record, results_[0].rows.size(), "nobody");
    const std::unique_ptr<const Study> study = Prepared(StudyText(rows_, {.analysis = Private()}));
    crypto::SystemRandom random;
    SilentProgress progress;
    try {
      LoadLocalData(*study, 1, group_->Table(0), crypto::RandomKey(random), progress);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused);
      return error.message();
    }
    return "loaded";
  }
};

// Count, sums and squares of the 50 rows of the join, within 7 standard deviations of the noise: of ten
// numbers a false alarm has a probability below 1e-10.
TEST_F(HiddenPrivateTest, OpensTheMomentsOfTheJoinWithNoise) {
  Match(kNobody);
  for (const char* const engine : {"dealer", "shamir"}) {
    const std::string text = StudyText(rows_, {.analysis = Private(), .engine = engine});
    const std::unique_ptr<const Study> prepared = Prepared(text);
    const auto& study = dynamic_cast<const MleStudy&>(*prepared);
    const std::vector<PartyEnd> ends = Run(text);
    for (const PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
    const std::vector<Int128> opened = OpenedTo(ends, "analyst");
    ASSERT_EQ(opened.size(), 10U);  // count, three sums, six products
    const auto number = [&](size_t at) {
      return std::ldexp(static_cast<double>(opened[at]), -2 * methods::mle::kPrivateFractionBits);
    };
    const double most = 7 * NoiseStddev(*study.privacy);
    ASSERT_LT(most, 10);
    EXPECT_NEAR(number(0), 50, most);
    // In the order of the computation's variables, each clipped alone to 1.8 / sqrt(3), beyond 1.
    const auto& variables = study.computations.front().variables;
    for (size_t v = 0; v < variables.size(); ++v) {
      double sum = 0;
      for (const Row& row : people_) {
        const std::string& name = variables[v].schema.name;
        if (lists_.AllHave(row.id))
          sum += std::stod(name == "x" ? row.x : name == "y" ? row.y : row.z) / 20;
      }
      EXPECT_NEAR(number(1 + v), sum, most);
    }
    for (const char* const holder : kHolders) {
      EXPECT_EQ(EndOf(ends, holder).outcome->result, nullptr);
      EXPECT_TRUE(OpenedTo(ends, holder).empty());
      EXPECT_TRUE(EndOf(ends, holder).outcome->checks.empty());
    }
  }
}

// In the first world clinic and registry have 50 people in common with office, in the second ten, and
// nobody is told.
TEST_F(HiddenPrivateTest, HoldersSeeTheSameWhicheverRowsMatch) {
  const Lists first{{20, 15, 0}, {80, 90, 70}}, second{{20, 15, 70}, {80, 90, 140}};
  std::vector<std::string> views;
  for (const Lists& lists : {first, second}) {
    lists_ = lists;
    Match(kNobody);
    const std::vector<PartyEnd> ends = Run(StudyText(rows_, {.analysis = Private()}));
    views.emplace_back();
    for (const char* const holder : {"clinic", "registry"})
      views.back() += ViewOf(EndOf(ends, holder));
  }
  EXPECT_EQ(views[0], views[1]);
}

TEST_F(HiddenPrivateTest, AMatchingInWhichOnePersonChangesMoreIsRefused) {
  EXPECT_EQ(Loading(""), "loaded");
  EXPECT_THAT(
      Loading("duplicates = \"leave-out\"\n"),
      AllOf(HasSubstr("duplicates = \"leave-out\""), HasSubstr("several rows of the join")));
}

// ------------------------------------------------------------------- without tables

std::string Any(const std::string& count) {
  return Hidden(crypto::Sha256Of(AsBytes("any")), 300, count);
}

// Numbers and noise as the same in the clear has them.
TEST(HiddenPrivateRehearsalTest, EqualsTheClearAtThePlannedCost) {
  for (const std::string count : {"nobody", "noisy"}) {
    for (const std::string more :
         {"", "group = \"sex\"\n", "subset = [{variable = \"w\", at_most = 2}]\n"}) {
      SCOPED_TRACE(count + more);
      SilentProgress progress;
      const Rehearsal rehearsal =
          Rehearse(*Prepared(StudyText(Any(count), {.analysis = Private(more)})), {}, progress);
      EXPECT_LT(rehearsal.rows, 290U);
      EXPECT_TRUE(rehearsal.passed(6)) << rehearsal.lowest_digits();
    }
  }
}

TEST(HiddenPrivatePlanTest, SaysWhomThePromiseIsAbout) {
  const study::Plan plan = BuildPlan(*Prepared(StudyText(Any("nobody"), {.analysis = Private()})));
  EXPECT_THAT(plan.assumptions,
              AllOf(Contains(HasSubstr("its key included")),
                    Contains(AllOf(HasSubstr("trust saw in the matching"),
                                   HasSubstr("any two holders together"))),
                    Contains(HasSubstr("told by this noise alone")),
                    Contains(HasSubstr("what this study opens says it with noise only")),
                    Not(Contains(HasSubstr("what this study opens may"))),
                    Not(Contains("The number of rows is public.")),
                    Not(Contains(HasSubstr("can find out which of its own rows match")))));
  EXPECT_THAT(plan.exposures.at(0).exposes, Contains(HasSubstr("number of rows with noise")));
  const study::Plan noisy = BuildPlan(*Prepared(StudyText(Any("noisy"), {.analysis = Private()})));
  EXPECT_THAT(noisy.assumptions, AllOf(Contains(HasSubstr("adds up with this one")),
                                       Contains(HasSubstr("has noise of its own")),
                                       Not(Contains(HasSubstr("may say it without")))));
}

TEST(HiddenPrivateRefusalsTest, WhatThePromiseWouldNotBeTrueOf) {
  EXPECT_EQ(Refusal(StudyText(Any("nobody"), {.analysis = Private()})), "accepted");
  EXPECT_THAT(Refusal(StudyText(Any("exact"), {.analysis = Private()})),
              HasSubstr("the study file says how many people match"));
  std::string unplanned = Private();
  unplanned.erase(unplanned.find("planning_rows = 50\n"), 19);
  EXPECT_THAT(Refusal(StudyText(Any("nobody"), {.analysis = unplanned})),
              HasSubstr("needs planning_rows"));
  EXPECT_THAT(
      Refusal(StudyText(Any("nobody"), {.analysis = Private(),
                                        .more = "[population]\nmax_rows_per_person = 2\n"})),
      HasSubstr("a person has several rows"));
  std::string added = Private();
  added.replace(added.find("\"replace\""), 9, "\"add-remove\"");
  EXPECT_THAT(Refusal(StudyText(Any("nobody"), {.analysis = added})),
              HasSubstr("declares its count"));
}

}  // namespace
}  // namespace partita::run::hidden_private_test
