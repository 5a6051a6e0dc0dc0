// What the configuration of a node gives to its jobs. Paths are root's or the job's; none of them
// comes from a study, a peer or the daemon's state.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace partita::node {

struct JobTable {
  std::filesystem::path data;  // a file, or a source file of a database (data/source/open_table.h)
  std::string account;         // its name in the ledger; empty: the only one
  uint64_t stewards_needed = 1;  // persons who have to sign for it
};

struct JobSettings {
  std::string self;  // name of the own party
  // A folder STUDY_ID (64 hexadecimal digits) for each study is made in it, mode 0700.
  std::filesystem::path studies;
  std::map<std::string, JobTable> catalogue;  // by the name of the table
  std::filesystem::path dictionaries;  // NAME.toml of each table that has one (own_dictionary.h)
  std::filesystem::path ledger;        // empty: this party keeps none
  bool ethics_required = false;        // of every study: a reference ([study] of its file)
  // PEM certificates of the own stewards, one after the other, at least one. Owned by root, or by the
  // user of the job, and written by nobody else.
  std::filesystem::path stewards;
  std::filesystem::path parties;  // the signer's list: EncodeSignedList
  // The list of ended approvals, which the stewards' signer writes; empty: none is kept.
  std::filesystem::path ended;
  // The mark of a restore, and the steward's words for it: that all is spent, or which budgets are kept (closed.h);
  // empty: there is none.
  std::filesystem::path restored, reopened, kept;
  std::filesystem::path job_certificate, job_key;  // with which `commit` signs (statement.h)
  std::filesystem::path node_certificate;  // PEM, of the own node key, which jobs do not have
  // "host:port" under which the offer says that this node is reached; the host is OnePortOptions::host.
  std::string address;
  // The node's user, from whom orders are taken; none: it is the own one.
  std::optional<uid_t> orders_from;
  // The node is another user, and reads what StudyFolder shows: by the group of `studies`, whose folder hands it on
  // (setgid). Everything else is the jobs' alone.
  bool shown_to_node = false;
  std::chrono::milliseconds connect_timeout{60'000};  // for the other parties of a run to come up
};

}  // namespace partita::node
