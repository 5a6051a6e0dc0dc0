// The audit log as other sites see it: one digest a day, and what a site keeps of the logs of others.
//
// When the date of the node's clock changes, the day is closed: its digest is over the digest of the day
// before, the number of the day (counted from 1, one for each date on which the node served), the date, and the
// newest entry of the log. Every other site is told the digests that it lacks (LogHead), compares them with what
// it has, keeps them, and answers with a signed receipt (LogReceipt). Digests of days say nothing of entries, nor
// whether there were any: but who cuts the log, restores an older one or writes entries anew cannot make them
// again, and so shows at every site that was told.
//
// What does not show: entries after the last day that was closed; a site that tells different sites different
// logs from the first day on, until somebody compares what two of them have.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "node/audit/audit.h"
#include "node/message/bodies.h"

namespace partita::node {

inline constexpr char kLogDayDomain[] = "partita node audit day 1";

// A closed day of the own log.
struct LogDay {
  uint64_t number = 0;  // from 1
  int64_t day = 0;      // since 1970
  uint64_t entry = 0;   // the newest one
  Digest digest{};

  bool operator==(const LogDay&) const = default;
};

// The day that comes after `before` (number 0: it is the first).
LogDay DayAfter(const LogDay& before, int64_t day, const AuditHead& newest);

// The newest that another site told of its log, and by which message.
struct PeerLog {
  std::string party;
  uint64_t number = 0;
  int64_t day = 0;
  Digest digest{};
  Incarnation incarnation{};
  uint64_t message_number = 0;
  int64_t departed_day = 0;  // when it last told what did not go on; 0: never

  bool operator==(const PeerLog&) const = default;
};

// A day that another site told, and the name of the message that says so.
struct PeerDay {
  uint64_t number = 0;
  Digest digest{};
  Digest message{};

  bool operator==(const PeerDay&) const = default;
};

// A log that did not go on from what was told of it. Both messages are signed and kept.
struct LogFault {
  std::string party;
  uint64_t departs = 0, had = 0;  // from this day on, of so many
  int64_t time = 0;
  Digest before{};   // name of the message that told the day first
  Digest message{};  // of the one that told another, or that there is none

  bool operator==(const LogFault&) const = default;
};

// What another site last said that it keeps of the own log, as far as it counts here.
struct KeptReceipt {
  std::string party;
  LogReceipt receipt;
  Incarnation incarnation{};
  uint64_t message_number = 0;
  Digest message{};
  int64_t time = 0;
  int64_t fault_day = 0;  // when it last said what does not fit the own log; 0: never

  bool operator==(const KeptReceipt&) const = default;
};

// What a head is to somebody who has `kept` of that log.
struct HeadVerdict {
  uint64_t departs = 0;        // not 0: the first day that is another than before, or that is gone
  bool lacks = false;          // days before the first one are missing here: nothing is kept
  std::vector<PeerDay> fresh;  // to be kept, in the place of those from `departs` on
  std::optional<PeerLog> newest;  // if it moves
};

// kept: number 0 if nothing was told before. digest_of: of a day that was told; none if it is not known.
// name: of the message. Days that come late, in a message older than the one that told the newest, are not
// news.
HeadVerdict JudgeHead(const PeerLog& kept,
                      const std::function<std::optional<Digest>(uint64_t number)>& digest_of,
                      const Message& message, const Digest& name, const LogHead& head);

}  // namespace partita::node
