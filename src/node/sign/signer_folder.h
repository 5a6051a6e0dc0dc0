// The steward's own folder: the key that signs for a site, and what its signer remembers. `partita node
// steward` makes it; the node never needs it.
//
//   steward.pem steward.key   the key, under a passphrase (crypto/passphrase_key.h)
//   job.pem                   the certificate of the node's jobs: what they sign of a table counts
//   node.pem                  the certificate of the own node
//   signer.toml               where the list of ended approvals is published, and who may ask the signer
//   parties parties.mark      the signed list of parties, and which one is the newest
//   ended                     the signed list of ended approvals
//   tries                     wrong passphrases since the last right one, and when the last was tried
//   sign.sock                 while `partita node sign` serves
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/certificate.h"
#include "node/job/ended_list.h"
#include "node/parties/party_list.h"

namespace partita::node {

// The third wrong passphrase in a row, and each one after it, makes the next one wait: 1, 2, 4, 8, 16
// seconds, then 30.
inline constexpr uint32_t kFreeTries = 2;
inline constexpr int64_t kLongestTryWait = 30;
int64_t WaitAfterTries(uint32_t failures);

struct SignerConfig {
  std::string site;
  std::filesystem::path ended;   // where jobs read the list; empty: it is published nowhere
  std::filesystem::path socket;  // FOLDER/sign.sock unless it says another
  std::vector<uid_t> users;      // who may ask, beside the own user and root
};

class SignerFolder {
 public:
  explicit SignerFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path File(const std::string& name) const { return path_ / name; }

  // Throws kUsage if there is no steward's key, kBadInput for a file that is damaged.
  SignerConfig Config() const;
  crypto::Identity Certificate() const;  // without the key
  Digest Steward() const;                // fingerprint
  Digest JobKey() const;
  Bytes NodeCertificate() const;

  // Writes a new folder: the key under the passphrase, what is compared with it, signer.toml, and the first list
  // of ended approvals, which is published. Throws kUsage, also for a passphrase that is too short.
  static crypto::Identity Make(const std::filesystem::path& path, const SignerConfig& config,
                               const x509_st& node, const x509_st& jobs,
                               std::string_view passphrase);

  // The key. Throws kRefused for a wrong passphrase; and without looking at one that comes too early after
  // wrong ones, of any process. A try counts, durably, before it is made.
  crypto::Identity Open(std::string_view passphrase, int64_t now) const;
  // Seconds until a passphrase is looked at.
  int64_t WaitSeconds(int64_t now) const;

  // The newest list: the own copy, or `given` (EncodeSignedList, or empty), if it is newer and the own steward signed
  // it. Throws kUntrusted if neither is the one that was signed last, or newer.
  PartyList Parties(ByteView given) const;
  Bytes PartiesDocument() const;  // empty before the first
  // Signed, and the newest from now on; durable on return. Throws kRefused unless its serial is above that of the newest.
  Bytes KeepParties(const PartyList& list, const crypto::Identity& steward) const;

  EndedList Ended() const;
  // One more on the list: signed, kept, published. Durable on return.
  void End(const EndedStudy& study, const crypto::Identity& steward, int64_t now) const;

 private:
  void KeepEnded(const EndedList& list, const crypto::Identity& steward) const;

  std::filesystem::path path_;
};

}  // namespace partita::node
