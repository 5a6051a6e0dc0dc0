// Rows of method `mle` that pass piece by piece: only their sums are kept, and which of them are in which
// set of an exact release.
#include <algorithm>

#include "methods/mle/moments/own_moments.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/study/load_blocks.h"
#include "methods/mle/study/protocol.h"
#include "methods/mle/study/selectors.h"
#include "run/method/whole_rows.h"

namespace partita::methods::mle {
namespace {

class PassingRows final : public run::RowsInPieces {
 public:
  PassingRows(const MleStudy& study, size_t party, run::OwnRows& counts)
      : study_(study),
        party_(party),
        block_(study.partition.BlocksOf(party).front()),
        counts_(counts) {
    counts_ = {};
    for (const Computation& computation : study.computations)
      blocks_.emplace_back(computation.task, block_, party);
  }

  void Add(const data::Holding& piece) override {
    const Selectors selectors(study_, piece, party_);
    counts_ += selectors.Count();
    LocalRows rows;
    for (size_t c = 0; c < blocks_.size(); ++c) {
      rows.blocks.push_back(LoadBlocks(study_, study_.computations[c], party_, piece, selectors));
      blocks_[c].Add(rows.blocks[c][block_]);
    }
    std::vector<std::vector<uint8_t>> sets = study_.ExactRowSets(rows, piece);
    sets_.resize(sets.size());
    for (size_t s = 0; s < sets.size(); ++s)
      sets_[s].insert(sets_[s].end(), sets[s].begin(), sets[s].end());
  }

  std::unique_ptr<run::MethodRows> Finish() override {
    run::RequireAssumedRows(study_, block_, counts_.observed);
    auto rows = std::make_unique<LocalRows>();
    rows->clusters.resize(study_.partition.blocks.size());
    for (size_t c = 0; c < blocks_.size(); ++c) {
      rows->blocks.emplace_back(study_.computations[c].task.blocks.size());
      rows->blocks[c][block_] = blocks_[c].Finish();
    }
    rows->passed_sets = std::move(sets_);
    return rows;
  }

 private:
  const MleStudy& study_;
  size_t party_, block_;
  run::OwnRows& counts_;
  std::vector<PassingBlock> blocks_;  // by computation
  std::vector<std::vector<uint8_t>> sets_;
};

}  // namespace

std::unique_ptr<run::RowsInPieces> MleStudy::PassRows(size_t party, run::OwnRows& counts) const {
  // Scores, clusters, cells of patterns and what advises on rare patterns look at rows again.
  const bool again =
      pattern_table || HasPatterns(*this) || !file.design.cluster.empty() ||
      std::any_of(file.analyses.begin(), file.analyses.end(),
                  [](const study::AnalysisSpec& analysis) {
                    return MleOf(analysis).robust || published::IsPublished(analysis.protocol);
                  });
  if (again) return nullptr;
  return std::make_unique<PassingRows>(*this, party, counts);
}

}  // namespace partita::methods::mle
