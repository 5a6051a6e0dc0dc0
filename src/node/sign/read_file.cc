#include "node/sign/read_file.h"

#include <algorithm>
#include <memory>

#include "methods/prepare_study.h"
#include "run/method/study.h"
#include "run/party/build_plan.h"
#include "study/file/study_file.h"
#include "study/plan/plan.h"

namespace partita::node {
namespace {

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

}  // namespace

FileRead ReadStudyFile(const std::string& text, FileDepth depth) {
  FileRead read;
  try {
    study::StudyFile file = methods::ParseStudyFile(text, "the study");
    read.name = file.name;
    read.title = file.title;
    if (depth == FileDepth::kNames) return read;
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
  const FileDepth depth = reader.U8() == 0 ? FileDepth::kNames : FileDepth::kPlan;
  const std::string text = reader.String(study::kMaxStudyFileBytes);
  reader.ExpectEnd();
  const FileRead read = ReadStudyFile(text, depth);
  ByteWriter writer;
  for (const std::string* said : {&read.name, &read.title, &read.plan_text, &read.plan_json})
    writer.String(*said);
  writer.U32(static_cast<uint32_t>(read.warnings.size()));
  for (const std::string& warning : read.warnings) writer.String(warning);
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
  for (uint32_t left = reader.U32(); left > 0; --left)
    read.warnings.push_back(reader.String(kMaxFileAnswerBytes));
  if (reader.U8() != 0) read.problem = ReadFileProblem(reader);
  reader.ExpectEnd();
  return read;
}

}  // namespace partita::node
