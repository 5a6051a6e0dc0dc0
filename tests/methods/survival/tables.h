// Made-up follow-up of patients in two arms, in parts, and the study's spec of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "data/table.h"
#include "methods/survival/spec.h"

namespace partita::methods::survival::testing {

struct Patient {
  double days = 0;
  bool died = false;
  int32_t arm = 0;
};

inline data::ColumnSchema OutcomeSchema(double upper) {
  data::ColumnSchema schema;
  schema.name = "death";
  schema.type = data::ColumnType::kSurvival;
  schema.time_column = "days";
  schema.event_column = "died";
  schema.lower = 0;
  schema.upper = upper;
  return schema;
}

inline data::ColumnSchema ArmSchema(size_t arms) {
  data::ColumnSchema schema;
  schema.name = "arm";
  schema.type = data::ColumnType::kFactor;
  for (size_t a = 0; a < arms; ++a) schema.levels.push_back("arm " + std::to_string(a));
  return schema;
}

// arms 1: no group.
inline Spec FollowUpSpec(size_t arms, double upper, const std::vector<double>& report) {
  Spec spec;
  spec.formula = "Surv(days, died) ~ arm";
  spec.outcome = OutcomeSchema(upper);
  spec.grid = data::GridOf(spec.outcome, 1);
  if (arms > 1) spec.group = data::GroupsOfFactors({{ArmSchema(arms), "arm"}});
  for (const double time : report) spec.report.push_back(spec.grid.EndingAt(time).value());
  return spec;
}

inline data::Table TableOf(const Spec& spec, const std::vector<Patient>& patients) {
  data::Table table;
  table.num_rows = patients.size();
  data::Column outcome, arm;
  outcome.schema = spec.outcome;
  arm.schema = spec.group ? spec.group->schema : ArmSchema(2);
  for (const Patient& patient : patients) {
    outcome.numbers.push_back(patient.days);
    outcome.codes.push_back(patient.died ? 1 : 0);
    arm.codes.push_back(patient.arm);
  }
  table.columns = {std::move(outcome), std::move(arm)};
  return table;
}

// Exponential lifetimes, shorter in later arms, with uniform ends of follow-up; in whole days.
inline std::vector<Patient> DrawPatients(std::mt19937_64& random, size_t rows, size_t arms,
                                         double upper) {
  std::uniform_real_distribution<double> end(0.4 * upper, upper);
  std::vector<Patient> patients;
  for (size_t r = 0; r < rows; ++r) {
    Patient patient;
    patient.arm = static_cast<int32_t>(random() % arms);
    const double mean = upper / (2 + 0.8 * patient.arm);
    const double life = std::exponential_distribution<double>(1 / mean)(random);
    const double last = end(random);
    patient.died = life <= last;
    patient.days = std::ceil(std::min(life, last));
    patients.push_back(patient);
  }
  return patients;
}

}  // namespace partita::methods::survival::testing
