// What an [[analysis]] with method = "mixture" asks for: a mixture model learned by DPVI under
// differential privacy from columns that several parties hold, and synthetic rows of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/encoding.h"

namespace partita::methods::mixture {

enum class MixtureBatch { kPoisson, kDisjoint, kFull };

// Against whom `epsilon` holds: whoever gets the model and does not know the batches, or every
// single party, which knows them.
enum class MixtureAgainst { kOutside, kParties };

// [analysis.privacy] of a mixture. Exactly one of noise_multiplier and epsilon.
struct MixturePrivacy {
  double clip = 1;                         // L2 norm that gradients of rows are clipped to
  std::optional<double> noise_multiplier;  // standard deviation of the noise in units of clip
  std::optional<double> epsilon;           // the noise is chosen for it
  MixtureAgainst against = MixtureAgainst::kOutside;
  double delta = 0;  // of rows that are replaced: their number is public
  // A party without columns of the model that adds all of the noise; empty: every computing party
  // adds a share.
  std::string noise_from;
};

// What one holder's test rows are asked: whether a column of its has this level.
struct MixtureTarget {
  std::string variable, level;
};

// [analysis.utility] of a mixture: rows that are never trained on, for their holders to judge
// synthetic rows by.
struct MixtureUtility {
  uint32_t test_rows = 0;              // 0: none are set aside
  uint64_t seed = 0;                   // public: with the order of rows it says which
  std::vector<MixtureTarget> targets;  // at most one of each holder
};

struct MixtureSpec {
  std::vector<data::ColumnEncoding> columns;  // of the model, as listed
  size_t components = 0;
  uint64_t iterations = 0;  // from `epochs` too
  MixtureBatch batch = MixtureBatch::kPoisson;
  uint32_t batch_size = 0;         // expected (poisson), largest (disjoint), all trained on (full)
  bool paper_schedule = false;     // weights learn from the first step on
  bool paper_formulation = false;  // every entry of every gradient on shares
  double learning_rate = 0.01;
  uint64_t checkpoint_every = 100;
  uint64_t reserve = 0;  // openings beyond the iterations, in the place of lost ones
  MixturePrivacy privacy;
  MixtureUtility utility;
  uint64_t synthetic_rows = 0;  // of each table that the receiver draws; 0: none
  uint32_t synthetic_sets = 1;
};

}  // namespace partita::methods::mixture
