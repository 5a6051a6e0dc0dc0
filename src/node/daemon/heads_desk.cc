#include "node/daemon/heads_desk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "node/daemon/job_errands.h"
#include "node/job/kept_look.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr std::chrono::milliseconds kAskPatience{5'000};
constexpr uint32_t kMostTries = 10;  // 2^10 s is above the longest wait
constexpr int64_t kLongestTurn = 600;
constexpr uint32_t kFreeLaters = 3;
constexpr int64_t kTellEvery = 3'600;  // in the audit log, of a party: it may name any marks

fs::path FileOfAnswers(const NodeFolder& folder) { return folder.state() / "heads"; }

std::string OutcomeOf(const ShownHeads& shown) {
  switch (shown.memory) {
    case HeadsMemory::kWhole:
      return fmt::format("{} heads of its ledger", shown.heads.size());
    case HeadsMemory::kRestored:
      return "nothing that counts: was itself restored";
    case HeadsMemory::kTakenOver:
      return "nothing that counts: the ledger was taken over from an earlier version";
    case HeadsMemory::kNoLedger:
      break;
  }
  return "nothing that counts: no ledger is kept";
}

}  // namespace

std::chrono::seconds WaitAfter(AskTurn& turn, bool is_later) {
  turn.laters = is_later ? turn.laters + 1 : 0;
  const bool is_looking = is_later && turn.laters <= kFreeLaters;
  turn.tries = is_looking ? 0 : std::min(turn.tries + 1, kMostTries);
  return std::chrono::seconds(std::min(int64_t{1} << turn.tries, kLongestTurn));
}

HeadsDesk::HeadsDesk(Parts parts) : parts_(std::move(parts)) {
  const fs::path file = FileOfAnswers(parts_.folder);
  if (!fs::exists(file)) return;
  try {
    const std::string text = ReadFile(file, kMaxAllAnswers, "the answers of other sites");
    for (const Bytes& bytes : DecodeAnswers(AsBytes(text)))
      answers_[DecodeSignedHeads(bytes).answer.from] = bytes;
  } catch (const Error& error) {
    // They are asked anew.
    parts_.log.Write(error, "reading the answers of other sites");
    answers_.clear();
  }
}

void HeadsDesk::Start() {
  thread_ = std::thread([this] { Work(); });
}

void HeadsDesk::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void HeadsDesk::Work() {
  std::string said;  // the same words once
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kLookEvery, [this] { return stopping_; });
      if (stopping_) return;
    }
    try {
      AnswerAll();
      AskAll();
      said.clear();
    } catch (const Error& error) {
      if (said != error.message()) parts_.log.Write(error, "heads of ledgers");
      said = error.message();
    } catch (const std::exception& error) {
      // As of a file that cannot be looked at: the node serves on.
      if (said != error.what()) {
        parts_.log.Write(Error(ErrorCode::kStorage, error.what(), "Look at the node's folder."),
                         "heads of ledgers");
      }
      said = error.what();
    }
  }
}

net::HttpResponse HeadsDesk::Answer(const std::string& party, ByteView question) {
  Digest mark{};
  if (question.size() != mark.size()) return net::TextResponse(403, "refused");
  std::copy(question.begin(), question.end(), mark.begin());
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(party);
  const bool is_answered = found != questions_.end() && found->second.mark == mark &&
                           found->second.answer &&
                           SteadyClock::now() - found->second.answered_at < kHeadsWait;
  if (!is_answered) {
    const bool is_asked =
        found != questions_.end() && found->second.mark == mark && !found->second.answer;
    if (!is_asked) questions_[party] = {mark, std::nullopt, {}};
    return net::TextResponse(503, "later");
  }
  net::HttpResponse response;
  response.content_type = "application/octet-stream";
  response.body = *found->second.answer;
  questions_.erase(found);
  return response;
}

void HeadsDesk::AnswerAll() {
  std::map<std::string, Digest> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [party, question] : questions_) {
      if (!question.answer) waiting[party] = question.mark;
    }
  }
  for (const auto& [party, mark] : waiting) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    std::optional<Bytes> answer;
    try {
      const ShownHeads shown = DecodeShownHeads(
          AskLedgerOfJob(parts_.start_job, {ErrandKind::kHeads, {}, party, {}}, kMaxKeptBytes));
      answer =
          Encode(SignHeads({parts_.self, party, mark, parts_.clock(), shown}, parts_.identity));
      const int64_t now = parts_.clock();
      const auto told = told_.find(party);
      if (told == told_.end() || now < told->second || now >= told->second + kTellEvery) {
        told_[party] = now;
        parts_.note({now,
                     {ActorKind::kParty, party},
                     AuditAction::kHeadsTold,
                     {},
                     party,
                     OutcomeOf(shown),
                     {}});
      }
    } catch (const Error& error) {
      parts_.log.Write(error, "telling " + party + " what it showed of its ledger");
    }
    const std::lock_guard lock(mutex_);
    const auto found = questions_.find(party);
    if (found == questions_.end() || found->second.mark != mark) continue;
    if (!answer) {
      questions_.erase(found);
    } else {
      found->second.answer = answer;
      found->second.answered_at = SteadyClock::now();
    }
  }
}

