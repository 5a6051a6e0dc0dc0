#include "match/linked_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "match/linked_join_steps.h"
#include "match/row_order.h"

namespace partita::match {
namespace {

constexpr size_t kShareBytes = 32;
constexpr size_t kNumberBytes = 4;
constexpr uint64_t kMostPlaces = (uint64_t{1} << 31) - 1;
constexpr char kLinkedBlock[] = "matched rows";

uint64_t ListBytes(const LinkedJoinTask& task, size_t holder) {
  return task.bounds[holder] * task.passes * kPseudonymBytes;
}
uint64_t AnswerBytes(const LinkedJoinTask& task, size_t holder) {
  const uint64_t numbers = !task.hidden() ? task.passes : task.level == Level::kHiddenNoisy ? 2 : 1;
  return (numbers + task.bounds[holder]) * kNumberBytes;
}

void RequireTask(const LinkedJoinTask& task, const net::Channel& channel) {
  const bool fits = channel.num_parties() == task.bounds.size() + 1 && task.passes > 0 &&
                    (task.minimum > 0) == (task.level != Level::kHiddenNobody) &&
                    task.Positions(0) < kNoRow &&
                    *std::max_element(task.bounds.begin(), task.bounds.end()) <= kMostPlaces;
  if (!fits) throw Error(ErrorCode::kInternal, "no holders and linker of a matching", "");
}

class StepProgress {
 public:
  StepProgress(Progress* progress, std::string_view phase, uint64_t total)
      : progress_(progress), total_(total) {
    if (progress_ != nullptr) progress_->Phase(phase);
  }
  void Done(uint64_t units) {
    done_ += units;
    if (progress_ == nullptr) return;
    progress_->CheckCancelled();
    progress_->Step(done_, total_);
  }

 private:
  Progress* progress_;
  uint64_t total_, done_ = 0;
};

// Round 1: what the linker lacks.
crypto::Key AgreeOnKey(net::Channel& channel, const LinkedJoinTask& task,
                       crypto::RandomSource& random) {
  const size_t self = channel.self();
  std::vector<crypto::Key> shares(task.bounds.size());
  shares[self] = crypto::RandomKey(random);
  static_assert(sizeof(shares[self].Expose()) == kShareBytes);
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < task.bounds.size(); ++peer) {
    if (peer == self) continue;
    net::Send& send = sends.emplace_back();
    send.to = peer;
    send.bytes = shares[self].Expose();
    net::Receive& receive = receives.emplace_back();
    receive.from = peer;
    receive.into = shares[peer].Expose();
  }
  channel.Exchange(sends, receives);
  crypto::Sha256 hash;
  hash.Field("partita linked join key v1").Update(task.session);
  for (size_t party = 0; party < channel.num_parties(); ++party) hash.Field(channel.names()[party]);
  for (const crypto::Key& share : shares) hash.Update(share.Expose());
  crypto::Key key;
  key.Expose() = hash.Finish();
  return key;
}

// Round 2 at a holder.
void SendList(net::Channel& channel, const LinkedJoinTask& task, PseudonymList& list) {
  const size_t self = channel.self();
  StepProgress progress(task.progress, "pseudonyms", ListBytes(task, self));
  net::Send send;
  send.to = task.linker();
  send.size = ListBytes(task, self);
  send.producer = [&](uint64_t, std::span<uint8_t> piece) {
    // Pieces begin and end with a pseudonym: net::kStreamPieceBytes is a multiple of one.
    for (size_t at = 0; at < piece.size(); at += kPseudonymBytes) {
      const Pseudonym name = list.Next();
      std::copy(name.begin(), name.end(), piece.begin() + static_cast<ptrdiff_t>(at));
    }
    progress.Done(piece.size());
  };
  static_assert(net::kStreamPieceBytes % kPseudonymBytes == 0);
  channel.Exchange({&send, 1}, {});
}

// Round 2 at the linker.
std::vector<LinkedList> TakeLists(net::Channel& channel, const LinkedJoinTask& task) {
  std::vector<LinkedList> lists(task.bounds.size());
  uint64_t total = 0;
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    lists[holder].passes.assign(task.passes, std::vector<Pseudonym>(task.bounds[holder]));
    total += ListBytes(task, holder);
  }
  StepProgress progress(task.progress, "pseudonyms", total);
  std::vector<net::Receive> receives;
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    net::Receive& receive = receives.emplace_back();
    receive.from = holder;
    receive.size = ListBytes(task, holder);
    LinkedList* const list = &lists[holder];
    receive.consumer = [&progress, list, &task](uint64_t offset, ByteView piece) {
      size_t number = offset / kPseudonymBytes;
      for (size_t at = 0; at < piece.size(); at += kPseudonymBytes, ++number) {
        const ByteView name = piece.subspan(at, kPseudonymBytes);
        std::copy(name.begin(), name.end(),
                  list->passes[number % task.passes][number / task.passes].begin());
      }
      progress.Done(piece.size());
    };
  }
  channel.Exchange({}, receives);
  return lists;
}

