#include "stats/mixture/batches.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "stats/mixture/rows.h"

namespace partita::stats::mixture {
namespace {

constexpr double kTwo48 = 281474976710656.0;

}  // namespace

std::string_view BatchModeName(BatchMode mode) {
  switch (mode) {
    case BatchMode::kPoisson:
      return "poisson";
    case BatchMode::kDisjoint:
      return "disjoint";
    case BatchMode::kFull:
      return "full";
  }
  throw Error(ErrorCode::kInternal, "unknown mode of batches");
}

Batches::Batches(BatchMode mode, uint32_t num_rows, uint32_t batch_size, uint32_t max_batch,
                 crypto::RandomSource& source)
    : mode_(mode),
      num_rows_(num_rows),
      max_batch_(max_batch),
      num_parts_(1),
      threshold_(0),
      source_(source),
      uses_(num_rows, 0) {
  if (num_rows == 0 || (mode != BatchMode::kFull && (batch_size == 0 || batch_size > num_rows))) {
    throw Error(ErrorCode::kBadInput, "the batch is empty or larger than the table",
                "choose a batch size between 1 and the number of rows");
  }
  if (max_batch != 0 && max_batch < batch_size) {
    throw Error(ErrorCode::kBadInput, "the largest batch is smaller than the expected one");
  }
  if (mode == BatchMode::kFull) batch_ = AllRows(num_rows);
  if (mode == BatchMode::kPoisson) {
    words_.resize(num_rows);
    threshold_ = static_cast<uint64_t>(std::round(kTwo48 * batch_size / num_rows));
  }
  if (mode == BatchMode::kDisjoint) {
    order_ = AllRows(num_rows);
    num_parts_ = (num_rows + batch_size - 1) / batch_size;
  }
}

double Batches::sampling_rate() const {
  if (mode_ == BatchMode::kPoisson) return static_cast<double>(threshold_) / kTwo48;
  return 1.0 / num_parts_;
}

uint32_t Batches::max_uses() const { return *std::max_element(uses_.begin(), uses_.end()); }

// A row is in the batch if 48 random bits are below the threshold; the lower 32 are drawn only
// where the upper 16 do not decide.
void Batches::DrawPoisson() {
  const uint64_t high = threshold_ >> 32, low = threshold_ & 0xffffffff;
  source_.Fill({reinterpret_cast<uint8_t*>(words_.data()), words_.size() * sizeof(uint16_t)});
  batch_.clear();
  for (uint32_t row = 0; row < num_rows_; ++row) {
    if (words_[row] > high) continue;
    if (words_[row] == high) {
      uint32_t rest;
      source_.Fill({reinterpret_cast<uint8_t*>(&rest), sizeof rest});
      if (rest >= low) continue;
    }
    batch_.push_back(row);
  }
}

void Batches::DrawDisjoint() {
  if (part_ == 0) {
    for (uint32_t i = num_rows_ - 1; i > 0; --i) {
      const uint64_t range = uint64_t{i} + 1;
      const uint64_t limit = UINT64_MAX - UINT64_MAX % range;
      uint64_t word;
      do source_.Fill({reinterpret_cast<uint8_t*>(&word), sizeof word});
      while (word >= limit);
      std::swap(order_[i], order_[word % range]);
    }
  }
  const auto bound = [&](uint64_t part) {
    return order_.begin() + static_cast<std::ptrdiff_t>(part * num_rows_ / num_parts_);
  };
  batch_.assign(bound(part_), bound(uint64_t{part_} + 1));
  part_ = (part_ + 1) % num_parts_;
}

const std::vector<uint32_t>& Batches::Next() {
  if (mode_ == BatchMode::kPoisson) {
    do DrawPoisson();
    while (max_batch_ != 0 && batch_.size() > max_batch_);
  } else if (mode_ == BatchMode::kDisjoint) {
    DrawDisjoint();
  }
  for (const uint32_t row : batch_) ++uses_[row];
  return batch_;
}

uint32_t MaxBatch(uint32_t num_rows, double sampling_rate, uint64_t steps, double probability) {
  if (num_rows == 0 || !(sampling_rate > 0 && sampling_rate <= 1) || steps == 0 ||
      !(probability > 0 && probability < 1)) {
    throw Error(ErrorCode::kUsage, "a size of padded batches needs rows, a rate and a probability");
  }
  const boost::math::binomial size(num_rows, sampling_rate);
  const double each = probability / static_cast<double>(steps);
  uint32_t low = 0, high = num_rows;  // the answer is in [low, high]
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (boost::math::cdf(boost::math::complement(size, middle)) <= each) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace partita::stats::mixture
