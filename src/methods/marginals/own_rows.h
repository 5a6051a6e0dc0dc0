// Rows that are set aside before anything is counted, for their holder to judge synthetic rows by.
//
// Which rows is a function of their number in a block, a public seed and their agreed order, so
// that all holders
// of a block set aside the same persons without a message. What they say depends on real rows: it
// is shown to
// their holder alone and kept in no file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "methods/marginals/model_file.h"
#include "methods/marginals/spec.h"
#include "study/plan/document.h"

namespace partita::methods::marginals {

struct MarginalsStudy;

// A holder's columns of one block of rows.
struct OwnBlock {
  std::string name;
  std::vector<uint32_t> attributes;
  stats::marginals::Codes counted, test;  // by attribute
};

OwnBlock SetAside(const UtilitySpec& utility, const std::string& block,
                  const std::vector<uint32_t>& attributes, const stats::marginals::Codes& codes);

// For the plan, a whole sentence or two.
std::string SetAsideText(const MarginalsStudy& study);

// Own columns: how far the rows set aside are from the counted ones, from synthetic ones and from
// synthetic ones whose
// columns are shuffled, and how well a target is predicted from each.
study::DocumentSection OwnRowsSection(const MarginalsStudy& study, const OpenedTables& opened,
                                      const stats::marginals::Choice& choice,
                                      const std::vector<OwnBlock>& own,
                                      crypto::RandomSource& random);

}  // namespace partita::methods::marginals