// Below the minimum nothing but zeros, in as many bytes.
Bytes EncodeAnswer(const LinkedAnswers& answers, size_t holder, bool linked) {
  ByteWriter writer;
  if (answers.spine) writer.U32(linked ? *answers.spine : 0);
  if (answers.noisy) writer.U32(linked ? *answers.noisy : 0);
  for (const uint64_t count : answers.spine ? std::vector<uint64_t>{} : answers.counts)
    writer.U32(linked ? static_cast<uint32_t>(count) : 0);
  for (const uint32_t position : answers.positions[holder]) writer.U32(linked ? position : 0);
  return writer.Take();
}

std::vector<SharedBlock> LinkedBlocks(const LinkedJoinTask& task) {
  SharedBlock block{kLinkedBlock, std::vector<net::PartyIndex>(task.bounds.size())};
  std::iota(block.holders.begin(), block.holders.end(), net::PartyIndex{0});
  return {block};
}

// What a holder makes of the linker's answer, level matched-ids.
void ReadMatches(ByteReader& reader, const LinkedJoinTask& task, const PseudonymList& list,
                 const std::string& linker, const crypto::Key& key, LinkedJoin& join) {
  join.counts.resize(task.passes);
  std::vector<uint32_t> positions(list.places());
  for (uint64_t& count : join.counts) count = reader.U32();
  for (uint32_t& position : positions) position = reader.U32();
  join.rows = list.Rows(join.counts, positions, linker);
  join.linked = !join.rows.empty();
  if (join.linked && join.rows.size() < task.minimum) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("'{}' linked {} rows, fewer than the minimum of {}", linker,
                            join.rows.size(), task.minimum),
                "its software departs from the protocol: do not match with it");
  }
  join.common = list.Common(join.counts, join.rows,
                            crypto::DeriveKey(key, "partita linked join matched people"));
  if (!join.linked) join.counts.clear();
}

// The same of level hidden.
void ReadSpine(ByteReader& reader, const LinkedJoinTask& task, const PseudonymList& list,
               const std::string& linker, const crypto::Key& key, LinkedJoin& join) {
  const uint32_t spine = reader.U32();
  const uint32_t noisy = task.level == Level::kHiddenNoisy ? reader.U32() : 0;
  std::vector<uint32_t> positions(list.places());
  for (uint32_t& position : positions) position = reader.U32();
  join.linked = spine > 0;
  const uint64_t matches = RequireSpine(task, spine, linker);
  join.rows = list.Spine(spine, positions, linker);
  if (join.linked && task.level == Level::kHiddenExact) join.counts = {matches};
  if (task.level == Level::kHiddenNoisy) RequireNoisy(task, spine, noisy, linker);
  if (join.linked && task.level == Level::kHiddenNoisy) join.counts = {noisy};
  const crypto::Key common = crypto::DeriveKey(key, "partita linked join spine");
  join.common = crypto::Sha256()
                    .Field("partita linked join spine v1")
                    .Field(common.Expose())
                    .U64(spine)
                    .U64(noisy)
                    .Finish();
}

}  // namespace

uint64_t LinkedJoinTask::Positions(uint64_t matches) const {
  const uint64_t all = std::accumulate(bounds.begin(), bounds.end(), uint64_t{0});
  const bool follows = level != Level::kHiddenNobody && level != Level::kHiddenNoisy;
  return follows ? all - (bounds.size() - 1) * matches : all;
}

