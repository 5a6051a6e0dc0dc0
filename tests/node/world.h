// Three nodes in one thread: a clock that jumps to what is due, a network that loses, doubles and
// reorders, jobs whose folders outlive both job and node, and a SIGKILL at any numbered point.
//
// A point is: before and after each durable write, before and after each delivery, before and after
// each step of a job. The jobs of one attempt meet as real ones do: when all are up each writes its
// mark `opened`, when all have written it the opening happens, and then each has the result.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/study/closing_rule.h"
#include "tests/node/doubles.h"

namespace partita::node {

inline const std::vector<std::string>& ThreeParties() {
  static const std::vector<std::string> names = {"north", "south", "west"};
  return names;
}

// What happens to the process or processes at a site.
enum class Harm { kNone, kNode, kJob, kMachine };

// Of one delivery: not at all, its answer lost, or once more after two hours.
enum class Fate { kLost, kAnswerLost, kTwice };

struct WorldOptions {
  uint64_t seed = 1;
  uint32_t lost_percent = 0;
  uint32_t doubled_percent = 0;
  bool reorder = false;
  bool resumable = false;
  uint32_t job_seconds = 2;
  bool tells_log = false;  // daily, to the other sites
  // What strikes the site whose point it is, by number of the point.
  std::map<uint64_t, Harm> harms;
  int64_t down_seconds = 5;
  // What happens at this point besides; inside: in the middle of a call of a node.
  uint64_t at_point = 0;
  std::function<void(bool inside)> then;
  // What becomes of the deliveries, by their number from 1.
  std::map<uint64_t, Fate> fates;
};

class World {
 public:
  static constexpr int64_t kBegin = 1'790'000'000;
  static constexpr int64_t kLife = 14 * 86'400;

  struct Folder {
    bool exists = true;
    uint32_t attempt = 0;  // the highest that began, or was refused
    std::set<uint32_t> opened;
    std::map<uint32_t, Ended> said;
    bool has_key = true;
    // The process.
    bool alive = false;
    bool up = false;
    Tag tag{};
    int64_t since = 0;
    uint64_t process = 0;
  };

  struct Site : Jobs {
    World* world = nullptr;
    std::string name;
    Disk disk;
    std::unique_ptr<NamedTrust> trust;
    std::unique_ptr<CountedRandom> random;
    std::unique_ptr<MemoryStore> store;
    std::unique_ptr<Node> node;  // null while it is down
    int64_t ahead = 0;           // of its clock
    std::map<StudyId, Folder> folders;

    void Start(const JobRequest& request, const Study& study) override {
      world->StartJob(*this, request, study);
    }
  };

  explicit World(WorldOptions options) : options_(std::move(options)), chance_(options_.seed) {
    for (size_t i = 0; i < ThreeParties().size(); ++i) {
      Site& site = sites_[i];
      site.world = this;
      site.name = ThreeParties()[i];
      site.disk.incarnation.fill(static_cast<uint8_t>(i + 1));
      site.trust = std::make_unique<NamedTrust>(
          site.name, std::set<std::string>(ThreeParties().begin(), ThreeParties().end()));
      site.random = std::make_unique<CountedRandom>(options_.seed * 100 + i);
      Boot(site);
    }
  }

  int64_t now = kBegin;
  uint64_t points = 0, deliveries = 0;
  // Openings of a study: the attempts that opened something.
  std::map<StudyId, std::set<uint32_t>> openings;
  std::map<StudyId, uint32_t> first_openings;  // how often something opened that had not before
  uint32_t most_jobs_at_a_site = 0;
  // Whether stewards approve what is settled.
  bool approves = true;
  // Sees every delivery, before it happens.
  std::function<void(const OutboxEntry&)> on_delivery;
  // Which deliveries are lost, beside the chances above.
  std::function<bool(const OutboxEntry&)> loses;
  // Sees every change of a site, before it is written.
  std::function<void(const std::string& site, const Change&)> on_commit;
  // Sees every job when it begins; whether it dies there.
  std::function<bool(const std::string& site, const JobRequest&)> job_dies;

