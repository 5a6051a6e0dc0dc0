#include "methods/mle/published/question_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "base/error.h"

namespace partita::methods::mle::published {
namespace {

using stats::StatisticsScale;

// Weights of one group as a quadratic function of a row: linear' z - 1/2 z' precision z.
struct Quadratic {
  Eigen::VectorXd linear;
  Eigen::MatrixXd precision;
};

Quadratic GroupWeights(const Eigen::RowVectorXd& weights, Eigen::Index p, size_t group) {
  Eigen::Index at = static_cast<Eigen::Index>(group) * (p + p * (p + 1) / 2);
  Quadratic out{weights.segment(at, p).transpose(), Eigen::MatrixXd(p, p)};
  at += p;
  for (Eigen::Index i = 0; i < p; ++i) {
    for (Eigen::Index j = i; j < p; ++j) {
      out.precision(i, j) = out.precision(j, i) = -weights[at++] * (i == j ? 2 : 1);
    }
  }
  return out;
}

// z = (y - centre) / half_width in the units of the rows: u = shift + factor z.
struct Change {
  Eigen::VectorXd shift, factor;
};

// The distribution with density exp(linear' z - 1/2 z' precision z) up to a constant.
NormalParameters DistributionOf(const Quadratic& weights, const Change& change) {
  const Eigen::LLT<Eigen::MatrixXd> factor(weights.precision);
  if (factor.info() != Eigen::Success) {
    throw Error(ErrorCode::kInternal, "a question about something that is no distribution");
  }
  const Eigen::Index p = weights.linear.size();
  NormalParameters out;
  out.mean = change.shift + change.factor.cwiseProduct(factor.solve(weights.linear));
  out.covariance = change.factor.asDiagonal() * factor.solve(Eigen::MatrixXd::Identity(p, p)) *
                   change.factor.asDiagonal();
  out.covariance = ((out.covariance + out.covariance.transpose()) / 2).eval();
  return out;
}

// E (u - mean) precision (u - mean)' if u has this distribution.
double Expected(const NormalParameters& truth, const Eigen::VectorXd& mean,
                const Eigen::MatrixXd& precision) {
  const Eigen::VectorXd shift = truth.mean - mean;
  return precision.cwiseProduct(truth.covariance).sum() + shift.dot(precision * shift);
}

// How far from `base` towards `direction` one may go: mean and precision change by at most half.
double StepLength(const Quadratic& base, const Quadratic& direction) {
  const Eigen::LLT<Eigen::MatrixXd> factor(base.precision);
  const Eigen::VectorXd mean = factor.solve(base.linear);
  const auto lower = factor.matrixL();
  Eigen::MatrixXd whitened = lower.solve(direction.precision);
  whitened = lower.solve(whitened.transpose()).eval();
  const double curvature = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(
                               (whitened + whitened.transpose()) / 2, Eigen::EigenvaluesOnly)
                               .eigenvalues()
                               .cwiseAbs()
                               .maxCoeff();
  const double shift = lower.solve(direction.linear - direction.precision * mean).norm();
  const double size = std::max(curvature, shift);
  return size > 0 ? 0.5 / size : 0;
}

// The oracle of one fit.
class Questioner {
 public:
  Questioner(const QuestionFitInput& input, Eigen::Index num_variables)
      : input_(input), p_(num_variables) {
    change_.shift = (input.scale.centre - input.units.centre).cwiseQuotient(input.units.half_width);
    change_.factor = input.scale.half_width.cwiseQuotient(input.units.half_width);
  }

  stats::OracleAnswer operator()(const Eigen::MatrixXd& weights) {
    const size_t groups = input_.n.size();
    std::vector<Quadratic> base;
    for (size_t g = 0; g < groups; ++g) base.push_back(GroupWeights(weights.row(0), p_, g));
    reference_.clear();
    for (const Quadratic& group : base) reference_.push_back(DistributionOf(group, change_));
    const std::vector<double> at_base = Ask(base);
    Eigen::VectorXd values = Eigen::VectorXd::Zero(weights.rows());
    for (const double value : at_base) values[0] += value;
    for (Eigen::Index r = 1; r < weights.rows(); ++r) {
      std::vector<Quadratic> moved = base;
      std::vector<double> steps;
      for (size_t g = 0; g < groups; ++g) {
        const Quadratic direction = GroupWeights(weights.row(r), p_, g);
        steps.push_back(StepLength(base[g], direction));
        moved[g].linear += steps[g] * direction.linear;
        moved[g].precision += steps[g] * direction.precision;
      }
      const std::vector<double> there = Ask(moved);
      for (size_t g = 0; g < groups; ++g) {
        if (steps[g] > 0) values[r] += (there[g] - at_base[g]) / steps[g];
      }
    }
    return {values, weights};
  }

  int questions() const { return questions_; }

 private:
  // By group: linear' sum z - 1/2 tr(precision sum z z'). Answers are for slightly other
  // distributions than asked (rounding); the difference is made up for as if the rows had the
  // moments that the model implies.
  std::vector<double> Ask(const std::vector<Quadratic>& weights) {
    Question question;
    for (const Quadratic& group : weights) question.push_back(DistributionOf(group, change_));
    ++questions_;
    std::vector<double> values;
    std::vector<Eigen::MatrixXd> precision;
    for (size_t g = 0; g < weights.size(); ++g) {
      const Eigen::VectorXd mean = weights[g].precision.llt().solve(weights[g].linear);
      values.push_back(input_.n[g] / 2 * mean.dot(weights[g].linear));
      precision.push_back(change_.factor.cwiseInverse().asDiagonal() * weights[g].precision *
                          change_.factor.cwiseInverse().asDiagonal());
    }
    for (const BlockAnswer& answer : input_.ask(question)) {
      const size_t g = answer.group;
      const NormalParameters& truth = reference_[g];
      const double rounding = Expected(truth, question[g].mean, precision[g]) -
                              Expected(truth, answer.mean, answer.precision);
      values[g] -= (answer.quadratic + answer.rows * rounding) / 2;
    }
    return values;
  }

  const QuestionFitInput& input_;
  Eigen::Index p_;
  Change change_;
  Question reference_;
  int questions_ = 0;
};

}  // namespace

QuestionFit FitByQuestions(const stats::ParameterTable& table, const QuestionFitInput& input,
                           Progress& progress) {
  if (!table.meanstructure) {
    throw Error(ErrorCode::kBadInput, "the published protocols need a model with means",
                "set meanstructure = true; estimates of the other parameters do not change");
  }
  Questioner questioner(input, static_cast<Eigen::Index>(table.observed.size()));
  stats::OracleFitInput oracle;
  oracle.n = input.n;
  oracle.scale = input.scale;
  oracle.oracle = [&questioner](const Eigen::MatrixXd& weights) { return questioner(weights); };
  QuestionFit out;
  out.fit = stats::FitSemFromOracle(table, oracle, {}, progress);
  out.questions = questioner.questions();
  return out;
}

StatisticsScale DeviationUnits(const StatisticsScale& scale) {
  return {scale.centre, scale.half_width / 3};
}

StatisticsScale NaturalUnits(Eigen::Index num_variables) {
  return {Eigen::VectorXd::Zero(num_variables), Eigen::VectorXd::Ones(num_variables)};
}

}  // namespace partita::methods::mle::published
