#include "methods/mixture/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "methods/mixture/paper.h"
#include "methods/mixture/weights.h"
#include "mpc/batch.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::mixture {
namespace {

using namespace mpc;  // NOLINT: arithmetic on shares, line by line
using Eigen::ArrayXXd;
using Eigen::Index;

constexpr int kOffsetBits = kGridBits - kWeightBits;
constexpr double kClipMargin = 0x1p-17;
// Of the norm, down to the floor; the rest of the margin is the series' and the cuts'.
constexpr double kSquareShare = 0x1p-18;

[[noreturn]] void RefuseStep(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, message, hint);
}

PublicMatrix Encode(const ArrayXXd& values, int fraction_bits) {
  PublicMatrix matrix{
      {{static_cast<size_t>(values.rows()), static_cast<size_t>(values.cols())}, {}},
      fraction_bits};
  matrix.values.values.reserve(matrix.values.shape.size());
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j) {
      matrix.values.values.push_back(ToGrid(values(i, j), fraction_bits));
    }
  }
  return matrix;
}

std::vector<PrivateMatrix> NoiseInputs(const Engine& engine, const StepDesign& design,
                                       std::span<const Int128> own) {
  std::vector<PrivateMatrix> inputs;
  for (PartyIndex party : design.noise_parties) {
    PrivateMatrix share{party,
                        {design.components, 1 + design.num_columns()},
                        kGridBits,
                        design.noise_bound,
                        nullptr};
    if (engine.self() == party) {
      if (own.size() != design.num_values()) {
        throw Error(ErrorCode::kInternal, "a noise party has no noise of its own to add");
      }
      share.read = [own, cols = share.shape.cols](size_t first, size_t count, Int128* out) {
        std::copy_n(own.begin() + static_cast<ptrdiff_t>(first * cols), count * cols, out);
      };
    }
    inputs.push_back(std::move(share));
  }
  return inputs;
}

// The weighted statistic one column to the left of each: the first column has none and is not used.
Shared ShiftedRight(Engine& engine, const Shared& sums) {
  const auto [rows, cols] = sums.shape;
  if (cols == 1) return sums;
  const Shared parts[] = {engine.Slice(sums, 0, 0, {rows, 1}),
                          engine.Slice(sums, 0, 0, {rows, cols - 1})};
  return engine.Concatenate(parts, false);
}

}  // namespace

size_t StepDesign::num_columns() const {
  size_t columns = 0;
  for (const Holder& holder : holders) columns += holder.num_columns;
  return columns;
}

size_t StepDesign::num_values() const { return components * (1 + num_columns()); }

double StepDesign::holder_square() const {
  return (max_square - 1) / static_cast<double>(holders.size());
}

// How much too small the shared square Q may be, divided by den (step.h): b, c = m D are rounded to
// 2^-61 of 2^L, a is cut to 2^-60, both once for each side; two cuts; and K times as much for the
// linear terms, which are at most 4 / C'^2. More than two holders: the P squared scores are
// rounded, their sum times m is cut.
StepFormat FormatOf(const StepDesign& design) {
  StepFormat format;
  format.clip_to = design.clip * (1 - kClipMargin);
  const double inverse_square = 1 / (format.clip_to * format.clip_to);
  format.log2_largest =
      std::max(1, static_cast<int>(std::ceil(std::log2((design.max_square + 2) * inverse_square))));
  format.square_bits = std::min(50, 64 - format.log2_largest);
  const size_t holders = design.holders.size();
  const double roundings = holders == 2 ? 1 : 1 + static_cast<double>(holders) / 4;
  const double error = std::ldexp(roundings, format.log2_largest - 59) +
                       2 * std::ldexp(1.0, -format.square_bits) +
                       static_cast<double>(design.components) * std::ldexp(4 * inverse_square, -59);
  // den v^(-1) <= 4.4 2^e wherever the row lies; half of that goes into the norm.
  format.floor =
      std::min(30, static_cast<int>(std::floor(std::log2(kSquareShare / (2.2 * error)))));
  return format;
}

