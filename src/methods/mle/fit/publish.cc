#include "methods/mle/fit/publish.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "methods/mle/fit/least_squares.h"
#include "methods/mle/fit/told_warnings.h"

namespace partita::methods::mle {
namespace {

constexpr int kMantissaBits = 53;
// Exponents of what is no number, and of a fit measure that a fit does not have.
constexpr int kNotANumber = 1 << 16;
constexpr int kNotThere = 1 << 17;

constexpr std::array kMeasures = {"npar",
                                  "fmin",
                                  "chisq",
                                  "df",
                                  "pvalue",
                                  "baseline.chisq",
                                  "baseline.df",
                                  "baseline.pvalue",
                                  "cfi",
                                  "tli",
                                  "logl",
                                  "unrestricted.logl",
                                  "aic",
                                  "bic",
                                  "bic2",
                                  "ntotal",
                                  "rmsea",
                                  "rmsea.ci.lower",
                                  "rmsea.ci.upper",
                                  "rmsea.pvalue",
                                  "srmr"};

constexpr std::array kRobustMeasures = {"chisq.scaled",
                                        "df.scaled",
                                        "pvalue.scaled",
                                        "chisq.scaling.factor",
                                        "baseline.chisq.scaled",
                                        "baseline.df.scaled",
                                        "baseline.pvalue.scaled",
                                        "baseline.chisq.scaling.factor",
                                        "cfi.scaled",
                                        "tli.scaled",
                                        "cfi.robust",
                                        "tli.robust",
                                        "rmsea.scaled",
                                        "rmsea.ci.lower.scaled",
                                        "rmsea.ci.upper.scaled",
                                        "rmsea.pvalue.scaled",
                                        "rmsea.robust",
                                        "rmsea.ci.lower.robust",
                                        "rmsea.ci.upper.robust",
                                        "rmsea.pvalue.robust"};
constexpr size_t kStatusNumbers = 4;
constexpr size_t kNumbersPerRow = 8;

// What a study's protocol has and the receiver's notes are, of which everybody has the list.
constexpr std::array kOptimizers = {"Fisher scoring", "NLopt SLSQP, then Fisher scoring",
                                    "damped Fisher scoring over the likelihood oracle",
                                    "Fisher scoring and Newton steps on shares"};
constexpr std::array kNotes = {kNormalityNotChecked,
                               kNoFitMeasures,
                               kMissingAtRandom,
                               kImputed,
                               kSealedWithoutFit,
                               kSealedWithoutResiduals,
                               kSealedWithoutErrors,
                               kSealedMissingAtRandom,
                               kSealedIncompleteErrors,
                               kSealedIncompleteWithoutErrors,
                               kSealedIncompleteWithoutFit,
                               kSealedWithoutCovariates};

constexpr double kAbsent = std::numeric_limits<double>::infinity();

std::array<double, kNumbersPerRow> Fields(const stats::ParameterEstimate& e) {
  return {e.estimate, e.standard_error, e.z,      e.p_value,
          e.ci_lower, e.ci_upper,       e.std_lv, e.std_all};
}

template <typename Names>
void AddMeasures(const std::map<std::string, double>& measures, const Names& names,
                 std::vector<double>& numbers) {
  for (const char* name : names) {
    const auto found = measures.find(name);
    numbers.push_back(found == measures.end() ? kAbsent : found->second);
  }
}

// The values of fixed covariates are sample moments.
void AddEstimates(const MleAnalysis& analysis,
                  const std::vector<stats::ParameterEstimate>& estimates,
                  std::vector<double>& numbers) {
  for (size_t i = 0; i < analysis.table.rows.size(); ++i) {
    for (double number : Fields(estimates[i]))
      numbers.push_back(analysis.table.rows[i].exogenous ? kNaN : number);
  }
}

// The first that the optimiser's name begins with, from the end: "Fisher scoring" is the beginning
// of others.
double OptimizerNumber(const std::string& name) {
  for (size_t i = kOptimizers.size(); i-- > 0;) {
    if (name.starts_with(kOptimizers[i])) return static_cast<double>(i);
  }
  throw Error(ErrorCode::kInternal, "an optimiser that is not among those that are told");
}

// One bit for each of kNotes.
double NotesNumber(const std::vector<std::string>& notes) {
  double number = 0;
  for (size_t i = 0; i < kNotes.size(); ++i) {
    if (std::find(notes.begin(), notes.end(), kNotes[i]) != notes.end())
      number += std::ldexp(1.0, static_cast<int>(i));
  }
  return number;
}

// Everything that is told, in one order at everybody.
std::vector<double> Numbers(const MleAnalysis& analysis, const MleResult& result) {
  std::vector<double> numbers = {static_cast<double>(result.fit.stop),
                                 OptimizerNumber(result.fit.optimizer), NotesNumber(result.notes),
                                 static_cast<double>(result.fit.iterations)};
  numbers.insert(numbers.end(), result.group_n.begin(), result.group_n.end());
  AddMeasures(result.fit.fit_measures, kMeasures, numbers);
  AddEstimates(analysis, result.fit.estimates, numbers);
  if (!analysis.options.robust) return numbers;
  numbers.push_back(result.robust->scaling_factor);
  AddMeasures(result.robust->fit_measures, kRobustMeasures, numbers);
  AddEstimates(analysis, result.robust->estimates, numbers);
  return numbers;
}

size_t NumGroups(const MleAnalysis& analysis) {
  return std::max<size_t>(1, analysis.group_levels.size());
}

size_t NumNumbers(const MleAnalysis& analysis) {
  const size_t estimates = kNumbersPerRow * analysis.table.rows.size();
  return kStatusNumbers + NumGroups(analysis) + kMeasures.size() + estimates +
         (analysis.options.robust ? 1 + kRobustMeasures.size() + estimates : 0);
}

std::vector<std::string> NotesOf(size_t number) {
  std::vector<std::string> notes = {kTold};
  for (size_t i = 0; i < kNotes.size(); ++i) {
    if ((number >> i & 1) != 0) notes.emplace_back(kNotes[i]);
  }
  return notes;
}

// Takes the numbers apart again, in the same order.
class Reader {
 public:
  explicit Reader(const std::vector<double>& numbers) : next_(numbers.begin()) {}
  double Next() { return *next_++; }

