// [[analysis]].
#include <algorithm>

#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

LocatedText ReadName(const TableReader& reader, size_t num_analyses) {
  const auto name = reader.OptionalText("name");
  if (name) {
    CheckName(reader, *name, kAnalysisName);
    return *name;
  }
  if (num_analyses > 1) {
    reader.Fail(reader.position(),
                "[[analysis]] needs the key 'name', because there are several analyses",
                "add, for example: name = \"adjusted\"");
  }
  return {"main", reader.position()};
}

// What to write instead of the name; null where it stands for nothing that is known.
const std::string* MeantBy(const SectionReader& method, const std::string& name) {
  for (const auto& [written, instead] : method.mistaken_for) {
    if (written == name) return &instead;
  }
  return nullptr;
}

// A method that is not there has the keys of the one that is meant, or else of the first, so that
// the key `method` is what is complained about.
const SectionReader& ReaderOf(std::span<const SectionReader> methods, const std::string& name) {
  for (const SectionReader& method : methods) {
    if (method.method == name) return method;
  }
  for (const SectionReader& method : methods) {
    if (MeantBy(method, name) != nullptr) return method;
  }
  return methods.front();
}

std::string MethodExample(std::span<const SectionReader> methods) {
  return "method = \"" + methods.front().method + "\"";
}

std::string ReadMethod(const TableReader& reader, std::span<const SectionReader> methods) {
  const LocatedText name = reader.Text("method", MethodExample(methods));
  std::vector<std::string> names;
  for (const SectionReader& method : methods) names.push_back(method.method);
  for (const SectionReader& method : methods) {
    const std::string* instead = MeantBy(method, name.value);
    if (instead == nullptr) continue;
    reader.Fail(name.position, "there is no method " + Quote(name.value), "write " + *instead);
  }
  return reader.Choice(name, "method", names);
}

AnalysisSpec ReadAnalysis(const TableReader& reader, const StudyFile& study, size_t num_analyses,
                          std::span<const SectionReader> methods) {
  AnalysisSpec analysis;
  analysis.position = reader.position();
  analysis.method = ReadMethod(reader, methods);
  const SectionReader& method = ReaderOf(methods, analysis.method);
  if (!method.several && num_analyses > 1) {
    reader.Fail(reader.position(),
                "an analysis of method " + Quote(method.method) + " is the only one of its study",
                "write one study file for each analysis");
  }
  analysis.section = method.read(reader, study, analysis);
  return analysis;
}

}  // namespace

bool ReadOneRelease(const TableReader& reader, const StudyFile& study, const OneRelease& one,
                    AnalysisSpec& analysis) {
  if (!reader.Has("release")) {
    reader.Fail(reader.position(), "[[analysis]] needs the key 'release', which has no default",
                one.absent);
  }
  const std::string example = "release = [\"" + std::string(one.what) + "\"]";
  const auto items = reader.TextsOrEntries("release", {"what", "to"}, example);
  if (items.size() != 1) reader.Fail(reader.PositionOf("release"), one.method, "write " + example);
  const TextOrTable& item = items.front();
  if (item.text) {
    reader.Choice(*item.text, "release", {one.what});
    analysis.releases.push_back({one.what, "", item.text->position});
    return false;
  }
  const TableReader& entry = *item.table;
  entry.Choice(entry.Text("what", "what = \"" + std::string(one.what) + "\""), "what", {one.what});
  const auto to = entry.OptionalText("to");
  const auto receives = [](const Party& party) { return party.receiver; };
  const std::string& receiver =
      std::find_if(study.parties.begin(), study.parties.end(), receives)->name;
  const bool all = to && entry.Choice(*to, "to", {"all", receiver}) == "all";
  analysis.releases.push_back({one.what, all ? "all" : "", entry.position()});
  return all;
}

std::vector<AnalysisSpec> ReadAnalyses(const TableReader& root, const StudyFile& study,
                                       std::span<const SectionReader> methods) {
  const auto tables = root.Tables("analysis", "method", [&](const std::string& name) {
    std::vector<std::string> keys = {"name", "method"};
    const std::vector<std::string>& more = ReaderOf(methods, name).keys;
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  });
  if (tables.empty()) root.FailMissing("analysis", "[[analysis]] " + MethodExample(methods));
  if (tables.size() > kMaxAnalyses) {
    root.Fail(tables[kMaxAnalyses].position(), "there are too many analyses",
              "a study has at most " + std::to_string(kMaxAnalyses));
  }
  std::vector<AnalysisSpec> analyses;
  std::vector<LocatedText> names;
  for (const TableReader& reader : tables) {
    names.push_back(ReadName(reader, tables.size()));
    analyses.push_back(ReadAnalysis(reader, study, tables.size(), methods));
    analyses.back().name = names.back().value;
  }
  CheckDistinct(root, names, "analysis");
  for (size_t a = 0; a < tables.size(); ++a) {
    const SectionReader& method = ReaderOf(methods, analyses[a].method);
    if (method.check != nullptr) method.check(tables[a], analyses, analyses[a]);
  }
  return analyses;
}

}  // namespace partita::study