  Site& site(size_t i) { return sites_.at(i); }
  Node& node(size_t i) { return *sites_.at(i).node; }
  int64_t Clock(const Site& s) const { return now + s.ahead; }
  int64_t Clock(size_t i) const { return Clock(sites_.at(i)); }
  // The time that only goes on is the world's.
  Node::Parts PartsOf(Site& s) {
    return {
        s.name, *s.store, *s.trust, *s.random, s, {}, [this] { return now; }, options_.tells_log};
  }

  StudyId Propose(size_t i, const std::string& text = "study") {
    StudyId id{};
    // A command that a kill interrupted is given again.
    for (int tries = 0; tries < 3; ++tries) {
      bool done = false;
      Run(sites_[i], [&] {
        id = sites_[i].node->Propose(text, now + kLife, Clock(i));
        done = true;
      });
      if (done) return id;
      if (!sites_[i].disk.studies.empty()) return sites_[i].disk.studies.begin()->first;
      Boot(sites_[i]);
    }
    return id;
  }

  // Until nothing is left to do, or until; what is due then is done.
  void RunUntilQuiet(int64_t until) {
    while (true) {
      while (Act()) {
      }
      std::optional<int64_t> next;
      const auto consider = [&](std::optional<int64_t> at) {
        if (at.has_value() && (!next.has_value() || *at < *next)) next = at;
      };
      if (!actions_.empty()) consider(actions_.begin()->first);
      for (Site& s : sites_) {
        if (s.node == nullptr) continue;
        for (const auto& at : {s.node->NextWake(), s.node->NextDelivery()}) {
          if (at.has_value()) consider(*at - s.ahead);
        }
      }
      if (!next.has_value()) return;
      const int64_t then = std::max(now + 1, *next);
      if (then > until) {
        now = std::max(now, until);
        return;
      }
      now = then;
    }
  }

  Study StudyAt(size_t i, const StudyId& id) {
    const auto found = sites_.at(i).disk.studies.find(id);
    if (found == sites_.at(i).disk.studies.end()) return {};
    return DecodeStudy(found->second);
  }

  void After(int64_t seconds, std::function<void()> action) {
    actions_.emplace(now + seconds, std::move(action));
  }

  // Runs what may be killed; with a command that does not fit the state nothing happens.
  void Run(Site& s, const std::function<void()>& what) {
    if (s.node == nullptr) return;
    try {
      what();
    } catch (const Killed&) {
      Down(s);
    }
  }
  void Command(size_t i, const StudyId& id, const Event& event) {
    Run(sites_[i], [&] {
      try {
        sites_[i].node->Command(id, event, Clock(i));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kRefused && error.code() != ErrorCode::kUsage) throw;
        ++refused_commands;
      }
    });
  }
  uint32_t refused_commands = 0;

  void KillJobs(Site& s) {
    for (auto& [id, folder] : s.folders) folder.alive = folder.up = false;
  }
  // The node process is gone, and started again later.
  void Down(Site& s) {
    s.node.reset();
    After(options_.down_seconds, [this, &s] { Boot(s); });
  }
  void KillNode(size_t i) { Down(sites_.at(i)); }
  // All clocks; what is under way goes on as if nothing had happened.
  void SetBack(int64_t seconds) {
    now -= seconds;
    std::multimap<int64_t, std::function<void()>> actions;
    for (auto& [at, action] : actions_) actions.emplace(at - seconds, std::move(action));
    actions_ = std::move(actions);
    for (Site& s : sites_) {
      for (auto& [id, folder] : s.folders) folder.since -= seconds;
    }
  }
  // Another process over the same disk.
  void Again(size_t i) {
    Site& s = sites_.at(i);
    s.node.reset();
    Boot(s);
  }

 private:
  void Boot(Site& s) {
    if (s.node != nullptr) return;
    s.store = std::make_unique<MemoryStore>(s.disk, [this, &s] { Point(s); });
    s.store->on_commit = [this, &s](const Change& change) {
      if (on_commit) on_commit(s.name, change);
    };
    s.node = std::make_unique<Node>(PartsOf(s));
    Run(s, [&] { s.node->Restart(Clock(s)); });
  }

