#include "node/job/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/public_file.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "crypto/state_file.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

const crypto::StateKind& AttemptKind() {
  static const crypto::StateKind kind = {"partita node attempt 1",
                                         "the file that says which attempt of a study has begun",
                                         "end the study at every party and propose it anew"};
  return kind;
}

const crypto::StateKind& EndedKind() {
  static const crypto::StateKind kind = {"partita node ended 1",
                                         "the file that says how an attempt of a study ended",
                                         "end the study at every party and propose it anew"};
  return kind;
}

// Whether it was not there. shown: its group may list it; by the mask, because a later change of the mode would take the
// group from what is made in it.
bool MakeFolder(const fs::path& path, bool shown) {
  const mode_t mask = shown ? ::umask(0027) : mode_t{};
  const int made = ::mkdir(path.c_str(), shown ? 0750 : 0700);
  const int error = errno;
  if (shown) ::umask(mask);
  if (made == 0) return true;
  if (error == EEXIST) return false;
  throw Error(ErrorCode::kUsage,
              "cannot make the folder " + path.string() + ": " + std::strerror(error),
              "Check that the job's user may write to the folder of studies.");
}

void Remove(const fs::path& file) {
  std::error_code failed;
  fs::remove_all(file, failed);
  if (!failed) return;
  throw Error(ErrorCode::kStorage, "cannot remove " + file.string(),
              "Check that the job's user may write to the folder of studies.");
}

void SyncFolder(const fs::path& path) {
  const net::Socket folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid() && ::fsync(folder.fd()) == 0) return;
  throw Error(ErrorCode::kStorage, "cannot make what stands in " + path.string() + " durable",
              "Look at the disk.");
}

}  // namespace

StudyFolder::StudyFolder(const JobSettings& settings, const StudyId& study)
    : path_(settings.studies / ToHex(study)),
      self_(settings.self),
      shown_(settings.shown_to_node),
      study_(study) {
  if (MakeFolder(path_, shown_)) SyncFolder(settings.studies);
  if (shown_) MakeFolder(path_ / "result", true);  // while there is one thread
}

