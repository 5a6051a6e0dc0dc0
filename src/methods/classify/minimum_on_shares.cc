#include "methods/classify/minimum_on_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "mpc/batch.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/sigmoid.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::PartyIndex;
using mpc::PrivateMatrix;
using mpc::Product;
using mpc::Shape;
using mpc::Shared;
using mpc::SharedBits;
using stats::erm::LabelledRows;

constexpr double kCurvature = 0.25;  // c of the logistic loss
constexpr int kMomentumBits = 20;
constexpr int kSumBits = 2 * kMinimumBits;  // of u before it is cut

void CheckTask(const MinimumTask& task) {
  if (!(task.lambda > 0) || task.dimension == 0 || task.iterations == 0 || TotalRows(task) == 0 ||
      !(task.tolerance > 0) || !(task.largest > 0)) {
    throw Error(ErrorCode::kUsage,
                "a minimum on shares needs a penalty above 0, rows, columns, iterations, a "
                "tolerance and a bound of the coefficients");
  }
}

void CheckOwn(const MinimumTask& task, uint64_t declared, const OwnMinimum& own) {
  stats::erm::CheckRows(own.rows);
  if (static_cast<uint64_t>(own.rows.x.rows()) != declared ||
      own.rows.x.cols() != static_cast<Index>(task.dimension)) {
    throw Error(ErrorCode::kBadData, "the table has other rows or columns than declared");
  }
  if (own.rows.x.rowwise().norm().maxCoeff() > 1) {
    throw Error(ErrorCode::kBadData, "a row is longer than 1",
                "scale the rows by public bounds (unit_ball.h)");
  }
}

// Everything that belongs to one party. `read` closures refer to the members.
struct PartyInputs {
  MatrixXd signed_rows;  // y_i x_i
  MatrixXd gram;         // c sum x x'
};

mpc::RowReader Reading(const MatrixXd& values) {
  return [&values](size_t first, size_t count, Int128* out) {
    for (size_t r = first; r < first + count; ++r) {
      for (Index c = 0; c < values.cols(); ++c) {
        *out++ = mpc::EncodeFixed(values(static_cast<Index>(r), c), kMinimumBits);
      }
    }
  };
}

mpc::RowReader Reading(const std::vector<Int128>& values) {
  return [&values](size_t first, size_t count, Int128* out) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), count, out);
  };
}

Shared Sum(Engine& engine, std::span<const Shared> terms) {
  Shared sum = terms.front();
  for (const Shared& term : terms.subspan(1)) sum = engine.Add(sum, term);
  return sum;
}

Shared Zero(Engine& engine, Shape shape) {
  return engine.Public({{shape, std::vector<Int128>(shape.size(), 0)}, kMinimumBits});
}

// value * scalar, on the grid of kMinimumBits + bits.
Shared Cut(Engine& engine, const Shared& value, int bits, double bound) {
  return mpc::WithBound(engine.Rescale(std::span(&value, 1), bits).front(), bound);
}

class Minimum {
 public:
  Minimum(Engine& engine, const MinimumTask& task, const NoiseBounds& bounds,
          const std::optional<OwnMinimum>& own)
      : engine_(engine), task_(task), bounds_(bounds), own_(own), n_(TotalRows(task)) {}

  PerturbedMinimum Run(Progress& progress) {
    SetUp();
    const double root = std::sqrt(task_.lambda / (task_.lambda + kCurvature));
    const double momentum = (1 - root) / (1 + root);
    Shared w = Zero(engine_, {task_.dimension, 1}), v = w;
    for (size_t t = 0; t < task_.iterations; ++t) {
      progress.Step(t, task_.iterations);
      progress.CheckCancelled();
      const Shared next = Bounded(engine_.Subtract(v, Step(Gradient(v))));
      const Shared move =
          mpc::TimesConstant(engine_, engine_.Subtract(next, w), momentum, kMomentumBits);
      const Shared far = engine_.Add(mpc::Lift(engine_, next, kMinimumBits + kMomentumBits), move);
      v = Cut(engine_, far, kMinimumBits, task_.largest);
      w = next;
    }
    return Open(w);
  }

 private:
  Shared Bounded(Shared value) { return mpc::WithBound(std::move(value), task_.largest); }

  PrivateMatrix Private(PartyIndex party, Shape shape, double bound, mpc::RowReader read) {
    const bool here = engine_.self() == party;
    return {party, shape, kMinimumBits, bound, here ? std::move(read) : nullptr};
  }