  // A point inside a call of the node.
  void Point(Site& s) {
    const Harm harm = Strike(true);
    if (harm == Harm::kJob || harm == Harm::kMachine) KillJobs(s);
    if (harm == Harm::kNode || harm == Harm::kMachine) throw Killed{};
  }
  // A point outside of it. False: the job is gone.
  bool PointOutside(Site& s) {
    const Harm harm = Strike(false);
    const bool job = harm == Harm::kJob || harm == Harm::kMachine;
    const bool node = harm == Harm::kNode || harm == Harm::kMachine;
    if (job) KillJobs(s);
    if (node && s.node != nullptr) Down(s);
    return !job;
  }
  Harm Strike(bool inside) {
    ++points;
    if (points == options_.at_point && options_.then) options_.then(inside);
    const auto found = options_.harms.find(points);
    return found == options_.harms.end() ? Harm::kNone : found->second;
  }

  // One round of what is due now. False if nothing was.
  bool Act() {
    bool acted = false;
    while (!actions_.empty() && actions_.begin()->first <= now) {
      const std::function<void()> action = std::move(actions_.begin()->second);
      actions_.erase(actions_.begin());
      action();
      acted = true;
    }
    for (Site& s : sites_) {
      Run(s, [&] {
        const std::optional<int64_t> wake = s.node->NextWake();
        if (wake.has_value() && *wake <= Clock(s)) {
          // One that is due by a clock in doubt changes nothing.
          const size_t before = points + actions_.size();
          s.node->Tick(Clock(s));
          acted = acted || points + actions_.size() != before;
        }
      });
      if (approves) Approve(s);
    }
    for (Site& s : sites_) acted = Deliver(s) || acted;
    return acted;
  }

  void Approve(Site& s) {
    if (s.node == nullptr) return;
    std::vector<Study> settled;
    for (const auto& [id, study] : s.node->open()) {
      if (study.phase == Phase::kSettled && study.agreement_hash.has_value())
        settled.push_back(study);
    }
    for (const Study& study : settled) {
      const size_t i = static_cast<size_t>(&s - sites_.data());
      Command(i, study.id,
              OwnApproval{ApprovalText(s.name, *study.agreement_hash, study.facts.plan_hash,
                                       study.expires)});
    }
  }

  bool Deliver(Site& sender) {
    std::vector<OutboxEntry> due;
    Run(sender, [&] { due = sender.node->Due(Clock(sender)); });
    if (options_.reorder) {
      for (size_t i = due.size(); i > 1; --i) std::swap(due[i - 1], due[chance_.Below(i)]);
    }
    for (const OutboxEntry& entry : due) {
      if (sender.node == nullptr) break;
      Site& receiver = *std::find_if(sites_.begin(), sites_.end(),
                                     [&](const Site& s) { return s.name == entry.to; });
      if (on_delivery) on_delivery(entry);
      PointOutside(receiver);
      std::optional<Receipt> receipt;
      const auto fate = options_.fates.find(++deliveries);
      const bool fated = fate != options_.fates.end();
      const bool lost = chance_.Below(100) < options_.lost_percent ||
                        (fated && fate->second == Fate::kLost) || (loses && loses(entry));
      const int copies = chance_.Below(100) < options_.doubled_percent ? 2 : 1;
      for (int copy = 0; copy < copies && !lost; ++copy) {
        Run(receiver, [&] {
          receipt = receiver.node->Receive(entry.message, Clock(receiver));
          if (receipt == Receipt::kNeedsBody && sender.node != nullptr) {
            const SignedMessage message = DecodeMessage(entry.message);
            const Digest digest = message.message.fetched->digest;
            receiver.node->TakeBody(digest, sender.node->FindBody(digest).value());
            receipt = receiver.node->Receive(entry.message, Clock(receiver));
          }
        });
        if (receiver.node == nullptr) receipt.reset();
      }
      // The answer may get lost, too.
      if (chance_.Below(100) < options_.lost_percent ||
          (fated && fate->second == Fate::kAnswerLost))
        receipt.reset();
      if (fated && fate->second == Fate::kTwice) {
        After(7200, [this, &receiver, bytes = entry.message] {
          Run(receiver, [&] { receiver.node->Receive(bytes, Clock(receiver)); });
        });
      }
      PointOutside(sender);
      Run(sender, [&] {
        if (receipt == Receipt::kTaken) {
          sender.node->Delivered(entry.number);
        } else {
          sender.node->Failed(entry.number, Clock(sender));
        }
      });
    }
    return !due.empty();
  }

