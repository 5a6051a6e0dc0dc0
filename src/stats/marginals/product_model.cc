#include "stats/marginals/product_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "stats/blr/variates.h"
#include "stats/marginals/apportion.h"

namespace partita::stats::marginals {
namespace {

constexpr float kLearningRate = 0.2F, kBeta1 = 0.9F, kBeta2 = 0.99F, kTiny = 1e-10F;
constexpr double kLeastShare = 1e-4;  // of a level at the start
constexpr double kStartSpread = 1;    // of logits around the one-way tables'

// The first column of each attribute among the D levels.
std::vector<Eigen::Index> FirstLevels(const TableSet& set) {
  std::vector<Eigen::Index> first = {0};
  for (const Attribute& attribute : set.attributes)
    first.push_back(first.back() + attribute.levels);
  return first;
}

// D x D: two-way tables off the diagonal blocks, both triangles; 0 in the blocks.
Eigen::MatrixXf PairMatrix(const TableSet& set, std::span<const double> shares) {
  const std::vector<Eigen::Index> first = FirstLevels(set);
  Eigen::MatrixXf matrix = Eigen::MatrixXf::Zero(first.back(), first.back());
  for (const CountTable& table : set.tables) {
    if (!table.two_way()) continue;
    const std::span<const double> cells = table.Of(shares);
    for (uint32_t r = 0; r < table.rows; ++r) {
      for (uint32_t c = 0; c < table.columns; ++c) {
        const auto value = static_cast<float>(cells[size_t{r} * table.columns + c]);
        matrix(first[table.first] + r, first[table.second] + c) = value;
        matrix(first[table.second] + c, first[table.first] + r) = value;
      }
    }
  }
  return matrix;
}

// D x D, and of the one-way tables D: precision of every cell, the largest 1; empty where all are
// equal.
struct Precisions {
  Eigen::ArrayXXf pairs;
  Eigen::ArrayXf ones;
};

Precisions PrecisionsOf(const TableSet& set, const TableWeights& weights) {
  Precisions precisions;
  if (weights.empty()) return precisions;
  const double most = *std::ranges::max_element(weights);
  std::vector<double> cells(set.num_cells);
  for (size_t t = 0; t < set.tables.size(); ++t) {
    std::ranges::fill(set.tables[t].Of(std::span<double>(cells)),
                      weights[t] * weights[t] / (most * most));
  }
  precisions.pairs = PairMatrix(set, cells).array();
  precisions.ones =
      Eigen::Map<const Eigen::ArrayXd>(cells.data(), precisions.pairs.rows()).cast<float>();
  return precisions;
}

class Adam {
 public:
  Adam(Eigen::Index rows, Eigen::Index columns)
      : first_(Eigen::ArrayXXf::Zero(rows, columns)), second_(first_) {}
  void Step(const Eigen::ArrayXXf& gradient, size_t step, float rate, Eigen::ArrayXXf& values) {
    first_ = kBeta1 * first_ + (1 - kBeta1) * gradient;
    second_ = kBeta2 * second_ + (1 - kBeta2) * gradient.square();
    const auto t = static_cast<float>(step + 1);
    const float scale = rate / (1 - std::pow(kBeta1, t));
    values -= scale * first_ / ((second_ / (1 - std::pow(kBeta2, t))).sqrt() + kTiny);
  }

 private:
  Eigen::ArrayXXf first_, second_;
};

// sum_k w_k p_ka(x) p_kb(y) p_kc(z), by cell of the triple.
void AddTriple(const TableSet& set, const ProductModel& model, const CountTable& table,
               const std::vector<Eigen::Index>& first, std::vector<double>& shares) {
  const auto of = [&](uint32_t attribute) {
    return model.levels.middleCols(first[attribute], set.attributes[attribute].levels);
  };
  const auto a = of(table.first), b = of(table.second), c = of(*table.third);
  size_t at = table.offset;
  for (Eigen::Index i = 0; i < a.cols(); ++i) {
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      const Eigen::ArrayXf both = model.weights * a.col(i) * b.col(j);
      for (Eigen::Index k = 0; k < c.cols(); ++k) shares[at++] = (both * c.col(k)).sum();
    }
  }
}

class ProductFit {
 public:
  ProductFit(const TableSet& set, std::span<const double> shares, size_t components,
             crypto::RandomSource& source, const TableWeights& weights)
      : first_(FirstLevels(set)),
        pairs_(PairMatrix(set, shares)),
        precisions_(PrecisionsOf(set, weights)),
        one_way_(first_.back()),
        logits_(components, first_.back()),
        weight_logits_(Eigen::ArrayXXf::Zero(static_cast<Eigen::Index>(components), 1)),
        of_logits_(logits_.rows(), logits_.cols()),
        of_weights_(logits_.rows(), 1) {
    blr::Variates variates(source);
    for (Eigen::Index j = 0; j < one_way_.size(); ++j) {
      one_way_[j] = static_cast<float>(shares[j]);
      const double start = std::log(std::max(shares[j], kLeastShare));
      for (Eigen::Index k = 0; k < logits_.rows(); ++k) {
        logits_(k, j) =
            static_cast<float>(start + (components > 1 ? kStartSpread * variates.Normal() : 0));
      }
    }
  }

