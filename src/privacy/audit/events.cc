#include "privacy/audit/events.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace partita::privacy {
namespace {

constexpr double kRidge = 1e-9;

bool HasOutput(std::span<const double> run) {
  return std::all_of(run.begin(), run.end(), [](double x) { return std::isfinite(x); });
}

double ScoreOf(std::span<const double> run, const std::vector<double>& direction) {
  double score = 0;
  for (size_t i = 0; i < run.size(); ++i) {
    if (direction[i] != 0) score += direction[i] * run[i];
  }
  return score;
}

// Sorted scores of the training runs that have an output.
std::vector<double> SortedScores(const Outputs& sample, size_t runs,
                                 const std::vector<double>& direction) {
  std::vector<double> scores;
  scores.reserve(runs);
  for (size_t i = 0; i < runs; ++i) {
    if (HasOutput(sample.Run(i))) scores.push_back(ScoreOf(sample.Run(i), direction));
  }
  std::sort(scores.begin(), scores.end());
  return scores;
}

std::vector<double> Coordinate(size_t index, size_t dimension) {
  std::vector<double> direction(dimension, 0.0);
  direction[index] = 1;
  return direction;
}

// Keeps the best so far.
class Search {
 public:
  // Where nothing has any merit, the event stays {first coordinate >= 0}.
  Search(const Merit& merit, size_t dimension, size_t with_runs, size_t without_runs)
      : merit_(merit), with_runs_(with_runs), without_runs_(without_runs) {
    best_.event.direction = Coordinate(0, dimension);
  }

  void Try(const std::vector<double>& direction, Comparison comparison, double value, size_t with,
           size_t without) {
    const Count p{with, with_runs_};
    const Count q{without, without_runs_};
    for (const bool exchanged : {false, true}) {
      const double found = exchanged ? merit_(q, p) : merit_(p, q);
      if (!(found > best_merit_)) continue;
      best_merit_ = found;
      best_ = {{direction, comparison, value}, exchanged};
    }
  }

  // Every threshold and every value that occurs.
  void TryScores(const std::vector<double>& direction, const std::vector<double>& p,
                 const std::vector<double>& q) {
    size_t in_p = 0;  // scores below the value
    size_t in_q = 0;
    while (in_p < p.size() || in_q < q.size()) {
      const double value = in_q == q.size()   ? p[in_p]
                           : in_p == p.size() ? q[in_q]
                                              : std::min(p[in_p], q[in_q]);
      const auto next = [value](const std::vector<double>& scores, size_t at) {
        while (at < scores.size() && scores[at] == value) ++at;
        return at;
      };
      const size_t next_p = next(p, in_p);
      const size_t next_q = next(q, in_q);
      Try(direction, Comparison::kAtLeast, value, p.size() - in_p, q.size() - in_q);
      Try(direction, Comparison::kAtMost, value, next_p, next_q);
      Try(direction, Comparison::kEqual, value, next_p - in_p, next_q - in_q);
      in_p = next_p;
      in_q = next_q;
    }
  }

  const ChosenEvent& best() const { return best_; }

 private:
  const Merit& merit_;
  size_t with_runs_;
  size_t without_runs_;
  double best_merit_ = -std::numeric_limits<double>::infinity();
  ChosenEvent best_;
};

struct Moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd scatter;
  double runs = 0;
};

Moments MomentsOf(const Outputs& sample, size_t runs) {
  const auto d = static_cast<Eigen::Index>(sample.dimension);
  Moments moments{Eigen::VectorXd::Zero(d), Eigen::MatrixXd::Zero(d, d), 0};
  for (size_t i = 0; i < runs; ++i) {
    if (!HasOutput(sample.Run(i))) continue;
    moments.mean += Eigen::Map<const Eigen::VectorXd>(sample.Run(i).data(), d);
    ++moments.runs;
  }
  if (moments.runs == 0) return moments;
  moments.mean /= moments.runs;
  for (size_t i = 0; i < runs; ++i) {
    if (!HasOutput(sample.Run(i))) continue;
    const Eigen::VectorXd centred =
        Eigen::Map<const Eigen::VectorXd>(sample.Run(i).data(), d) - moments.mean;
    moments.scatter.selfadjointView<Eigen::Lower>().rankUpdate(centred);
  }
  return moments;
}

}  // namespace

