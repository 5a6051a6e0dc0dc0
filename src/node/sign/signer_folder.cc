#include "node/sign/signer_folder.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/files.h"
#include "base/public_file.h"
#include "base/utc_time.h"
#include "crypto/passphrase_key.h"
#include "crypto/random.h"
#include "crypto/signature.h"
#include "data/utf8.h"
#include "node/job/policy_study.h"
#include "node/job/policy_uses.h"
#include "node/message/signed_document.h"
#include "run/party/locked_file.h"
#include "study/approval/delegation.h"
#include "study/file/sections.h"
#include "study/file/text.h"
#include "study/file/toml_reader.h"
#include "study/file/toml_text.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSignerFormat = 1;
constexpr size_t kMaxSignerFile = size_t{2} << 20;
constexpr int kPolicyKeyDays = 91;  // a day longer than any policy

constexpr char kSignerText[] =
    R"(# What the signer of this site's steward goes by. `partita node sign` reads it when it starts.
partita_signer = 1
site = "{site}"

# Where the list of ended approvals and the list of parties are written for the node's jobs: `ended` and
# `parties` of node.toml.
ended = {ended}
parties = {parties}

# Where it listens, if not at sign.sock in this folder, and other users who may ask it: that of the web
# process. Its own user and root may always.
{socket}
{users}

# Those of them whom it answers about policies only: the node's user, where the pages have one of their own.
{only}

# Tables for which two persons have to sign, whatever the node says: see `stewards_needed` of node.toml.
# four_eyes = ["pupils"]
)";

std::string UserText(uid_t user) {
  const passwd* entry = ::getpwuid(user);
  return entry == nullptr ? std::to_string(user) : entry->pw_name;
}

std::string SocketLine(const fs::path& socket) {
  if (socket.empty()) return "# socket = \"/run/partita/sign.sock\"";
  return "socket = " + study::TomlText(fs::absolute(socket).string());
}

std::string UsersLine(const std::string& key, const std::vector<uid_t>& users) {
  if (users.empty()) return fmt::format("# {} = [\"partita-node\"]", key);
  std::vector<std::string> names;
  for (const uid_t user : users) names.push_back(UserText(user));
  return fmt::format("{} = {}", key, study::TomlTexts(names));
}

void WriteBytes(const fs::path& file, const Bytes& bytes) {
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// For jobs under a user of their own; the lists name sites, and studies by their numbers, and have the texts of policies.
void PublishBytes(const fs::path& file, const Bytes& bytes) {
  if (file.empty()) return;
  WritePublicFile(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 0644);
}

Bytes ReadBytes(const fs::path& file, const std::string& what) {
  const std::string text = ReadFile(file, kMaxSignerFile, what);
  return {text.begin(), text.end()};
}

uid_t UserNamed(const study::TableReader& reader, const study::LocatedText& text) {
  const std::string& name = text.value;
  const bool is_number = !name.empty() && name.size() < 10 &&
                         name.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) return static_cast<uid_t>(std::stoul(name));
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) {
    reader.Fail(text.position, "there is no user " + study::Quote(name) + " on this machine",
                "users = [\"partita-node\"]");
  }
  return entry->pw_uid;
}

struct Tries {
  uint32_t failures = 0;
  int64_t last = 0;
};

Tries ReadTries(const fs::path& file) {
  Tries tries;
  if (!fs::exists(file)) return tries;
  const Bytes bytes = ReadBytes(file, "the count of wrong passphrases");
  ByteReader reader(bytes);
  tries.failures = reader.U32();
  tries.last = static_cast<int64_t>(reader.U64());
  reader.ExpectEnd();
  return tries;
}

void WriteTries(const fs::path& file, const Tries& tries) {
  ByteWriter writer;
  writer.U32(tries.failures);
  writer.U64(static_cast<uint64_t>(tries.last));
  WriteBytes(file, writer.bytes());
}

int64_t WaitOf(const Tries& tries, int64_t now) {
  const int64_t wait = WaitAfterTries(tries.failures);
  return now < tries.last ? wait : std::max<int64_t>(0, tries.last + wait - now);
}

// A place for the lists, as signer.toml says it.
std::string PlaceText(const fs::path& place) {
  if (place.empty()) return study::TomlText("");
  const std::string text = fs::absolute(place).string();
  if (!data::IsUtf8(text)) {
    throw Error(ErrorCode::kUsage, "the path of a list for the jobs is no UTF-8",
                "Give the node a folder of another name.");
  }
  return study::TomlText(text);
}

// What is published there now; empty if nothing is that can be read.
Bytes PublishedAt(const fs::path& file) {
  try {
    return ReadBytes(file, "a published list");
  } catch (const Error&) {
    return {};
  }
}

