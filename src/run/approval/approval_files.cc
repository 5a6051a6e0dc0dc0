#include "run/approval/approval_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/utc_time.h"
#include "base/version.h"
#include "data/snapshot.h"
#include "data/utf8.h"
#include "net/socket.h"
#include "run/approval/approval_uses.h"
#include "run/approval/envelope_uses.h"
#include "study/file/text.h"

namespace partita::run {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxDocumentBytes = size_t{1} << 20;
constexpr char kApproveHint[] = "Read the plan and approve it: partita study approve STUDY.";

// The whole file. Empty if it does not exist. is_private: nobody but the owner may read it.
std::optional<std::string> ReadDocument(const fs::path& file, bool is_private) {
  const net::Socket descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.valid() && errno == ENOENT) return std::nullopt;
  const auto fail = [&](const std::string& what, const std::string& hint) {
    throw Error(ErrorCode::kBadInput, fmt::format("cannot use {}: {}", file.string(), what), hint);
  };
  struct stat status {};
  if (!descriptor.valid() || ::fstat(descriptor.fd(), &status) != 0)
    fail(std::strerror(errno), "Check the path and that you may read it.");
  if (is_private && (status.st_mode & 077) != 0) {
    fail(fmt::format("it can be read by other users (mode {:04o})", status.st_mode & 07777U),
         "Run: chmod 600 " + file.string());
  }
  std::string text(kMaxDocumentBytes + 1, '\0');
  size_t size = 0;
  ssize_t got = 0;
  while (size < text.size() &&
         (got = ::read(descriptor.fd(), text.data() + size, text.size() - size)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::strerror(errno), "Check the path and that you may read it.");
    size += static_cast<size_t>(got);
  }
  if (size > kMaxDocumentBytes) fail("it is larger than 1 MiB", "Name an approval or an envelope.");
  text.resize(size);
  return text;
}

// FOLDER/STEM + ending.
fs::path Beside(const fs::path& file, const char* ending) {
  return file.parent_path() / (file.stem().string() + ending);
}

uint64_t Raised(const std::optional<uint64_t>& asked, uint64_t least, const char* name) {
  const uint64_t value = asked.value_or(least);
  if (value >= least && value <= study::kMaxThreshold) return value;
  throw Error(ErrorCode::kUsage,
              fmt::format("{} = {} is not from the study's {} to {}", name, value, least,
                          study::kMaxThreshold),
              "A steward may only raise what the study says under [disclosure].");
}

void RequireReason(const ApprovalRequest& request) {
  const std::string& reason = request.reason;
  const bool needed = request.decision == study::Decision::kReject;
  const bool good = reason.size() <= study::kMaxReasonBytes && data::IsUtf8(reason) &&
                    !study::HasControl(reason) && !(needed && reason.empty());
  if (good) return;
  throw Error(ErrorCode::kUsage, "this cannot be the reason of a decision",
              fmt::format("Write 1 to {} bytes of text on one line.", study::kMaxReasonBytes));
}

void RequireRuns(uint64_t runs) {
  if (runs >= 1 && runs <= study::kMaxApprovedRuns) return;
  throw Error(ErrorCode::kUsage, fmt::format("an approval for {} runs", runs),
              fmt::format("Write --runs 1 to {}.", study::kMaxApprovedRuns));
}

}  // namespace

void RequireFuture(int64_t valid_until, int64_t now) {
  if (valid_until > now) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("it would have expired at {}, now it is {}", FormatUtc(valid_until),
                          FormatUtc(now)),
              "Name a day to come, for example --until 2030-12-31.");
}

void RequireOwnCertificate(const crypto::Identity& identity, const std::string& party,
                           const std::string& fingerprint) {
  const auto problem = crypto::CertificateProblem(*identity.certificate, party, fingerprint);
  if (!problem) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("the certificate does not count for party {}: {}", party, *problem),
              "Sign with the key whose certificate is in the roster of all parties.");
}

fs::path DefaultApprovalPath(const fs::path& study_file, const std::string& study,
                             const std::string& party) {
  return study_file.parent_path() / ("approval-" + study + "-" + party + ".json");
}

