#include "methods/mle/section.h"

#include <algorithm>

#include "methods/mle/fit/outcomes.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::mle {
namespace {

using study::AnalysisSpec;
using study::LocatedText;
using study::Party;
using study::Position;
using study::Quote;
using study::ReleaseSpec;
using study::TableReader;

// lavaan's functions, then families by name.
const std::vector<std::string> kFunctions = {
    "cfa", "sem", "growth", "lavaan", "regression", "path", "mediation", "saturated", "pca"};

const std::vector<std::string> kReleasable = {
    "moments", "likelihood", "estimates", "robust", "standard-errors", "fit", "rows"};
// For simulation and comparison.
const std::vector<std::string> kPublished = {"conditional", "secure-sum", "secure-matmul",
                                             "oblivious-transfer", "plain-passing"};
constexpr int64_t kMinBootstrap = 100, kMaxBootstrap = 100000;
constexpr std::string_view kReleaseExample = "\"moments\", {what = \"estimates\", to = \"all\"}";

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

void ReadModelText(const TableReader& reader, const std::string& text, MleSection& section) {
  const LocatedText model = reader.Text("model", "model = \"\"\" f =~ x1 + x2 + x3 \"\"\"");
  if (model.value.find_first_not_of(" \t\r\n") == std::string::npos) {
    reader.Fail(model.position, "the model is empty",
                "write it in lavaan's syntax, for example: visual =~ x1 + x2 + x3");
  }
  if (model.value.size() > study::kMaxModelBytes) {
    reader.Fail(model.position,
                "the model is longer than " + std::to_string(study::kMaxModelBytes) + " bytes",
                "shorten it");
  }
  section.model = model.value;
  section.model_position = ContentStart(text, model.position);
}

void ReadGroups(const TableReader& reader, const study::StudyFile& study, MleSection& section) {
  if (const auto group = reader.OptionalText("group")) {
    const data::Schema factors = data::WithDerivedFactors(study.dictionary, study.derived);
    const data::ColumnSchema& variable = study::FindVariable(reader, *group, "group", factors);
    section.group = variable.name;
    if (variable.type != data::ColumnType::kFactor) {
      reader.Fail(group->position, "the group " + Quote(group->value) + " is not a factor",
                  data::HasBounds(variable.type)
                      ? "groups are the levels of a factor: make one of this variable by "
                        "[[derived]] with transform = \"cut\""
                      : "give this variable type = \"factor\" and its levels in the dictionary");
    }
  }
  const auto equal = reader.OptionalTexts("group_equal");
  if (!equal) return;
  if (section.group.empty()) {
    reader.Fail(reader.PositionOf("group_equal"), "'group_equal' without 'group'",
                "name the grouping factor: group = \"school\"");
  }
  study::CheckDistinct(reader, *equal, "group_equal");
  for (const LocatedText& text : *equal) {
    section.group_equal.push_back(reader.Choice(text, "group_equal", kGroupEqual));
  }
}

// Who gets a release; empty: the receiver, who gets what names nobody.
std::string ReadAddressee(const TableReader& entry, const std::vector<Party>& parties) {
  const auto to = entry.OptionalText("to");
  if (!to) return "";
  std::vector<std::string> names = {"all"};
  for (const Party& party : parties) {
    if (party.dealer && party.name == to->value) {
      entry.Fail(to->position, "the dealer " + Quote(party.name) + " gets no results",
                 "name another party, or \"all\"");
    }
    if (!party.dealer) names.push_back(party.name);
  }
  std::string name = entry.Choice(*to, "to", names);
  for (const Party& party : parties) {
    if (party.receiver && party.name == name) return "";
  }
  return name;
}

ReleaseSpec ReadRelease(const TableReader& reader, const study::TextOrTable& item,
                        const std::vector<Party>& parties) {
  ReleaseSpec release;
  if (item.text) {
    release.what = reader.Choice(*item.text, "release", kReleasable);
    release.position = item.text->position;
  } else {
    release.what =
        item.table->Choice(item.table->Text("what", "what = \"estimates\""), "what", kReleasable);
    release.to = ReadAddressee(*item.table, parties);
    release.position = item.table->position();
  }
  return release;
}

void ReadReleases(const TableReader& reader, const std::vector<Party>& parties,
                  AnalysisSpec& analysis) {
  if (!reader.Has("release")) {
    reader.Fail(reader.position(), "[[analysis]] needs the key 'release', which has no default",
                "say what is opened, and to whom if not to the receiver only: release = "
                "[\"moments\"], or release = [" +
                    std::string(kReleaseExample) + "]");
  }
  for (const study::TextOrTable& item :
       reader.TextsOrEntries("release", {"what", "to"}, kReleaseExample)) {
    const ReleaseSpec release = ReadRelease(reader, item, parties);
    for (const ReleaseSpec& other : analysis.releases) {
      if (other.what != release.what || other.to != release.to) continue;
      reader.Fail(release.position, "the release " + Quote(release.what) + " is there twice",
                  "remove one of them");
    }
    analysis.releases.push_back(release);
  }
  if (analysis.releases.empty()) {
    reader.Fail(reader.PositionOf("release"), "'release' is empty",
                "an analysis that opens nothing has no result: write, for example, release = "
                "[\"moments\"]");
  }
}

// The model functions, and where to look for what maximum likelihood here does not do.
std::string ReadFunction(const TableReader& reader) {
  const LocatedText function = reader.Text("function", "function = \"cfa\"");
  if (const std::string hint = HintForFunction(function.value); !hint.empty())
    reader.Fail(function.position, "method 'mle' has no function " + Quote(function.value), hint);
  return reader.Choice(function, "function", kFunctions);
}

// What follows the fit at the receiver.
void ReadExtras(const TableReader& reader, MleSection& section) {
  if (const auto wide = reader.OptionalText("nested_in")) section.nested_in = wide->value;
  section.modification_indices = reader.OptionalBool("modification_indices").value_or(false);
  const auto draws = reader.OptionalInteger("bootstrap");
  if (!draws) return;
  if (draws->value < kMinBootstrap || draws->value > kMaxBootstrap) {
    reader.Fail(draws->position, "'bootstrap' is " + std::to_string(draws->value),
                "give a number of samples between " + std::to_string(kMinBootstrap) + " and " +
                    std::to_string(kMaxBootstrap) + ", for example 1000");
  }
  section.bootstrap = static_cast<size_t>(draws->value);
}

// Of protocols that show rows.
void ReadPublished(const TableReader& reader, const std::string& protocol, MleSection& section) {
  const bool published =
      std::find(kPublished.begin(), kPublished.end(), protocol) != kPublished.end();
  for (const char* key : {"masks", "rows_may_leak"}) {
    if (published || !reader.Has(key)) continue;
    reader.Fail(
        reader.PositionOf(key),
        Quote(key) + " is for the published protocols, of which " + Quote(protocol) + " is none",
        "remove it");
  }
  if (!published) return;
  section.rows_may_leak = reader.OptionalBool("rows_may_leak").value_or(false);
  if (!section.rows_may_leak) {
    reader.Fail(reader.PositionOf("protocol"),
                "protocol " + Quote(protocol) +
                    " is for simulation and comparison: rows of one party become known to others",
                "use protocol = \"pooled-moments\" or \"sealed\"; for rows that are made up, write "
                "rows_may_leak = true");
  }
  const bool masked = protocol == "conditional" || protocol == "secure-sum";
  section.masks = "ring";
  const auto masks = reader.OptionalText("masks");
  if (!masks) return;
  section.masks = reader.Choice(*masks, "masks", {"ring", "paper"});
  if (!masked) {
    reader.Fail(masks->position, "protocol " + Quote(protocol) + " has no masks", "remove 'masks'");
  }
}

}  // namespace