// Whether `act` finds its bytes good.
bool IsGood(const std::function<void()>& act) {
  try {
    act();
    return true;
  } catch (const Error&) {
    return false;
  }
}

[[noreturn]] void DistrustFolder(const std::string& list) {
  throw Error(ErrorCode::kUntrusted,
              fmt::format("a newer list of {} was published than the steward's folder has", list),
              "Was the folder restored? Copy the published file into it, under the same name.");
}

ListMark ReadMark(const fs::path& file) {
  ListMark mark;
  if (!fs::exists(file)) return mark;
  const Bytes bytes = ReadBytes(file, "the mark of the list of parties");
  ByteReader reader(bytes);
  mark.serial = reader.U64();
  const ByteView digest = reader.Raw(mark.digest.size());
  std::copy(digest.begin(), digest.end(), mark.digest.begin());
  reader.ExpectEnd();
  return mark;
}

void WriteMark(const fs::path& file, const ListMark& mark) {
  ByteWriter writer;
  writer.U64(mark.serial);
  writer.Raw(mark.digest);
  WriteBytes(file, writer.bytes());
}

}  // namespace

int64_t WaitAfterTries(uint32_t failures) {
  if (failures <= kFreeTries) return 0;
  const uint32_t doublings = std::min<uint32_t>(failures - kFreeTries - 1, 5);
  return std::min(kLongestTryWait, int64_t{1} << doublings);
}

void RequirePassphraseText(std::string_view passphrase) {
  if (data::IsUtf8(passphrase)) return;
  throw Error(ErrorCode::kUsage, "the passphrase is not UTF-8",
              "Use a terminal with a UTF-8 locale, or letters without accents.");
}

SignerConfig SignerFolder::Config() const {
  const fs::path file = File("signer.toml");
  if (!fs::exists(File("steward.key")) || !fs::exists(file)) {
    throw Error(ErrorCode::kUsage, fmt::format("there is no steward's key in {}", path_.string()),
                "Name the folder that 'partita node steward' made, with --steward.");
  }
  const std::string name = file.string();
  const toml::table tree =
      study::ParseToml(ReadFile(file, kMaxSignerFile, "the signer's file"), name);
  const study::TableReader root(name, tree, "signer.toml",
                                {"partita_signer", "site", "ended", "parties", "socket", "users",
                                 "only_policies", "four_eyes"});
  study::CheckFormat(root, "partita_signer", kSignerFormat);
  SignerConfig config;
  const study::LocatedText site = root.Text("site", "site = \"west\"");
  if (!crypto::IsPartyName(site.value))
    root.Fail(site.position, "'site' is no name of a party: " + study::Quote(site.value),
              crypto::kPartyNameHint);
  config.site = site.value;
  if (const auto ended = root.OptionalText("ended"); ended && !ended->value.empty())
    config.ended = path_ / ended->value;
  if (const auto parties = root.OptionalText("parties"); parties && !parties->value.empty())
    config.parties = path_ / parties->value;
  config.socket = File("sign.sock");
  if (const auto socket = root.OptionalText("socket")) config.socket = path_ / socket->value;
  if (const auto users = root.OptionalTexts("users")) {
    for (const study::LocatedText& user : *users) config.users.push_back(UserNamed(root, user));
  }
  if (const auto users = root.OptionalTexts("only_policies")) {
    for (const study::LocatedText& user : *users)
      config.only_policies.push_back(UserNamed(root, user));
  }
  if (const auto tables = root.OptionalTexts("four_eyes")) {
    for (const study::LocatedText& table : *tables) config.four_eyes.push_back(table.value);
  }
  return config;
}

crypto::Identity SignerFolder::Certificate() const {
  return {crypto::LoadCertificate(File("steward.pem")), nullptr};
}

Digest SignerFolder::Steward() const {
  return crypto::Sha256Of(crypto::EncodeCertificate(*Certificate().certificate));
}

Digest SignerFolder::JobKey() const {
  return crypto::Sha256Of(crypto::EncodeCertificate(*crypto::LoadCertificate(File("job.pem"))));
}

Bytes SignerFolder::NodeCertificate() const {
  return crypto::EncodeCertificate(*crypto::LoadCertificate(File("node.pem")));
}