fs::path SecretPath(const fs::path& approval) { return Beside(approval, ".secret.json"); }

fs::path UsesPath(const fs::path& document) { return Beside(document, ".uses"); }

std::string ReadApprovalFile(const fs::path& file, const std::string& party) {
  if (auto text = ReadDocument(file, /*is_private=*/false)) return *std::move(text);
  throw Error(
      ErrorCode::kRefused,
      fmt::format("party {} has not approved the study: {} does not exist", party, file.string()),
      kApproveHint);
}

crypto::Key ReadSalt(const fs::path& secret, const study::Approval& approval) {
  const auto text = ReadDocument(secret, /*is_private=*/true);
  if (!text) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{}, the secret part of the approval of party {}, does not exist",
                            secret.string(), approval.party),
                "Put it back beside the approval, or approve again.");
  }
  const study::ApprovalSecret kept = study::ParseSecret(*text, secret.string());
  if (kept.party != approval.party || kept.commitment != approval.commitment) {
    throw Error(ErrorCode::kRefused, fmt::format("{} belongs to another approval", secret.string()),
                "Put back the file that was written with the approval, or approve again.");
  }
  return kept.salt;
}

MadeApproval MakeApproval(const Study& study, const study::ApprovalTerms& terms,
                          const ApprovalRequest& request, crypto::RandomSource& random) {
  const size_t party = PartyByName(study, request.party);
  RequireOwnCertificate(request.identity, request.party, request.fingerprints[party]);
  RequireReason(request);
  RequireRuns(request.runs);
  MadeApproval made;
  study::Approval approval;
  approval.party = request.party;
  approval.decision = request.decision;
  approval.reason = request.reason;
  approval.study = terms.study;
  approval.agreement_hash = terms.agreement_hash;
  approval.plan_hash = terms.plan_hash;
  approval.disclosure.min_cell = Raised(request.min_cell, terms.disclosure.min_cell, "min_cell");
  approval.disclosure.min_rows = Raised(request.min_rows, terms.disclosure.min_rows, "min_rows");
  approval.disclosure.refuse_small_samples =
      terms.disclosure.refuse_small_samples || request.refuse_small_samples;
  approval.approved_at = NowUtc();
  approval.valid_until =
      request.valid_until.value_or(approval.approved_at + study::kApprovalSeconds);
  RequireFuture(approval.valid_until, approval.approved_at);
  approval.software_version = kVersion;
  approval.runs = request.runs;
  random.Fill(approval.nonce);
  if (study.parties[party].holder && request.decision == study::Decision::kApprove) {
    const data::Snapshot snapshot = data::TakeSnapshot(request.data, random);
    approval.commitment = snapshot.commitment;
    made.salt = snapshot.salt;
  }
  made.document = study::SignApproval(std::move(approval), request.identity);
  return made;
}

void SaveApproval(const MadeApproval& made, const fs::path& file) {
  const study::Approval& approval = made.document.approval;
  // If not all of them get written, they do not fit together and count for nothing.
  if (made.salt) {
    WriteFileAtomically(SecretPath(file).string(),
                        study::RenderSecret({approval.party, approval.commitment, *made.salt}));
  }
  StartApprovalUses(UsesPath(file), approval);
  WriteFileAtomically(file.string(), study::RenderApproval(made.document));
  if (!made.salt) {
    std::error_code ignored;  // of an earlier approval, worth nothing without it
    fs::remove(SecretPath(file), ignored);
  }
}

study::SignedEnvelope SaveEnvelope(study::Envelope envelope, const crypto::Identity& identity,
                                   const fs::path& file) {
  envelope.approved_at = NowUtc();
  envelope.software_version = kVersion;
  RequireFuture(envelope.valid_until, envelope.approved_at);
  RequireOwnCertificate(identity, envelope.party, crypto::Fingerprint(*identity.certificate));
  study::SignedEnvelope document = study::SignEnvelope(std::move(envelope), identity);
  StartEnvelopeUses(UsesPath(file), study::EnvelopeDigest(document.envelope));
  WriteFileAtomically(file.string(), study::RenderEnvelope(document));
  return document;
}

}  // namespace partita::run
