#include "stats/erm/simulated.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "stats/erm/approximate_minima.h"
#include "stats/erm/descent.h"
#include "stats/erm/evaluate.h"
#include "stats/erm/local_aggregation.h"

namespace partita::stats::erm {
namespace {

using blr::Variates;
using Eigen::Index;
using Eigen::VectorXd;

VectorXd DrawDirection(size_t dimension, Variates& variates) {
  return DrawNormal(dimension, 1, variates).normalized();
}

LabelledRows DrawRows(const VectorXd& plane, size_t count, Variates& variates) {
  const auto d = static_cast<size_t>(plane.size());
  LabelledRows rows{{static_cast<Index>(count), plane.size()}, VectorXd(static_cast<Index>(count))};
  for (Index i = 0; i < rows.x.rows(); ++i) {
    const double radius = std::pow(variates.Uniform(), 1 / static_cast<double>(d));
    rows.x.row(i) = radius * DrawDirection(d, variates).transpose();
    rows.y(i) = rows.x.row(i).dot(plane) >= 0 ? 1 : -1;
  }
  return rows;
}

std::vector<Index> Permutation(Index count, Variates& variates) {
  std::vector<Index> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[variates.Below(i)]);
  return order;
}

std::vector<size_t> CountsByLargestRemainder(size_t rows, std::span<const double> weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<size_t> counts(weights.size());
  std::vector<std::pair<double, size_t>> remainders;
  size_t given = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const double exact = static_cast<double>(rows) * weights[k] / total;
    counts[k] = static_cast<size_t>(exact + 1e-9);
    remainders.emplace_back(exact - static_cast<double>(counts[k]), k);
    given += counts[k];
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t k = 0; given < rows; ++k, ++given) ++counts[remainders[k].second];
  for (size_t& count : counts) {
    if (count > 0) continue;
    --*std::max_element(counts.begin(), counts.end());
    count = 1;
  }
  return counts;
}

Objective Penalised(const Setting& setting, double slack) {
  Objective objective;
  objective.lambda = setting.lambda;
  objective.slack = slack;
  return objective;
}

struct PerturbedObjective {
  Objective objective;
  double noise_stddev = 0;
};

PerturbedObjective DesignObjective(const SimulatedData& data, const Setting& setting) {
  const Slack slack = PaperSlack(privacy::Epsilon(setting.epsilon), setting.lambda,
                                 static_cast<size_t>(data.train.x.rows()), MaxCurvature({}));
  return {Penalised(setting, slack.delta_slack),
          ObjectiveNoise(setting.rule, static_cast<size_t>(data.train.x.cols()), slack.epsilon_rest,
                         privacy::Delta(setting.delta))};
}

VectorXd FitPsgd(const SimulatedData& data, const Setting& setting,
                 std::span<const LabelledRows> parties, Variates& variates) {
  const PerturbedObjective design = DesignObjective(data, setting);
  const auto d = static_cast<size_t>(data.train.x.cols());
  std::vector<VectorXd> eta;
  for (size_t k = 0; k < parties.size(); ++k) {
    const double share = design.noise_stddev / std::sqrt(static_cast<double>(parties.size()));
    eta.push_back(DrawNormal(d, share, variates));
  }
  PsgdOptions options{{}, setting.lambda, design.objective.slack, setting.iterations};
  return Psgd(parties, options, [&](size_t party, size_t) -> VectorXd {
    return eta[party] + DrawSphericalLaplace(d, 2 * kMaxSlope / setting.epsilon, variates);
  });
}

VectorXd FitAmp(const SimulatedData& data, const Setting& setting, Variates& variates) {
  const auto rows = static_cast<size_t>(data.train.x.rows());
  const auto d = static_cast<size_t>(data.train.x.cols());
  const AmpBudget budget{privacy::Epsilon(setting.epsilon), privacy::Delta(setting.delta)};
  const AmpDesign design =
      DesignAmp(budget, {}, setting.lambda, rows, 1e-4 / static_cast<double>(rows));
  Objective objective;
  objective.lambda = design.lambda;
  objective.noise = DrawNormal(d, design.linear_stddev * static_cast<double>(rows), variates);
  return Minimize(data.train, objective).w + DrawNormal(d, design.output_stddev, variates);
}

std::vector<LabelledRows> DrawParties(const SimulatedData& data, const Setting& setting,
                                      Variates& variates) {
  return SplitRows(
      data.train,
      setting.weights.empty() ? DrawWeights(setting.parties, variates) : setting.weights, variates);
}

VectorXd FitAggregate(const SimulatedData& data, const Setting& setting,
                      std::span<const LabelledRows> parties, Variates& variates) {
  Index smallest = data.train.x.rows();
  for (const LabelledRows& party : parties) smallest = std::min(smallest, party.x.rows());
  const double sensitivity =
      AggregationSensitivity(parties.size(), static_cast<size_t>(smallest), setting.lambda);
  return Average(LocalFits(parties, {}, setting.lambda)) +
         DrawSphericalLaplace(static_cast<size_t>(data.train.x.cols()),
                              sensitivity / setting.epsilon, variates);
}