crypto::Identity SignerFolder::Make(const fs::path& path, const SignerConfig& config,
                                    const x509_st& node, const x509_st& jobs,
                                    std::string_view passphrase) {
  const SignerFolder folder(path);
  RequirePassphraseText(passphrase);
  const std::string text = fmt::format(
      fmt::runtime(kSignerText), fmt::arg("site", config.site),
      fmt::arg("ended", PlaceText(config.ended)), fmt::arg("parties", PlaceText(config.parties)),
      fmt::arg("socket", SocketLine(config.socket)),
      fmt::arg("users", UsersLine("users", config.users)),
      fmt::arg("only", UsersLine("only_policies", config.only_policies)));
  fs::create_directories(path);
  if (::chmod(path.c_str(), 0700) != 0) {
    throw Error(ErrorCode::kUsage, fmt::format("cannot close the folder {}", path.string()),
                "Choose a folder of your own.");
  }
  crypto::Identity identity = crypto::MakeIdentity({.name = config.site});
  crypto::SavePassphraseIdentity(identity, folder.File("steward.pem"), folder.File("steward.key"),
                                 passphrase);
  WriteNewFile(folder.File("job.pem"), crypto::FormatCertificate(jobs), 0600,
               "the certificate of the jobs");
  WriteNewFile(folder.File("node.pem"), crypto::FormatCertificate(node), 0600,
               "the certificate of the node");
  WriteNewFile(folder.File("signer.toml"), text, 0600, "the signer's file");
  EndedList first;
  first.owner = config.site;
  first.serial = 1;
  folder.KeepEnded(first, NowUtc(), identity);
  return identity;
}

fs::path SignerFolder::TriesOf(Caller caller) const {
  return File(caller ? fmt::format("tries.{}", *caller) : "tries");
}

crypto::Identity SignerFolder::Open(std::string_view passphrase, int64_t now, Caller caller) const {
  return OpenKey("steward", TriesOf(caller), passphrase, now);
}

crypto::Identity SignerFolder::OpenKey(const std::string& key, const fs::path& file,
                                       std::string_view passphrase, int64_t now) const {
  const run::LockedFile lock(file, "the count of wrong passphrases");
  Tries tries = ReadTries(file);
  // A clock that was set back: the wait begins now, once, and not when the clock is there again.
  if (now < tries.last) {
    tries.last = now;
    WriteTries(file, tries);
  }
  if (const int64_t wait = WaitOf(tries, now); wait > 0) {
    throw Error(ErrorCode::kRefused, "too many wrong passphrases: wait a moment",
                fmt::format("The next one is looked at in {} s.", wait));
  }
  tries.failures = std::min<uint32_t>(tries.failures + 1, 1000);
  tries.last = now;
  WriteTries(file, tries);
  crypto::Identity identity =
      crypto::LoadPassphraseIdentity(File(key + ".pem"), File(key + ".key"), passphrase);
  WriteTries(file, {0, now});
  return identity;
}

int64_t SignerFolder::WaitSeconds(int64_t now, Caller caller) const {
  return WaitOf(ReadTries(TriesOf(caller)), now);
}

Bytes SignerFolder::PartiesDocument() const {
  return fs::exists(File("parties")) ? ReadBytes(File("parties"), "the list of parties") : Bytes();
}

PartyList SignerFolder::Parties(ByteView given) const {
  const run::LockedFile lock(File("parties"), "the list of parties");
  const std::string site = Config().site;
  const std::vector<Digest> stewards = {Steward()};
  const ListMark mark = ReadMark(File("parties.mark"));
  const Bytes kept = PartiesDocument();
  PartyList own;
  own.owner = site;
  if (!kept.empty()) {
    const SignedPartyList document = DecodeSignedList(kept);
    RequireSignedList(document, site, stewards, mark);
    own = document.list;
  }
  if (!given.empty()) {
    const SignedPartyList document = DecodeSignedList(given);
    if (document.list.serial > own.serial || kept.empty()) {
      RequireSignedList(document, site, stewards, mark);
      WriteBytes(File("parties"), Bytes(given.begin(), given.end()));
      WriteMark(File("parties.mark"), MarkOf(document.list));
      PublishBytes(Config().parties, Bytes(given.begin(), given.end()));
      return document.list;
    }
  }
  if (kept.empty() && mark != ListMark()) {
    throw Error(ErrorCode::kUntrusted, "the list of parties that was signed last is not here",
                "Bring back the file 'parties' of the steward's folder.");
  }
  return own;
}

Bytes SignerFolder::KeepParties(const PartyList& list, const crypto::Identity& steward) const {
  const run::LockedFile lock(File("parties"), "the list of parties");
  const Bytes kept = PartiesDocument();
  const uint64_t newest = std::max(kept.empty() ? 0 : DecodeSignedList(kept).list.serial,
                                   ReadMark(File("parties.mark")).serial);
  if (list.serial <= newest) {
    throw Error(ErrorCode::kRefused, "the list of parties was changed in the meantime",
                "Look at it, and try again.");
  }
  Bytes document = EncodeSignedList(SignPartyList(list, steward));
  // The mark last: what is newer than it counts, and is given away only afterwards.
  WriteBytes(File("parties"), document);
  WriteMark(File("parties.mark"), MarkOf(list));
  PublishBytes(Config().parties, document);
  return document;
}

