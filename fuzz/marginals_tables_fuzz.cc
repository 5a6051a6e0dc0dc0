// Files of opened tables: what is accepted is written back and read to the same text.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "methods/marginals/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using partita::methods::marginals::ParseTablesJson;
  using partita::methods::marginals::TablesJson;
  try {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::string written = TablesJson(ParseTablesJson(text));
    if (TablesJson(ParseTablesJson(written)) != written) std::abort();
  } catch (const partita::Error& error) {
    if (error.code() != partita::ErrorCode::kBadInput) std::abort();
  }
  return 0;
}