  void SetUp() {
    if (own_) {
      inputs_.signed_rows = own_->rows.y.asDiagonal() * own_->rows.x;
      inputs_.gram = kCurvature * own_->rows.x.transpose() * own_->rows.x;
    }
    const size_t d = task_.dimension;
    static const std::vector<Int128> kNone;
    std::vector<PrivateMatrix> grams, linear, output;
    for (PartyIndex p = 0; p < engine_.num_parties(); ++p) {
      const auto rows = static_cast<double>(task_.party_rows[p]);
      rows_.push_back(
          engine_.Register(Private(p, {task_.party_rows[p], d}, 1, Reading(inputs_.signed_rows))));
      grams.push_back(Private(p, {d, d}, kCurvature * rows, Reading(inputs_.gram)));
      linear.push_back(
          Private(p, {d, 1}, bounds_.linear, Reading(own_ ? own_->linear_noise : kNone)));
      output.push_back(
          Private(p, {d, 1}, bounds_.output, Reading(own_ ? own_->output_noise : kNone)));
    }
    mpc::Batch batch(engine_);
    const auto shared_grams = batch.Input(grams);
    const auto shared_linear = batch.Input(linear);
    const auto shared_output = batch.Input(output);
    batch.Flush();
    linear_ = Sum(engine_, shared_linear.Get());
    output_ = Sum(engine_, shared_output.Get());

    const double ridge = static_cast<double>(n_) * task_.lambda;
    mpc::IntMatrix diagonal{{d, d}, std::vector<Int128>(d * d, 0)};
    for (size_t j = 0; j < d; ++j) {
      diagonal.values[j * d + j] = mpc::EncodeFixed(ridge, kMinimumBits);
    }
    Shared scale =
        engine_.Add(Sum(engine_, shared_grams.Get()), engine_.Public({diagonal, kMinimumBits}));
    scale.bound = kCurvature * static_cast<double>(n_) + ridge;
    // P has entries of about 1/N: as many more bits.
    step_bits_ = kMinimumBits + static_cast<int>(std::ceil(std::log2(static_cast<double>(n_))));
    const mpc::DefiniteMatrix matrix{scale, std::max(0.5 * ridge, scale.bound * 0x1p-21)};
    inverse_ = mpc::InvertDefinite(engine_, std::span(&matrix, 1), step_bits_).front().inverse;
  }

  // u at `at`, on kSumBits, d x 1.
  Shared Gradient(const Shared& at) {
    std::vector<Product> products;
    for (const mpc::FixedOperand& rows : rows_) {
      products.push_back({Product::Kind::kMatrix, rows, at});
    }
    const Shared margins = engine_.Concatenate(engine_.Multiply(products), true);
    const Shared cut = Cut(engine_, margins, kMinimumBits,
                           task_.largest * std::sqrt(static_cast<double>(task_.dimension)));
    const Shared turned = engine_.Scale(cut, -1);
    const Shared slopes = mpc::Sigmoid(engine_, std::span(&turned, 1), kMinimumBits).front();
    products.clear();
    size_t first = 0;
    for (size_t p = 0; p < rows_.size(); ++p) {
      products.push_back({Product::Kind::kGram, rows_[p],
                          engine_.Slice(slopes, first, 0, {task_.party_rows[p], 1})});
      first += task_.party_rows[p];
    }
    const Shared loss = Sum(engine_, engine_.Multiply(products));
    const Shared penalty =
        mpc::TimesConstant(engine_, at, static_cast<double>(n_) * task_.lambda, kMinimumBits);
    return engine_.Subtract(engine_.Add(mpc::Lift(engine_, linear_, kSumBits), penalty), loss);
  }

  Shared Step(const Shared& gradient) {
    const Shared cut = Cut(engine_, gradient, kMinimumBits, gradient.bound);
    const Product product{Product::Kind::kMatrix, inverse_, cut};
    const Shared step = engine_.Multiply(std::span(&product, 1)).front();
    // P u is a step from one bounded iterate to the next.
    return Cut(engine_, step, kMinimumBits, 2 * task_.largest);
  }

