// Protocol `sealed` through the whole path of a study, against lavaan.
#pragma once

#include <set>
#include <string>

#include "methods/mle/sealed/analysis.h"
#include "tests/methods/mle/reference_run.h"
#include "tests/run/results.h"
#include "tests/stats/sem_reference.h"

namespace partita::methods::mle::testing {

// Estimates within 1e-4 standard errors, standard errors within 1e-4 of themselves. Of covariates
// nothing is told; functions of several parameters then have no standard error.
inline void CompareSealedEstimates(const MleResult& result, const json& reference,
                                   bool covariates) {
  const auto estimates = EstimatesByName(result);
  size_t compared = 0;
  for (const json& row : reference["parameters"]) {
    const std::string op = row["op"];
    if (op == "==") continue;
    const ParameterKey key{row["lhs"], op, op == "~1" ? "" : row["rhs"].get<std::string>(),
                           op == ":=" ? 0 : row["group"].get<int>()};
    const auto found = estimates.find(key);
    ASSERT_NE(found, estimates.end()) << row.dump();
    const double se = row["se"].is_null() ? 0 : row["se"].get<double>();
    if (se == 0) continue;
    ++compared;
    EXPECT_LE(std::abs(found->second.estimate - row["est"].get<double>()), 1e-4 * se) << row.dump();
    if (op == ":=" && covariates && std::isnan(found->second.standard_error)) continue;
    EXPECT_LE(std::abs(found->second.standard_error - se), 1e-4 * se) << row.dump();
  }
  EXPECT_GT(compared, 0u);
}

inline void CompareSealedMeasures(const MleResult& result, const json& reference) {
  const json& fit = reference["fit"];
  const std::map<std::string, double>& measures = result.fit.fit_measures;
  EXPECT_NEAR(measures.at("logl"), fit["logl"].get<double>(), 1e-6 * measures.at("ntotal"));
  EXPECT_NEAR(measures.at("chisq"), fit["chisq"].get<double>(), 1e-4);
  EXPECT_EQ(measures.at("npar"), fit["npar"].get<double>());
  EXPECT_EQ(measures.at("df"), fit["df"].get<double>());
  for (const char* name : {"cfi", "tli", "rmsea"}) {
    if (fit[name].is_null()) continue;
    EXPECT_NEAR(measures.at(name), fit[name].get<double>(), 1e-5) << name;
  }
  EXPECT_EQ(measures.count("srmr"), 0u);
}

inline bool HasSealedCovariates(const json& reference) {
  const stats::ParameterTable table = stats::testing::TableOf(reference);
  return table.fixed_x && !table.exogenous_covariates.empty();
}

// All that the protocol opens of the reference.
inline partita::testing::ReferenceStudyOptions SealedOptions(const json& reference,
                                                             const std::string& engine) {
  partita::testing::ReferenceStudyOptions options;
  options.engine = engine;
  options.protocol = "sealed";
  options.release = HasSealedCovariates(reference) ? "[\"estimates\", \"standard-errors\", \"fit\"]"
                                                   : "[\"estimates\", \"fit\"]";
  return options;
}

// Lavaan's numbers, the plan's traffic, and nothing opened but what the study lists.
inline void ExpectSealedEnds(const json& reference, const std::vector<run::PartyEnd>& ends) {
  const bool covariates = HasSealedCovariates(reference);
  const run::PartyOutcome& receiver = Receiver(ends);
  const MleResult& result = partita::testing::MleResultsOf(receiver).front();
  EXPECT_TRUE(result.fit.converged);
  CompareSealedEstimates(result, reference, covariates);
  CompareSealedMeasures(result, reference);
  ComparePlanWithTraffic(ends);
  std::set<std::string> opened;
  for (const auto& count : receiver.releases) opened.insert(count.release.id);
  std::set<std::string> expected = {"disclosure", "group-sizes/main", "sealed-converged/main",
                                    "sealed-estimates/main", "sealed-fit/main"};
  if (covariates) expected.insert("sealed-standard-errors/main");
  EXPECT_EQ(opened, expected);
  EXPECT_EQ(std::count_if(ends.begin(), ends.end(),
                          [](const auto& end) {
                            return !partita::testing::MleResultsOf(*end.outcome).empty();
                          }),
            1);
}

// One partition on one engine.
inline void ExpectSealedStudy(const json& reference, const json& partition,
                              const std::string& engine) {
  SCOPED_TRACE(partition.dump() + " " + engine);
  const auto ends = RunReference(reference, partition, SealedOptions(reference, engine));
  if (::testing::Test::HasFailure()) return;
  ExpectSealedEnds(reference, ends);
}

// On every engine that fits the number of holders.
inline void ExpectSealedOnAllEngines(const json& reference, const json& partition) {
  const size_t holders = partition["parties"].size();
  for (const std::string engine : {"dealer", "replicated", "ot", "shamir"}) {
    if ((engine == "replicated" && holders != 3) || (engine == "ot" && holders != 2)) continue;
    if (engine == "shamir" && holders < 3) continue;
    ExpectSealedStudy(reference, partition, engine);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace partita::methods::mle::testing
