// The folder of one node: what `partita node init` makes and `partita node serve` works in.
//
//   node.toml      what the site decides: name, address, tables, limits, stewards
//   cert.pem       the node key, by which other nodes know this one
//   key.pem        (0600)
//   stewards.pem   the certificate of the site's steward; its key is elsewhere, never here
//   ended          the list of ended approvals, which the steward signs and jobs read
//   parties        the list of parties, likewise
//   restored       the mark of a restore, and `reopened` and `kept`, the steward's words for it (job/closed.h)
//   job/           (0700) the key with which jobs sign what they found, and its certificate
//   state/         (0700) what the node knows: studies, parties, invitations; studies may be in a database (node_state.h)
//   run/           (0700) folders of studies, the jobs' own
//   control.sock   (0600) while the node serves: the own people's commands
//
// Of services, whose processes are users of their own (service_users.h), root has the folder and what it decides, and
// each user its part: partita-node key.pem, state/, dictionaries/ and control/, with control.sock, `reopened` and `kept` in it; partita-job
// job/ and run/; partita-web web/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "node/study/retention.h"
#include "node/study/step.h"

namespace partita::node {

struct CatalogueTable {
  std::string name;
  std::string data;     // a file, or a source file of a database (data/source/open_table.h)
  std::string account;  // its name in the ledger; empty: the only one there
  uint64_t stewards_needed = 1;  // persons who have to sign: 1 or 2 (study/approval/persons.h)

  bool operator==(const CatalogueTable&) const = default;
};

// Empty: the state is a file in the folder.
struct StatePlace {
  std::string database;               // libpq's connection string (base/postgres_connect.h)
  std::filesystem::path credentials;  // the file of its password; empty: it needs none
  int64_t timeout_seconds = 30;       // of one statement

  bool operator==(const StatePlace&) const = default;
};

// `[services]`: the processes of the site are users of their own, by name or number (service_users.h).
struct ServiceNames {
  std::string node, pages, jobs;
  std::filesystem::path job_socket;  // where a connection starts a job

  bool operator==(const ServiceNames&) const = default;
};

struct NodeConfig {
  std::string name;
  std::string address;                   // "host:port" as other nodes reach this one
  std::string listen;                    // "host:port" on this machine
  std::vector<std::string> inner_hosts;  // hosts inside of the own network that peers may be at
  std::vector<CatalogueTable> tables;
  std::filesystem::path ledger;  // the privacy ledger of all tables; empty: none is kept
  bool ethics_required = false;  // studies without an ethics reference are not taken here
  RetentionRules retention;
  StatePlace state;
  Limits limits;
  std::filesystem::path stewards;  // a file of PEM certificates
  std::filesystem::path ended;     // the list of ended approvals; empty: none is kept
  std::filesystem::path parties;   // the list of parties that jobs go by
  std::filesystem::path
      signer;  // socket of the steward's signer, to be asked for policies; empty: none
  std::optional<ServiceNames>
      services;  // none: all processes are of one user, and jobs children of the node

  bool operator==(const NodeConfig& other) const {
    return name == other.name && address == other.address && listen == other.listen &&
           inner_hosts == other.inner_hosts && tables == other.tables && ledger == other.ledger &&
           ethics_required == other.ethics_required && retention == other.retention &&
           state == other.state && stewards == other.stewards && ended == other.ended &&
           parties == other.parties && signer == other.signer && services == other.services;
  }
};

class NodeFolder {
 public:
  explicit NodeFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "node.toml"; }
  std::filesystem::path certificate() const { return path_ / "cert.pem"; }
  std::filesystem::path key() const { return path_ / "key.pem"; }
  std::filesystem::path job_certificate() const { return path_ / "job" / "cert.pem"; }
  std::filesystem::path job_key() const { return path_ / "job" / "key.pem"; }
  std::filesystem::path restored() const { return path_ / "restored"; }
  std::filesystem::path reopened() const { return spoken() / "reopened"; }
  std::filesystem::path kept() const { return spoken() / "kept"; }
  // NAME.toml of each table that has a dictionary (job/own_dictionary.h).
  std::filesystem::path dictionaries() const { return path_ / "dictionaries"; }
  std::filesystem::path state() const { return path_ / "state"; }
  std::filesystem::path run() const { return path_ / "run"; }
  std::filesystem::path control() const { return spoken() / "control.sock"; }
  std::filesystem::path web() const { return path_ / "web"; }

 private:
  // What the node writes and others read or ask.
  std::filesystem::path spoken() const {
    std::error_code none;
    const std::filesystem::path own = path_ / "control";
    return std::filesystem::is_directory(own, none) ? own : path_;
  }

  std::filesystem::path path_;
};

// Strict: unknown or missing keys, addresses and names that are none are kBadInput with file, line and
// column. folder: relative paths are in it.
NodeConfig ParseNodeConfig(const std::string& text, const std::filesystem::path& folder);
NodeConfig LoadNodeConfig(const NodeFolder& folder);

// Where the lists are that the steward's signer writes, and its socket; relative paths are in the folder.
struct NodePlaces {
  std::filesystem::path ended = "ended", parties = "parties";
  std::filesystem::path signer;  // empty: `partita node serve --sign` says it
  std::optional<ServiceNames> services;
};

// Makes the folder with a node key of two years, and a key of its jobs. Throws kUsage if a node is there, or for a name or an
// address that is none; what was made before an error stays, and is refused the next time.
void InitNodeFolder(const NodeFolder& folder, const std::string& name, const std::string& address,
                    const NodePlaces& places = {});

// The certificate of the site's steward. Throws kBadInput unless there is exactly one in the file and
// it is made out to the site's name, kUsage if the file is not there yet.
std::shared_ptr<x509_st> LoadSteward(const NodeConfig& config);
// Writes the file. Throws kUsage if it is there, kBadInput for a certificate of another name, or over
// the node's own key.
void RegisterSteward(const NodeFolder& folder, const x509_st& certificate);

}  // namespace partita::node