  void Step(size_t step, size_t steps) {
    const ProductModel model = Model();
    const auto& levels = model.levels.matrix();
    const Eigen::MatrixXf weighted = model.weights.matrix().asDiagonal() * levels;
    // Differences of the model's tables from the measured ones.
    Eigen::MatrixXf pairs = levels.transpose() * weighted - pairs_;
    for (size_t a = 0; a + 1 < first_.size(); ++a) {
      const Eigen::Index size = first_[a + 1] - first_[a];
      pairs.block(first_[a], first_[a], size, size).setZero();
    }
    Eigen::VectorXf ones = levels.transpose() * model.weights.matrix() - one_way_;
    if (precisions_.ones.size() > 0) {
      pairs.array() *= precisions_.pairs;
      ones.array() *= precisions_.ones;
    }
    // Derivatives: a pair counts once though it stands twice in the matrix.
    const Eigen::ArrayXXf through_pairs = (levels * pairs).array();
    Eigen::ArrayXXf of_levels = through_pairs.rowwise() + ones.transpose().array();
    const Eigen::ArrayXf of_weights =
        (model.levels * (of_levels - 0.5F * through_pairs)).rowwise().sum();
    for (size_t a = 0; a + 1 < first_.size(); ++a) {
      const Eigen::Index size = first_[a + 1] - first_[a];
      const auto shares = model.levels.middleCols(first_[a], size);
      auto block = of_levels.middleCols(first_[a], size);
      const Eigen::ArrayXf mean = (shares * block).rowwise().sum();
      block = shares * (block.colwise() - mean);
    }
    of_levels.colwise() *= model.weights;
    const Eigen::ArrayXXf of_weight_logits =
        model.weights * (of_weights - (model.weights * of_weights).sum());
    // A rate that falls to 0 along a cosine.
    const float rate = kLearningRate * 0.5F *
                       (1 + std::cos(std::numbers::pi_v<float> * static_cast<float>(step) /
                                     static_cast<float>(steps)));
    of_logits_.Step(of_levels, step, rate, logits_);
    of_weights_.Step(of_weight_logits, step, rate, weight_logits_);
  }

  ProductModel Model() const {
    ProductModel model;
    model.weights = (weight_logits_.col(0) - weight_logits_.maxCoeff()).exp();
    model.weights /= model.weights.sum();
    model.levels.resize(logits_.rows(), logits_.cols());
    for (size_t a = 0; a + 1 < first_.size(); ++a) {
      const Eigen::Index size = first_[a + 1] - first_[a];
      const auto logits = logits_.middleCols(first_[a], size);
      auto block = model.levels.middleCols(first_[a], size);
      const Eigen::ArrayXf largest = logits.rowwise().maxCoeff();
      block = (logits.colwise() - largest).exp();
      const Eigen::ArrayXf sum = block.rowwise().sum();
      block.colwise() /= sum;
    }
    return model;
  }

 private:
  std::vector<Eigen::Index> first_;
  Eigen::MatrixXf pairs_;
  Precisions precisions_;
  Eigen::VectorXf one_way_;
  Eigen::ArrayXXf logits_, weight_logits_;
  Adam of_logits_, of_weights_;
};

}  // namespace

ProductModel FitProducts(const TableSet& set, std::span<const double> shares, size_t components,
                         size_t steps, crypto::RandomSource& source, const TableWeights& weights) {
  ProductFit fit(set, shares, components, source, weights);
  for (size_t step = 0; step < steps; ++step) fit.Step(step, steps);
  return fit.Model();
}

std::vector<double> TablesOf(const TableSet& set, const ProductModel& model) {
  const std::vector<Eigen::Index> first = FirstLevels(set);
  const Eigen::MatrixXf& levels = model.levels.matrix();
  const Eigen::MatrixXf pairs = levels.transpose() * (model.weights.matrix().asDiagonal() * levels);
  const Eigen::VectorXf ones = levels.transpose() * model.weights.matrix();
  std::vector<double> shares(set.num_cells);
  for (const CountTable& table : set.tables) {
    if (table.third) {
      AddTriple(set, model, table, first, shares);
      continue;
    }
    size_t at = table.offset;
    for (uint32_t r = 0; r < table.rows; ++r) {
      for (uint32_t c = 0; c < table.columns; ++c) {
        shares[at++] = table.one_way() ? ones[first[table.first] + r]
                                       : pairs(first[table.first] + r, first[table.second] + c);
      }
    }
  }
  return shares;
}

Codes DrawRows(const TableSet& set, const ProductModel& model, size_t rows,
               crypto::RandomSource& source) {
  blr::Variates variates(source);
  const std::vector<Eigen::Index> first = FirstLevels(set);
  const std::vector<double> weights(model.weights.begin(), model.weights.end());
  const std::vector<uint32_t> sizes = Apportion(rows, weights, variates);
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), size_t{0});
  Shuffle(std::span<size_t>(order), variates);
  Codes codes(set.attributes.size(), std::vector<uint16_t>(rows));
  for (size_t a = 0; a < codes.size(); ++a) {
    std::vector<uint16_t> drawn;
    for (size_t k = 0; k < sizes.size(); ++k) {
      std::vector<double> shares(set.attributes[a].levels);
      for (size_t v = 0; v < shares.size(); ++v) {
        shares[v] =
            model.levels(static_cast<Eigen::Index>(k), first[a] + static_cast<Eigen::Index>(v));
      }
      const size_t begin = drawn.size();
      const std::vector<uint32_t> counts = Apportion(sizes[k], shares, variates);
      for (size_t v = 0; v < counts.size(); ++v) {
        drawn.insert(drawn.end(), counts[v], static_cast<uint16_t>(v));
      }
      Shuffle(std::span<uint16_t>(drawn).subspan(begin), variates);
    }
    for (size_t n = 0; n < rows; ++n) codes[a][order[n]] = drawn[n];
  }
  return codes;
}

}  // namespace partita::stats::marginals
