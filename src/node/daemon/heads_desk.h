// The question of a restored node, at both ends: which heads of its ledger other sites were shown
// (job/heads_answer.h).
//
// While this site's tables are closed by the mark of a restore it asks every party of the list, 1 s to 10 min after each
// other, until it has a word that counts from each. What came is kept in a file of the node's state, as it came: who
// reads it verifies it. An answer that does not count any more, as after a change of the other site's key, is asked for
// again.
//
// Asked by another site, it lets a job look into the ledger, and signs what that found. A request never waits for the
// job: it is told to come later, and gets the answer then.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "crypto/certificate.h"
#include "net/https.h"
#include "net/https_client.h"
#include "node/audit/audit.h"
#include "node/daemon/job_start.h"
#include "node/daemon/log.h"
#include "node/daemon/node_folder.h"
#include "node/daemon/party_keeper.h"
#include "node/job/closed.h"
#include "node/job/heads_answer.h"

namespace partita::node {

// POST by a party of the list, the digest of its mark: 200 with Encode(SignedHeads), 503 later, 403.
inline constexpr std::string_view kHeadsPath = "/peer/v1/heads";
// That an answer waits for whoever asked.
inline constexpr std::chrono::seconds kHeadsWait{60};

inline RestoreFiles RestoreFilesOf(const NodeFolder& folder) {
  return {folder.restored(), folder.reopened(), folder.kept()};
}

// When a party is asked next.
struct AskTurn {
  SteadyClock::time_point next;
  uint32_t tries = 0, laters = 0;  // in a row: that failed; that were told to come later
};
// After it was asked in vain: 1 s after each of the first three times that it was told to come later, since a job looks
// then; else 2 s to 10 min, twice the last one.
std::chrono::seconds WaitAfter(AskTurn& turn, bool is_later);

class HeadsDesk {
 public:
  struct Parts {
    std::string self;
    const crypto::Identity& identity;
    Digest steward{};  // fingerprint of the own one
    NodeFolder folder;
    JobStarter start_job;
    PartyKeeper& keeper;
    // Where a party is; none: it cannot be reached now.
    std::function<std::optional<net::HttpsPeer>(const std::string& party)> peer;
    std::function<void(const AuditRecord& record)> note;
    const Log& log;
    std::function<int64_t()> clock;
  };

  explicit HeadsDesk(Parts parts);
  ~HeadsDesk() { Stop(); }
  HeadsDesk(const HeadsDesk&) = delete;
  HeadsDesk& operator=(const HeadsDesk&) = delete;

  void Start();
  // A request to another site ends first, within 5 s.
  void Stop();

  // What a party asks. From any thread.
  net::HttpResponse Answer(const std::string& party, ByteView question);

  // What came as the answer of a party. False, and not kept, unless it is its word for this mark and counts now.
  bool Take(const std::string& party, const RestoredMark& mark, const Bytes& answer);

  struct Count {
    size_t asked = 0, answered = 0;  // of those that are asked, how many have whole memories
  };
  // For this mark. From any thread.
  Count Counted(const RestoredMark& mark) const;
  // What a job finds by the answers so far, signed by it, and these answers. Throws kRefused, kTimeout.
  struct Found {
    Bytes finding;
    std::vector<Bytes> answers;
  };
  Found Find() const;

 private:
  struct Question {
    Digest mark{};
    std::optional<Bytes> answer;
    SteadyClock::time_point answered_at;
  };

  void Work();
  void AnswerAll();
  void AskAll();
  // Whether a word that counts is there now.
  bool AskOne(const std::string& party, const RestoredMark& mark, bool& is_later);
  void Keep(const std::string& party, const Bytes& answer);
  std::vector<std::string> Asked() const;
  // Those that count for this mark, by party.
  std::map<std::string, Bytes> Counting(const RestoredMark& mark) const;

  Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<std::string, Question> questions_;  // by party
  std::map<std::string, Bytes> answers_;       // by party, the newest
  std::map<std::string, AskTurn> turns_;       // the thread's only
  std::map<std::string, int64_t> told_;  // the thread's only: by party, when the audit log was
  std::thread thread_;
};

}  // namespace partita::node
