#include "study/file/study_file.h"

#include <algorithm>

#include "base/files.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {

const std::vector<std::string> kStudyKeys = {
    "partita",  "name",    "title",  "study",      "party",   "rows",   "table",   "population",
    "variable", "derived", "design", "disclosure", "release", "engine", "network", "analysis"};

StudyFile ParseStudyFile(std::string text, std::string file_name,
                         std::span<const SectionReader> methods) {
  if (text.size() > kMaxStudyFileBytes) {
    FailAt(file_name, {1, 1}, "the file is larger than 1 MiB",
           "a study file describes a study; it holds no data");
  }
  StudyFile study;
  study.file_name = std::move(file_name);
  study.text = std::move(text);
  const toml::table tree = ParseToml(study.text, study.file_name);
  const TableReader root(study.file_name, tree, "the study file", kStudyKeys);
  CheckFormat(root, "partita", kStudyFormat);
  FileNames names = ReadNames(root, "name = \"three-factor\"");
  study.name = std::move(names.name);
  study.title = std::move(names.title);
  study.declared = ReadDeclaration(root);
  const Dictionary dictionary = ReadDictionary(root);
  study.dictionary = dictionary.schema;
  study.blocks = ReadBlocks(root);
  study.table = ReadTable(root, study.dictionary, study.blocks);
  study.derived = ReadDerived(root, dictionary, study.table);
  study.population = ReadPopulation(root, study.dictionary, study.derived);
  study.dictionary.max_rows_per_person = study.population.max_rows_per_person;
  study.design = ReadDesign(root, study.dictionary);
  study.disclosure = ReadDisclosure(root);
  study.release = ReadReleaseRule(root);
  study.engine = ReadEngine(root);
  study.network = ReadNetwork(root);
  study.parties = ReadParties(root, study.dictionary, study.blocks);
  CheckRoles(root, study.parties, study.engine);
  CheckSharing(root, study.parties, study.blocks, study.table);
  study.analyses = ReadAnalyses(root, study, methods);
  return study;
}

StudyFile LoadStudyFile(const std::string& path, std::span<const SectionReader> methods) {
  return ParseStudyFile(ReadFile(path, kMaxStudyFileBytes, "the study file"), path, methods);
}

size_t PartyIndexByName(const StudyFile& study, std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < study.parties.size(); ++i) {
    if (study.parties[i].name == name) return i;
    names.push_back(study.parties[i].name);
  }
  throw Error(ErrorCode::kBadInput,
              study.file_name + ": there is no party " + Quote(name) + " in study " + study.name,
              KnownNamesHint(name, names));
}

std::vector<std::string> VariablesThatMayLack(const DesignSpec& design) {
  std::vector<std::string> variables;
  for (const MissingPattern& pattern : design.patterns) {
    for (const std::string& name : pattern) {
      if (std::find(variables.begin(), variables.end(), name) == variables.end())
        variables.push_back(name);
    }
  }
  return variables;
}

data::Partition StudyPartition(const StudyFile& study, std::span<const Party> parties) {
  std::vector<data::RowBlock> blocks;
  for (const RowBlock& block : study.blocks)
    blocks.push_back({block.name, block.count, block.match.has_value(),
                      block.match.has_value() && block.match->hidden});
  std::vector<data::Holder> holders;
  for (size_t i = 0; i < parties.size(); ++i) {
    const Party& party = parties[i];
    if (party.holder) holders.push_back({party.name, i, party.columns, party.rows});
  }
  return data::MakePartition(Names(study.dictionary), std::move(blocks), std::move(holders),
                             VariablesThatMayLack(study.design));
}

}  // namespace partita::study
