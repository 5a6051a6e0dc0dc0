#include "node/daemon/backup.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/sqlite.h"
#include "base/utc_time.h"
#include "crypto/passphrase_key.h"
#include "crypto/signature.h"
#include "node/daemon/node_state.h"
#include "node/job/closed.h"
#include "node/store/sqlite_store.h"
#include "privacy/ledger/seen_heads.h"
#include "run/ledger/open_ledger.h"
#include "run/simulate/temporary_folder.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBackupFiles = 1200;  // a dictionary for each table, and few others
constexpr char kState[] = "state/node.sqlite", kAccounts[] = "web/accounts.sqlite";
constexpr char kLedger[] = "ledger", kLedgerSeen[] = "ledger.seen";
constexpr char kNodeKey[] = "key.pem", kNodeCertificate[] = "cert.pem";
constexpr char kJobKey[] = "job/key.pem", kJobCertificate[] = "job/cert.pem";
constexpr char kSteward[] = "stewards.pem", kConfig[] = "node.toml";
constexpr char kMark[] = "restored", kWord[] = "reopened", kKept[] = "kept";
constexpr char kStateFolder[] = "state/";
// What is hidden in them stays hidden.
constexpr char kDictionaryFolder[] = "dictionaries/";
constexpr std::string_view kDictionaryEnding = ".toml";

struct NodeBackup {
  std::string owner;
  int64_t time = 0;
  std::map<std::string, Bytes> files;
};

Error NoBackup(const std::string& what) {
  return {ErrorCode::kBadInput, "this is no backup of a node that can be used: " + what,
          "Take another copy of the file; nothing was restored."};
}

Error CopyFailure(const std::string& file, int /*result_code*/, const std::string& reason) {
  return {ErrorCode::kStorage, "cannot copy the database " + file + ": " + reason,
          "Try again, and check the disk."};
}

Bytes FileBytes(const fs::path& file, const char* what) {
  const std::string text = ReadFile(file, kMaxBackupBytes, what);
  return {text.begin(), text.end()};
}

std::string_view TextOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void PutFile(const fs::path& file, const Bytes& content) {
  WriteFileAtomically(file.string(), TextOf(content));
}

// Of a database that others may use meanwhile.
Bytes DatabaseBytes(const fs::path& file, const run::TemporaryFolder& scratch) {
  const fs::path copy = scratch.path() / "copy.sqlite";
  const std::string name = copy.string();
  {
    sqlite::Database database(file.string(),
                              {.fail = CopyFailure, .patience = std::chrono::seconds(30)});
    sqlite::Statement into(database, "VACUUM INTO ?");
    into.Bind(1, name).Step();
  }
  Bytes bytes = FileBytes(copy, "the copy of a database");
  fs::remove(copy);
  return bytes;
}

