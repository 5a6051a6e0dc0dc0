// A classification as a study file says it. All of it is public, and what is not a promise is a
// constant of tuning or scaling that was chosen without the data (R-o).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/design.h"

namespace partita::methods::classify {

inline constexpr char kMethodName[] = "classify";
inline constexpr uint32_t kMethodVersion = 2;  // 2: the grid of the sums for intervals

enum class Protocol {
  kDescent,      // "dp-sgd": descent.h
  kAggregation,  // "local-aggregation": local_aggregation.h
  kPsgd,         // "psgd": psgd.h
  kMinimum,      // "approximate-minima": minimum_on_shares.h
  // For comparison, NOT private:
  kObjective,  // "objective-perturbation": minimum_on_shares.h without output noise
  kAverage,    // "model-average": baselines.h
  kFederated,  // "federated": baselines.h
  kOwn,        // "single-party": each party by itself; nothing opens
};
// As in study files.
std::string_view ProtocolName(Protocol protocol);
std::vector<std::string> ProtocolNames();
// Whether what opens is covered by a privacy statement.
bool IsPrivate(Protocol protocol);
// Whether it draws noise, and so needs (epsilon, delta).
bool DrawsNoise(Protocol protocol);
// What opens without cover, as a study file must name it; empty for the others.
std::string_view UncoveredRelease(Protocol protocol);

enum class Evaluation {
  kNone,
  kLocal,    // each party on its own test rows, for its own eyes
  kPrivate,  // counts of all parties' test rows, with noise
};

// What is taken where a study says nothing, chosen without any study's data: on six public tables, at
// epsilon 0.2, 1 and 5, the error of "dp-sgd" is within 1.2 times the least of a grid of settings
// (tests/methods/classify/defaults_slow_test.cc). Rows are mostly shorter than the root of the number
// of columns; shortened to a third of it nearly all have norm 1, so that none is drowned by the noise.
inline constexpr double kDefaultRowNormShare = 1.0 / 3;  // of the root of the number of columns
inline constexpr double kDescentLambda = 1e-4, kDescentStep = 4;
// Of the others: their noise is in inverse proportion to it.
inline constexpr double kObjectiveLambda = 0.01;

struct Spec {
  Protocol protocol = Protocol::kDescent;
  std::string outcome;                      // a factor of the dictionary
  std::vector<std::string> levels;          // of the outcome
  size_t positive = 1;                      // with two levels: the one whose chance is modelled
  std::vector<data::DesignColumn> columns;  // of the predictors
  bool intercept = true;
  double row_norm = 0;     // of a row scaled to [-1, 1]; longer ones are shortened
  double huber_width = 0;  // 0: logistic loss
  double lambda = kObjectiveLambda;
  // Descent, PSGD and the federated fit.
  uint64_t iterations = 100;
  double step = kDescentStep;
  double sampling_rate = 1;
  double clip_norm = 1;
  bool adam = false;
  // After the fit.
  Evaluation evaluation = Evaluation::kNone;
  double test_share = 0;
  uint64_t score_bins = 10;
  double interval_share = 0;  // of the budget, for intervals of the coefficients; 0: none
  double level = 0.95;        // of the intervals

  bool binary() const { return levels.size() == 2; }
  size_t dimension() const { return columns.size() + (intercept ? 1 : 0); }
};

}  // namespace partita::methods::classify
