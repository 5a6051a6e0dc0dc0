#include "methods/describe/spec.h"

namespace partita::methods::describe {

bool NeedsHistograms(const Spec& spec) { return !spec.quantiles.empty() || spec.compared.ranks; }

std::vector<std::string> CountedValues(const data::ColumnSchema& schema) {
  const bool binary =
      schema.type == data::ColumnType::kInteger && schema.lower == 0 && schema.upper == 1;
  return binary ? std::vector<std::string>{"0", "1"} : schema.levels;
}

}  // namespace partita::methods::describe