std::vector<std::string> HeadsDesk::Asked() const {
  std::vector<std::string> names;
  for (const ListedParty& party : parts_.keeper.List().parties) {
    if (party.revoked_at == 0) names.push_back(party.name);
  }
  return names;
}

std::map<std::string, Bytes> HeadsDesk::Counting(const RestoredMark& mark) const {
  PartyList list = parts_.keeper.List();
  list.owner = parts_.self;
  const std::lock_guard lock(mutex_);
  std::map<std::string, Bytes> counting;
  for (const auto& [party, bytes] : answers_) {
    if (IsHeadsAnswer(DecodeSignedHeads(bytes), list, DigestOf(mark), parts_.clock()))
      counting[party] = bytes;
  }
  return counting;
}

void HeadsDesk::AskAll() {
  const std::optional<RestoredMark> mark = ReadRestoredMark(parts_.folder.restored());
  if (!mark ||
      WordFor(*mark, RestoreFilesOf(parts_.folder), {parts_.steward}) != RestoreWord::kNone)
    return;
  const std::map<std::string, Bytes> counting = Counting(*mark);
  for (const std::string& party : Asked()) {
    AskTurn& turn = turns_[party];
    if (counting.contains(party) || SteadyClock::now() < turn.next) continue;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    bool is_later = false;
    if (AskOne(party, *mark, is_later)) {
      turn = {};
    } else {
      turn.next = SteadyClock::now() + WaitAfter(turn, is_later);
    }
  }
}

bool HeadsDesk::AskOne(const std::string& party, const RestoredMark& mark, bool& is_later) {
  const std::optional<net::HttpsPeer> peer = parts_.peer(party);
  if (!peer) return false;
  try {
    net::HttpsClient client(*peer, parts_.identity);
    net::HttpRequest request;
    request.method = "POST";
    request.target = std::string(kHeadsPath);
    const Digest digest = DigestOf(mark);
    request.body.assign(digest.begin(), digest.end());
    SilentProgress progress;
    const net::HttpResponse response = client.Send(request, kAskPatience, kMaxHeadsBytes, progress);
    is_later = response.status == 503;
    if (response.status != 200) return false;
    return Take(party, mark, response.body);
  } catch (const Error& error) {
    parts_.log.Write(error, "asking " + party + " what it was shown of this site's ledger");
    return false;
  }
}

bool HeadsDesk::Take(const std::string& party, const RestoredMark& mark, const Bytes& answer) {
  const SignedHeads document = DecodeSignedHeads(answer);
  PartyList list = parts_.keeper.List();
  list.owner = parts_.self;
  if (document.answer.from != party ||
      !IsHeadsAnswer(document, list, DigestOf(mark), parts_.clock())) {
    parts_.log.Write("heads-refused", {{"party", party}});
    return false;
  }
  Keep(party, answer);
  parts_.note({parts_.clock(),
               {ActorKind::kParty, party},
               AuditAction::kHeadsHeard,
               {},
               party,
               OutcomeOf(document.answer.shown),
               {}});
  return true;
}

void HeadsDesk::Keep(const std::string& party, const Bytes& answer) {
  const std::lock_guard lock(mutex_);
  answers_[party] = answer;
  std::vector<Bytes> all;
  for (const auto& entry : answers_) all.push_back(entry.second);
  const Bytes bytes = EncodeAnswers(all);
  WriteFileAtomically(FileOfAnswers(parts_.folder).string(),
                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

HeadsDesk::Count HeadsDesk::Counted(const RestoredMark& mark) const {
  const std::vector<std::string> asked = Asked();
  Count count{asked.size(), 0};
  for (const auto& [party, bytes] : Counting(mark)) {
    const bool is_whole = DecodeSignedHeads(bytes).answer.shown.memory == HeadsMemory::kWhole;
    if (is_whole && std::find(asked.begin(), asked.end(), party) != asked.end()) ++count.answered;
  }
  return count;
}

HeadsDesk::Found HeadsDesk::Find() const {
  const std::optional<RestoredMark> mark = ReadRestoredMark(parts_.folder.restored());
  if (!mark)
    throw Error(ErrorCode::kUsage, "this node was not restored", "There is nothing to open.");
  Found found;
  for (const auto& entry : Counting(*mark)) found.answers.push_back(entry.second);
  found.finding = AskLedgerOfJob(
      parts_.start_job, {ErrandKind::kKept, {}, {}, EncodeAnswers(found.answers)}, kMaxKeptBytes);
  return found;
}

}  // namespace partita::node