// Lists of a node's state are files of small letters.
bool IsStateList(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

// Root, for as long as this lives, as the user of a file; another user, or root's own file: nothing changes.
class AsOwner {
 public:
  explicit AsOwner(const fs::path& file) : group_(::getegid()) {
    struct stat status {};
    if (::geteuid() != 0 || ::stat(file.c_str(), &status) != 0 || status.st_uid == 0) return;
    changed_ = ::setegid(status.st_gid) == 0 && ::seteuid(status.st_uid) == 0;
  }
  AsOwner(const AsOwner&) = delete;
  AsOwner& operator=(const AsOwner&) = delete;
  ~AsOwner() {
    // What was root a moment ago may be it again.
    if (changed_ && (::seteuid(0) != 0 || ::setegid(group_) != 0)) std::abort();
  }

 private:
  gid_t group_;
  bool changed_ = false;
};

// A key is loaded by its owner only (crypto/certificate.h), and of services each is another user's.
crypto::Identity KeyOfNode(const fs::path& certificate, const fs::path& key) {
  const AsOwner owner(key);
  return crypto::LoadIdentity(certificate, key);
}

Bytes ClosedKey(const fs::path& certificate, const fs::path& key, std::string_view passphrase) {
  const run::TemporaryFolder scratch;
  crypto::SavePassphraseIdentity(KeyOfNode(certificate, key), scratch.path() / "cert.pem",
                                 scratch.path() / "key.pem", passphrase);
  return FileBytes(scratch.path() / "key.pem", "a key");
}

crypto::Identity OpenedKey(const NodeBackup& backup, const char* certificate, const char* key,
                           std::string_view passphrase) {
  const run::TemporaryFolder scratch;
  PutFile(scratch.path() / "cert.pem", backup.files.at(certificate));
  PutFile(scratch.path() / "key.pem", backup.files.at(key));
  return crypto::LoadPassphraseIdentity(scratch.path() / "cert.pem", scratch.path() / "key.pem",
                                        passphrase);
}

bool IsDictionary(const std::string& name) {
  return name.ends_with(kDictionaryEnding) &&
         crypto::IsPartyName(name.substr(0, name.size() - kDictionaryEnding.size()));
}

bool IsNameOfBackup(const std::string& name) {
  static constexpr const char* kNames[] = {kState,   kAccounts,        kLedger, kLedgerSeen,
                                           kNodeKey, kNodeCertificate, kJobKey, kJobCertificate,
                                           kSteward, kConfig,          kMark,   kWord,
                                           kKept};
  const std::string folder = kStateFolder, dictionaries = kDictionaryFolder;
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         (name.starts_with(folder) && name != folder + "lock" &&
          IsStateList(name.substr(folder.size()))) ||
         (name.starts_with(dictionaries) && IsDictionary(name.substr(dictionaries.size())));
}

NodeBackup ReadFields(ByteReader& reader) {
  NodeBackup backup;
  if (reader.String(sizeof(kBackupDomain)) != kBackupDomain)
    throw NoBackup("it is of another kind or version");
  backup.owner = reader.String(crypto::kMaxPartyName);
  backup.time = static_cast<int64_t>(reader.U64());
  if (!crypto::IsPartyName(backup.owner) || backup.time < 0 || backup.time > kMaxUtc)
    throw NoBackup("it is damaged");
  const uint32_t files = reader.U32();
  for (uint32_t i = 0; i < files; ++i) {
    std::string name = reader.String(kMaxBackupFiles);
    if (i >= kMaxBackupFiles || !IsNameOfBackup(name)) throw NoBackup("it is damaged");
    if (!backup.files.emplace(std::move(name), reader.Blob(kMaxBackupBytes)).second)
      throw NoBackup("it is damaged");
  }
  return backup;
}

Bytes EncodeFields(const NodeBackup& backup) {
  ByteWriter writer;
  writer.String(kBackupDomain);
  writer.String(backup.owner);
  writer.U64(static_cast<uint64_t>(backup.time));
  writer.U32(static_cast<uint32_t>(backup.files.size()));
  for (const auto& [name, content] : backup.files) {
    writer.String(name);
    writer.Blob(content);
  }
  return writer.Take();
}

// The signature is looked at.
NodeBackup DecodeBackup(ByteView bytes) {
  NodeBackup backup;
  Signature signature;
  try {
    signature = ReadSigned(
        bytes, [&](ByteReader& reader) { backup = ReadFields(reader); },
        NoBackup("it is cut, or damaged"));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadInput) throw;
    throw NoBackup("it is cut, or damaged");
  }
  for (const char* name : {kState, kNodeKey, kNodeCertificate, kJobKey, kJobCertificate, kConfig}) {
    if (!backup.files.contains(name)) throw NoBackup(fmt::format("there is no {} in it", name));
  }
  const auto certificate = crypto::ParseCertificate(TextOf(backup.files.at(kNodeCertificate)));
  const bool is_own = certificate != nullptr && crypto::Describe(*certificate).name == backup.owner;
  if (!is_own || !IsSignedBy(signature, {crypto::Sha256Of(crypto::EncodeCertificate(*certificate))},
                             kBackupDomain, EncodeFields(backup)))
    throw NoBackup("it was changed since the node signed it, or another key signed it");
  return backup;
}

// Pseudonyms of all accounts.
std::set<Digest> AccountsOf(const fs::path& ledger) {
  std::set<Digest> accounts;
  privacy::ledger::SqliteLedger book = run::OpenLedger(ledger);
  for (const std::string& table : book.Tables())
    accounts.insert(book.StandingOf(table).head.pseudonym);
  return accounts;
}

void MakePrivateFolder(const fs::path& path) {
  fs::create_directories(path);
  if (::chmod(path.c_str(), 0700) != 0) {
    throw Error(ErrorCode::kUsage, fmt::format("cannot close the folder {}", path.string()),
                "Choose a folder of your own.");
  }
}

