#include "node/sign/read_file.h"

#include <algorithm>
#include <memory>
#include <set>

#include "methods/prepare_study.h"
#include "run/method/study.h"
#include "run/party/build_plan.h"
#include "study/file/study_file.h"
#include "study/plan/plan.h"

namespace partita::node {
namespace {

constexpr char kAllParties[] = "all";
constexpr size_t kMaxFileAnswerBytes = size_t{64} << 20;

void WriteFileProblem(const Error& error, ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(error.code()));
  writer.String(error.message());
  writer.String(error.hint());
}

Error ReadFileProblem(ByteReader& reader) {
  const uint8_t code = std::min(reader.U8(), static_cast<uint8_t>(ErrorCode::kInternal));
  const std::string message = reader.String(kMaxFileAnswerBytes);
  return {static_cast<ErrorCode>(code), message, reader.String(kMaxFileAnswerBytes)};
}

std::vector<FileVariable> VariablesOf(const study::StudyFile& file) {
  std::vector<FileVariable> variables;
  for (const data::ColumnSchema& column : file.dictionary.columns) {
    FileVariable& variable = variables.emplace_back();
    variable.name = column.name;
    variable.type = data::ColumnTypeName(column.type);
    variable.unit = column.unit;
    if (data::HasBounds(column.type)) variable.bounds = data::BoundsText(column);
    variable.levels = column.levels;
    for (const study::Party& party : file.parties) {
      if (std::find(party.columns.begin(), party.columns.end(), column.name) != party.columns.end())
        variable.holders.push_back(party.name);
    }
  }
  return variables;
}

FileUse UseOf(const study::StudyFile& file) {
  FileUse use;
  use.declared = file.declared;
  use.unit = file.population.unit;
  use.rows = study::ConditionsText(file.population.subset);
  bool to_all = false;
  std::set<std::string> recipients;
  for (const study::AnalysisSpec& analysis : file.analyses) {
    if (std::find(use.methods.begin(), use.methods.end(), analysis.method) == use.methods.end())
      use.methods.push_back(analysis.method);
    for (const study::ReleaseSpec& release : analysis.releases) {
      to_all = to_all || release.to == kAllParties;
      recipients.insert(release.to);
    }
  }
  for (const study::Party& party : file.parties) {
    FileParty& named = use.parties.emplace_back();
    named.name = party.name;
    if (party.holder) named.roles.emplace_back("holder");
    if (party.receiver) named.roles.emplace_back("receiver");
    if (party.dealer) named.roles.emplace_back("dealer");
    if (party.receiver || to_all || recipients.contains(party.name))
      use.recipients.push_back(party.name);
  }
  return use;
}

void WriteList(const std::vector<std::string>& texts, ByteWriter& writer) {
  writer.U32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) writer.String(text);
}

std::vector<std::string> ReadList(ByteReader& reader) {
  std::vector<std::string> texts;
  for (uint32_t left = reader.U32(); left > 0; --left)
    texts.push_back(reader.String(kMaxFileAnswerBytes));
  return texts;
}

void WriteUse(const FileUse& use, ByteWriter& writer) {
  for (const study::Declared& one : study::AllOf(use.declared)) writer.String(*one.text);
  writer.U32(static_cast<uint32_t>(use.parties.size()));
  for (const FileParty& party : use.parties) {
    writer.String(party.name);
    WriteList(party.roles, writer);
  }
  WriteList(use.recipients, writer);
  WriteList(use.methods, writer);
  writer.String(use.unit);
  writer.String(use.rows);
}

FileUse ReadUse(ByteReader& reader) {
  FileUse use;
  for (std::string* said : {&use.declared.purpose, &use.declared.ethics, &use.declared.legal_basis,
                            &use.declared.contact})
    *said = reader.String(kMaxFileAnswerBytes);
  for (uint32_t left = reader.U32(); left > 0; --left) {
    FileParty& party = use.parties.emplace_back();
    party.name = reader.String(kMaxFileAnswerBytes);
    party.roles = ReadList(reader);
  }
  use.recipients = ReadList(reader);
  use.methods = ReadList(reader);
  use.unit = reader.String(kMaxFileAnswerBytes);
  use.rows = reader.String(kMaxFileAnswerBytes);
  return use;
}

