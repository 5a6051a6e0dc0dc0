#include "node/audit/log_days.h"

#include <algorithm>

namespace partita::node {
namespace {

// Of the sender's messages, which reach this node in any order.
bool IsOlderMessage(const Message& message, const PeerLog& kept) {
  return message.incarnation == kept.incarnation && message.number < kept.message_number;
}

}  // namespace

LogDay DayAfter(const LogDay& before, int64_t day, const AuditHead& newest) {
  LogDay next;
  next.number = before.number + 1;
  next.day = day;
  next.entry = newest.number;
  ByteWriter fields;
  fields.Raw(before.digest);
  fields.U64(next.number);
  fields.U64(static_cast<uint64_t>(day));
  fields.U64(newest.number);
  fields.Raw(newest.digest);
  next.digest = crypto::Sha256().Field(kLogDayDomain).Field(fields.Take()).Finish();
  return next;
}

HeadVerdict JudgeHead(const PeerLog& kept,
                      const std::function<std::optional<Digest>(uint64_t number)>& digest_of,
                      const Message& message, const Digest& name, const LogHead& head) {
  HeadVerdict verdict;
  if (head.first > kept.number + 1) {
    verdict.lacks = true;
    return verdict;
  }
  const uint64_t last = head.first + head.days.size() - 1;
  const auto told = [&](uint64_t number) {
    return number < head.first ? head.before : head.days[number - head.first].digest;
  };
  for (uint64_t number = head.first - (head.first > 1 ? 1 : 0);
       number <= std::min(last, kept.number) && verdict.departs == 0; ++number) {
    const std::optional<Digest> before = digest_of(number);
    if (before && *before != told(number)) verdict.departs = number;
  }
  const bool is_older = IsOlderMessage(message, kept);
  if (verdict.departs == 0 && head.newest < kept.number && !is_older)
    verdict.departs = head.newest + 1;
  if (verdict.departs == 0 && last <= kept.number) return verdict;
  const uint64_t from = verdict.departs == 0 ? kept.number + 1 : verdict.departs;
  for (uint64_t number = from; number <= last; ++number)
    verdict.fresh.push_back({number, told(number), name});
  verdict.newest = PeerLog{message.from,        last,           head.days.back().day, told(last),
                           message.incarnation, message.number, kept.departed_day};
  return verdict;
}

}  // namespace partita::node
