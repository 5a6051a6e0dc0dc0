#include "methods/prepare_study.h"

#include <fmt/format.h>

#include "base/error.h"
#include "methods/all.h"
#include "run/party/stripes.h"

namespace partita::methods {

study::StudyFile ParseStudyFile(std::string text, std::string file_name) {
  return study::ParseStudyFile(std::move(text), std::move(file_name), AllSections());
}

study::StudyFile LoadStudyFile(const std::string& path) {
  return study::LoadStudyFile(path, AllSections());
}

namespace {

// Every method but those whose row says so would take a row at a position for a person.
void RequireHiddenRows(const study::StudyFile& file, const Method& method) {
  for (const study::RowBlock& block : file.blocks) {
    if (!block.match || !block.match->hidden || method.takes_hidden_rows) continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}:{}:{}: which rows of block '{}' match is hidden, and method '{}' needs "
                    "holders that know it",
                    file.file_name, block.position.line, block.position.column, block.name,
                    method.section.method),
        "use method 'mle', 'describe', or 'glm' with protocol = \"sealed\", or match the lists at "
        "level \"matched-ids\"");
  }
}

}  // namespace

std::unique_ptr<const run::Study> PrepareStudy(study::StudyFile file) {
  const Method& method = MethodByName(file.analyses.front().method);
  RequireHiddenRows(file, method);
  std::unique_ptr<const run::Study> study = method.prepare(std::move(file));
  if (study->file.engine.input_bits && !study->TakesInputBits()) {
    run::Refuse(
        *study, study->file.engine.input_bits_position,
        "'input_bits' is for exact moments: method 'mle' with protocol \"pooled-moments\" "
        "and without noise, and 'glm' of family gaussian at level aggregates, without robust "
        "errors, offsets, effects of sites and weights other than frequencies; 'describe' has it",
        "remove it");
  }
  run::RequireStripes(*study);
  const study::DesignSpec& design = study->file.design;
  if (design.faulty_rows != study::FaultyRowsRule::kDefault && !study->IsPrivate()) {
    run::Refuse(
        *study, design.position,
        "'faulty_rows' is for studies that promise privacy; a study without noise stops at a "
        "table that does not fit its dictionary",
        "remove it");
  }
  const study::ReleaseRuleSpec& release = study->file.release;
  if (release.accept == study::AcceptedRelease::kCheckedCells && !study->ChecksCells()) {
    run::Refuse(*study, release.accept_position,
                "accept = \"checked cells\" is for exact results of method 'mle'", "remove it");
  }
  return study;
}

}  // namespace partita::methods
