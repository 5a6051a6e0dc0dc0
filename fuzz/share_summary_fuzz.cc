// Summaries of other parties' tables: ParseShare either gives a summary that writes back to one
// that reads the same, and that can be compared and described, or throws Error.
#include <cstdlib>

#include "data/harmonise.h"
#include "data/utf8.h"

namespace {

void Require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using partita::data::ParseShare;
  using partita::data::ShareJson;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const partita::data::ShareSummary summary = ParseShare(text, "fuzz.json");
    const std::string json = ShareJson(summary);
    Require(ShareJson(ParseShare(json, "again.json")) == json);
    Require(partita::data::IsUtf8(DescribeShare(summary)));
    partita::data::ShareSummary other = summary;
    other.party += "2";
    for (const auto& problem : partita::data::Compare(std::vector{summary, other}))
      Require(!problem.parties.empty() && !problem.what.empty() && !problem.fix.empty());
  } catch (const partita::Error& error) {
    Require(partita::data::IsUtf8(error.message()));
  }
  return 0;
}
