// The steward's signer: it alone has the steward's key, and signs what it has computed itself.
//
// What may be asked, as JSON objects with "do", read strictly (daemon/request_fields.h); bytes are
// hexadecimal digits, and [fields] may be left out. `documents` is what the daemon says of a study under
// that name, `list` what it says is the signed list of parties (daemon/control.h). Both are only bytes: the
// number of the study, plan, roster, list and the statement of the job are verified here.
//
//   status                                  site, steward, serial, parties, wait_seconds
//   parties   list                          parties, document
//   study     documents, list               what a steward is shown; with the draft of a policy for studies like this one
//                                           (study/approval/policy_draft.h), or why there is none
//   approve   documents, list, code, passphrase, [table], [deputy], [min_cell], [valid_until], [accept_useless]
//                                           document; complete: false if it waits for a second person
//   reject    study, documents, list, reason, passphrase, [deputy]                              document
//   withdraw  study, documents, passphrase, [deputy]    {}: on the list of ended approvals (job/ended_list.h)
//   pairing   name, role, hash, address, passphrase       certificate, signature
//   add       hash, party, list, [passphrase]             document: the list with a party that was paired
//   accept    name, node_key, steward_key, introductions, list, passphrase       document, introducers
//   revoke    name, list, passphrase                      document
//   publish                                 {}: both lists once more, where a restored node's jobs read them
//   go-on     text, passphrase                            certificate, signature
//   reopen    mark, passphrase                            certificate, signature (job/closed.h)
//   kept-budgets  finding, answers, list     lines: what is signed (sign/kept_word.h)
//   keep      finding, answers, list, passphrase          document: the steward's word for kept budgets
//   policy-add       text, passphrase       name, until
//   policy-list                             policies: name, from, until, results, max_results, epsilon, epsilon_in_all,
//                                           tables, exact (how many files), uses: number, study, epsilon, approved; text
//   policy-end       name, passphrase       {}
//   deputy-key  name, passphrase            name, key: a new key under that passphrase, which counts for nothing yet
//   deputy-add  name, key, from, until, passphrase      name, from, until: the steward names the deputy of that key
//   deputy-list                             deputies: name, key, state, from, until
//   deputy-end  name, passphrase            {}
//   policy-approve   documents, list        policy, document; or reasons, if it fits none
//
// `approve` and `reject` sign an approval (docs/approvals.md), `approve` only if `code` is the one computed
// here, so that whoever shows a plan and sends the passphrase cannot have another study signed by
// mistake; what a process that takes passphrases does on purpose, only the code on another screen shows.
// `reject` and `withdraw` put the study on the list of ended approvals. They name it by `study`, its number,
// and refuse documents of another one: the daemon does not choose what is ended.
//
// `deputy` is the name of a deputy (study/approval/persons.h), whose passphrase it then is. Every other request that takes
// a passphrase is the steward's alone. Where a table asks for two persons, the draft says so: the first `approve` signs
// it, its document comes back in `documents` (`first`), and the second signs under the same draft. The table's rule is
// the job's word; `four_eyes` of signer.toml holds without it. Who proposed the study is not known here.
//
// `accept` names the keys that the steward was shown; introductions with others do not count. Each that does
// is verified: signed, for this site, by a node key that the own list has of its introducer
// (parties/introduction.h). A daemon can leave introductions out, or show an old one again; it cannot make one up.
//
// A pairing takes two signatures, with a wait for the other site between them: after `pairing` the key stays
// in this object for an hour at most, for one `add` of that hash and name. That the digits agreed, and
// the keys of the other site, are the daemon's word: compare fingerprints if the daemon is not trusted.
//
// `policy-approve` takes no passphrase: it signs by the key of a policy what fits it (by_policy.h). Own jobs hold the
// approval against the policy by themselves (job/own_policy.h): this process is not what bounds a key that was stolen.
// Whoever may ask the signer may ask that, and `policy-list`; users of `only_policies` of signer.toml nothing else: that
// of the node, where the pages have another, needs no more, and cannot try passphrases.
//
// Errors are of the one type: kUsage, kUntrusted (documents that do not fit together), kRefused (passphrase,
// a study that was taken back), and what ReadForSteward throws.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "node/sign/signer_folder.h"
#include "node/sign/study_reader.h"

namespace partita::node {

struct SignerParts {
  SignerFolder folder;
  StudyReader reader = ReadForSteward;
  std::function<int64_t()> now;           // seconds of base/utc_time.h
  std::vector<uid_t> only_policies = {};  // as of SignerConfig
};

class Signer {
 public:
  explicit Signer(SignerParts parts) : parts_(std::move(parts)) {}

  // From any thread. One request is answered at a time, except while a study is read, which is outside of
  // that order: one at a time, too. caller: who asks, whose wrong passphrases are counted. Throws Error.
  std::string Answer(const std::string& request, Caller caller = {});
  // Drops the key of a pairing whose hour is over; to be called now and then. Whether no key is in memory.
  bool Forget();

 private:
  // Of a pairing whose other half is waited for.
  struct Unlocked {
    crypto::Identity steward;
    std::string name;
    Digest hash{};
    int64_t until = 0;
  };

  void ForgetLate(int64_t now);

  SignerParts parts_;
  std::mutex mutex_, reading_;
  std::optional<Unlocked> unlocked_;
};

}  // namespace partita::node