  // One bit: -limit <= u_j <= limit for all j.
  SharedBits Certificate(const Shared& gradient) {
    const double limit =
        static_cast<double>(n_) * task_.tolerance / std::sqrt(static_cast<double>(task_.dimension));
    const Shared above =
        mpc::PlusConstant(engine_, engine_.Scale(gradient, -1), limit, gradient.bound + limit);
    const Shared below = mpc::PlusConstant(engine_, gradient, limit, gradient.bound + limit);
    std::vector<Shared> room;
    for (size_t j = 0; j < task_.dimension; ++j) {
      room.push_back(engine_.Slice(above, j, 0, {1, 1}));
      room.push_back(engine_.Slice(below, j, 0, {1, 1}));
    }
    std::vector<SharedBits> fits;
    for (const SharedBits& negative : mpc::IsNegative(engine_, room)) {
      fits.push_back(engine_.Not(negative));
    }
    while (fits.size() > 1) {
      std::vector<mpc::BitProduct> pairs;
      for (size_t k = 0; k + 1 < fits.size(); k += 2) pairs.push_back({fits[k], fits[k + 1]});
      std::vector<SharedBits> halves = engine_.And(pairs);
      if (fits.size() % 2 == 1) halves.push_back(fits.back());
      fits = std::move(halves);
    }
    return fits.front();
  }

  PerturbedMinimum Open(const Shared& w) {
    const SharedBits certificate = Certificate(Gradient(w));
    engine_.AgreeToOpen();
    engine_.BeginPhase("opening");
    const mpc::BitMatrix bit =
        engine_.RevealBits(kCertificateRelease, std::span(&certificate, 1), mpc::kEverybody)
            .front();
    PerturbedMinimum minimum;
    const bool knows = !bit.words.empty();
    minimum.certified = knows && mpc::GetBit(bit, 0, 0);
    // The dealer cannot know; it prepares the opening, which needs nothing from it.
    if (knows && !minimum.certified) return minimum;
    const Shared noisy = engine_.Add(w, output_);
    const std::vector<Int128> opened =
        engine_.Reveal(kCoefficientsRelease, std::span(&noisy, 1), mpc::kEverybody).front().values;
    minimum.w.resize(static_cast<Index>(opened.size()));
    for (size_t j = 0; j < opened.size(); ++j) {
      minimum.w(static_cast<Index>(j)) = mpc::DecodeFixed(opened[j], kMinimumBits);
    }
    return minimum;
  }

  Engine& engine_;
  const MinimumTask& task_;
  const NoiseBounds& bounds_;
  const std::optional<OwnMinimum>& own_;
  uint64_t n_;
  PartyInputs inputs_;
  std::vector<mpc::FixedOperand> rows_;  // signed, by party
  Shared linear_, output_, inverse_;
  int step_bits_ = kMinimumBits;
};

}  // namespace

uint64_t TotalRows(const MinimumTask& task) {
  return std::accumulate(task.party_rows.begin(), task.party_rows.end(), uint64_t{0});
}

double LargestCoefficient(double lambda, uint64_t rows, double noise) {
  return 4 * (std::sqrt(2 * std::log(2.0) / lambda) + noise / (static_cast<double>(rows) * lambda));
}

size_t IterationsFor(double lambda, double tolerance, double largest) {
  // |grad|^2 <= 2 (lambda + c) gap, gap_t <= 2 (1 - r)^t gap_0, gap_0 <= (lambda + c) largest^2
  // / 2.
  const double root = std::sqrt(lambda / (lambda + kCurvature));
  const double ratio = 2 * std::pow((lambda + kCurvature) * largest / tolerance, 2);
  return static_cast<size_t>(std::ceil(std::max(1.0, std::log(ratio) / -std::log1p(-root))));
}

double GradientError(const MinimumTask& task) {
  // Of one slope: margins err by d units (rows rounded, one cut), times 1/4, and Sigmoid by 2
  // units; times rows of norm 1, whose rounding adds half a unit: of u, per row, d/4 + 3 units at
  // most.
  const double unit = std::ldexp(1.0, -kMinimumBits);
  const auto d = static_cast<double>(task.dimension);
  return unit * std::sqrt(d) * (d / 4 * (1 + task.largest) + 3);
}

std::vector<mpc::Release> ReleasesOf(const MinimumTask& task) {
  return {{kCertificateRelease, "whether the minimum was reached", "all", "exact", 1,
           mpc::kEverybody, 1},
          {kCoefficientsRelease, "the coefficients, with noise", "all", "approximate minima", 1,
           mpc::kEverybody, task.dimension}};
}

PerturbedMinimum RunMinimum(Engine& engine, const MinimumTask& task, const NoiseBounds& bounds,
                            const std::optional<OwnMinimum>& own, Progress& progress) {
  CheckTask(task);
  if (own) CheckOwn(task, task.party_rows[*engine.self()], *own);
  engine.BeginPhase("minimum");
  return Minimum(engine, task, bounds, own).Run(progress);
}

}  // namespace partita::methods::classify