void CheckDesign(const StepDesign& design) {
  if (design.holders.size() < 2) {
    RefuseStep("the columns are held by fewer than two parties",
               "without a vertical split there is nothing to protect from each other");
  }
  if (design.formulation == Formulation::kPaper && design.holders.size() != 2) {
    RefuseStep("the paper's formulation is for two holders of columns", "use the other one");
  }
  for (const Holder& holder : design.holders) {
    if (holder.num_columns == 0) {
      RefuseStep(fmt::format("party {} holds no column", holder.party), "take it off the holders");
    }
    if (!(holder.statistic_bound > 0 && holder.statistic_bound <= 4096)) {
      RefuseStep(fmt::format("statistics up to {:.6g} do not fit", holder.statistic_bound),
                 "scale the columns, or keep Beta columns away from 0 and 1");
    }
  }
  if (design.num_rows == 0 || design.components == 0 || design.components > design.num_rows) {
    RefuseStep(fmt::format("{} components for {} rows", design.components, design.num_rows),
               "use at most as many components as rows");
  }
  if (design.batch_rows == 0 || design.batch_rows > design.num_rows) {
    RefuseStep(fmt::format("a batch of {} of {} rows", design.batch_rows, design.num_rows),
               "use between one and all rows");
  }
  if (!(design.clip >= 0x1p-6 && design.clip <= 0x1p6)) {
    RefuseStep(fmt::format("the clipping norm {:.6g} is outside [1/64, 64]", design.clip),
               "gradients of mixtures have norms near 1");
  }
  if (!(design.max_square >= 3 && design.max_square <= 0x1p16)) {
    RefuseStep(fmt::format("the bound {:.6g} of squared gradients is outside [3, 65536]",
                           design.max_square),
               "keep Beta columns away from 0 and 1");
  }
  if (FormatOf(design).floor < 16) {
    RefuseStep("clipping norm and bound of the gradients leave too few digits",
               "raise the clipping norm or lower max_square");
  }
  if (!(design.noise_bound >= 0) || design.noise_parties.empty()) {
    RefuseStep("nobody adds noise", "name at least one noise party");
  }
}

Int128 ToGrid(double x, int bits) {
  const double scaled = x * std::bit_cast<double>(static_cast<uint64_t>(bits + 1023) << 52);
  // Below 2^51 adding one half is exact.
  if (std::abs(scaled) < 0x1p51) return static_cast<int64_t>(scaled + std::copysign(0.5, scaled));
  if (std::abs(scaled) < 0x1p62) return static_cast<int64_t>(std::round(scaled));
  return EncodeFixed(x, bits);
}

ArrayXXd RoundSlopes(const ArrayXXd& slopes) {
  return (slopes * std::ldexp(1.0, kSlopeBits)).round() * std::ldexp(1.0, -kSlopeBits);
}

double RoundStatistic(double statistic) {
  return std::ldexp(std::round(std::ldexp(statistic, kStatisticBits)), -kStatisticBits);
}

SecureStep::SecureStep(Engine& engine, const StepDesign& design,
                       const std::vector<StatisticReader>& own)
    : engine_(engine), design_(design), own_(own) {
  CheckDesign(design);
  for (size_t h = 0; h < design.holders.size(); ++h) {
    const Holder& holder = design.holders[h];
    PrivateMatrix matrix{holder.party,
                         {design.num_rows, holder.num_columns},
                         kStatisticBits,
                         holder.statistic_bound,
                         nullptr};
    if (engine.self() == holder.party) {
      matrix.read = [read = own.at(h), cols = holder.num_columns, reals = std::vector<double>()](
                        size_t first, size_t count, Int128* out) mutable {
        reals.resize(count * cols);
        read(first, count, reals.data());
        for (double real : reals) *out++ = ToGrid(real, kStatisticBits);
      };
    }
    statistics_.push_back(engine.Register(std::move(matrix)));
  }
}