double SinglePartyError(const SimulatedData& data, const Setting& setting, Variates& variates) {
  double sum = 0;
  const std::vector<VectorXd> fits =
      LocalFits(DrawParties(data, setting, variates), {}, setting.lambda);
  for (const VectorXd& fit : fits) sum += ErrorRate(data.test, fit);
  return sum / static_cast<double>(fits.size());
}

VectorXd FitOnce(const SimulatedData& data, const Setting& setting, Variates& variates) {
  const auto d = static_cast<size_t>(data.train.x.cols());
  switch (setting.method) {
    case Method::kErm:
      return Minimize(data.train, Penalised(setting, 0)).w;
    case Method::kObjectivePerturbation: {
      PerturbedObjective design = DesignObjective(data, setting);
      design.objective.noise = DrawNormal(d, design.noise_stddev, variates);
      return Minimize(data.train, design.objective).w;
    }
    case Method::kApproximateMinima:
      return FitAmp(data, setting, variates);
    case Method::kDescent: {
      const double stddev =
          DescentNoise(2 * kMaxSlope, setting.iterations, setting.epsilon, setting.delta);
      const DescentOptions options{{}, setting.lambda, setting.step, 1, setting.iterations};
      return NoisyDescent(data.train, options,
                          [&](size_t) { return DrawNormal(d, stddev, variates); });
    }
    case Method::kModelAverage:
      return Average(LocalFits(DrawParties(data, setting, variates), {}, setting.lambda));
    case Method::kLocalAggregation:
      return FitAggregate(data, setting, DrawParties(data, setting, variates), variates);
    case Method::kPsgd:
      return FitPsgd(data, setting, DrawParties(data, setting, variates), variates);
    case Method::kSingleParty:
      break;
  }
  throw Error(ErrorCode::kInternal, "a single party has no common classifier");
}

}  // namespace

SimulatedData DrawUnitBallData(size_t dimension, size_t train, size_t test, Variates& variates) {
  const VectorXd plane = DrawDirection(dimension, variates);
  SimulatedData data;
  data.train = DrawRows(plane, train, variates);
  data.test = DrawRows(plane, test, variates);
  return data;
}

std::vector<double> DrawWeights(size_t parties, Variates& variates) {
  std::vector<double> weights(parties);
  for (double& weight : weights) weight = variates.Exponential();
  return weights;
}

std::vector<LabelledRows> SplitRows(const LabelledRows& rows, std::span<const double> weights,
                                    Variates& variates) {
  const std::vector<Index> order = Permutation(rows.x.rows(), variates);
  std::vector<LabelledRows> parties;
  size_t begin = 0;
  for (const size_t count : CountsByLargestRemainder(static_cast<size_t>(rows.x.rows()), weights)) {
    const std::vector<Index> own(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                 order.begin() + static_cast<std::ptrdiff_t>(begin + count));
    parties.push_back({rows.x(own, Eigen::all), rows.y(own)});
    begin += count;
  }
  return parties;
}

VectorXd DrawNormal(size_t dimension, double stddev, Variates& variates) {
  VectorXd draw(static_cast<Index>(dimension));
  for (double& value : draw) value = stddev * variates.Normal();
  return draw;
}

VectorXd DrawSphericalLaplace(size_t dimension, double scale, Variates& variates) {
  const double radius = scale * variates.Gamma(static_cast<double>(dimension));
  return radius * DrawDirection(dimension, variates);
}

const char* MethodName(Method method) {
  switch (method) {
    case Method::kErm:
      return "no privacy";
    case Method::kModelAverage:
      return "model average, no privacy";
    case Method::kSingleParty:
      return "single party, no privacy";
    case Method::kLocalAggregation:
      return "local aggregation";
    case Method::kPsgd:
      return "PSGD";
    case Method::kObjectivePerturbation:
      return "objective perturbation";
    case Method::kApproximateMinima:
      return "approximate minima";
    case Method::kDescent:
      return "noisy descent";
  }
  return "";
}

bool IgnoresSplit(Method method) {
  return method == Method::kErm || method == Method::kObjectivePerturbation ||
         method == Method::kApproximateMinima || method == Method::kDescent;
}

double MeanTestError(const SimulatedData& data, const Setting& setting, size_t draws,
                     Variates& variates) {
  double sum = 0;
  for (size_t draw = 0; draw < draws; ++draw) {
    sum += setting.method == Method::kSingleParty
               ? SinglePartyError(data, setting, variates)
               : ErrorRate(data.test, FitOnce(data, setting, variates));
  }
  return sum / static_cast<double>(draws);
}

}  // namespace partita::stats::erm