FileDepth DepthOf(uint8_t number) {
  switch (number) {
    case static_cast<uint8_t>(FileDepth::kNames):
      return FileDepth::kNames;
    case static_cast<uint8_t>(FileDepth::kVariables):
      return FileDepth::kVariables;
    default:
      return FileDepth::kPlan;
  }
}

}  // namespace

FileRead ReadStudyFile(const std::string& text, FileDepth depth) {
  FileRead read;
  try {
    study::StudyFile file = methods::ParseStudyFile(text, "the study");
    read.name = file.name;
    read.title = file.title;
    if (depth == FileDepth::kVariables) {
      read.variables = VariablesOf(file);
      read.use = UseOf(file);
    }
    if (depth != FileDepth::kPlan) return read;
    const std::unique_ptr<const run::Study> prepared = methods::PrepareStudy(std::move(file));
    const study::Plan plan = run::BuildPlan(*prepared);
    const std::vector<study::NetworkModel> networks = study::DefaultNetworks();
    read.plan_json = study::RenderPlanJson(plan, networks);
    read.plan_text = study::RenderPlanText(plan, networks);
    read.warnings = prepared->Warnings();
  } catch (const Error& error) {
    read.problem = error;
  } catch (const std::exception& error) {
    read.problem = Error(ErrorCode::kInternal, error.what(), "please report this");
  }
  return read;
}

Bytes EncodeFileOrder(const std::string& text, FileDepth depth) {
  ByteWriter writer;
  writer.U8(static_cast<uint8_t>(depth));
  writer.String(text);
  return writer.Take();
}

Bytes AnswerFileOrder(ByteView order) {
  ByteReader reader(order);
  const FileDepth depth = DepthOf(reader.U8());
  const std::string text = reader.String(study::kMaxStudyFileBytes);
  reader.ExpectEnd();
  const FileRead read = ReadStudyFile(text, depth);
  ByteWriter writer;
  for (const std::string* said : {&read.name, &read.title, &read.plan_text, &read.plan_json})
    writer.String(*said);
  WriteList(read.warnings, writer);
  writer.U32(static_cast<uint32_t>(read.variables.size()));
  for (const FileVariable& variable : read.variables) {
    for (const std::string* said :
         {&variable.name, &variable.type, &variable.unit, &variable.bounds})
      writer.String(*said);
    WriteList(variable.levels, writer);
    WriteList(variable.holders, writer);
  }
  WriteUse(read.use, writer);
  writer.U8(read.problem ? 1 : 0);
  if (read.problem) WriteFileProblem(*read.problem, writer);
  return writer.Take();
}

Bytes EncodeNamesOrder(const std::vector<std::string>& texts) {
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) writer.String(text);
  return writer.Take();
}

Bytes AnswerNamesOrder(ByteView order) {
  ByteReader reader(order);
  ByteWriter writer;
  for (uint32_t left = reader.U32(); left > 0; --left) {
    const FileRead read =
        ReadStudyFile(reader.String(study::kMaxStudyFileBytes), FileDepth::kNames);
    writer.String(read.name);
    writer.String(read.title);
  }
  reader.ExpectEnd();
  return writer.Take();
}

std::vector<FileNames> DecodeNamesAnswer(ByteView answer, size_t count) {
  ByteReader reader(answer);
  std::vector<FileNames> names;
  for (size_t i = 0; i < count; ++i) {
    FileNames& one = names.emplace_back();
    one.name = reader.String(kMaxFileAnswerBytes);
    one.title = reader.String(kMaxFileAnswerBytes);
  }
  reader.ExpectEnd();
  return names;
}

FileRead DecodeFileAnswer(ByteView answer) {
  ByteReader reader(answer);
  FileRead read;
  for (std::string* said : {&read.name, &read.title, &read.plan_text, &read.plan_json})
    *said = reader.String(kMaxFileAnswerBytes);
  read.warnings = ReadList(reader);
  for (uint32_t left = reader.U32(); left > 0; --left) {
    FileVariable& variable = read.variables.emplace_back();
    for (std::string* said : {&variable.name, &variable.type, &variable.unit, &variable.bounds})
      *said = reader.String(kMaxFileAnswerBytes);
    variable.levels = ReadList(reader);
    variable.holders = ReadList(reader);
  }
  read.use = ReadUse(reader);
  if (reader.U8() != 0) read.problem = ReadFileProblem(reader);
  reader.ExpectEnd();
  return read;
}

}  // namespace partita::node
