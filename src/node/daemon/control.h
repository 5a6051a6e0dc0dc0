// What the own people may ask a node: JSON objects with "do" and the fields of that request, strict; the
// answers are JSON objects, too. Bytes are hexadecimal digits.
//
//   status                               name, address, studies, parties; half_signed: studies that one of two persons of
//                                        this site has signed (study, signed: who, needed); restored: null, or of the newest restore time,
//                                        closed (the tables, until the steward opens them), accounts (how many count
//                                        as spent, before and after that), kept (how many do not, by the steward's word),
//                                        asked, answered (sites, what they were shown of the ledger, and those with a
//                                        whole memory); of a mark that cannot be read time is empty
//   invite       name                    line, number
//   join         line                    number (connects)
//   pairing      number                  state, name, shown, role, hash, party, reach
//   digits       number, digits
//   sign-pairing number, certificate, signature
//   parties                              list, document, addresses, waiting, pairings
//   take-list    document                a list signed by the steward
//   stop
//   go-on-text                           text that the steward signs
//   go-on        certificate, signature
//   studies
//   list         which, after, limit     "open", "over" or "all" studies: open ones first, then at most `limit` of
//                                        those that ended last; next: `after` of the next page, or empty
//   files        studies                 numbers in a row: the files of the first of them, as many as 1 MiB takes
//   result       study, name, offset     of "report.html" or "result.json": size, and bytes from there on
//   study        study                   all of one, `kept` of one that is over (ended, result_until, documents_until,
//                                        result_kept; else null), and `documents`: what the signer takes (sign/signer.h)
//   tables       budgets                 what a job says of them (job/table_look.h), with budgets the newest table that was
//                                        frozen of each (`frozen`: study, rows, missing_cells, or null); `dictionary` of each: text, version; and `studies`:
//                                        open ones and the newest that are over, those to which this site brings a table
//   dictionary   table                   text, version: what the site keeps of it (dictionary_keeper.h)
//   save-dictionary table, text, version version, changes
//   draft-dictionary table               variables, left_out: of its columns (job/own_dictionary.h); reads the table
//   propose      file, days              study
//   decide       study, decision, document         an approval or rejection signed by the steward
//   withdraw     study, reason
//   audit        actor, before, limit, [study]      entries (the newest first, below number `before`; 0: all; actor: a
//                                        name, or "node" or "terminal"; empty: all), next, count, head, fault
//   audit-check  from                    next (0: all were looked at), fault: null, or number and what
//   audit-sites                          sites: of each party, and of each site that ever told its log, what it keeps of the own log
//                                        (`has`: number, day, fits, departs, had; null: nothing) and what is kept of its log
//                                        (`told`: number, day, digest; null: nothing); newest: the own newest day (number,
//                                        day, digest); faults, the newest first, at most 100
//   retention                            results_days (0: as documents), documents_years; frozen: open studies that hold frozen
//                                        rows; over, deleted: how many; studies: the 100 that are over of which something
//                                        goes first, each as `kept` of a study
//   backup       -                        file: a copy of the state, which whoever asked removes
//   restored     -                        mark: what the steward signs to open the tables (job/closed.h), empty if they are
//                                         open; time, accounts: how many count as spent then
//   reopen       certificate, signature
//   kept-budgets -                       finding: of a job, signed, by what other sites answered (job/kept_look.h); answers, list
//   keep         document                the steward's word for it (job/kept_budgets.h)
//   note         action, subject, outcome, [study]  for the audit log: "export", "login" and what follows them in
//                                        audit/audit.h
//
// Each takes `account`, of the pages, for whom it is asked: for the audit log. Which of them the pages may ask, where
// they have a user of their own: control_rights.h.
//
// Errors are of the one type; kUsage for a request that is none.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "crypto/random.h"
#include "node/daemon/control_rights.h"
#include "node/daemon/dictionary_keeper.h"
#include "node/daemon/heads_desk.h"
#include "node/daemon/job_errands.h"
#include "node/daemon/node_folder.h"
#include "node/daemon/pairing_desk.h"
#include "node/daemon/party_keeper.h"
#include "node/service/node_loop.h"