  // ---- Jobs -----------------------------------------------------------------------------------

  std::string KeyOf(const Site& s, const StudyId& id) {
    return RunKey(s.name) + ToHex(ByteView(id).first(4));
  }
  Ended Sign(Site& s, const StudyId& id, Ended ended) {
    if (s.folders[id].has_key) {
      ended.signature = HashSignature(KeyOf(s, id), kEndedDomain, EndedFields(id, s.name, ended));
    }
    return ended;
  }
  void Report(Site& s, const StudyId& id, const Event& event) {
    Run(s, [&] { s.node->Report(id, event, Clock(s)); });
  }
  // The first word about an attempt is kept in the folder, then said.
  Ended Say(Site& s, const StudyId& id, uint32_t attempt, Outcome outcome, bool result) {
    Folder& folder = s.folders[id];
    Ended ended;
    ended.attempt = attempt;
    ended.outcome = outcome;
    ended.may_have_opened = folder.opened.contains(attempt) || !folder.exists;
    if (result) ended.result = crypto::Sha256Of(AsBytes("result"));
    return folder.said.try_emplace(attempt, Sign(s, id, ended)).first->second;
  }
  void EndRun(Site& s, const StudyId& id, Outcome outcome, bool result) {
    Folder& folder = s.folders[id];
    folder.alive = folder.up = false;
    const Ended ended = Say(s, id, folder.attempt, outcome, result);
    Report(s, id, JobEnded{ended});
  }

  void StartJob(Site& s, const JobRequest& request, const Study& study) {
    const StudyId id = study.id;
    const uint32_t attempt = request.attempt;
    const Tag tag = study.tag;
    After(1, [this, &s, id, attempt, tag, kind = request.kind] {
      if (job_dies && job_dies(s.name, {kind, attempt})) return;
      switch (kind) {
        case JobKind::kCheck:
          return Check(s, id);
        case JobKind::kCommit:
          return Commit(s, id);
        case JobKind::kRun:
          return BeginRun(s, id, attempt, tag);
        case JobKind::kAttach:
          return Attach(s, id, attempt);
        case JobKind::kStatus:
          return Status(s, id, attempt);
        case JobKind::kStop:
          if (s.folders[id].alive && s.folders[id].attempt == attempt)
            EndRun(s, id, Outcome::kCancelled, false);
          return;
        case JobKind::kDiscard:
          return Discard(s, id, attempt);
      }
    });
  }