  // A whole number below `end`.
  size_t Index(size_t end) {
    const double value = Next();
    if (value >= 0 && value < static_cast<double>(end) && value == std::floor(value))
      return static_cast<size_t>(value);
    throw Error(ErrorCode::kPeerFault, "the receiver told a result that no fit has",
                "compare versions of the program and run the study again");
  }

  template <typename Names>
  std::map<std::string, double> Measures(const Names& names) {
    std::map<std::string, double> measures;
    for (const char* name : names) {
      const double value = Next();
      if (value != kAbsent) measures[name] = value;
    }
    return measures;
  }

  std::vector<stats::ParameterEstimate> Estimates(const MleAnalysis& analysis) {
    std::vector<stats::ParameterEstimate> estimates(analysis.table.rows.size());
    for (stats::ParameterEstimate& e : estimates) {
      for (double* field : {&e.estimate, &e.standard_error, &e.z, &e.p_value, &e.ci_lower,
                            &e.ci_upper, &e.std_lv, &e.std_all}) {
        *field = Next();
      }
    }
    return estimates;
  }

 private:
  std::vector<double>::const_iterator next_;
};

MleResult FromNumbers(const MleAnalysis& analysis, const std::vector<double>& numbers) {
  MleResult result = ResultWithoutFit(analysis);
  Reader reader(numbers);
  result.fit.stop = static_cast<stats::StopReason>(reader.Index(stats::kNumStopReasons));
  result.fit.converged = result.fit.stop == stats::StopReason::kConverged;
  result.fit.optimizer = kOptimizers[reader.Index(kOptimizers.size())];
  result.notes = NotesOf(reader.Index(size_t{1} << kNotes.size()));
  result.fit.iterations = static_cast<int>(reader.Next());
  result.fit.max_scaled_gradient = std::numeric_limits<double>::quiet_NaN();  // kTold
  for (size_t g = 0; g < NumGroups(analysis); ++g) result.group_n.push_back(reader.Next());
  result.fit.fit_measures = reader.Measures(kMeasures);
  result.fit_measures_available = result.fit.fit_measures.count("chisq") > 0;
  result.fit.estimates = reader.Estimates(analysis);
  for (const std::string& warning : analysis.warnings)
    result.notes.push_back("Warning: " + warning);
  if (analysis.options.robust) {
    stats::RobustFit robust;
    robust.scaling_factor = reader.Next();
    robust.fit_measures = reader.Measures(kRobustMeasures);
    robust.estimates = reader.Estimates(analysis);
    result.robust = std::move(robust);
  }
  AddLeastSquares(analysis.options, result);
  AddToldWarnings(analysis, result);
  return result;
}

// Mantissa and exponent of every number, one after the other.
std::vector<Int128> EncodeNumbers(const std::vector<double>& numbers) {
  std::vector<Int128> values;
  for (double number : numbers) {
    if (!std::isfinite(number)) {
      values.insert(values.end(), {0, std::isnan(number) ? kNotANumber : kNotThere});
      continue;
    }
    int exponent = 0;
    const double fraction = std::frexp(number, &exponent);
    values.push_back(static_cast<Int128>(std::ldexp(fraction, kMantissaBits)));
    values.push_back(exponent);
  }
  return values;
}

std::vector<double> DecodeNumbers(const std::vector<Int128>& values) {
  std::vector<double> numbers;
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    const auto exponent = static_cast<int>(values[i + 1]);
    numbers.push_back(exponent == kNotANumber ? kNaN
                      : exponent == kNotThere
                          ? kAbsent
                          : std::ldexp(static_cast<double>(values[i]), exponent - kMantissaBits));
  }
  return numbers;
}

}  // namespace

std::string ResultRelease(const MleAnalysis& analysis) { return "result/" + analysis.options.name; }

uint64_t NumPublishedValues(const MleAnalysis& analysis) { return 2 * NumNumbers(analysis); }

std::optional<MleResult> PublishResult(mpc::Engine& engine, const MleAnalysis& analysis,
                                       mpc::PartyIndex receiver, mpc::PartyIndex to,
                                       const std::optional<MleResult>& result) {
  const mpc::Shape shape{1, NumPublishedValues(analysis)};
  mpc::PrivateMatrix told{receiver, shape, 0, std::ldexp(1.0, kMantissaBits), nullptr};
  if (engine.self() == receiver) {
    told.read = [values = EncodeNumbers(Numbers(analysis, *result))](size_t, size_t, Int128* out) {
      std::copy(values.begin(), values.end(), out);
    };
  }
  const std::vector<mpc::Shared> shared = engine.Input({&told, 1});
  const std::vector<mpc::IntMatrix> opened = engine.Reveal(ResultRelease(analysis), shared, to);
  if (engine.self() == receiver) return result;
  if (opened.empty() || opened[0].values.empty()) return std::nullopt;
  return FromNumbers(analysis, DecodeNumbers(opened[0].values));
}

}  // namespace partita::methods::mle
