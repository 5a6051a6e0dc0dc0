// What jobs keep of one study, each file written whole and durable before anything that relies on it. Where the node is
// another user, it may list the folder and read what is marked +; all else is the jobs' alone (mode 0600).
//
//   lock                   held by the one job that works here
//   control                the door of a run (door.h)
//   attempt                the newest attempt that may ever have begun, and the mark `opened`: set before
//                          this party does anything without which nobody can open anything of it
//   ended                  what was signed of that attempt
//   run.cert.pem run.key.pem   the run key
//   table              +   the name of the table that is bound
//   rows.frozen rows.frozen.sums   its rows, of a database, or what it adds up to (table.h)
//   rows.frozen.edition    of which edition they are
//   draft.json statement + of `commit`: the approval to be signed, and what the job key signed about it
//   approval.json approval.secret.json approval.uses   run/approval/approval_files.h
//   state/                 what an interrupted run goes on from
//   discarded              there once the end of the study has begun to delete key and salt
//   result/            +   result.json, report.html and the method's files, at who gets a result
//   problem.txt        +   what went wrong, for the own people
//
// Damaged files throw kBadInput: then nothing here can be signed, and a job is as one without a
// folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "crypto/certificate.h"
#include "net/socket.h"
#include "node/job/settings.h"
#include "node/message/bodies.h"
#include "node/study/study.h"

namespace partita::node {

inline constexpr char kFrozenRows[] = "rows.frozen";

struct AttemptRecord {
  uint32_t attempt = 0;  // 0: none yet
  bool opened = false;
};

class StudyFolder {
 public:
  // Makes it, for its owner alone, or as JobSettings::shown_to_node says. To be made before the process has other
  // threads: it sets the mask of new files for a moment. Throws kUsage.
  StudyFolder(const JobSettings& settings, const StudyId& study);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path File(const std::string& name) const { return path_ / name; }
  // Makes the folder of results.
  std::string Result(const std::string& name) const;
  // Writes a file of the folder that the node may read. Errors as WriteFileAtomically.
  void Show(const std::filesystem::path& file, std::string_view content) const;

  // Everything below but reading needs the lock. It is given back with this object, or by the kernel.
  bool TryLock();
  bool locked() const { return lock_.valid(); }

  AttemptRecord Attempt() const;
  static bool CanBegin(uint32_t attempt) { return attempt >= 1 && attempt <= kMostAttempts; }
  // Throws kRefused unless it is above the one that is kept, and from 1 to kMostAttempts: what peers
  // could learn by runs that end before anything opens is bounded here, not by the daemon.
  void BeginAttempt(uint32_t attempt);
  // Of the attempt that is kept.
  void MarkOpened();

  // What was signed of this attempt.
  std::optional<Ended> FindEnded(uint32_t attempt) const;
  // Signed with the run key; without one, not signed, and then it may have opened. The first word
  // of an attempt stays: returns that.
  Ended Conclude(Ended ended);

  // None after Discard, or if it was never made.
  std::optional<crypto::Identity> RunKey() const;
  // The one that is there, or a new one, valid until `until`.
  crypto::Identity MakeRunKey(int64_t until);
  // Run key, salt, frozen rows and what a run goes on from are gone, also what a job left that was killed while it
  // wrote them; and nothing of the study is checked, committed or run here any more.
  void Discard();
  // Throws kRefused after Discard has begun.
  void RequireKept() const;

  std::string Table() const;  // empty: none is bound
  // The first name stays: throws kRefused for another.
  void BindTable(const std::string& name);

  // For the own people. Never throws.
  void NoteProblem(const std::string& text) const noexcept;
  void ForgetProblem() const noexcept;  // of an attempt before

 private:
  std::filesystem::path path_;
  std::string self_;
  bool shown_ = false;
  StudyId study_{};
  net::Socket lock_;
};

}  // namespace partita::node