  void Check(Site& s, const StudyId& id) {
    Checked checked;
    checked.facts.parties = ThreeParties();
    checked.facts.receivers = {"north"};
    checked.facts.resumable = options_.resumable;
    checked.facts.memory_bytes = 1000;
    checked.facts.seconds = options_.job_seconds;
    checked.facts.plan_hash = PlanOfAll();
    checked.run_certificate = BytesOf(KeyOf(s, id));
    checked.address = s.name + ".example:7400";
    Report(s, id, checked);
  }
  void Commit(Site& s, const StudyId& id) {
    if (s.node == nullptr) return;
    const std::optional<Study> study = s.node->Find(id);
    if (study.has_value())
      Report(s, id, Committed{crypto::Sha256Of(AsBytes(study->roster + study->file))});
  }
  void BeginRun(Site& s, const StudyId& id, uint32_t attempt, const Tag& tag) {
    Folder& folder = s.folders[id];
    // The lock, and the attempt in the own file.
    if (folder.alive || !folder.exists || !folder.has_key || attempt <= folder.attempt)
      return Report(s, id, JobGone{attempt});
    if (!PointOutside(s)) return Report(s, id, JobGone{attempt});
    folder.attempt = attempt;
    folder.alive = true;
    folder.up = true;
    folder.tag = tag;
    folder.since = now;
    folder.process = ++processes_;
    uint32_t jobs = 0;
    for (const auto& [other, f] : s.folders) jobs += f.alive ? 1 : 0;
    most_jobs_at_a_site = std::max(most_jobs_at_a_site, jobs);
    if (!PointOutside(s)) return Report(s, id, JobGone{attempt});
    After(1, [this, &s, id, process = folder.process] { Meet(s, id, process); });
    Report(s, id, JobUp{attempt});
  }
  bool Lives(Site& s, const StudyId& id, uint64_t process) {
    return s.folders[id].alive && s.folders[id].process == process;
  }
  // How many of the attempt's jobs are up here, have marked, are there at all.
  bool AllAre(const StudyId& id, const Folder& mine,
              const std::function<bool(const Folder&)>& what) {
    return std::all_of(sites_.begin(), sites_.end(), [&](Site& s) {
      const Folder& other = s.folders[id];
      return other.attempt == mine.attempt && other.tag == mine.tag && what(other);
    });
  }
  // A process that is gone is noticed by whoever waits for its end (JobGone).
  void Gone(Site& s, const StudyId& id, uint64_t process) {
    Folder& folder = s.folders[id];
    if (folder.process == process) Report(s, id, JobGone{folder.attempt});
  }
  void Meet(Site& s, const StudyId& id, uint64_t process) {
    Folder& folder = s.folders[id];
    if (!Lives(s, id, process)) return Gone(s, id, process);
    if (!AllAre(id, folder, [](const Folder& f) { return f.up || f.opened.contains(f.attempt); })) {
      if (now >= folder.since + 90) return EndRun(s, id, Outcome::kFailed, false);
      After(3, [this, &s, id, process] { Meet(s, id, process); });
      return;
    }
    if (!PointOutside(s)) return Gone(s, id, process);
    folder.opened.insert(folder.attempt);
    if (!PointOutside(s)) return Gone(s, id, process);
    After(options_.job_seconds, [this, &s, id, process] { Open(s, id, process, now + 30); });
  }
  void Open(Site& s, const StudyId& id, uint64_t process, int64_t until) {
    Folder& folder = s.folders[id];
    if (!Lives(s, id, process)) return Gone(s, id, process);
    const auto marked = [](const Folder& f) { return f.opened.contains(f.attempt); };
    const auto there = [](const Folder& f) {
      const auto said = f.said.find(f.attempt);
      return f.alive || (said != f.said.end() && said->second.outcome == Outcome::kFinished);
    };
    if (!AllAre(id, folder, there) || now > until) return EndRun(s, id, Outcome::kFailed, false);
    if (!AllAre(id, folder, marked)) {
      After(1, [this, &s, id, process, until] { Open(s, id, process, until); });
      return;
    }
    if (openings[id].empty()) first_openings[id] += 1;
    openings[id].insert(folder.attempt);
    if (!PointOutside(s)) return Gone(s, id, process);
    EndRun(s, id, Outcome::kFinished, s.name == "north");
  }
  void Attach(Site& s, const StudyId& id, uint32_t attempt) {
    Folder& folder = s.folders[id];
    const auto said = folder.said.find(attempt);
    if (said != folder.said.end()) return Report(s, id, JobEnded{said->second});
    if (folder.alive && folder.attempt == attempt) return Report(s, id, JobUp{attempt});
    Report(s, id, JobGone{attempt});
  }
  void Status(Site& s, const StudyId& id, uint32_t attempt) {
    Folder& folder = s.folders[id];
    if (folder.attempt == attempt) folder.alive = folder.up = false;
    const bool began = folder.attempt >= attempt;
    folder.attempt = std::max(folder.attempt, attempt);
    const Ended ended = Say(s, id, attempt, began ? Outcome::kLost : Outcome::kRefused, false);
    Report(s, id, JobEnded{ended});
  }
  void Discard(Site& s, const StudyId& id, uint32_t attempt) {
    Folder& folder = s.folders[id];
    if (folder.attempt < attempt) {
      folder.attempt = attempt;
      Say(s, id, attempt, Outcome::kRefused, false);
    }
    const auto said = folder.said.find(attempt);
    Ended refusal;
    refusal.attempt = attempt;
    if (said != folder.said.end()) refusal = said->second;
    folder.has_key = false;
    Report(s, id, Discarded{refusal});
  }

  WorldOptions options_;
  CountedRandom chance_;
  std::array<Site, 3> sites_;
  std::multimap<int64_t, std::function<void()>> actions_;
  uint64_t processes_ = 0;
};

}  // namespace partita::node
