#include "methods/mle/likelihood/likelihood.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "methods/mle/likelihood/oracle_weights.h"
#include "methods/mle/moments/public_scale.h"
#include "mpc/batch.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::IntMatrix;
using mpc::PartyIndex;
using mpc::Product;
using mpc::Shared;

constexpr int kMostWeightBits = 40, kFewestWeightBits = 30;

int CeilLog2(double n) { return static_cast<int>(std::ceil(std::log2(n))); }

double LargestSum(const LikelihoodTask& task) {
  return static_cast<double>(task.max_rows) * std::max(1.0, task.value_bound * task.value_bound);
}

// The column of statistics that the oracle holds, in the layout of stats/sem/linear_statistics.h.
class StatisticsColumn {
 public:
  StatisticsColumn(Engine& engine, const MleAnalysis& analysis, const LikelihoodTask& task,
                   const LikelihoodMoments& moments)
      : engine_(engine),
        means_(analysis.table.meanstructure),
        task_(task),
        moments_(moments),
        shift_(means_ ? 0 : CeilLog2(LargestSum(task))) {}

  // Opens the sizes of the groups to the centre (empty elsewhere) and makes the column.
  IntMatrix Build(Shared& column) {
    std::vector<Shared> counts;
    for (const SharedMoments& group : moments_.groups) counts.push_back(group.count);
    const Shared sizes = engine_.Concatenate(counts, false);
    mpc::Batch batch(engine_);
    const auto opened = batch.Reveal(GroupSizesRelease(task_), {&sizes, 1}, task_.centre);
    std::vector<Shared> parts;
    if (means_) {
      batch.Flush();
      for (const SharedMoments& group : moments_.groups) {
        parts.push_back(engine_.Transpose(FinerBits(Select(group.sums))));
        parts.push_back(Bounded(Upper(group.cross, moments_.variables), 1));
      }
    } else {
      const auto products = batch.Multiply(CentringProducts());
      batch.Flush();
      parts = Centred(products.Get());
    }
    column = engine_.Concatenate(parts, true);
    column.bound = LargestSum(task_);
    return opened.Get().front();
  }

  // Without means: the column holds n^2 S / 2^shift.
  int shift() const { return shift_; }

 private:
  // A sum over rows, or a product of two such sums.
  Shared Bounded(Shared value, int factors) const {
    value.bound = std::pow(LargestSum(task_), factors);
    return value;
  }

  // Columns of a row vector.
  Shared Select(const Shared& row) {
    std::vector<Shared> cells;
    for (const size_t v : moments_.variables) cells.push_back(engine_.Slice(row, 0, v, {1, 1}));
    return engine_.Concatenate(cells, false);
  }

  // Sums at f bits, written with 2 f bits like the products.
  Shared FinerBits(const Shared& sums) {
    Shared out = engine_.Scale(Bounded(sums, 1), Int128{1} << task_.fraction_bits);
    out.fraction_bits = 2 * task_.fraction_bits;
    return Bounded(std::move(out), 1);
  }

  // Upper triangle of the rows and columns `which` of a symmetric matrix, as a column.
  Shared Upper(const Shared& matrix, const std::vector<size_t>& which) {
    std::vector<Shared> cells;
    for (size_t i = 0; i < which.size(); ++i) {
      for (size_t j = i; j < which.size(); ++j) {
        cells.push_back(engine_.Slice(matrix, which[i], which[j], {1, 1}));
      }
    }
    return engine_.Concatenate(cells, true);
  }

  // n cross and sum' sum of every group.
  std::vector<Product> CentringProducts() {
    std::vector<Product> products;
    for (const SharedMoments& group : moments_.groups) {
      const Shared sums = Bounded(Select(group.sums), 1);
      products.push_back({Product::Kind::kMatrix,
                          Bounded(Upper(group.cross, moments_.variables), 1),
                          Bounded(group.count, 1)});
      products.push_back({Product::Kind::kGram, sums, sums});
    }
    return products;
  }

  // n cross - sum' sum = n^2 S, divided by a power of two of about its bound's root.
  std::vector<Shared> Centred(const std::vector<Shared>& products) {
    std::vector<size_t> all(moments_.variables.size());
    std::iota(all.begin(), all.end(), size_t{0});
    std::vector<Shared> differences;
    for (size_t i = 0; i < products.size(); i += 2) {
      Shared difference =
          engine_.Subtract(Bounded(products[i], 2), Bounded(Upper(products[i + 1], all), 2));
      difference.fraction_bits += shift_;
      difference.bound = std::ldexp(std::pow(LargestSum(task_), 2), -shift_);
      differences.push_back(std::move(difference));
    }
    return engine_.Rescale(differences, 2 * task_.fraction_bits);
  }

  Engine& engine_;
  bool means_;
  const LikelihoodTask& task_;
  const LikelihoodMoments& moments_;
  int shift_;
};

std::vector<double> GroupSizes(const MleAnalysis& analysis, const IntMatrix& opened) {
  std::vector<double> sizes;
  for (const Int128 n : opened.values) {
    if (n <= 0) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("group '{}' has no rows", analysis.table.groups.at(sizes.size())),
                  "remove the level from the dictionary, or check with the holders of the data");
    }
    sizes.push_back(static_cast<double>(n));
  }
  return sizes;
}