void RequireFree(const NodeBackup& backup, const NodeFolder& folder) {
  // What is there stays, node.toml too.
  RequireNoState(
      folder, fs::exists(folder.config())
                  ? LoadNodeConfig(folder)
                  : ParseNodeConfig(std::string(TextOf(backup.files.at(kConfig))), folder.path()));
  if (fs::exists(folder.certificate()) &&
      FileBytes(folder.certificate(), "a certificate") != backup.files.at(kNodeCertificate)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("there is another node in {}", folder.path().string()),
                "Choose another folder.");
  }
}

void PutKey(const crypto::Identity& identity, const fs::path& certificate, const fs::path& key) {
  if (fs::exists(key) && fs::exists(certificate)) return;
  fs::remove(certificate);
  crypto::SaveIdentity(identity, certificate, key);
}

void PutIfMissing(const NodeBackup& backup, const char* name, const fs::path& file) {
  const auto found = backup.files.find(name);
  if (found != backup.files.end() && !fs::exists(file)) PutFile(file, found->second);
}

// Fingerprints.
std::vector<Digest> StewardsIn(const NodeBackup& backup) {
  const auto found = backup.files.find(kSteward);
  if (found == backup.files.end()) return {};
  const auto certificate = crypto::ParseCertificate(TextOf(found->second));
  if (certificate == nullptr) return {};
  return {crypto::Sha256Of(crypto::EncodeCertificate(*certificate))};
}

// Closed from here on, whatever else happens.
RestoredMark WriteMark(const NodeBackup& backup, const NodeFolder& folder, int64_t now,
                       crypto::RandomSource& random) {
  RestoredMark mark;
  mark.owner = backup.owner;
  mark.time = now;
  random.Fill(mark.nonce);
  // What counted as spent does for good, and so does what no word kept before.
  const std::vector<Digest> stewards = StewardsIn(backup);
  const auto add = [&mark, &stewards](const RestoredMark& before, const RestoreFiles& words) {
    mark.accounts.insert(before.accounts.begin(), before.accounts.end());
    mark.spent.merge(SpentBy(before, words, stewards));
  };
  if (const auto found = backup.files.find(kMark); found != backup.files.end()) {
    const run::TemporaryFolder scratch;
    const RestoreFiles words{{}, scratch.path() / kWord, scratch.path() / kKept};
    PutIfMissing(backup, kWord, words.reopened);
    PutIfMissing(backup, kKept, words.kept);
    add(DecodeRestoredMark(found->second), words);
  }
  if (const auto before = ReadRestoredMark(folder.restored())) {
    add(*before, {folder.restored(), folder.reopened(), folder.kept()});
    mark.time = std::max(mark.time, before->time);
  }
  if (const auto copy = backup.files.find(kLedger); copy != backup.files.end()) {
    const run::TemporaryFolder scratch;
    PutFile(scratch.path() / "ledger.sqlite", copy->second);
    mark.accounts.merge(AccountsOf(scratch.path() / "ledger.sqlite"));
  }
  const NodeConfig config =
      ParseNodeConfig(std::string(TextOf(backup.files.at(kConfig))), folder.path());
  if (!config.ledger.empty() && fs::exists(config.ledger))
    mark.accounts.merge(AccountsOf(config.ledger));
  PutFile(folder.restored(), Encode(mark));
  return mark;
}

}  // namespace

