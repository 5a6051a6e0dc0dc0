#include "stats/erm/figures.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

constexpr double kConfidence = 0.95, kPower = 0.8;
// Noisy descent: few steps of twice the length that the curvature bound allows.
constexpr size_t kDescentSteps = 10;
constexpr double kDescentStep = 4;

Setting SettingOf(const FigureOptions& options, const FigureLine& line, double epsilon) {
  Setting setting;
  setting.method = line.method;
  setting.rule = line.rule;
  setting.epsilon = epsilon;
  setting.delta = options.delta;
  setting.lambda = options.lambda;
  setting.iterations = options.iterations;
  if (line.method == Method::kDescent) {
    setting.iterations = kDescentSteps;
    setting.step = kDescentStep;
  }
  return setting;
}

std::vector<double> ErrorsOf(std::span<const SimulatedData> data, const Setting& setting,
                             size_t draws, blr::Variates& variates) {
  // Without noise and splits every draw is the same.
  const size_t count = setting.method == Method::kErm ? 1 : draws;
  std::vector<double> errors;
  errors.reserve(data.size());
  for (const SimulatedData& set : data) {
    errors.push_back(MeanTestError(set, setting, count, variates));
  }
  return errors;
}

std::vector<size_t> Positions(Panel panel) {
  if (panel == Panel::kSkew) return {1, 2, 3};
  return {std::begin(kFigureParties), std::end(kFigureParties)};
}

const FigureCell& Find(const std::vector<FigureCell>& cells, Panel panel, size_t position,
                       double epsilon, const FigureLine& line) {
  for (const FigureCell& cell : cells) {
    if (cell.panel == panel && cell.position == position && cell.epsilon == epsilon &&
        LineName(cell.line) == LineName(line)) {
      return cell;
    }
  }
  throw Error(ErrorCode::kUsage, "the figure has no such cell");
}

}  // namespace

std::string LineName(const FigureLine& line) {
  std::string name = MethodName(line.method);
  if (line.method != Method::kPsgd && line.method != Method::kObjectivePerturbation) return name;
  switch (line.rule) {
    case NoiseRule::kPrinted:
      return name + ", printed sigma* (not private)";
    case NoiseRule::kCorrected:
      return name + ", corrected sigma*";
    case NoiseRule::kLinearModel:
      return name + ", sigma* for linear models";
  }
  return name;
}

std::vector<FigureLine> FigureLines() {
  std::vector<FigureLine> lines = {{Method::kErm, {}},
                                   {Method::kModelAverage, {}},
                                   {Method::kSingleParty, {}},
                                   {Method::kLocalAggregation, {}}};
  for (const Method method : {Method::kObjectivePerturbation, Method::kPsgd}) {
    for (const NoiseRule rule :
         {NoiseRule::kPrinted, NoiseRule::kCorrected, NoiseRule::kLinearModel}) {
      lines.push_back({method, rule});
    }
  }
  lines.push_back({Method::kApproximateMinima, {}});
  lines.push_back({Method::kDescent, {}});
  return lines;
}

Mean MeanOf(std::span<const double> values) {
  Mean mean;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) mean.value += value / n;
  if (values.size() < 2) return mean;
  double squares = 0;
  for (const double value : values) squares += (value - mean.value) * (value - mean.value);
  mean.standard_error = std::sqrt(squares / (n - 1) / n);
  return mean;
}

std::vector<double> SkewOf(size_t number) {
  switch (number) {
    case 1:
      return {0.2, 0.2, 0.2, 0.2, 0.2};
    case 2:
      return {0.1, 0.2, 0.2, 0.25, 0.25};
    case 3:
      return {0.01, 0.29, 0.2, 0.25, 0.25};
    default:
      throw Error(ErrorCode::kUsage, "the skews are numbered 1 to 3");
  }
}

std::vector<FigureCell> RunFigure(std::span<const SimulatedData> data, const FigureOptions& options,
                                  blr::Variates& variates, Progress& progress) {
  if (data.empty() || options.draws == 0 || options.lines.empty()) {
    throw Error(ErrorCode::kUsage, "a figure needs data sets, draws and lines");
  }
  std::vector<FigureCell> cells;
  const std::vector<FigureLine>& lines = options.lines;
  uint64_t done = 0;
  for (const Panel panel : {Panel::kParties, Panel::kSkew}) {
    for (const double epsilon : options.epsilons) {
      for (const FigureLine& line : lines) {
        progress.Step(done++, 2 * options.epsilons.size() * lines.size());
        std::vector<double> same;
        for (const size_t position : Positions(panel)) {
          progress.CheckCancelled();
          Setting setting = SettingOf(options, line, epsilon);
          if (panel == Panel::kParties) {
            setting.parties = position;
          } else {
            setting.weights = SkewOf(position);
          }
          FigureCell cell{panel, position, epsilon, line};
          const bool flat =
              IgnoresSplit(line.method) || (panel == Panel::kSkew && line.method == Method::kPsgd);
          cell.errors =
              flat && !same.empty() ? same : ErrorsOf(data, setting, options.draws, variates);
          same = cell.errors;
          cells.push_back(std::move(cell));
        }
      }
    }
  }
  return cells;
}

PairedSlope FitPairedSlope(std::span<const double> positions,
                           const std::vector<std::vector<double>>& differences) {
  if (positions.size() < 2 || differences.size() < 2) {
    throw Error(ErrorCode::kUsage, "a slope needs two positions and two data sets");
  }
  const double centre = MeanOf(positions).value;
  double spread = 0;
  for (const double x : positions) spread += (x - centre) * (x - centre);
  std::vector<double> slopes;
  for (const std::vector<double>& row : differences) {
    double slope = 0;
    for (size_t k = 0; k < positions.size(); ++k) slope += (positions[k] - centre) * row.at(k);
    slopes.push_back(slope / spread);
  }
  const Mean mean = MeanOf(slopes);
  const boost::math::students_t law(static_cast<double>(slopes.size()) - 1);
  const double t = boost::math::quantile(law, (1 + kConfidence) / 2);
  const double reach = t * mean.standard_error;
  return {mean.value, mean.value - reach, mean.value + reach,
          (t + boost::math::quantile(law, kPower)) * mean.standard_error};
}

double SlopePosition(Panel panel, size_t position) {
  if (panel == Panel::kParties) return static_cast<double>(position) / 5;
  const std::vector<double> shares = SkewOf(position);
  return std::log10(0.2 / *std::min_element(shares.begin(), shares.end()));
}

PairedSlope SlopeOfDifference(const std::vector<FigureCell>& cells, Panel panel, double epsilon,
                              const FigureLine& first, const FigureLine& second) {
  std::vector<double> positions;
  std::vector<std::vector<double>> differences;
  for (const size_t position : Positions(panel)) {
    positions.push_back(SlopePosition(panel, position));
    const FigureCell& a = Find(cells, panel, position, epsilon, first);
    const FigureCell& b = Find(cells, panel, position, epsilon, second);
    differences.resize(a.errors.size());
    for (size_t k = 0; k < a.errors.size(); ++k) {
      differences[k].push_back(a.errors[k] - b.errors[k]);
    }
  }
  return FitPairedSlope(positions, differences);
}

}  // namespace partita::stats::erm
