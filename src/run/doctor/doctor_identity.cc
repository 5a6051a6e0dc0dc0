// Key, certificate and roster. See doctor_checks.h.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "crypto/certificate.h"
#include "run/doctor/doctor_checks.h"

namespace partita::run {
namespace {

constexpr int64_t kDay = 86400;
constexpr int64_t kSoonDays = 30;

void CheckKeyFile(const std::filesystem::path& key, Findings& findings) {
  struct stat status {};
  if (::stat(key.c_str(), &status) != 0) return;  // loading it said so
  if (status.st_uid != ::geteuid() && ::geteuid() != 0) {
    findings.Warn("key owner", fmt::format("{} belongs to another user", key.string()),
                  "run as the user that owns the key, or make a new one: partita cert new");
  }
  const std::filesystem::path folder = key.has_parent_path() ? key.parent_path() : ".";
  struct stat home {};
  if (::stat(folder.c_str(), &home) == 0 && (home.st_mode & S_IWOTH) != 0) {
    findings.Warn(
        "key folder",
        fmt::format("every user of this machine can replace files in {}", folder.string()),
        fmt::format("chmod o-w {}", folder.string()));
  }
}

void CheckValidity(const DoctorContext& context, const crypto::Identity& identity,
                   Findings& findings) {
  const crypto::CertificateInfo info = crypto::Describe(*identity.certificate);
  const net::RosterEntry* entry = context.own_entry ? &context.roster[*context.own_entry] : nullptr;
  const std::string name =
      entry != nullptr ? entry->name
                       : (context.options.party.empty() ? info.name : context.options.party);
  const std::string fingerprint = entry != nullptr ? entry->fingerprint : info.fingerprint;
  if (const auto problem = crypto::CertificateProblem(*identity.certificate, name, fingerprint)) {
    findings.Problem("certificate", *problem,
                     "use the certificate that the roster lists; or make a new one (partita cert "
                     "new) and give its fingerprint to all parties; if the dates are wrong, look "
                     "at this machine's clock");
    return;
  }
  const std::optional<int64_t> end = SecondsOf(info.valid_until);
  const int64_t days = end ? (*end - static_cast<int64_t>(std::time(nullptr))) / kDay : 0;
  const std::string found = fmt::format("of party {}, valid for {} more days{}", info.name, days,
                                        entry != nullptr ? ", as the roster says" : "");
  if (days < kSoonDays) {
    findings.Warn("certificate", found,
                  "make a new key and certificate (partita cert new) and let every party change "
                  "its roster before the old one expires");
  } else {
    findings.Ok("certificate", found);
  }
}

// Entries in the order of the channel; complains about parties without one.
net::Roster CheckedChannelRoster(const Study& study, const net::Roster& all, Findings& findings) {
  net::Roster ordered;
  for (const std::string& name : PartyNames(study)) {
    const auto entry =
        std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.name == name; });
    if (entry != all.end()) {
      ordered.push_back(*entry);
    } else {
      findings.Problem("roster", fmt::format("no entry for party '{}' of the study", name),
                       "get its certificate and address: partita cert roster ROSTER --certificate "
                       "CERT --address HOST:PORT");
    }
  }
  for (const net::RosterEntry& entry : all) {
    const auto names = PartyNames(study);
    if (std::find(names.begin(), names.end(), entry.name) != names.end()) continue;
    findings.Warn("roster", fmt::format("lists '{}', which is no party of the study", entry.name),
                  "harmless; is it the roster of this study?");
  }
  return ordered.size() == study.parties.size() ? ordered : net::Roster();
}

}  // namespace

std::optional<int64_t> SecondsOf(const std::string& utc) {
  std::tm time{};
  const char* end = ::strptime(utc.c_str(), "%Y-%m-%d %H:%M:%S UTC", &time);
  if (end == nullptr || *end != 0) return std::nullopt;
  return ::timegm(&time);
}

void CheckRoster(DoctorContext& context, Findings& findings) {
  if (context.options.roster.empty()) return;
  findings.Try("roster", [&] {
    const net::Roster all = net::LoadRoster(context.options.roster);
    context.roster = context.study ? CheckedChannelRoster(*context.study, all, findings) : all;
    if (context.roster.empty()) return;
    for (size_t i = 0; i < context.roster.size(); ++i) {
      if (context.roster[i].name == context.options.party) context.own_entry = i;
    }
    findings.Ok("roster",
                fmt::format("{} parties; compare fingerprints out of band", context.roster.size()));
    if (!context.options.party.empty() && !context.own_entry)
      net::FindParty(context.roster, context.options.party);  // throws, with a hint
  });
}

void CheckKeyAndCertificate(const DoctorContext& context, Findings& findings) {
  const DoctorOptions& options = context.options;
  if (options.key.empty() || options.certificate.empty()) return;
  findings.Try("key", [&] {
    const crypto::Identity identity = crypto::LoadIdentity(options.certificate, options.key);
    findings.Ok("key", "belongs to the certificate, readable by its owner alone");
    CheckValidity(context, identity, findings);
  });
  CheckKeyFile(options.key, findings);
}

}  // namespace partita::run
