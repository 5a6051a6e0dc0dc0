#include "methods/mle/likelihood/robust.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "methods/mle/likelihood/hidden_robust.h"
#include "methods/mle/likelihood/robust_numbers.h"
#include "methods/mle/moments/public_scale.h"
#include "methods/mle/moments/split_products.h"
#include "mpc/fixed_point.h"
#include "stats/sem/column_frame.h"
#include "stats/sem/objective.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::IntMatrix;
using mpc::PartyIndex;
using mpc::PrivateMatrix;
using mpc::PublicMatrix;
using mpc::Shared;

constexpr int kEstimateBits = 60, kMeatBits = 60, kProductBits = 45, kWeightBits = 40;
// Of estimates, and of sums over rows / 2^RowBits: 2^39, so that traces fit the ring of 127 bits.
constexpr double kLargest = 549755813888.0;
constexpr size_t kRobustRowsPerRead = 1024;
constexpr Index kNumTraces = 2;
// Where columns are split the meat is made of shared products by public weights. It has more bits
// then, of which the products have theirs, and no weights of an entry may add up to more than this.
constexpr int kMapBits = 40;
constexpr double kLargestWeights = 16384;

// Sizes of everything that travels.
struct Sizes {
  Index p = 0, groups = 0, parameters = 0;
  Index meats = 1;  // separate ones only where every group has a factor of its own
  bool means = false, clustered = false, split = false;

  Index estimates() const { return parameters + (means ? 0 : groups * p); }
  Index meat() const { return parameters * (parameters + 1) / 2; }
  int meat_bits() const { return split ? kMapBits + kProductBits : kMeatBits; }
  // Of sums over rows / 2^RowBits.
  double largest() const { return split ? kLargestWeights * kLargestProduct / 2 : kLargest; }
  // All meats, and the numbers of clusters.
  Index sums() const { return meats * meat() + (clustered ? groups : 0); }
  Index products() const {
    const Index d = stats::NumFeatures(p);
    return d * (d + 1) / 2;
  }
};

Sizes SizesOf(const MleAnalysis& analysis, const RobustTask& task, const stats::RamModel& model) {
  Sizes sizes;
  sizes.p = model.num_observed;
  sizes.groups = static_cast<Index>(model.groups.size());
  sizes.parameters = model.num_parameters;
  sizes.means = analysis.table.meanstructure;
  sizes.clustered = task.clustered;
  sizes.split = HasSplitBlocks(task);
  sizes.meats = task.clustered ? sizes.groups : 1;
  return sizes;
}

// What a block whose columns are split cannot have.
void RequirePlainRows(const RobustTask& task, const RowBlock& block) {
  ValidateTask(task.moments);
  if (task.clustered) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("robust standard errors for clusters need rows that one party holds "
                            "whole, but row block '{}' has {} holders",
                            block.name, block.holders.size()),
                "leave out the cluster, or use standard errors without `robust`");
  }
  if (task.moments.max_weight != 1) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("robust standard errors are not available with weights where columns "
                            "are split, as in row block '{}'",
                            block.name),
                "leave out the weights, or use standard errors without `robust`");
  }
}

// Of whole rows.
std::vector<PartyIndex> Holders(const RobustTask& task) {
  if (!task.moments.centred.empty()) {
    throw Error(ErrorCode::kBadInput,
                "robust standard errors are not available with fixed effects of the row blocks",
                "use site = \"ignore\", or standard errors without `robust`");
  }
  std::set<PartyIndex> holders;
  for (const RowBlock& block : task.moments.blocks) {
    if (IsSplit(block)) {
      RequirePlainRows(task, block);
    } else {
      holders.insert(block.holders.front().party);
    }
  }
  return {holders.begin(), holders.end()};
}

Shared OneInput(Engine& engine, PrivateMatrix matrix) { return engine.Input({&matrix, 1}).front(); }

// ---------- The estimates

