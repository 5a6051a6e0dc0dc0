#include "methods/mle/sealed/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "methods/mle/sealed/values.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Shared;

constexpr int kRelativeBits = 40;
constexpr int kMostRowBits = 28;
// Of integers below 2^126, one of them a product's sign and one the field's shorter range.
constexpr int kSampleProductBits = 124;

// How many fraction bits everything has, so that products fit.
struct Digits {
  explicit Digits(const SealedSums& sums) {
    rows = static_cast<int>(
        std::ceil(std::log2(sums.max_rows * std::max(1.0, sums.value_bound * sums.value_bound))));
    if (rows > kMostRowBits) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("up to {:.0f} rows are too many for the protocol 'sealed'", sums.max_rows),
          "declare the counts of all row blocks, or use protocol = \"pooled-moments\"");
    }
    reciprocal = kRelativeBits + rows;
    squared = std::min(2 * sums.fraction_bits, kSampleProductBits - reciprocal - rows);
    once = std::min(60, kSampleProductBits - reciprocal);
    largest = std::ldexp(1.0, rows);
  }
  int rows = 0;        // every sum is below 2^rows
  int reciprocal = 0;  // of 1 / n
  int squared = 0;     // of n cross - sum sum'
  int once = 0;        // of that over n
  double largest = 0;
};

class Sample {
 public:
  Sample(Engine& engine, const SealedSums& sums) : engine_(engine), sums_(sums), digits_(sums) {}

  std::vector<SealedSample> Run() {
    const size_t groups = sums_.groups.size();
    Invert();
    std::vector<Shared> scatter = Scatter();
    mpc::CutRound cut(engine_);
    for (Shared& value : scatter) {
      cut.Add(value, digits_.squared, std::ldexp(1.0, 2 * digits_.rows));
    }
    cut.Run();
    std::vector<Shared> once(groups), twice(groups), means(groups), weights(groups);
    mpc::ProductRound round(engine_);
    for (size_t g = 0; g < groups; ++g) {
      round.Add(inverse_[g], scatter[g], digits_.largest, once[g]);
      round.Add(inverse_[g], Select(g), sums_.value_bound, means[g]);
      if (groups > 1) round.Add(inverse_[groups], Count(g), 1, weights[g]);
    }
    round.Run();
    for (Shared& value : once) cut.Add(value, digits_.once, digits_.largest);
    for (Shared& value : means) cut.Add(value, kSealedBits, 1);
    for (size_t g = 0; g < groups && groups > 1; ++g) cut.Add(weights[g], kSealedBits, 1);
    cut.Run();
    for (size_t g = 0; g < groups; ++g) round.Add(inverse_[g], once[g], 1, twice[g]);
    round.Run();
    for (Shared& value : twice) cut.Add(value, kSealedBits, 1);
    cut.Run();
    std::vector<SealedSample> samples;
    for (size_t g = 0; g < groups; ++g) {
      const size_t k = PlacesOf(g).size();
      SealedSample sample{weights[g], mpc::Reshape(means[g], {k, 1}),
                          mpc::Reshape(twice[g], {k, k})};
      sample.group = sums_.group_of.empty() ? g : sums_.group_of[g];
      if (!sums_.observed.empty()) sample.observed = sums_.observed[g];
      samples.push_back(std::move(sample));
    }
    return samples;
  }

 private:
  Shared Count(size_t group) const {
    return mpc::WithBound(sums_.groups[group].count, sums_.max_rows);
  }

  // 1 / n of every group and, where there are several, of all rows.
  void Invert() {
    std::vector<mpc::PositiveValue> counts;
    for (size_t g = 0; g < sums_.groups.size(); ++g) counts.push_back({Count(g), 1});
    if (counts.size() > 1) {
      Shared total = Count(0);
      for (size_t g = 1; g < sums_.groups.size(); ++g) total = engine_.Add(total, Count(g));
      counts.push_back({mpc::WithBound(total, sums_.max_rows), 1});
    }
    inverse_ = mpc::Reciprocal(engine_, counts, digits_.reciprocal);
    for (Shared& value : inverse_) value.bound = 1;
  }

  // n cross - sum' sum of every group, as a row.
  std::vector<Shared> Scatter() {
    const double square = std::ldexp(1.0, 2 * digits_.rows);
    mpc::ProductRound round(engine_);
    std::vector<Shared> crosses(sums_.groups.size()), squares(sums_.groups.size());
    for (size_t g = 0; g < sums_.groups.size(); ++g) {
      const Shared row = Select(g);
      round.Add(Count(g), AsRow(SelectAll(g)), square, crosses[g]);
      round.Add(mpc::Product::Kind::kGram, row, row, square, squares[g]);
    }
    round.Run();
    std::vector<Shared> scatter;
    for (size_t g = 0; g < sums_.groups.size(); ++g) {
      scatter.push_back(Minus(engine_, crosses[g], AsRow(squares[g]), square));
    }
    return scatter;
  }

  // The sample's variables, as indices into those of the moments.
  std::vector<size_t> PlacesOf(size_t sample) const {
    if (sums_.observed.empty()) return sums_.variables;
    std::vector<size_t> places;
    for (const size_t v : sums_.observed[sample]) places.push_back(sums_.variables[v]);
    return places;
  }
  Shared Select(size_t sample) {
    const Shared& sums = sums_.groups[sample].sums;
    const Shared column = engine_.SelectRows(engine_.Transpose(sums), PlacesOf(sample));
    return mpc::WithBound(engine_.Transpose(column), digits_.largest);
  }
  Shared SelectAll(size_t sample) {
    return mpc::WithBound(SelectBoth(engine_, sums_.groups[sample].cross, PlacesOf(sample)),
                          digits_.largest);
  }

  Engine& engine_;
  const SealedSums& sums_;
  Digits digits_;
  std::vector<Shared> inverse_;
};

}  // namespace

void RequireSealedRows(const SealedSums& sums) { static_cast<void>(Digits(sums)); }

std::vector<SealedSample> SampleOnShares(Engine& engine, const SealedSums& sums) {
  return Sample(engine, sums).Run();
}

}  // namespace partita::methods::mle
