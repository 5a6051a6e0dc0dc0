#include "node/job/statement.h"

#include <algorithm>

#include "base/error.h"
#include "crypto/signature.h"
#include "node/message/bodies.h"
#include "study/approval/approval.h"

namespace partita::node {
namespace {

constexpr uint8_t kStatementVersion = 1;

[[noreturn]] void FailStatement(const std::string& what) {
  throw Error(ErrorCode::kBadInput, "what the job says of the frozen table " + what,
              "All processes of a node have to be of one release.");
}

[[noreturn]] void DistrustStatement(const std::string& what) {
  throw Error(ErrorCode::kUntrusted, "the draft of the approval does not count: " + what,
              "This node does not do what it should: look at its log, and at who can write there.");
}

Digest TakeStatementDigest(ByteReader& reader) {
  Digest digest{};
  const ByteView bytes = reader.Raw(digest.size());
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

Bytes StatementFields(const CommitStatement& statement, const Bytes& certificate) {
  ByteWriter writer;
  writer.U8(kStatementVersion);
  writer.Raw(statement.study);
  writer.String(statement.table);
  writer.Raw(statement.commitment);
  writer.U64(statement.rows);
  writer.U64(statement.missing);
  writer.Raw(statement.draft);
  writer.Blob(certificate);
  return writer.Take();
}

}  // namespace

SignedCommit SignCommit(const CommitStatement& statement, const crypto::Identity& job_key) {
  SignedCommit commit;
  commit.statement = statement;
  commit.certificate = crypto::EncodeCertificate(*job_key.certificate);
  commit.signature =
      crypto::Sign(job_key, kCommitDomain, StatementFields(statement, commit.certificate));
  return commit;
}

Bytes Encode(const SignedCommit& commit) {
  ByteWriter writer;
  writer.Raw(StatementFields(commit.statement, commit.certificate));
  writer.Blob(commit.signature);
  return writer.Take();
}

SignedCommit DecodeSignedCommit(ByteView bytes) {
  SignedCommit commit;
  CommitStatement& statement = commit.statement;
  try {
    ByteReader reader(bytes);
    if (reader.U8() != kStatementVersion) FailStatement("is of another version");
    statement.study = TakeStatementDigest(reader);
    statement.table = reader.String(kMaxTableName);
    statement.commitment = TakeStatementDigest(reader);
    statement.rows = reader.U64();
    statement.missing = reader.U64();
    statement.draft = TakeStatementDigest(reader);
    commit.certificate = reader.Blob(crypto::kMaxCertificateBytes);
    commit.signature = reader.Blob(crypto::kMaxSignatureBytes);
    reader.ExpectEnd();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadInput) throw;
    FailStatement("is not whole");
  }
  if (!statement.table.empty() && !IsPublicLine(statement.table, kMaxTableName))
    FailStatement("names a table by more than a line");
  return commit;
}

void RequireCommit(const SignedCommit& commit, const Digest& job_key, const StudyId& study,
                   std::string_view draft) {
  constexpr char kNotTheJobs[] =
      "what is said of its table is not signed by the key of this site's jobs";
  // Its fingerprint first: nothing of a stranger's certificate is parsed.
  if (crypto::Sha256Of(commit.certificate) != job_key) DistrustStatement(kNotTheJobs);
  const auto certificate = crypto::DecodeCertificate(commit.certificate);
  if (certificate == nullptr ||
      !crypto::VerifySignature(*certificate, kCommitDomain,
                               StatementFields(commit.statement, commit.certificate),
                               commit.signature))
    DistrustStatement(kNotTheJobs);
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