// Parameters in public units, then without a mean structure the means in z.
VectorXd EncodePoint(const stats::ScorePoint& point, const stats::StatisticsScale& scale) {
  VectorXd out = point.x;
  for (const VectorXd& mean : point.mean) {
    const VectorXd z = (mean - scale.centre).cwiseQuotient(scale.half_width);
    out.conservativeResize(out.size() + z.size());
    out.tail(z.size()) = z;
  }
  if (!out.allFinite() || (out.size() > 0 && out.cwiseAbs().maxCoeff() >= kLargest)) {
    throw Error(ErrorCode::kBadInput,
                "robust standard errors cannot be computed at estimates that ran away",
                "check the warnings of the fit");
  }
  return out;
}

stats::ScorePoint DecodePoint(const VectorXd& opened, const Sizes& sizes,
                              const stats::StatisticsScale& scale, stats::RamModel model) {
  stats::ScorePoint point;
  point.model = std::move(model);
  point.x = opened.head(sizes.parameters);
  for (Index at = sizes.parameters; at < opened.size(); at += sizes.p) {
    point.mean.push_back(scale.centre + scale.half_width.cwiseProduct(opened.segment(at, sizes.p)));
  }
  return point;
}

// The point about which rows are taken, and the scores in it.
stats::FeatureFrame FrameOf(const Sizes& sizes, const stats::ScorePoint& point, Index group) {
  const auto g = static_cast<size_t>(group);
  return sizes.split ? stats::ColumnFrameOf(point, g) : stats::FrameOf(point, g);
}

// Scores divided by their units.
MatrixXd ScoreMap(const Sizes& sizes, const stats::ScorePoint& point,
                  const stats::StatisticsScale& scale, Index group) {
  const auto g = static_cast<size_t>(group);
  return ScoreUnits(point, scale).cwiseInverse().asDiagonal() *
         (sizes.split ? stats::ColumnScoreMap(point, g) : stats::ScoreMap(point, g));
}

double RowsUnit(const RobustTask& task) { return std::ldexp(1.0, RowBits(task)); }

// ---------- A holder's sums

struct HolderSums {
  VectorXd sums;      // Sizes::sums()
  VectorXd products;  // groups x Sizes::products()
};

// How often a row counts in a cell.
double WeightOf(const MomentsTask& task, const BlockHolder& holder, const LocalBlock& block,
                size_t cell, size_t row) {
  if (const auto& difference = task.cells[cell].difference) {
    double weight = WeightOf(task, holder, block, difference->total, row);
    for (const size_t other : difference->others) {
      weight -= WeightOf(task, holder, block, other, row);
    }
    return weight;
  }
  return holder.Selects(cell) ? block.selectors[cell][row] : 1;
}

// Where the analysis variables stand among the holder's columns.
std::vector<size_t> PositionsOf(const std::vector<size_t>& variables, const BlockHolder& holder) {
  std::vector<size_t> positions;
  for (const size_t v : variables) {
    const auto found = std::find(holder.variables.begin(), holder.variables.end(), v);
    if (found == holder.variables.end()) {
      throw Error(ErrorCode::kInternal, "a holder of whole rows lacks a variable of the analysis");
    }
    positions.push_back(static_cast<size_t>(found - holder.variables.begin()));
  }
  return positions;
}

void AddBlock(const BlockHolder& holder, const LocalBlock& block, const RobustTask& task,
              const stats::StatisticsScale& scale, const std::vector<uint64_t>* clusters,
              std::vector<stats::FeatureProducts>& products) {
  const size_t width = holder.variables.size();
  const std::vector<size_t> positions = PositionsOf(task.variables, holder);
  std::vector<Int128> cells(kRobustRowsPerRead * width);
  VectorXd row(static_cast<Index>(positions.size()));
  for (size_t first = 0; first < block.num_rows; first += kRobustRowsPerRead) {
    const size_t count = std::min(kRobustRowsPerRead, block.num_rows - first);
    block.values(first, count, cells.data());
    for (size_t r = 0; r < count; ++r) {
      for (Index i = 0; i < row.size(); ++i) {
        const Int128 cell = cells[r * width + positions[static_cast<size_t>(i)]];
        row[i] = scale.centre[i] + scale.half_width[i] * std::ldexp(static_cast<double>(cell),
                                                                    -task.moments.fraction_bits);
      }
      for (size_t g = 0; g < task.cells.size(); ++g) {
        const double weight = WeightOf(task.moments, holder, block, task.cells[g], first + r);
        if (weight == 0) continue;
        clusters == nullptr ? products[g].AddRow(row, weight)
                            : products[g].AddClusteredRow(row, (*clusters)[first + r], weight);
      }
    }
  }
}