bool StudyFolder::TryLock() {
  if (locked()) return true;
  net::Socket lock(::open(File("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) {
    throw Error(ErrorCode::kUsage,
                "cannot write " + File("lock").string() + ": " + std::strerror(errno),
                "Check that the job's user may write to the folder of studies.");
  }
  if (::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) return false;
  lock_ = std::move(lock);
  return true;
}

AttemptRecord StudyFolder::Attempt() const {
  AttemptRecord record;
  const auto kept = crypto::ReadState(AttemptKind(), File("attempt"));
  if (!kept) return record;
  crypto::DecodeState(AttemptKind(), kept->Expose(), study_, [&](ByteReader& content) {
    record.attempt = content.U32();
    record.opened = content.U8() != 0;
  });
  return record;
}

void StudyFolder::BeginAttempt(uint32_t attempt) {
  if (!CanBegin(attempt)) {
    throw Error(ErrorCode::kRefused, "no study has an attempt of this number",
                "End the study at every party and propose it anew.");
  }
  if (attempt <= Attempt().attempt) {
    throw Error(ErrorCode::kRefused, "an attempt of the study with this number has begun before",
                "Nothing is run twice: see how that one ended.");
  }
  ByteWriter writer;
  writer.U32(attempt);
  writer.U8(0);
  crypto::WriteState(File("attempt"), crypto::EncodeState(AttemptKind(), study_, writer.bytes()));
  SyncFolder(path_);
}

void StudyFolder::MarkOpened() {
  const AttemptRecord record = Attempt();
  if (record.opened) return;
  ByteWriter writer;
  writer.U32(record.attempt);
  writer.U8(1);
  crypto::WriteState(File("attempt"), crypto::EncodeState(AttemptKind(), study_, writer.bytes()));
  SyncFolder(path_);
}

std::optional<Ended> StudyFolder::FindEnded(uint32_t attempt) const {
  const auto kept = crypto::ReadState(EndedKind(), File("ended"));
  if (!kept) return std::nullopt;
  Ended ended;
  crypto::DecodeState(EndedKind(), kept->Expose(), study_, [&](ByteReader& content) {
    ended = DecodeEnded(content.Raw(content.remaining()));
  });
  if (ended.attempt != attempt) return std::nullopt;
  return ended;
}

Ended StudyFolder::Conclude(Ended ended) {
  if (const auto before = FindEnded(ended.attempt)) return *before;
  const auto key = RunKey();
  if (!key) {
    Ended unsigned_ended;
    unsigned_ended.attempt = ended.attempt;
    return unsigned_ended;
  }
  ended.signature = crypto::Sign(*key, kEndedDomain, EndedFields(study_, self_, ended));
  crypto::WriteState(File("ended"), crypto::EncodeState(EndedKind(), study_, Encode(ended)));
  SyncFolder(path_);
  return ended;
}

std::optional<crypto::Identity> StudyFolder::RunKey() const {
  if (!fs::exists(File("run.cert.pem")) || !fs::exists(File("run.key.pem"))) return std::nullopt;
  return crypto::LoadIdentity(File("run.cert.pem"), File("run.key.pem"));
}

crypto::Identity StudyFolder::MakeRunKey(int64_t until) {
  if (auto key = RunKey()) return *std::move(key);
  // Of a job that was killed in between.
  Remove(File("run.cert.pem"));
  Remove(File("run.key.pem"));
  constexpr int64_t kDay = 86'400;
  crypto::CertificateRequest request;
  request.name = self_;
  // A run that has begun is not cut off by the expiry, and what it says later is signed, too.
  request.days = static_cast<int>(std::max<int64_t>(0, until - NowUtc()) / kDay + 3);
  crypto::Identity key = crypto::MakeIdentity(request);
  crypto::SaveIdentity(key, File("run.cert.pem"), File("run.key.pem"));
  SyncFolder(path_);
  return key;
}

void StudyFolder::Discard() {
  WriteFileAtomically(File("discarded").string(), "");
  SyncFolder(path_);
  // With the temporary files beside them (base/files.h), whose names begin alike.
  std::vector<fs::path> secrets = {File("state")};
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("run.key.pem") || name.starts_with("approval.secret.json") ||
        name.starts_with(kFrozenRows))
      secrets.push_back(entry.path());
  }
  for (const fs::path& file : secrets) Remove(file);
  SyncFolder(path_);
}

void StudyFolder::RequireKept() const {
  if (!fs::exists(File("discarded"))) return;
  throw Error(ErrorCode::kRefused, "the study has ended here, and its keys are deleted",
              "Propose the study anew.");
}

std::string StudyFolder::Table() const {
  if (!fs::exists(File("table"))) return "";
  return ReadFile(File("table"), 4096, "the name of the table of a study");
}

void StudyFolder::BindTable(const std::string& name) {
  const std::string bound = Table();
  if (bound == name) return;
  if (!bound.empty()) {
    throw Error(ErrorCode::kRefused, "the study is bound to another table of the catalogue",
                "Withdraw the study and propose it anew.");
  }
  Show(File("table"), name);
  SyncFolder(path_);
}

std::string StudyFolder::Result(const std::string& name) const {
  MakeFolder(path_ / "result", false);
  return path_ / "result" / name;
}

void StudyFolder::Show(const fs::path& file, std::string_view content) const {
  if (shown_) {
    WritePublicFile(file.string(), content, 0640);
  } else {
    WriteFileAtomically(file.string(), content);
  }
}

void StudyFolder::NoteProblem(const std::string& text) const noexcept {
  try {
    Show(File("problem.txt"), text + "\n");
  } catch (const std::exception&) {
    // What is signed does not depend on it.
  }
}

void StudyFolder::ForgetProblem() const noexcept {
  std::error_code ignored;
  std::filesystem::remove(File("problem.txt"), ignored);
}

}  // namespace partita::node
