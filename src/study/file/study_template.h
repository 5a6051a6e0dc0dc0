// Commented study files to start from, as `partita study new` writes them: what they begin with. The
// rest is with each method.
#pragma once

#include <string>

#include "data/partition.h"

namespace partita::study {

// A complete study file that is accepted as it stands; its comments say what to change.
struct StudyTemplate {
  data::PartitionKind partition;
  bool is_private;
  std::string text;
};

// Two holders and a dealer, where each holder has rows of its own, all variables of them.
enum class RowCounts { kSecret, kPublic };
std::string HorizontalStart(RowCounts counts);
// The same with x1 to x3 of all rows at one holder and x4 to x6 at the other.
std::string VerticalStart();

// Of patients: age, dose, sex and relapse, the last two factors.
std::string PatientDictionary();

}  // namespace partita::study