namespace partita::node {

class RequestFields;

inline constexpr int64_t kDaySeconds = 86'400;
inline constexpr size_t kMostAuditShown = 500;
inline constexpr size_t kMostListed = 100;  // studies in one answer
inline constexpr char kGoOnDomain[] = "partita node go on 1";

class Control {
 public:
  struct Parts {
    const NodeConfig& config;
    const crypto::Identity& identity;
    Digest steward{};  // fingerprint of the own one
    NodeLoop& loop;
    PartyKeeper& keeper;
    PairingDesk& desk;
    InvitationStore& own_lines;
    crypto::RandomSource& random;
    const Log& log;
    std::filesystem::path run;  // folders of studies
    NodeFolder folder;
    TableAsker tables;
    HeadsDesk& heads;
  };

  explicit Control(Parts parts)
      : parts_(std::move(parts)), dictionaries_(parts_.folder.dictionaries()) {}

  // From any thread. Throws Error.
  std::string Answer(const std::string& request, Asker asker = Asker::kOwn);

 private:
  using Answered = nlohmann::ordered_json;
  using Request = Answered (Control::*)(RequestFields& request, const Actor& actor);

  Answered Status(RequestFields& request, const Actor& actor);
  Answered MakeInvitation(RequestFields& request, const Actor& actor);
  Answered JoinPairing(RequestFields& request, const Actor& actor);
  Answered LookAtPairing(RequestFields& request, const Actor& actor);
  Answered EnterDigits(RequestFields& request, const Actor& actor);
  Answered SignPairing(RequestFields& request, const Actor& actor);
  Answered ListParties(RequestFields& request, const Actor& actor);
  Answered TakeList(RequestFields& request, const Actor& actor);
  Answered EmergencyStop(RequestFields& request, const Actor& actor);
  Answered Drain(RequestFields& request, const Actor& actor);
  Answered GoOnText(RequestFields& request, const Actor& actor);
  Answered GoOn(RequestFields& request, const Actor& actor);
  Answered OpenStudies(RequestFields& request, const Actor& actor);
  Answered ListStudies(RequestFields& request, const Actor& actor);
  Answered StudyFiles(RequestFields& request, const Actor& actor);
  Answered ResultPiece(RequestFields& request, const Actor& actor);
  Answered OneStudy(RequestFields& request, const Actor& actor);
  Answered ListTables(RequestFields& request, const Actor& actor);
  Answered ReadDictionary(RequestFields& request, const Actor& actor);
  Answered SaveDictionary(RequestFields& request, const Actor& actor);
  Answered DraftDictionary(RequestFields& request, const Actor& actor);
  Answered Propose(RequestFields& request, const Actor& actor);
  Answered Decide(RequestFields& request, const Actor& actor);
  Answered Withdraw(RequestFields& request, const Actor& actor);
  Answered ReadAudit(RequestFields& request, const Actor& actor);
  Answered CheckAudit(RequestFields& request, const Actor& actor);
  Answered SitesOfLogs(RequestFields& request, const Actor& actor);
  Answered Retention(RequestFields& request, const Actor& actor);
  Answered Backup(RequestFields& request, const Actor& actor);
  Answered RestoredTables(RequestFields& request, const Actor& actor);
  Answered ReopenTables(RequestFields& request, const Actor& actor);
  Answered KeptBudgets(RequestFields& request, const Actor& actor);
  Answered KeepBudgets(RequestFields& request, const Actor& actor);
  Answered NoteOfPeople(RequestFields& request, const Actor& actor);

  // Does it on the loop's thread, and waits.
  void OnLoop(const std::function<void(Node& node, int64_t now)>& task);

  void Note(const Actor& actor, AuditAction action, const std::string& subject,
            const std::string& outcome = "", const StudyId& study = {});
  void NoteList(const Actor& actor, const PartyList& before, const PartyList& after);

  // Throws kUsage unless node.toml has such a table.
  void RequireTable(const std::string& name) const;

  Parts parts_;
  DictionaryKeeper dictionaries_;
  std::mutex mutex_;
  Bytes go_on_;  // what the steward has to sign; used once
};

}  // namespace partita::node