void RefuseTooLarge(const VectorXd& values, double largest) {
  if (values.size() == 0 || values.cwiseAbs().maxCoeff() < largest) return;
  throw Error(ErrorCode::kBadData,
              "some rows lie so far from the fitted model that robust standard errors cannot be "
              "computed with them",
              "look for outliers in the columns of the analysis");
}

HolderSums SumOwnRows(PartyIndex self, const RobustTask& task, const RobustLocal& local,
                      const Sizes& sizes, const stats::ScorePoint& point,
                      const stats::StatisticsScale& scale, double largest) {
  std::vector<stats::FeatureProducts> by_group;
  for (Index g = 0; g < sizes.groups; ++g) {
    by_group.emplace_back(FrameOf(sizes, point, g));
  }
  for (size_t b = 0; b < task.moments.blocks.size(); ++b) {
    const BlockHolder& holder = task.moments.blocks[b].holders.front();
    if (IsSplit(task.moments.blocks[b]) || holder.party != self) continue;
    AddBlock(holder, local.blocks[b], task, scale, task.clustered ? &local.clusters[b] : nullptr,
             by_group);
  }
  const double per_row = 1 / RowsUnit(task);
  HolderSums out{VectorXd::Zero(sizes.sums()), VectorXd(sizes.groups * sizes.products())};
  for (Index g = 0; g < sizes.groups; ++g) {
    const auto group = static_cast<size_t>(g);
    const MatrixXd q = per_row * by_group[group].Products();
    const MatrixXd map = ScoreMap(sizes, point, scale, g);
    const Index meat = sizes.meats > 1 ? g : 0;
    out.sums.segment(meat * sizes.meat(), sizes.meat()) +=
        stats::UpperTriangle(map * q * map.transpose());
    out.products.segment(g * sizes.products(), sizes.products()) = stats::UpperTriangle(q);
    if (sizes.clustered) {
      out.sums[sizes.meats * sizes.meat() + g] =
          static_cast<double>(by_group[group].num_clusters());
    }
  }
  RefuseTooLarge(out.sums, largest);
  RefuseTooLarge(out.products, largest);
  return out;
}

// ---------- Rows whose columns are split

// The upper triangle of the meat, from the shared products of all groups: entry (i, j) is the sum
// of <a_i a_j', Q_g> over the groups, a_i the score of parameter i as weights of the features. The
// weights are public, so nothing is sent. maps: by group; empty at a process without a point.
Shared MeatOf(Engine& engine, const Sizes& sizes, const Shared& products,
              const std::vector<MatrixXd>& maps) {
  std::vector<Shared> rows;
  for (Index i = 0; i < sizes.parameters; ++i) {
    const Index count = sizes.parameters - i, length = sizes.groups * sizes.products();
    PublicMatrix weights{{{static_cast<size_t>(count), static_cast<size_t>(length)}, {}}, kMapBits};
    weights.values.values.assign(weights.values.shape.size(), 0);
    for (Index j = i; j < sizes.parameters && !maps.empty(); ++j) {
      VectorXd entry(length);
      for (Index g = 0; g < sizes.groups; ++g) {
        const MatrixXd& map = maps[static_cast<size_t>(g)];
        const MatrixXd product = map.row(i).transpose() * map.row(j) / 2;
        entry.segment(g * sizes.products(), sizes.products()) =
            stats::UpperWeights(product + product.transpose());
      }
      if (!(entry.lpNorm<1>() * (1 + 1e-6) < kLargestWeights)) {
        throw Error(ErrorCode::kBadInput,
                    "robust standard errors cannot be computed where columns are split: at the "
                    "estimates the model implies variables that are almost linearly dependent",
                    "check the warnings of the fit, or use standard errors without `robust`");
      }
      for (Index c = 0; c < length; ++c) {
        weights.values.values[static_cast<size_t>((j - i) * length + c)] =
            mpc::EncodeFixed(entry[c], kMapBits);
      }
    }
    rows.push_back(engine.Transpose(engine.MultiplyPublic(weights, products)));
  }
  Shared meat = engine.Concatenate(rows, false);
  // The same at every process, also where the weights are not known.
  meat.bound = kLargestWeights * kLargestProduct;
  return meat;
}

