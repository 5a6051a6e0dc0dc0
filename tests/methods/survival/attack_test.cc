// Sums by time are persons: what other tools collect, numbers of rows or sums over those at risk at
// every time that occurs, gives back who had the event when, and with which covariates, however the
// sums were added up over holders. Method `survival` opens as many numbers for any cells of time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "methods/survival/protocol.h"
#include "tests/methods/survival/tables.h"

namespace partita::methods::survival::attack_test {
namespace {

struct Person {
  double time = 0, age = 0, male = 0;
};

// Of persons with different times, pooled.
std::vector<Person> DrawPersons(size_t rows) {
  std::mt19937_64 random(7);
  std::vector<Person> persons;
  for (size_t r = 0; r < rows; ++r) {
    persons.push_back({static_cast<double>(r) + 0.25 * static_cast<double>(random() % 4),
                       20 + static_cast<double>(random() % 70), static_cast<double>(random() % 2)});
  }
  return persons;
}

// The sums over all that are at risk at each time, weighted by e^(x'b), as they stand in a score.
struct RiskSums {
  double zeroth = 0, age = 0, male = 0;
};

TEST(SurvivalAttack, RiskSumsAtEveryTimeAreRows) {
  const std::vector<Person> persons = DrawPersons(300);
  std::vector<RiskSums> opened(persons.size() + 1);
  for (size_t j = persons.size(); j-- > 0;) {
    const Person& person = persons[j];
    const double weight = std::exp(0.02 * person.age - 0.3 * person.male);
    opened[j] = {opened[j + 1].zeroth + weight, opened[j + 1].age + weight * person.age,
                 opened[j + 1].male + weight * person.male};
  }
  size_t found = 0;
  for (size_t j = 0; j < persons.size(); ++j) {
    const double weight = opened[j].zeroth - opened[j + 1].zeroth;
    const double age = (opened[j].age - opened[j + 1].age) / weight;
    const double male = (opened[j].male - opened[j + 1].male) / weight;
    if (std::round(age) == persons[j].age && std::round(male) == persons[j].male) ++found;
  }
  EXPECT_EQ(found, persons.size());
}

TEST(SurvivalAttack, NumbersAtRiskAtEveryTimeAreRows) {
  std::mt19937_64 random(8);
  const Spec spec = testing::FollowUpSpec(2, 2000, {500, 1000});
  const auto patients = testing::DrawPatients(random, 200, 2, 2000);
  std::vector<size_t> rows(patients.size());
  for (size_t r = 0; r < rows.size(); ++r) rows[r] = r;
  const OwnCounts counts = CountOwn(spec, testing::TableOf(spec, patients), rows);
  // A cell with one row is a person's time, arm and event.
  size_t alone = 0;
  for (size_t i = 0; i < counts.events.size(); ++i)
    alone += counts.events[i] + counts.censored[i] == 1 ? 1 : 0;
  EXPECT_GT(alone, 150u);
}

// What opens does not grow with the cells; RunAndComparePlan (protocol_test) opens nothing else.
TEST(SurvivalAttack, WhatOpensIsOfReportTimesOnly) {
  Task few, many;
  few.spec = testing::FollowUpSpec(2, 10, {5, 10});
  many.spec = testing::FollowUpSpec(2, 5000, {1000, 2000});
  few.holders = many.holders = {{0, 100}, {1, 100}};
  EXPECT_EQ(NumOpened(few), NumOpened(many));
  EXPECT_LT(NumOpened(many), 50u);
}

}  // namespace
}  // namespace partita::methods::survival::attack_test
