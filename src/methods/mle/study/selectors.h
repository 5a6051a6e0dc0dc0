// Which rows of its table a holder selects, by its own columns alone.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/holding.h"
#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// Over the whole ordered table, which must outlive it.
class Selectors {
 public:
  Selectors(const MleStudy& study, const data::Holding& holding, size_t party);

  // Weights by row of the table, 0 where a row is not in the selection as far as this holder knows.
  std::vector<int32_t> Of(const RowSelection& selection) const;

  run::OwnRows Count() const;

  // Unless the study leaves them out, as every private one does: throws kBadData if rows of the
  // population have, by the holder's own columns, none of the listed patterns of missing values;
  // names and counts them, for the owner's eyes.
  void RequireListedPatterns(const data::Holding& holding) const;

 private:
  bool Holds(const std::string& name) const;
  std::vector<std::string> Held(const std::vector<std::string>& names) const;
  std::vector<uint8_t> Chosen(const std::vector<data::Condition>& conditions) const;
  // By row: whether the holder's own columns are missing where the pattern says so and nowhere
  // else, in a block that can have the pattern.
  std::vector<uint8_t> FitsPattern(const data::Holding& holding,
                                   const study::MissingPattern& pattern) const;
  bool FitsAny(size_t row) const;

  const MleStudy& study_;
  const data::Table& table_;
  std::set<std::string> held_;
  std::vector<uint8_t> complete_;           // by row: has the required variables
  std::vector<std::vector<uint8_t>> fits_;  // by pattern and row
};

}  // namespace partita::methods::mle