Bytes MakeBackup(const NodeFolder& folder, const Bytes& state, std::string_view passphrase,
                 int64_t now) {
  const NodeConfig config = LoadNodeConfig(folder);
  const crypto::Identity identity = KeyOfNode(folder.certificate(), folder.key());
  NodeBackup backup;
  backup.owner = config.name;
  backup.time = now;
  std::map<std::string, Bytes>& files = backup.files;
  files[kConfig] = FileBytes(folder.config(), "the node's file");
  files[kNodeCertificate] = FileBytes(folder.certificate(), "the node's certificate");
  files[kNodeKey] = ClosedKey(folder.certificate(), folder.key(), passphrase);
  files[kJobCertificate] = FileBytes(folder.job_certificate(), "the jobs' certificate");
  files[kJobKey] = ClosedKey(folder.job_certificate(), folder.job_key(), passphrase);
  files[kState] = state;
  if (fs::exists(config.stewards))
    files[kSteward] = FileBytes(config.stewards, "the steward's certificate");
  if (fs::exists(folder.restored())) files[kMark] = FileBytes(folder.restored(), kMark);
  if (fs::exists(folder.reopened())) files[kWord] = FileBytes(folder.reopened(), kWord);
  if (fs::exists(folder.kept())) files[kKept] = FileBytes(folder.kept(), kKept);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.state())) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != "lock" && IsStateList(name))
      files[kStateFolder + name] = FileBytes(entry.path(), "a list of the node");
  }
  if (fs::exists(folder.dictionaries())) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.dictionaries())) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && IsDictionary(name))
        files[kDictionaryFolder + name] = FileBytes(entry.path(), "the dictionary of a table");
    }
  }
  const run::TemporaryFolder scratch;
  const fs::path accounts = folder.path() / kAccounts;
  if (fs::exists(accounts)) files[kAccounts] = DatabaseBytes(accounts, scratch);
  if (!config.ledger.empty() && fs::exists(config.ledger)) {
    // What was seen is read first: it must not be newer than the copy.
    const fs::path seen = privacy::ledger::SeenHeads::PathOf(config.ledger);
    if (fs::exists(seen)) files[kLedgerSeen] = FileBytes(seen, "what was seen of the ledger");
    files[kLedger] = DatabaseBytes(config.ledger, scratch);
  }
  const Bytes fields = EncodeFields(backup);
  if (fields.size() > kMaxBackupBytes)
    throw Error(ErrorCode::kUsage, "this node is too large for one backup", "Report this.");
  return WithSignature(fields, SignFields(identity, kBackupDomain, fields));
}

RestoreNews RestoreBackup(ByteView bytes, const NodeFolder& folder, std::string_view passphrase,
                          int64_t now, crypto::RandomSource& random) {
  const NodeBackup backup = DecodeBackup(bytes);
  const crypto::Identity node = OpenedKey(backup, kNodeCertificate, kNodeKey, passphrase);
  const crypto::Identity jobs = OpenedKey(backup, kJobCertificate, kJobKey, passphrase);
  RequireFree(backup, folder);
  MakePrivateFolder(folder.path());
  const RestoredMark mark = WriteMark(backup, folder, now, random);
  for (const fs::path& path : {folder.state(), folder.run(), folder.job_key().parent_path()})
    MakePrivateFolder(path);
  PutIfMissing(backup, kConfig, folder.config());
  const NodeConfig config = LoadNodeConfig(folder);
  PutKey(node, folder.certificate(), folder.key());
  PutKey(jobs, folder.job_certificate(), folder.job_key());
  PutIfMissing(backup, kSteward, config.stewards);
  for (const auto& [name, content] : backup.files) {
    if (name.starts_with(kStateFolder) && name != kState && !fs::exists(folder.path() / name))
      PutFile(folder.path() / name, content);
  }
  for (const auto& [name, content] : backup.files) {
    if (!name.starts_with(kDictionaryFolder)) continue;
    MakePrivateFolder(folder.dictionaries());
    PutIfMissing(backup, name.c_str(), folder.path() / name);
  }
  if (backup.files.contains(kAccounts)) {
    MakePrivateFolder((folder.path() / kAccounts).parent_path());
    PutIfMissing(backup, kAccounts, folder.path() / kAccounts);
  }
  RestoreNews news{backup.owner, backup.time, mark.accounts.size(), false, false};
  if (!config.ledger.empty()) {
    const fs::path seen = privacy::ledger::SeenHeads::PathOf(config.ledger);
    // Beside what this machine has seen of it, an older copy is of no use.
    news.ledger_restored =
        backup.files.contains(kLedger) && !fs::exists(config.ledger) && !fs::exists(seen);
    if (news.ledger_restored) {
      PutIfMissing(backup, kLedger, config.ledger);
      PutIfMissing(backup, kLedgerSeen, seen);
    }
    news.has_ledger = fs::exists(config.ledger);
  }
  // Last: without it no node begins with half of this.
  const fs::path fresh = folder.state() / "restoring.sqlite";
  PutFile(fresh, backup.files.at(kState));
  {
    SqliteStore store(fresh, random);
    AuditRecord record;
    record.time = now;
    record.actor = {ActorKind::kTerminal, ""};
    record.action = AuditAction::kRestored;
    record.outcome = fmt::format("from a backup of {}; what was done since is not in this log",
                                 FormatUtc(backup.time));
    store.BeginAnew(random, record);
  }
  PutState(folder, config, fresh, random);
  return news;
}

}  // namespace partita::node
