#include "cli/terminal/output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "data/utf8.h"

namespace partita::cli {
namespace {

std::string Dump(const OutputOptions& output, const nlohmann::ordered_json& envelope) {
  const int indent = output.format == "jsonl" ? -1 : 2;
  return envelope.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// Texts of files, damaged ones included, are shown to people: what is no UTF-8 is replaced.
void WriteLine(std::FILE* stream, const std::string& given) {
  const std::string text = data::ReplaceMalformed(given);
  std::fwrite(text.data(), 1, text.size(), stream);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stream);
  std::fflush(stream);
}

}  // namespace

void PrintResult(const OutputOptions& output, const std::string& text, const std::string& data,
                 const std::string& status) {
  if (!output.json()) {
    WriteLine(stdout, text);
    return;
  }
  nlohmann::ordered_json envelope;
  envelope["schema_version"] = kEnvelopeSchemaVersion;
  envelope["status"] = status;
  envelope["data"] = nlohmann::ordered_json::parse(data);
  WriteLine(stdout, Dump(output, envelope));
}

ExitCode PrintError(const OutputOptions& output, const Error& error) {
  if (output.json()) {
    nlohmann::ordered_json envelope;
    envelope["schema_version"] = kEnvelopeSchemaVersion;
    envelope["status"] = "error";
    envelope["error_code"] = ErrorCodeName(error.code());
    envelope["message"] = error.message();
    envelope["hint"] = error.hint();
    WriteLine(stdout, Dump(output, envelope));
  } else {
    WriteLine(stderr, "error: " + error.message());
    if (!error.hint().empty()) WriteLine(stderr, "hint: " + error.hint());
  }
  return ExitCodeOf(error.code());
}

void PrintNote(const OutputOptions& output, const std::string& text) {
  if (!output.quiet) WriteLine(stderr, text);
}

}  // namespace partita::cli
