#include "runtime/table_check_options.h"

#include "runtime/mle_study.h"

namespace partita::runtime {

data::TableCheckOptions TableCheckOptionsOf(const Study& study) {
  data::TableCheckOptions options;
  options.csv.separator = study.file.table.separator;
  options.csv.decimal = study.file.table.decimal;
  options.allow_missing = study.file.design.missing != study::MissingPolicy::kRefuse;
  const auto* mle = dynamic_cast<const MleStudy*>(&study);
  if (mle != nullptr && HasPatterns(*mle)) options.patterns_of = mle->modelled;
  return options;
}

}  // namespace partita::runtime