// ---------- The receiver

struct Receiver {
  const MleAnalysis& analysis;
  const RobustTask& task;
  const Sizes& sizes;
  const stats::StatisticsScale& scale;
  const stats::ScorePoint& point;
  const FittedModel& fitted;

  double rows() const { return RowsUnit(task); }

  // c_g of stats/sem/robust.h.
  std::vector<double> Factors(const VectorXd& sums) const {
    std::vector<double> factors(static_cast<size_t>(sizes.groups), 1);
    for (Index g = 0; g < sizes.groups && sizes.clustered; ++g) {
      const double clusters = sums[sizes.meats * sizes.meat() + g];
      factors[static_cast<size_t>(g)] = stats::ClusterFactor(
          std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(clusters))));
    }
    return factors;
  }

  MatrixXd Meat(const VectorXd& sums, const std::vector<double>& factors) const {
    const VectorXd units = ScoreUnits(point, scale);
    MatrixXd meat = MatrixXd::Zero(sizes.parameters, sizes.parameters);
    for (Index m = 0; m < sizes.meats; ++m) {
      meat += factors[static_cast<size_t>(m)] *
              FromUpper(sums.segment(m * sizes.meat(), sizes.meat()), sizes.parameters);
    }
    return rows() * units.asDiagonal() * meat * units.asDiagonal();
  }

  // Weights of the products that make the two traces.
  MatrixXd Weights(const std::vector<double>& factors) const {
    MatrixXd weights(kNumTraces, sizes.groups * sizes.products());
    for (Index g = 0; g < sizes.groups; ++g) {
      const auto group = static_cast<size_t>(g);
      const stats::TraceForms forms =
          stats::TraceFormsOf(analysis.table, FrameOf(sizes, point, g), fitted.moments[group]);
      const double factor = rows() * factors[group] / fitted.moments[group].n;
      const Index at = g * sizes.products();
      weights.row(0).segment(at, sizes.products()) = factor * stats::UpperWeights(forms.saturated);
      weights.row(1).segment(at, sizes.products()) = factor * stats::UpperWeights(forms.baseline);
    }
    return weights;
  }

  VectorXd Traces(const mpc::OracleEvaluate& evaluate, const std::vector<double>& factors) const {
    const MatrixXd weights = Weights(factors);
    IntMatrix request{{static_cast<size_t>(kNumTraces), static_cast<size_t>(weights.cols())}, {}};
    VectorXd lengths(kNumTraces);
    for (Index r = 0; r < kNumTraces; ++r) {
      // A little more than the sum of magnitudes: room for their rounding.
      lengths[r] = std::max(weights.row(r).lpNorm<1>() * (1 + 1e-6), 1e-300);
      for (Index c = 0; c < weights.cols(); ++c) {
        request.values.push_back(mpc::EncodeFixed(weights(r, c) / lengths[r], kWeightBits));
      }
    }
    return DecodeOpened(evaluate(0, request), kWeightBits + kProductBits).cwiseProduct(lengths);
  }
};

Shared SumOf(Engine& engine, const std::vector<Shared>& terms) {
  Shared sum = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) sum = engine.Add(sum, terms[i]);
  return sum;
}

}  // namespace

std::string EstimatesRelease(const RobustTask& task) { return "estimates/" + task.name; }
std::string MeatRelease(const RobustTask& task) { return "robust-meat/" + task.name; }
std::string ScalingRelease(const RobustTask& task) { return "robust-scaling/" + task.name; }

std::vector<mpc::Release> RobustReleases(const MleAnalysis& analysis, const RobustTask& task,
                                         const std::string& receiver_name) {
  const stats::RamModel model = stats::PublicModel(analysis.table, PublicScale(analysis));
  const Sizes sizes = SizesOf(analysis, task, model);
  const PartyIndex receiver = task.receiver;
  std::vector<mpc::Release> releases = {
      {MeatRelease(task),
       std::string("sums over all rows of products of scores") +
           (task.clustered ? ", by group, and the number of clusters in every group" : ""),
       receiver_name, "exact", 1, receiver, static_cast<uint64_t>(sizes.sums())},
      {ScalingRelease(task), "two traces for the scaled test statistic", receiver_name, "exact", 1,
       receiver, static_cast<uint64_t>(kNumTraces)}};
  if (task.hidden) return releases;
  releases.insert(
      releases.begin(),
      {EstimatesRelease(task),
       sizes.means ? "the parameter estimates"
                   : "the parameter estimates, and the means of the variables in every group",
       "all", "exact", 1, mpc::kEverybody, static_cast<uint64_t>(sizes.estimates())});
  return releases;
}