SignerFolder::EndedMark SignerFolder::ReadEndedMark() const {
  // Made with the first list, so that removing both is noticed, too.
  const Bytes bytes = ReadBytes(File("ended.mark"), "the mark of the list of ended approvals");
  ByteReader reader(bytes);
  EndedMark mark;
  mark.serial = reader.U64();
  mark.time = static_cast<int64_t>(reader.U64());
  reader.ExpectEnd();
  return mark;
}

EndedList SignerFolder::Ended() const {
  const Bytes bytes = ReadBytes(File("ended"), "the list of ended approvals");
  const SignedEndedList document = DecodeSignedEndedList(bytes);
  RequireEndedList(document, Config().site, {Steward()}, ReadEndedMark().serial);
  return document.list;
}

void SignerFolder::End(const EndedStudy& study, const crypto::Identity& steward,
                       int64_t now) const {
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  const int64_t time = EndedListTime(ReadEndedMark().time, now);
  KeepEnded(WithEnded(Ended(), study, time), time, steward);
}

fs::path SignerFolder::FileOfPolicy(const Digest& commitment, const char* ending) const {
  return File("policy-" + ToHex(commitment) + ending);
}

fs::path SignerFolder::UsesOfPolicy(const Digest& commitment) const {
  return FileOfPolicy(commitment, ".uses");
}

// The key and the delegation first, so that what is published can sign.
PublishedPolicy SignerFolder::AddPolicy(const std::string& text, const crypto::Identity& steward,
                                        int64_t now) const {
  const study::Policy policy = ParsePolicy(text);
  const std::string site = Config().site;
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  const EndedList list = Ended();
  for (const PublishedPolicy& other : list.policies) {
    if (ParsePolicy(other.text).name != policy.name) continue;
    throw Error(ErrorCode::kRefused, fmt::format("there is a policy '{}' already", policy.name),
                fmt::format("partita node policy end {}", policy.name));
  }
  const crypto::Identity key = crypto::MakeIdentity({.name = site, .days = kPolicyKeyDays});
  crypto::SystemRandom random;
  PublishedPolicy published;
  random.Fill(published.salt);
  published.key = crypto::Sha256Of(crypto::EncodeCertificate(*key.certificate));
  published.from = now;
  published.until = std::min(policy.valid_until, now + study::kMaxDelegationSeconds);
  published.text = text;
  if (published.until <= now) {
    throw Error(ErrorCode::kRefused, fmt::format("the policy '{}' is over already", policy.name),
                "Write a later day for 'valid_until'.");
  }
  const Digest commitment = CommitmentOf(published);
  const study::Delegation delegation =
      study::SignDelegation(site, published.key, commitment, published.from, published.until,
                            policy.max_results, steward);
  PolicyUses::Start(UsesOfPolicy(commitment), commitment);
  crypto::SaveIdentity(key, FileOfPolicy(commitment, ".pem"), FileOfPolicy(commitment, ".key"));
  ByteWriter writer;
  writer.U64(static_cast<uint64_t>(delegation.from));
  writer.U64(static_cast<uint64_t>(delegation.until));
  writer.U64(delegation.max_uses);
  writer.Blob(delegation.signature.certificate);
  writer.Blob(delegation.signature.signature);
  WriteBytes(FileOfPolicy(commitment, ".delegation"), writer.bytes());
  const int64_t time = EndedListTime(ReadEndedMark().time, now);
  KeepEnded(WithPolicy(list, published, time), time, steward);
  RemoveOldKeys();
  return published;
}

// Of policies that are not on the list: ended, over, or never published.
void SignerFolder::RemoveOldKeys() const {
  std::vector<std::string> kept;
  for (const PublishedPolicy& policy : Ended().policies)
    kept.push_back("policy-" + ToHex(CommitmentOf(policy)));
  std::vector<fs::path> old;
  for (const fs::directory_entry& file : fs::directory_iterator(path_)) {
    const std::string stem = file.path().stem().string();
    const std::string ending = file.path().extension().string();
    const bool is_policy = stem.starts_with("policy-") &&
                           (ending == ".key" || ending == ".pem" || ending == ".delegation");
    if (is_policy && std::find(kept.begin(), kept.end(), stem) == kept.end())
      old.push_back(file.path());
  }
  for (const fs::path& file : old) fs::remove(file);
}

