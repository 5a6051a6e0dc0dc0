// The deputies of a signer's folder.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/public_file.h"
#include "base/utc_time.h"
#include "crypto/passphrase_key.h"
#include "crypto/signature.h"
#include "node/sign/signer_folder.h"
#include "run/party/locked_file.h"
#include "study/approval/persons.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr char kDeputyPrefix[] = "deputy-";

std::string KeyName(const std::string& name) { return kDeputyPrefix + name; }

std::string_view TextOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void RefuseDeputy(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kRefused, what, hint);
}

Digest FingerprintIn(const fs::path& certificate) {
  return crypto::Sha256Of(crypto::EncodeCertificate(*crypto::LoadCertificate(certificate)));
}

// Whether these bytes are a list that this key signed, with this serial or a later one.
bool IsListOf(const std::string& bytes, const std::string& site, const Digest& key,
              uint64_t serial) {
  try {
    RequireEndedList(DecodeSignedEndedList(AsBytes(bytes)), site, {key}, serial);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Digest SignerFolder::MakeDeputyKey(const std::string& name, std::string_view passphrase) const {
  if (!crypto::IsPartyName(name) || name.size() > study::kMaxDeputyName) {
    throw Error(ErrorCode::kUsage, "this cannot be the name of a deputy",
                "Use 1 to 16 small letters, digits and '-', a letter or digit first.");
  }
  RequirePassphraseText(passphrase);
  const std::string site = Config().site;
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  if (fs::exists(File(KeyName(name) + ".pem")) || FindDeputy(Ended(), name) != nullptr) {
    RefuseDeputy(fmt::format("there is a key of the deputy {} already", name),
                 fmt::format("The steward ends it first: partita node deputy end {}", name));
  }
  const crypto::Identity identity = crypto::MakeIdentity({.name = site});
  EndedList first;
  first.owner = site;
  first.serial = 1;
  KeepEndedOf(name, first, identity);
  crypto::SavePassphraseIdentity(identity, File(KeyName(name) + ".pem"),
                                 File(KeyName(name) + ".key"), passphrase);
  return crypto::Sha256Of(crypto::EncodeCertificate(*identity.certificate));
}

std::vector<KeptDeputy> SignerFolder::Deputies() const {
  const EndedList list = Ended();
  std::vector<KeptDeputy> deputies;
  for (const fs::directory_entry& file : fs::directory_iterator(path_)) {
    const std::string stem = file.path().stem().string();
    if (!stem.starts_with(kDeputyPrefix) || file.path().extension() != ".pem") continue;
    KeptDeputy& deputy = deputies.emplace_back();
    deputy.name = stem.substr(sizeof(kDeputyPrefix) - 1);
    deputy.key = FingerprintIn(file.path());
    const PublishedDeputy* named = FindDeputy(list, deputy.name);
    if (named != nullptr && named->key == deputy.key) deputy.word = named->word;
  }
  std::sort(deputies.begin(), deputies.end(),
            [](const KeptDeputy& a, const KeptDeputy& b) { return a.name < b.name; });
  return deputies;
}

void SignerFolder::AddDeputy(const std::string& name, const Digest& key, int64_t from,
                             int64_t until, const crypto::Identity& steward, int64_t now) const {
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  if (!crypto::IsPartyName(name) || !fs::exists(File(KeyName(name) + ".pem"))) {
    RefuseDeputy("there is no key of such a deputy",
                 "The deputy makes it, under a passphrase: partita node deputy key NAME");
  }
  if (FingerprintIn(File(KeyName(name) + ".pem")) != key) {
    RefuseDeputy(
        fmt::format("the key of the deputy {} is another than the one that was shown", name),
        "Compare its fingerprint with the deputy, and try again.");
  }
  if (until <= now || until <= from || until - from > study::kMaxDeputySeconds) {
    RefuseDeputy(
        "a deputy signs between two times, of which the second is to come, for a year at most",
        "--from 2026-12-20 --until 2027-01-10");
  }
  const PublishedDeputy deputy{key,
                               study::SignDeputy(Config().site, name, key, from, until, steward)};
  const int64_t time = EndedListTime(ReadEndedMark().time, now);
  // Its own list first: jobs want it as soon as the deputy is named.
  PublishEndedOf(name);
  KeepEnded(WithDeputy(Ended(), deputy, time), time, steward);
}

void SignerFolder::EndDeputy(const std::string& name, const crypto::Identity& steward,
                             int64_t now) const {
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  EndedList list = Ended();
  const PublishedDeputy* named = FindDeputy(list, name);
  const bool has_key = crypto::IsPartyName(name) && fs::exists(File(KeyName(name) + ".pem"));
  if (named == nullptr && !has_key) {
    RefuseDeputy(fmt::format("there is no deputy '{}'", name),
                 "partita node deputy list shows them");
  }
  if (named != nullptr) {
    const int64_t time = EndedListTime(ReadEndedMark().time, now);
    const uint64_t serial = list.serial;
    for (const EndedStudy& study : EndedOf(*named).studies) list = WithEnded(list, study, time);
    list.serial = serial;
    KeepEnded(WithoutDeputy(list, name, time), time, steward);
  }
  for (const std::string& file : {KeyName(name) + ".key", KeyName(name) + ".pem", "ended-" + name})
    fs::remove(File(file));
}

Person SignerFolder::OpenDeputy(const std::string& name, std::string_view passphrase, int64_t now,
                                Caller caller) const {
  const EndedList list = Ended();
  const PublishedDeputy* named = FindDeputy(list, name);
  if (named == nullptr) {
    RefuseDeputy(fmt::format("the steward named no deputy '{}', or ended it", name),
                 "partita node deputy list shows them");
  }
  const study::Deputy& word = named->word;
  if (now < word.from || now > word.until) {
    RefuseDeputy(fmt::format("the deputy {} signs from {} until {}, and now it is {}", name,
                             FormatUtc(word.from), FormatUtc(word.until), FormatUtc(now)),
                 "Let the steward sign, or name the deputy for a time that has come.");
  }
  const std::string tries =
      caller ? fmt::format("tries-{}.{}", name, *caller) : fmt::format("tries-{}", name);
  Person person{OpenKey(KeyName(name), File(tries), passphrase, now), word};
  if (crypto::Sha256Of(crypto::EncodeCertificate(*person.identity.certificate)) != named->key)
    RefuseDeputy(
        fmt::format("the key of the deputy {} is not the one that the steward named", name),
        "Let the steward end the deputy, and name it anew.");
  return person;
}

EndedList SignerFolder::EndedOf(const PublishedDeputy& deputy) const {
  const std::string text =
      ReadFile(File("ended-" + deputy.word.name), kMaxEndedListBytes, "the list of a deputy",
               "Let the steward end the deputy, and name it anew.");
  const SignedEndedList document = DecodeSignedEndedList(AsBytes(text));
  RequireEndedList(document, Config().site, {deputy.key}, 1);
  return document.list;
}

void SignerFolder::KeepEndedOf(const std::string& deputy, const EndedList& list,
                               const crypto::Identity& identity) const {
  const Bytes document = Encode(SignEndedList(list, identity));
  WriteFileAtomically(File("ended-" + deputy).string(), TextOf(document));
}

void SignerFolder::PublishEndedOf(const std::string& deputy) const {
  const fs::path ended = Config().ended;
  if (ended.empty()) return;
  const std::string own =
      ReadFile(File("ended-" + deputy), kMaxEndedListBytes, "the list of a deputy");
  const fs::path place = EndedFileOf(ended, deputy);
  const std::string published =
      fs::exists(place) ? ReadFile(place, kMaxEndedListBytes, "a published list") : "";
  if (published == own) return;
  const uint64_t serial = DecodeSignedEndedList(AsBytes(own)).list.serial;
  if (IsListOf(published, Config().site, FingerprintIn(File(KeyName(deputy) + ".pem")),
               serial + 1)) {
    throw Error(
        ErrorCode::kUntrusted,
        fmt::format("a newer list of the deputy {} was published than the steward's folder "
                    "has",
                    deputy),
        "Was the folder restored? Copy the published file into it, as ended-" + deputy + ".");
  }
  WritePublicFile(place.string(), own, 0644);
}

void SignerFolder::EndAsDeputy(const EndedStudy& study, const Person& deputy, int64_t now) const {
  const run::LockedFile lock(File("ended"), "the list of ended approvals");
  const EndedList list = Ended();
  const std::string& name = deputy.deputy->name;
  const PublishedDeputy* named = FindDeputy(list, name);
  if (named == nullptr)
    RefuseDeputy(fmt::format("the steward ended the deputy {}", name), "Ask the steward.");
  const int64_t time = EndedListTime(ReadEndedMark().time, now);
  KeepEndedOf(name, WithEnded(EndedOf(*named), study, time), deputy.identity);
  PublishEndedOf(name);
}

bool SignerFolder::HasEnded(const StudyId& study) const {
  const EndedList list = Ended();
  if (IsEnded(list, study)) return true;
  return std::any_of(
      list.deputies.begin(), list.deputies.end(),
      [&](const PublishedDeputy& deputy) { return IsEnded(EndedOf(deputy), study); });
}

}  // namespace partita::node