study::SectionUses MleSection::Uses() const {
  study::SectionUses uses;
  uses.functions = {function};
  if (robust) uses.releases.push_back({"robust", "", {}});
  if (!group.empty()) uses.variables.push_back({"the group", group});
  return uses;
}

const MleSection& MleOf(const AnalysisSpec& analysis) {
  return dynamic_cast<const MleSection&>(*analysis.section);
}

namespace {

std::shared_ptr<const study::Section> ReadMle(const TableReader& reader,
                                              const study::StudyFile& study,
                                              AnalysisSpec& analysis) {
  auto section = std::make_shared<MleSection>();
  std::vector<std::string> protocols = {"pooled-moments", "likelihood", "sealed"};
  protocols.insert(protocols.end(), kPublished.begin(), kPublished.end());
  analysis.protocol = reader.Choice(reader.Text("protocol", "protocol = \"pooled-moments\""),
                                    "protocol", protocols);
  ReadPublished(reader, analysis.protocol, *section);
  section->function = ReadFunction(reader);
  ReadModelText(reader, study.text, *section);
  ReadReleases(reader, study.parties, analysis);
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  ReadGroups(reader, study, *section);
  section->std_lv = reader.OptionalBool("std_lv").value_or(false);
  section->meanstructure = reader.OptionalBool("meanstructure");
  section->fixed_x = reader.OptionalBool("fixed_x");
  section->robust = reader.OptionalBool("robust").value_or(false);
  section->information =
      study.design.missing == study::MissingPolicy::kFiml ? "observed" : "expected";
  if (const auto information = reader.OptionalText("information")) {
    section->information = reader.Choice(*information, "information", {"expected", "observed"});
  }
  section->privacy = study::ReadPrivacy(reader, study);
  ReadExtras(reader, *section);
  return section;
}

// An analysis is tested against another one of the study, over the same rows.
void CheckNested(const TableReader& reader, const std::vector<AnalysisSpec>& analyses,
                 const AnalysisSpec& narrow) {
  const MleSection& own = MleOf(narrow);
  if (own.nested_in.empty()) return;
  const Position position = reader.PositionOf("nested_in");
  const auto wide = std::find_if(analyses.begin(), analyses.end(), [&](const AnalysisSpec& other) {
    return other.name == own.nested_in;
  });
  if (wide == analyses.end() || wide->name == narrow.name) {
    reader.Fail(position, "there is no other analysis " + Quote(own.nested_in),
                "name the analysis with the wider model: every parameter that is free here is "
                "free there");
  }
  if (wide->subset != narrow.subset || MleOf(*wide).group != own.group) {
    reader.Fail(position,
                "analysis " + Quote(narrow.name) + " and " + Quote(wide->name) +
                    " are not over the same rows and groups",
                "give both the same subset and group: chi-squares of other rows do not compare");
  }
  if (MleOf(*wide).robust != own.robust) {
    reader.Fail(position,
                "only one of the analyses " + Quote(narrow.name) + " and " + Quote(wide->name) +
                    " is robust",
                "say robust = true in both, for a scaled difference, or in none");
  }
}

}  // namespace

study::SectionReader MleReader() {
  const std::vector<std::string> keys = {"protocol",      "function",
                                         "model",         "release",
                                         "subset",        "group",
                                         "group_equal",   "std_lv",
                                         "meanstructure", "fixed_x",
                                         "information",   "robust",
                                         "nested_in",     "modification_indices",
                                         "bootstrap",     "privacy",
                                         "masks",         "rows_may_leak"};
  study::SectionReader reader{"mle", keys, ReadMle, true, CheckNested};
  for (const std::string& function : kFunctions) {
    reader.mistaken_for.emplace_back(function,
                                     "method = \"mle\" with function = \"" + function + "\"");
  }
  for (const char* name : {"linear", "lm"})
    reader.mistaken_for.emplace_back(name, "method = \"mle\" with function = \"regression\"");
  return reader;
}

}  // namespace partita::methods::mle