// The list first: a key without it counts for nothing at the own jobs.
void SignerFolder::EndPolicy(const std::string& name, const crypto::Identity& steward,
                             int64_t now) const {
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  const EndedList list = Ended();
  for (const PublishedPolicy& policy : list.policies) {
    if (ParsePolicy(policy.text).name != name) continue;
    const Digest commitment = CommitmentOf(policy);
    const int64_t time = EndedListTime(ReadEndedMark().time, now);
    KeepEnded(WithoutPolicy(list, commitment, time), time, steward);
    RemoveOldKeys();
    return;
  }
  throw Error(ErrorCode::kRefused, fmt::format("there is no policy '{}'", name),
              "partita node policy list shows them");
}

SignerFolder::PolicyKey SignerFolder::OpenPolicy(const Digest& commitment) const {
  const Bytes bytes =
      ReadBytes(FileOfPolicy(commitment, ".delegation"), "the delegation of a policy");
  PolicyKey opened;
  ByteReader reader(bytes);
  opened.delegation.from = static_cast<int64_t>(reader.U64());
  opened.delegation.until = static_cast<int64_t>(reader.U64());
  opened.delegation.max_uses = reader.U64();
  const auto bytes_of = [](ByteView view) { return Bytes(view.begin(), view.end()); };
  opened.delegation.signature.certificate = bytes_of(reader.Blob(crypto::kMaxCertificateBytes));
  opened.delegation.signature.signature = bytes_of(reader.Blob(crypto::kMaxSignatureBytes));
  reader.ExpectEnd();
  opened.key =
      crypto::LoadIdentity(FileOfPolicy(commitment, ".pem"), FileOfPolicy(commitment, ".key"));
  return opened;
}

void SignerFolder::KeepEnded(const EndedList& list, int64_t time,
                             const crypto::Identity& steward) const {
  const Bytes document = Encode(SignEndedList(list, steward));
  WriteBytes(File("ended"), document);
  ByteWriter mark;
  mark.U64(list.serial);
  mark.U64(static_cast<uint64_t>(time));
  WriteBytes(File("ended.mark"), mark.bytes());
  PublishBytes(Config().ended, document);
}

std::set<Digest> SignerFolder::GivenUp() const {
  std::set<Digest> accounts;
  if (!fs::exists(File("given-up"))) return accounts;
  const Bytes bytes = ReadBytes(File("given-up"), "the list of accounts that were given up");
  try {
    ByteReader reader(bytes);
    const uint32_t count = reader.U32();
    for (uint32_t i = 0; i < count; ++i) accounts.insert(ReadDigest(reader));
    reader.ExpectEnd();
  } catch (const Error&) {
    throw Error(ErrorCode::kBadInput, "the list of accounts that were given up is damaged",
                "Bring back the file 'given-up' of the steward's folder.");
  }
  return accounts;
}

void SignerFolder::GiveUp(const std::set<Digest>& accounts) const {
  const run::LockedFile lock(File("given-up"), "the list of accounts that were given up");
  std::set<Digest> all = GivenUp();
  all.insert(accounts.begin(), accounts.end());
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(all.size()));
  for (const Digest& account : all) writer.Raw(account);
  WriteBytes(File("given-up"), writer.bytes());
}

void SignerFolder::Publish() const {
  const SignerConfig config = Config();
  const std::vector<Digest> stewards = {Steward()};
  {
    const run::LockedFile lock(File("ended"), "the list of ended approvals");
    const uint64_t serial = Ended().serial;
    const Bytes own = ReadBytes(File("ended"), "the list of ended approvals");
    const Bytes published = config.ended.empty() ? own : PublishedAt(config.ended);
    const bool is_newer = IsGood([&] {
      RequireEndedList(DecodeSignedEndedList(published), config.site, stewards, serial + 1);
    });
    if (is_newer) DistrustFolder("ended approvals");
    if (published != own) PublishBytes(config.ended, own);
    for (const PublishedDeputy& deputy : Ended().deputies) PublishEndedOf(deputy.word.name);
  }
  const PartyList list = Parties({});
  const run::LockedFile lock(File("parties"), "the list of parties");
  const Bytes own = PartiesDocument();
  if (own.empty() || config.parties.empty()) return;
  const Bytes published = PublishedAt(config.parties);
  const bool is_newer = IsGood([&] {
    RequireSignedList(DecodeSignedList(published), config.site, stewards, {list.serial + 1, {}});
  });
  if (is_newer) DistrustFolder("parties");
  if (published != own) PublishBytes(config.parties, own);
}

}  // namespace partita::node
