// [analysis].
#include "study/study_sections.h"
#include "study/text.h"

namespace partita::study {
namespace {

const std::vector<std::string> kAnalysisKeys = {
    "method",      "protocol", "function",      "model",   "group",
    "group_equal", "std_lv",   "meanstructure", "fixed_x", "information"};

// lavaan's group.equal for continuous data.
const std::vector<std::string> kGroupEqual = {
    "loadings",     "intercepts",     "means",      "residuals", "residual.covariances",
    "lv.variances", "lv.covariances", "regressions"};

// Byte offset of a 1-based line and column (in characters) of UTF-8 text.
size_t OffsetOf(std::string_view text, Position position) {
  size_t offset = 0;
  for (size_t line = 1; line < position.line; ++line) {
    const size_t end = text.find('\n', offset);
    if (end == std::string_view::npos) return text.size();
    offset = end + 1;
  }
  for (size_t column = 1; column < position.column && offset < text.size(); ++column) {
    ++offset;
    while (offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) {
      ++offset;
    }
  }
  return offset;
}

// Where the first character of a TOML string stands, given where its opening quotes stand. A line
// break right after triple quotes does not belong to the string.
Position ContentStart(std::string_view text, Position quotes) {
  const std::string_view rest = text.substr(OffsetOf(text, quotes));
  const bool triple = rest.starts_with("\"\"\"") || rest.starts_with("'''");
  if (!triple) return {quotes.line, quotes.column + 1};
  const std::string_view content = rest.substr(3);
  if (content.starts_with("\n") || content.starts_with("\r\n")) return {quotes.line + 1, 1};
  return {quotes.line, quotes.column + 3};
}

void ReadModel(const TableReader& reader, const std::string& text, AnalysisSpec& analysis) {
  const LocatedText model = reader.Text("model", "model = \"\"\" f =~ x1 + x2 + x3 \"\"\"");
  if (model.value.find_first_not_of(" \t\r\n") == std::string::npos) {
    reader.Fail(model.position, "the model is empty",
                "write it in lavaan's syntax, for example: visual =~ x1 + x2 + x3");
  }
  if (model.value.size() > kMaxModelBytes) {
    reader.Fail(model.position,
                "the model is longer than " + std::to_string(kMaxModelBytes) + " bytes",
                "shorten it");
  }
  analysis.model = model.value;
  analysis.model_position = ContentStart(text, model.position);
}

void ReadGroups(const TableReader& reader, const data::Schema& dictionary, AnalysisSpec& analysis) {
  if (const auto group = reader.OptionalText("group")) {
    analysis.group = reader.Choice(*group, "group", Names(dictionary));
    if (dictionary.Find(analysis.group)->type != data::ColumnType::kFactor) {
      reader.Fail(group->position, "the group " + Quote(group->value) + " is not a factor",
                  "give this variable type = \"factor\" and its levels in the dictionary");
    }
  }
  const auto equal = reader.OptionalTexts("group_equal");
  if (!equal) return;
  if (analysis.group.empty()) {
    reader.Fail(reader.PositionOf("group_equal"), "'group_equal' without 'group'",
                "name the grouping factor: group = \"school\"");
  }
  CheckDistinct(reader, *equal, "group_equal");
  for (const LocatedText& text : *equal) {
    analysis.group_equal.push_back(reader.Choice(text, "group_equal", kGroupEqual));
  }
}

}  // namespace

AnalysisSpec ReadAnalysis(const TableReader& root, const std::string& text,
                          const data::Schema& dictionary) {
  const TableReader reader = root.Table("analysis", kAnalysisKeys, "[analysis] method = \"mle\"");
  AnalysisSpec analysis;
  analysis.method = reader.Choice(reader.Text("method", "method = \"mle\""), "method", {"mle"});
  analysis.protocol = reader.Choice(reader.Text("protocol", "protocol = \"pooled-moments\""),
                                    "protocol", {"pooled-moments"});
  analysis.function = reader.Choice(reader.Text("function", "function = \"cfa\""), "function",
                                    {"cfa", "sem", "growth", "lavaan"});
  ReadModel(reader, text, analysis);
  ReadGroups(reader, dictionary, analysis);
  analysis.std_lv = reader.OptionalBool("std_lv").value_or(false);
  analysis.meanstructure = reader.OptionalBool("meanstructure");
  analysis.fixed_x = reader.OptionalBool("fixed_x");
  if (const auto information = reader.OptionalText("information")) {
    analysis.information = reader.Choice(*information, "information", {"expected", "observed"});
  }
  return analysis;
}

}  // namespace partita::study
