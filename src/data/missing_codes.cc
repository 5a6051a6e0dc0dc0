#include "data/missing_codes.h"

#include <algorithm>
#include <optional>

#include "data/number_text.h"

namespace partita::data {

MissingRule::MissingRule(const ColumnSchema& schema, char decimal)
    : texts_(schema.missing_codes), decimal_(decimal) {
  const bool numbers = schema.type == ColumnType::kNumeric || schema.type == ColumnType::kInteger ||
                       schema.type == ColumnType::kSurvival;
  if (!numbers) return;
  for (const std::string& code : texts_) {
    std::optional<double> number = ParseNumber(code, decimal);
    if (!number) number = ParseNumber(code, decimal == '.' ? ',' : '.');
    if (number) numbers_.push_back(*number);
  }
}

bool MissingRule::Has(std::string_view cell) const {
  if (cell.empty() || std::find(texts_.begin(), texts_.end(), cell) != texts_.end()) return true;
  if (numbers_.empty()) return false;
  const std::optional<double> number = ParseNumber(cell, decimal_);
  return number && std::find(numbers_.begin(), numbers_.end(), *number) != numbers_.end();
}

}  // namespace partita::data
