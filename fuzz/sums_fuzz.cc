// Files of sums, and queries in the record of served sums, from anywhere: they are read and written as they were, or
// refused.
#include <cstdlib>

#include "data/source/sum_file.h"

namespace {

partita::data::SumQuery Query() {
  partita::data::SumQuery query;
  query.columns.resize(2);
  query.columns[0].name = "x";
  query.columns[0].upper = 1;
  query.columns[1].name = "f";
  query.columns[1].type = partita::data::ColumnType::kFactor;
  query.columns[1].levels = {"a", "b"};
  query.variables = {{0, {0.5, 0.5}, {}}, {1, {}, {-1, 1}}};
  query.cells = {{}};
  query.sets = {{}};
  return query;
}

void Require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

// The first byte chooses.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const partita::data::SumQuery query = Query();
  if (size == 0) return 0;
  try {
    if ((data[0] & 1) != 0) {
      const auto read = partita::data::DecodeSumQuery({data + 1, size - 1});
      const partita::Bytes again = partita::data::EncodeSumQuery(read);
      Require(partita::data::EncodeSumQuery(partita::data::DecodeSumQuery(again)) == again);
    } else {
      const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
      const auto file = partita::data::ReadSumFile(text, query, "fuzz.sums");
      Require(partita::data::SumFileText(query, file) == text);
    }
  } catch (const partita::Error&) {
    return 0;
  }
  return 0;
}