// n^2 S / 2^shift times 2^shift / n is n S.
Eigen::VectorXd ColumnFactors(const MleAnalysis& analysis, const std::vector<double>& sizes,
                              int shift) {
  const auto per_group =
      static_cast<Eigen::Index>(ShapeOf(analysis).num_statistics / analysis.table.groups.size());
  Eigen::VectorXd factors =
      Eigen::VectorXd::Ones(per_group * static_cast<Eigen::Index>(sizes.size()));
  if (analysis.table.meanstructure) return factors;
  for (size_t g = 0; g < sizes.size(); ++g) {
    factors.segment(static_cast<Eigen::Index>(g) * per_group, per_group)
        .setConstant(std::ldexp(1 / sizes[g], shift));
  }
  return factors;
}

MleResult MakeResult(const MleAnalysis& analysis, std::vector<double> sizes, stats::OracleFit fit) {
  MleResult result;
  result.name = analysis.options.name;
  result.table = analysis.table;
  result.information = stats::Information::kExpected;
  result.function = analysis.options.function;
  result.group_labels = analysis.table.groups;
  result.group_n = std::move(sizes);
  result.fit_measures_available = false;
  result.notes = {kNoFitMeasures, kNormalityNotChecked};
  const bool full = fit.usage.rank == fit.usage.num_statistics;
  result.likelihood =
      LikelihoodFacts{fit.usage, full ? "sufficient-statistics" : "likelihood-oracle"};
  result.fit = std::move(fit.fit);
  return result;
}

void Validate(const MleAnalysis& analysis) {
  if (analysis.options.information == stats::Information::kExpected) return;
  throw Error(ErrorCode::kBadInput,
              "the protocol 'likelihood' cannot give standard errors from the observed "
              "information: that needs more of the moments than the likelihood tells",
              "use information = \"expected\", or protocol = \"pooled-moments\"");
}

}  // namespace

std::string GroupSizesRelease(const LikelihoodTask& task) { return "group-sizes/" + task.name; }
std::string ValueRelease(const LikelihoodTask& task) { return "likelihood-value/" + task.name; }
std::string GradientRelease(const LikelihoodTask& task) {
  return "likelihood-gradient/" + task.name;
}

LikelihoodShape ShapeOf(const MleAnalysis& analysis) {
  stats::StatisticsLayout layout;
  layout.num_variables = static_cast<Eigen::Index>(analysis.table.observed.size());
  layout.num_groups = static_cast<Eigen::Index>(analysis.table.groups.size());
  layout.means = analysis.table.meanstructure;
  return {static_cast<size_t>(layout.size()),
          static_cast<size_t>(stats::OracleRows(analysis.table))};
}

int WeightFractionBits(const LikelihoodTask& task) {
  const int room =
      task.integer_bits - 3 - kWeightSumBits - 2 * task.fraction_bits - CeilLog2(LargestSum(task));
  if (room < kFewestWeightBits) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("up to {} rows are too many for the protocol 'likelihood'", task.max_rows),
        "declare the counts of all row blocks, or use protocol = \"pooled-moments\"");
  }
  return std::min(kMostWeightBits, room);
}

std::vector<mpc::Release> LikelihoodReleases(const MleAnalysis& analysis,
                                             const LikelihoodTask& task,
                                             const std::string& centre_name) {
  const LikelihoodShape shape = ShapeOf(analysis);
  return {{GroupSizesRelease(task), "number of rows of every group", centre_name, "exact", 1,
           task.centre, analysis.table.groups.size()},
          {ValueRelease(task), "the log-likelihood at parameters that the centre chooses",
           centre_name, "exact", static_cast<uint64_t>(task.max_values), task.centre, 1},
          {GradientRelease(task),
           fmt::format("the log-likelihood and its {} derivatives at parameters that the centre "
                       "chooses",
                       shape.gradient_rows - 1),
           centre_name, "exact", static_cast<uint64_t>(task.max_gradients), task.centre,
           shape.gradient_rows}};
}

std::optional<MleResult> FitByLikelihood(Engine& engine, const MleAnalysis& analysis,
                                         const LikelihoodTask& task,
                                         const LikelihoodMoments& moments, Progress& progress) {
  Validate(analysis);
  const LikelihoodShape shape = ShapeOf(analysis);
  mpc::OracleTask oracle;
  oracle.centre = task.centre;
  oracle.weight_fraction_bits = WeightFractionBits(task);
  oracle.weight_bound = kWeightSum;
  oracle.kinds = {
      {ValueRelease(task), 1, static_cast<uint64_t>(task.max_values)},
      {GradientRelease(task), shape.gradient_rows, static_cast<uint64_t>(task.max_gradients)}};
  StatisticsColumn builder(engine, analysis, task, moments);
  Shared column;
  const IntMatrix opened = builder.Build(column);

  std::optional<MleResult> result;
  engine.RunOracle(column, oracle, [&](const mpc::OracleEvaluate& evaluate) {
    const std::vector<double> sizes = GroupSizes(analysis, opened);
    stats::OracleFitInput input{
        sizes, PublicScale(analysis),
        RoundedOracle(evaluate, oracle.weight_fraction_bits, 2 * task.fraction_bits,
                      ColumnFactors(analysis, sizes, builder.shift()))};
    stats::OracleFitOptions options;
    options.max_values = task.max_values;
    options.max_gradients = task.max_gradients;
    result = MakeResult(analysis, sizes,
                        stats::FitSemFromOracle(analysis.table, input, options, progress));
  });
  return result;
}

}  // namespace partita::methods::mle
