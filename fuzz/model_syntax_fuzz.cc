// Any text must give a parameter table or a kBadInput error with a hint; the expressions of a table
// must evaluate without complaint.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/table_expressions.h"

namespace {

void Check(bool condition) {
  if (!condition) std::abort();
}

// The first byte chooses the options, so that the corpus stays readable text.
partita::stats::SemModelOptions ChooseOptions(std::uint8_t byte) {
  partita::stats::SemModelOptions options;
  options.family = static_cast<partita::stats::SemFamily>(byte & 3U);
  options.std_lv = (byte & 4U) != 0;
  if ((byte & 8U) != 0) options.groups = {"a", "b"};
  if ((byte & 24U) == 24U) options.group_equal = {"loadings", "intercepts"};
  options.fixed_x = (byte & 32U) != 0;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    const auto table = partita::stats::BuildParameterTable(text, ChooseOptions(data[0]));
    const partita::stats::TableExpressions expressions(table);
    const std::vector<double> values(expressions.labels().size(), 0.5);
    Check(expressions.Evaluate(values).size() == expressions.size());
    int free = 0;
    for (const auto& row : table.rows) Check(row.free == 0 || row.free == ++free);
    Check(free == table.num_free);
  } catch (const partita::Error& error) {
    Check(error.code() == partita::ErrorCode::kBadInput && !error.message().empty());
  }
  return 0;
}
