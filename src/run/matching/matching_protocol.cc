#include "run/matching/matching_protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita::run {
namespace {

// Keys of the rows that no earlier pass matched, and which rows they are of.
struct PassKeys {
  std::vector<crypto::Digest> keys;
  std::vector<uint32_t> rows;
};

PassKeys KeysLeft(const std::vector<match::KeyedRow>& pass, const std::vector<bool>& matched) {
  PassKeys left;
  for (const match::KeyedRow& row : pass) {
    if (matched[row.row]) continue;
    left.keys.push_back(row.key);
    left.rows.push_back(row.row);
  }
  return left;
}

[[noreturn]] void ThrowBitIsFalse(const std::string& peer, size_t pass) {
  throw Error(ErrorCode::kPeerFault,
              fmt::format("party {} said that pass {} has fewer matches than the minimum, which it "
                          "has not",
                          peer, pass + 1),
              "Its software departs from the protocol: do not match with it.");
}

MatchingFound MatchPasses(net::Channel& channel, const MatchingTask& task,
                          crypto::RandomSource& random) {
  MatchingFound found;
  std::vector<bool> done(task.list->report.rows, false);
  crypto::Sha256 common;
  common.Field("partita matched common v1");
  for (size_t pass = 0; pass < task.list->passes.size(); ++pass) {
    channel.BeginPhase(fmt::format("pass {}", pass + 1));
    match::TwoPartyJoinTask join_task = JoinTaskOf(*task.file, task.party);
    join_task.minimum = pass == 0 ? task.minimum : 0;
    join_task.session =
        crypto::Sha256().Field("partita matching pass").Update(task.session).U64(pass).Finish();
    join_task.progress = task.progress;
    join_task.counted = task.counted;
    const PassKeys left = KeysLeft(task.list->passes[pass], done);
    const match::TwoPartyJoin join = match::JoinTwoLists(channel, join_task, left.keys, random);
    found.counts.push_back(join.count);
    common.Update(join.common);
    if (!join.linked) {
      // Both know count and minimum.
      if (join.count >= join_task.minimum)
        ThrowBitIsFalse(task.file->parties[1 - task.party].name, pass);
      break;
    }
    found.linked = true;
    for (const uint32_t key : join.rows) {
      found.rows.push_back(left.rows[key]);
      done[left.rows[key]] = true;
    }
  }
  found.common = common.Finish();
  return found;
}

MatchingFound MatchByPositions(net::Channel& channel, const MatchingTask& task,
                               crypto::RandomSource& random) {
  const CountNoise& noise = task.file->noise;
  const uint64_t pool = PoolSize(noise);
  // Of the matches of both pools, T are taken for granted: noise is what is more or less.
  const auto told = [&](uint64_t count) {
    const uint64_t most = std::min(task.file->parties[0].rows, task.file->parties[1].rows);
    return pool == 0 ? count : std::min(count > pool ? count - pool : 0, most);
  };
  match::TwoPartySpineTask spine_task = SpineTaskOf(*task.file, task.party);
  spine_task.minimum = task.minimum + pool;
  spine_task.session =
      crypto::Sha256().Field("partita matching positions").Update(task.session).Finish();
  spine_task.progress = task.progress;
  spine_task.counted = [&](uint64_t count) { task.counted(told(count)); };
  channel.BeginPhase(kSpinePhase);
  PassKeys own = KeysLeft(task.list->passes[0], std::vector<bool>(task.list->report.rows, false));
  const size_t keys = own.keys.size();
  const std::vector<crypto::Digest> of_pools =
      PoolKeys(task.party, pool, pool > 0 ? DrawPooled(noise, random) : 0);
  own.keys.insert(own.keys.end(), of_pools.begin(), of_pools.end());
  const match::TwoPartySpine spine = match::AlignTwoLists(channel, spine_task, own.keys, random);
  MatchingFound found{spine.linked, {told(spine.count)}, {}, spine.common};
  // Keys of pools stand at no position, as padding.
  for (const uint32_t key : spine.keys)
    found.rows.push_back(key < keys ? own.rows[key] : match::kNoRow);
  return found;
}

MatchingFound MatchByLinker(net::Channel& channel, const MatchingTask& task,
                            crypto::RandomSource& random) {
  match::LinkedJoinTask link = LinkTaskOf(*task.file);
  // Where nobody tests a minimum an approval cannot ask for one.
  link.minimum = link.level == match::Level::kHiddenNobody ? 0 : task.minimum;
  link.session = crypto::Sha256().Field("partita matching linked").Update(task.session).Finish();
  link.progress = task.progress;
  channel.BeginPhase(kLinkPhase);
  const bool holder = task.list != nullptr;
  if (!holder && link.level == match::Level::kHiddenNoisy)
    link.noise = DrawCountNoise(task.file->noise, random);
  match::LinkedJoin join =
      holder ? match::JoinByLinker(channel, link, task.list->passes, task.list->report.rows, random)
             : match::LinkLists(channel, link, random);
  if (holder) {
    for (const uint64_t count : join.counts) task.counted(count);
  }
  channel.BeginPhase(kComparePhase);
  match::CompareLinked(channel, link, join, random);
  return {join.linked, std::move(join.counts), std::move(join.rows), join.common};
}

}  // namespace

MatchingFound MatchByProtocol(net::Channel& channel, const MatchingTask& task,
                              crypto::RandomSource& random) {
  if (task.file->linked()) return MatchByLinker(channel, task, random);
  return task.file->hidden() ? MatchByPositions(channel, task, random)
                             : MatchPasses(channel, task, random);
}

}  // namespace partita::run