Shared SecureStep::SumOfGradients(const StepParameters& parameters,
                                  const std::optional<HolderValues>& own_values,
                                  std::span<const PrivateMatrix> noise_inputs,
                                  std::vector<Shared>& noise) {
  const size_t components = design_.components;
  const Shared t = ClippedWeights(engine_, design_, parameters, own_values);

  // Padding stands for row 0, with weight 0.
  std::vector<size_t> rows(parameters.batch.begin(), parameters.batch.end());
  rows.resize(design_.batch_rows);
  std::vector<Product> products;
  for (const FixedOperand& statistics : statistics_) {
    products.push_back({Product::Kind::kGram, t, OnlyRows(statistics, rows)});
  }
  Batch batch(engine_);
  const auto weighted = batch.Multiply(products);
  const auto shares = batch.Input(noise_inputs);
  batch.Flush();
  noise = shares.Get();

  // The public Jacobian, without communication: slope S_j + below S_(j-1) + offset sum_n t_n.
  const Shared sums = engine_.SumRows(t);  // 1 x K
  const Shared column = engine_.Transpose(sums);
  products.clear();
  for (size_t h = 0; h < design_.holders.size(); ++h) {
    const Shared& s = weighted.Get()[h];
    products.push_back({Product::Kind::kElementwise, s, Encode(parameters.slope[h], kSlopeBits)});
    products.push_back(
        {Product::Kind::kElementwise, column, Encode(parameters.offset[h], kOffsetBits)});
    if (!parameters.has_below) continue;
    products.push_back({Product::Kind::kElementwise, ShiftedRight(engine_, s),
                        Encode(parameters.below[h], kSlopeBits)});
  }
  const std::vector<Shared> terms = engine_.Multiply(products);

  const Shared total =
      SumOfRows(engine_, sums, sums.bound * static_cast<double>(components));  // 1 x 1
  const Shared of_pi = engine_.MultiplyPublic(Encode(parameters.pi, kOffsetBits), total);
  std::vector<Shared> parts = {engine_.Subtract(Lift(engine_, column, kGridBits), of_pi)};
  const size_t per_holder = parameters.has_below ? 3 : 2;
  for (size_t i = 0; i < terms.size(); i += per_holder) {
    Shared sum = engine_.Add(terms[i], terms[i + 1]);
    if (parameters.has_below) sum = engine_.Add(sum, terms[i + 2]);
    parts.push_back(std::move(sum));
  }
  return engine_.Concatenate(parts, false);
}

ArrayXXd SecureStep::Run(const StepParameters& parameters,
                         const std::optional<HolderValues>& own_values,
                         std::span<const Int128> own_noise,
                         const std::function<void()>& before_opening) {
  if (parameters.batch.size() > design_.batch_rows) {
    throw Error(ErrorCode::kUsage, "a batch is larger than its padded size");
  }
  const std::vector<PrivateMatrix> noise = NoiseInputs(engine_, design_, own_noise);
  std::vector<Shared> shares;
  Shared gradient;
  if (design_.formulation == Formulation::kPaper) {
    gradient = PaperSum(engine_, design_, parameters, own_values, own_);
    shares = engine_.Input(noise);
  } else {
    gradient = SumOfGradients(parameters, own_values, noise, shares);
  }
  for (const Shared& share : shares) gradient = engine_.Add(gradient, share);
  if (before_opening) before_opening();
  const std::vector<IntMatrix> opened =
      engine_.Reveal(kGradientRelease, {&gradient, 1}, kEverybody);
  const IntMatrix& values = opened[0];
  if (values.values.empty()) return {};
  ArrayXXd result(static_cast<Index>(design_.components),
                  static_cast<Index>(1 + design_.num_columns()));
  for (Index k = 0; k < result.rows(); ++k) {
    for (Index j = 0; j < result.cols(); ++j) {
      result(k, j) =
          DecodeFixed(values.values[static_cast<size_t>(k * result.cols() + j)], kGridBits);
    }
  }
  return result;
}

}  // namespace partita::methods::mixture