LinkedJoinTraffic LinkedJoinTrafficBetween(const LinkedJoinTask& task, size_t from, size_t to) {
  if (from == to) return {};
  if (from == task.linker()) return {1, AnswerBytes(task, to)};
  if (to == task.linker()) return {1, ListBytes(task, from)};
  return {1, kShareBytes};
}

uint64_t LinkedJoinRounds(const LinkedJoinTask& task, size_t party) {
  return party == task.linker() ? 2 : 3;
}

LinkedJoin JoinByLinker(net::Channel& channel, const LinkedJoinTask& task,
                        std::span<const std::vector<KeyedRow>> passes, uint64_t rows,
                        crypto::RandomSource& random) {
  RequireTask(task, channel);
  const size_t self = channel.self();
  if (rows > task.bounds[self] || passes.size() != task.passes)
    throw Error(ErrorCode::kInternal, "a list is longer than its bound, or has other passes", "");
  const std::string& linker = channel.names()[task.linker()];
  const crypto::Key key = AgreeOnKey(channel, task, random);
  crypto::Prg stream(crypto::RandomKey(random));
  PseudonymList list(passes, rows, task.bounds[self],
                     crypto::DeriveKey(key, "partita linked join pseudonyms"), stream);
  SendList(channel, task, list);

  if (task.progress != nullptr) task.progress->Phase("linker");
  Bytes answer(AnswerBytes(task, self));
  net::Receive receive;
  receive.from = task.linker();
  receive.into = answer;
  channel.Exchange({}, {&receive, 1});
  ByteReader reader(answer);
  LinkedJoin join;
  if (task.hidden()) {
    ReadSpine(reader, task, list, linker, key, join);
  } else {
    ReadMatches(reader, task, list, linker, key, join);
  }
  return join;
}

LinkedJoin LinkLists(net::Channel& channel, const LinkedJoinTask& task,
                     crypto::RandomSource& random) {
  RequireTask(task, channel);
  const std::vector<LinkedList> lists = TakeLists(channel, task);
  if (task.progress != nullptr) task.progress->Phase("compare lists");
  crypto::Prg stream(crypto::RandomKey(random));
  LinkedAnswers answers = LinkPseudonyms(lists, channel.names(), stream);
  if (task.hidden()) MakeSpine(task.Positions(answers.total()), answers, stream);
  if (task.level == Level::kHiddenNoisy) answers.noisy = NoisyTotal(task, answers.total());
  LinkedJoin join;
  join.linked = (answers.noisy ? *answers.noisy : answers.total()) >= task.minimum;
  join.counts = answers.counts;
  std::vector<Bytes> messages;
  for (size_t holder = 0; holder < lists.size(); ++holder)
    messages.push_back(EncodeAnswer(answers, holder, join.linked));
  std::vector<net::Send> sends(lists.size());
  for (size_t holder = 0; holder < lists.size(); ++holder) {
    sends[holder].to = holder;
    sends[holder].bytes = messages[holder];
  }
  channel.Exchange(sends, {});
  return join;
}

void CompareLinked(net::Channel& channel, const LinkedJoinTask& task, const LinkedJoin& join,
                   crypto::RandomSource& random) {
  const std::string common = ToHex(join.common);
  const BlockDigests mine = {RowOrderDigest(kLinkedBlock, {&common, 1})};
  try {
    CompareRowOrder(channel, LinkedBlocks(task), mine, channel.names(), random);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadData) throw;
    throw Error(
        ErrorCode::kPeerFault,
        task.hidden()
            ? "the holders were told different numbers of positions or of people, or have no "
              "common key of pseudonyms"
            : "the rows that were linked are not of the same people at all holders",
        fmt::format("the software of '{}' or of a holder departs from the protocol: do not "
                    "use this matching",
                    channel.names()[task.linker()]));
  }
}

LinkedJoinTraffic CompareLinkedTrafficBetween(const LinkedJoinTask& task, size_t from, size_t to) {
  const RowOrderTraffic traffic = RowOrderTrafficBetween(LinkedBlocks(task), from, to);
  return {traffic.messages, traffic.messages * traffic.bytes_per_message};
}

}  // namespace partita::match
