#include "node/sign/signer_folder.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "crypto/passphrase_key.h"
#include "crypto/signature.h"
#include "run/party/locked_file.h"
#include "study/file/sections.h"
#include "study/file/text.h"
#include "study/file/toml_reader.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSignerFormat = 1;
constexpr size_t kMaxSignerFile = size_t{2} << 20;

constexpr char kSignerText[] =
    R"(# What the signer of this site's steward goes by. `partita node sign` reads it when it starts.
partita_signer = 1
site = "{site}"

# Where the list of ended approvals is written for the node's jobs: `ended` of node.toml.
ended = "{ended}"

# Where it listens, if not at sign.sock in this folder, and other users who may ask it: that of the web
# process. Its own user and root may always.
# socket = "/run/partita/sign.sock"
# users = ["partita-web"]
)";

void WriteBytes(const fs::path& file, const Bytes& bytes) {
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
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
                "users = [\"partita-web\"]");
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
                                {"partita_signer", "site", "ended", "socket", "users"});
  study::CheckFormat(root, "partita_signer", kSignerFormat);
  SignerConfig config;
  const study::LocatedText site = root.Text("site", "site = \"west\"");
  if (!crypto::IsPartyName(site.value))
    root.Fail(site.position, "'site' is no name of a party: " + study::Quote(site.value),
              crypto::kPartyNameHint);
  config.site = site.value;
  if (const auto ended = root.OptionalText("ended"); ended && !ended->value.empty())
    config.ended = path_ / ended->value;
  config.socket = File("sign.sock");
  if (const auto socket = root.OptionalText("socket")) config.socket = path_ / socket->value;
  if (const auto users = root.OptionalTexts("users")) {
    for (const study::LocatedText& user : *users) config.users.push_back(UserNamed(root, user));
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
  WriteNewFile(
      folder.File("signer.toml"),
      fmt::format(
          fmt::runtime(kSignerText), fmt::arg("site", config.site),
          fmt::arg("ended", config.ended.empty() ? "" : fs::absolute(config.ended).string())),
      0600, "the signer's file");
  EndedList first;
  first.owner = config.site;
  first.serial = 1;
  folder.KeepEnded(first, identity);
  return identity;
}

crypto::Identity SignerFolder::Open(std::string_view passphrase, int64_t now) const {
  const fs::path file = File("tries");
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
  crypto::Identity steward =
      crypto::LoadPassphraseIdentity(File("steward.pem"), File("steward.key"), passphrase);
  WriteTries(file, {0, now});
  return steward;
}

int64_t SignerFolder::WaitSeconds(int64_t now) const {
  return WaitOf(ReadTries(File("tries")), now);
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
  return document;
}

EndedList SignerFolder::Ended() const {
  const Bytes bytes = ReadBytes(File("ended"), "the list of ended approvals");
  const SignedEndedList document = DecodeSignedEndedList(bytes);
  RequireEndedList(document, Config().site, {Steward()}, 0);
  return document.list;
}

void SignerFolder::End(const EndedStudy& study, const crypto::Identity& steward,
                       int64_t now) const {
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  KeepEnded(WithEnded(Ended(), study, now), steward);
}

void SignerFolder::KeepEnded(const EndedList& list, const crypto::Identity& steward) const {
  const Bytes document = Encode(SignEndedList(list, steward));
  WriteBytes(File("ended"), document);
  const fs::path published = Config().ended;
  if (published.empty()) return;
  WriteBytes(published, document);
  // For jobs under a user of their own; it names studies by their numbers.
  ::chmod(published.c_str(), 0644);
}

}  // namespace partita::node
