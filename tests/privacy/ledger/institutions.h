// Three institutions with a ledger each, and what their ledgers do in runs: two with a table, and a
// dealer that only countersigns.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "crypto/signature.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/seen_heads.h"
#include "tests/privacy/ledger/fixtures.h"

namespace partita::privacy::ledger {

inline constexpr double kInstitutionRho = 0.001;

// A ledger file, and what its host has seen of it.
struct LedgerFiles {
  Bytes ledger, seen;
  bool operator==(const LedgerFiles&) const = default;
};

class Institutions {
 public:
  Institutions() {
    crypto::SystemRandom random;
    for (const std::string& name : names_) {
      identities_[name] = crypto::MakeIdentity({.name = name});
      SqliteLedger::Create(Of(name));
      SqliteLedger ledger(Of(name));
      pseudonyms_[name] = HasTable(name)
                              ? ledger.OpenAccount(PolicyOf("visits", "9"), random, Now()).pseudonym
                              : ledger.JournalHead().pseudonym;
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  static bool HasTable(const std::string& name) { return name != "dealer"; }
  LedgerOptions Of(const std::string& name) const {
    return {folder_ / name.c_str(), std::chrono::milliseconds(200), ""};
  }
  // By the digest of which the party's approval is known.
  static Digest Approval(const std::string& name) { return crypto::Sha256Of(AsBytes(name)); }

  // A run from the reservations to the last charge, as run/ledger/run_ledger.h has it; `after` every
  // call that writes. Every ledger is opened and verified first, as every command does. Throws what
  // refuses the run.
  void Run(uint64_t run, const std::function<void(const std::string& name)>& after = {}) {
    const auto wrote = [&](const std::string& name) {
      if (after) after(name);
    };
    std::map<std::string, SqliteLedger> ledgers;
    std::map<std::string, uint64_t> reservations;
    std::map<std::string, Head> shown;
    const ReservationRequest request = RequestOf("visits", run, kInstitutionRho);
    for (const std::string& name : names_)
      ledgers.emplace(name, SqliteLedger(Of(name))).first->second.Verify();
    for (const std::string& name : names_) {
      SqliteLedger& ledger = ledgers.at(name);
      if (HasTable(name)) {
        reservations[name] = ledger.Reserve(request, Now()).number;
        wrote(name);
        shown[name] = ledger.HeadOf("visits");
      } else {
        shown[name] = ledger.JournalHead();
      }
    }
    for (const std::string& owner : names_) {
      for (const std::string& peer : names_) {
        if (peer == owner) continue;
        const Receipt receipt{shown[owner], request.run_id, request.agreement_hash};
        ledgers.at(peer).Witness(receipt, owner, Now());
        wrote(peer);
        if (!HasTable(owner)) continue;
        const crypto::Identity& identity = identities_.at(peer);
        ledgers.at(owner).Countersign(
            "visits", reservations[owner],
            {peer, shown[owner], crypto::EncodeCertificate(*identity.certificate),
             SignReceipt(identity, receipt)},
            Now());
        wrote(owner);
      }
    }
    for (const std::string& name : names_) {
      const Used use{Approval(name), 9, request.run_id};
      if (HasTable(name)) {
        ledgers.at(name).Spend("visits", reservations[name], Now(), use);
      } else {
        ledgers.at(name).Use(use, Now());
      }
      wrote(name);
    }
  }

  // Everything that a ledger says: to its owner, to peers that show their heads, to approvals.
  std::string Meaning(const std::string& name) const {
    SqliteLedger ledger(Of(name));
    std::string meaning;
    for (const std::string& table : ledger.Tables()) {
      meaning += StandingJson(ledger.StandingOf(table));
      meaning += ChainJson(ledger.HeadOf(table).pseudonym, ledger.Entries(table));
    }
    for (const auto& [owner, head] : LastShown(ledger))
      meaning += owner + " " + ToHex(EncodeHead(head.head)) + "\n";
    for (const Digest& run : ledger.RunsOf(Approval(name))) meaning += ToHex(run) + "\n";
    return meaning + std::to_string(ledger.Summary().rows);
  }
  // What counts against the budgets, spent and reserved together.
  Cost Charged(const std::string& name) const {
    const Standing standing = SqliteLedger(Of(name)).StandingOf("visits");
    return standing.spent.outside + standing.reserved.outside;
  }

  LedgerFiles Save(const std::string& name) const {
    const std::filesystem::path file = Of(name).file;
    return {ReadAll(file), ReadAll(SeenHeads::PathOf(file))};
  }
  void PutBack(const std::string& name, const LedgerFiles& files) const {
    PutBackLedger(name, files);
    WriteAll(SeenHeads::PathOf(Of(name).file), files.seen);
  }
  // The ledger alone, as from a backup of that file.
  void PutBackLedger(const std::string& name, const LedgerFiles& files) const {
    WriteAll(Of(name).file, files.ledger);
  }
  // Of the two lines of defence, leaves the chains alone.
  void ForgetSeen(const std::string& name) const {
    std::filesystem::remove(SeenHeads::PathOf(Of(name).file));
  }

 private:
  std::map<std::string, Receipt> LastShown(SqliteLedger& ledger) const {
    std::map<std::string, Receipt> last;
    for (const auto& [owner, pseudonym] : pseudonyms_) {
      if (const auto receipt = ledger.LastReceipt(pseudonym)) last[owner] = *receipt;
    }
    return last;
  }

  static Bytes ReadAll(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
  }
  static void WriteAll(const std::filesystem::path& file, const Bytes& bytes) {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }

  const std::vector<std::string> names_ = {"north", "south", "dealer"};
  Folder folder_;
  std::map<std::string, crypto::Identity> identities_;
  std::map<std::string, Pseudonym> pseudonyms_;  // under which they show heads
};

}  // namespace partita::privacy::ledger