std::optional<stats::RobustFit> RobustStandardErrors(Engine& engine, const MleAnalysis& analysis,
                                                     const RobustTask& task,
                                                     const RobustLocal& local,
                                                     const FittedModel* fitted) {
  const std::vector<PartyIndex> holders = Holders(task);
  if (task.hidden) return HiddenRobustErrors(engine, analysis, task, local, fitted);
  const stats::StatisticsScale scale = PublicScale(analysis);
  const stats::RamModel model = stats::PublicModel(analysis.table, scale);
  const Sizes sizes = SizesOf(analysis, task, model);
  const PartyIndex receiver = task.receiver;
  const auto width = [](Index n) { return static_cast<size_t>(n); };

  VectorXd own_point;
  if (fitted != nullptr) {
    own_point =
        EncodePoint(stats::PointOf(analysis.table, scale, fitted->fit, fitted->moments), scale);
  }
  const Shared estimates = OneInput(engine, PrivateNumbers(receiver, {1, width(sizes.estimates())},
                                                           kEstimateBits, kLargest, own_point));
  const IntMatrix opened =
      engine.Reveal(EstimatesRelease(task), {&estimates, 1}, mpc::kEverybody).front();

  stats::ScorePoint point;
  if (engine.self()) point = DecodePoint(DecodeOpened(opened, kEstimateBits), sizes, scale, model);
  const double largest = sizes.largest() / static_cast<double>(std::max<size_t>(1, holders.size()));
  std::vector<PrivateMatrix> inputs;
  for (const PartyIndex holder : holders) {
    HolderSums own;
    if (engine.self() == holder) {
      own = SumOwnRows(holder, task, local, sizes, point, scale, largest);
    }
    inputs.push_back(
        PrivateNumbers(holder, {1, width(sizes.sums())}, sizes.meat_bits(), largest, own.sums));
    inputs.push_back(PrivateNumbers(holder, {width(sizes.groups * sizes.products()), 1},
                                    kProductBits, largest, own.products));
  }
  std::vector<Shared> meats, products;
  if (!inputs.empty()) {
    const std::vector<Shared> shared = engine.Input(inputs);
    for (size_t i = 0; i < shared.size(); i += 2) {
      meats.push_back(shared[i]);
      products.push_back(shared[i + 1]);
    }
  }
  if (sizes.split) {
    std::vector<stats::FeatureFrame> frames;
    std::vector<MatrixXd> maps;
    for (Index g = 0; g < sizes.groups && engine.self(); ++g) {
      frames.push_back(FrameOf(sizes, point, g));
      maps.push_back(ScoreMap(sizes, point, scale, g));
    }
    products.push_back(SplitProducts(engine, task, local, scale, frames, kProductBits));
    meats.push_back(MeatOf(engine, sizes, products.back(), maps));
  }
  const Shared sums = SumOf(engine, meats);
  const IntMatrix opened_sums = engine.Reveal(MeatRelease(task), {&sums, 1}, receiver).front();

  mpc::OracleTask oracle{receiver, kWeightBits, 1, {{ScalingRelease(task), width(kNumTraces), 1}}};
  std::optional<stats::RobustFit> result;
  engine.RunOracle(SumOf(engine, products), oracle, [&](const mpc::OracleEvaluate& evaluate) {
    const Receiver at{analysis, task, sizes, scale, point, *fitted};
    const VectorXd values = DecodeOpened(opened_sums, sizes.meat_bits());
    const std::vector<double> factors = at.Factors(values);
    const VectorXd traces = at.Traces(evaluate, factors);
    result = stats::MakeRobust(analysis.table, fitted->moments, fitted->fit, model,
                               {at.Meat(values, factors), traces[0], traces[1]});
  });
  return result;
}

}  // namespace partita::methods::mle
