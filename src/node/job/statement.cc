#include "node/job/statement.h"

#include <algorithm>

#include "base/error.h"
#include "node/message/bodies.h"
#include "study/approval/approval.h"

namespace partita::node {
namespace {

constexpr uint8_t kStatementVersion = 4;

Error StatementFault(const std::string& what) {
  return Error(ErrorCode::kBadInput, "what the job says of the frozen table " + what,
               "All processes of a node have to be of one release.");
}

[[noreturn]] void DistrustStatement(const std::string& what) {
  throw Error(ErrorCode::kUntrusted, "the draft of the approval does not count: " + what,
              "This node does not do what it should: look at its log, and at who can write there.");
}

// Lines that can be shown as they are.
bool IsText(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && !IsPublicLine(text.substr(at, end - at), kMaxBudgetText)) return false;
    at = end + 1;
  }
  return true;
}

Bytes StatementFields(const CommitStatement& statement) {
  ByteWriter writer;
  writer.U8(kStatementVersion);
  writer.Raw(statement.study);
  writer.String(statement.table);
  writer.Raw(statement.commitment);
  writer.U64(statement.rows);
  writer.U64(statement.missing);
  writer.String(statement.edition);
  writer.String(statement.budget);
  writer.String(statement.dictionary);
  writer.Raw(statement.draft);
  return writer.Take();
}

}  // namespace

SignedCommit SignCommit(const CommitStatement& statement, const crypto::Identity& job_key) {
  return {statement, SignFields(job_key, kCommitDomain, StatementFields(statement))};
}

Bytes Encode(const SignedCommit& commit) {
  return WithSignature(StatementFields(commit.statement), commit.signature);
}

SignedCommit DecodeSignedCommit(ByteView bytes) {
  SignedCommit commit;
  CommitStatement& statement = commit.statement;
  const auto read_fields = [&statement](ByteReader& reader) {
    if (reader.U8() != kStatementVersion) throw StatementFault("is of another version");
    statement.study = ReadDigest(reader);
    statement.table = reader.String(kMaxTableName);
    statement.commitment = ReadDigest(reader);
    statement.rows = reader.U64();
    statement.missing = reader.U64();
    statement.edition = reader.String(kMaxEditionText);
    statement.budget = reader.String(kMaxBudgetText);
    statement.dictionary = reader.String(kMaxDictionaryText);
    statement.draft = ReadDigest(reader);
  };
  commit.signature = ReadSigned(bytes, read_fields, StatementFault("is not whole"));
  if (!statement.table.empty() && !IsPublicLine(statement.table, kMaxTableName))
    throw StatementFault("names a table by more than a line");
  if (!statement.edition.empty() && !IsPublicLine(statement.edition, kMaxEditionText))
    throw StatementFault("names an edition by more than a line");
  if (!IsText(statement.budget)) throw StatementFault("says of its budget what is no text");
  if (!IsText(statement.dictionary)) throw StatementFault("says of its dictionary what is no text");
  return commit;
}

void RequireCommit(const SignedCommit& commit, const Digest& job_key, const StudyId& study,
                   std::string_view draft) {
  if (!IsSignedBy(commit.signature, {job_key}, kCommitDomain, StatementFields(commit.statement)))
    DistrustStatement("what is said of its table is not signed by the key of this site's jobs");
  if (commit.statement.study != study)
    DistrustStatement("what is said of its table is about another study");
  if (commit.statement.draft != crypto::Sha256Of(AsBytes(draft)))
    DistrustStatement("it is not the one that the job wrote");
  const study::Approval approval = study::ParseApproval(draft, "the draft").approval;
  if (commit.statement.commitment != approval.commitment ||
      commit.statement.table.empty() != (approval.commitment == Digest{}))
    DistrustStatement("it is about another table");
}

}  // namespace partita::node