std::string EventText(const OutputEvent& event) {
  if (event.comparison == Comparison::kNoOutput) return "no output";
  const auto used = std::count_if(event.direction.begin(), event.direction.end(),
                                  [](double weight) { return weight != 0; });
  std::string score = "classifier";
  if (event.direction.size() == 1) {
    score = "x";
  } else if (used == 1) {
    const auto at = std::find_if(event.direction.begin(), event.direction.end(),
                                 [](double weight) { return weight != 0; });
    score = fmt::format("x[{}]", at - event.direction.begin() + 1);
  }
  const char* sign = event.comparison == Comparison::kAtLeast  ? ">="
                     : event.comparison == Comparison::kAtMost ? "<="
                                                               : "=";
  return fmt::format("{} {} {:g}", score, sign, event.value);
}

Count CountEvent(const Outputs& sample, const OutputEvent& event, size_t first) {
  Count count{0, sample.runs() - first};
  for (size_t i = first; i < sample.runs(); ++i) {
    const bool output = HasOutput(sample.Run(i));
    if (event.comparison == Comparison::kNoOutput) {
      count.hits += output ? 0 : 1;
      continue;
    }
    if (!output) continue;
    const double score = ScoreOf(sample.Run(i), event.direction);
    const bool hit = event.comparison == Comparison::kAtLeast  ? score >= event.value
                     : event.comparison == Comparison::kAtMost ? score <= event.value
                                                               : score == event.value;
    count.hits += hit ? 1 : 0;
  }
  return count;
}

std::vector<double> LinearClassifier(const Outputs& with, const Outputs& without,
                                     const AuditOptions& options) {
  const Moments p = MomentsOf(with, SplitRuns(with, options).training);
  const Moments q = MomentsOf(without, SplitRuns(without, options).training);
  const auto d = static_cast<Eigen::Index>(with.dimension);
  Eigen::MatrixXd covariance = p.scatter + q.scatter;
  const double scale = covariance.trace() / static_cast<double>(d);
  covariance.diagonal().array() += scale > 0 ? kRidge * scale : 1;
  const Eigen::VectorXd direction =
      covariance.selfadjointView<Eigen::Lower>().ldlt().solve(p.mean - q.mean);
  const double length = direction.norm();
  if (!(length > 0) || !std::isfinite(length)) return Coordinate(0, with.dimension);
  std::vector<double> unit(with.dimension);
  Eigen::Map<Eigen::VectorXd>(unit.data(), d) = direction / length;
  return unit;
}

ChosenEvent ChooseEvent(const Outputs& with, const Outputs& without, const AuditOptions& options,
                        const Merit& merit) {
  CheckWorlds(with, without, options);
  const size_t p_runs = SplitRuns(with, options).training;
  const size_t q_runs = SplitRuns(without, options).training;
  Search search(merit, with.dimension, p_runs, q_runs);
  std::vector<std::vector<double>> directions;
  for (size_t i = 0; i < with.dimension; ++i) directions.push_back(Coordinate(i, with.dimension));
  if (with.dimension > 1) directions.push_back(LinearClassifier(with, without, options));
  size_t p_outputs = 0;
  size_t q_outputs = 0;
  for (const std::vector<double>& direction : directions) {
    const std::vector<double> p = SortedScores(with, p_runs, direction);
    const std::vector<double> q = SortedScores(without, q_runs, direction);
    search.TryScores(direction, p, q);
    p_outputs = p.size();
    q_outputs = q.size();
  }
  search.Try(directions.front(), Comparison::kNoOutput, 0, p_runs - p_outputs, q_runs - q_outputs);
  return search.best();
}

}  // namespace partita::privacy
