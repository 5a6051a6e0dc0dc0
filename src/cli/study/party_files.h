// Where a party keeps what it needs for a run, as options of the commands that run as a party.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace partita::cli {

struct PartyFiles {
  std::string folder = ".", data, key, certificate, roster;  // as given; "": not given

  // What was given, or the file of that name in the folder.
  std::filesystem::path In(const std::string& given, const std::string& name) const {
    return given.empty() ? std::filesystem::path(folder) / name : std::filesystem::path(given);
  }
  std::filesystem::path Data() const { return In(data, "data.csv"); }
  std::filesystem::path Key() const { return In(key, "key.pem"); }
  std::filesystem::path Certificate() const { return In(certificate, "cert.pem"); }
  std::filesystem::path Roster() const { return In(roster, "roster.toml"); }
};

// The party: `given`, or whom the certificate of `files` names.
std::string PartyOf(const PartyFiles& files, const std::string& given);

// --party, which says whom `of` (the study, the matching) has this host as.
void AddParty(CLI::App* command, std::string& party, const std::string& of);
// --folder, which `folder` describes.
void AddPartyFolder(CLI::App* command, PartyFiles& files, const std::string& folder);
// --data.
void AddPartyData(CLI::App* command, PartyFiles& files);
// --key, --certificate and --roster.
void AddPartyIdentity(CLI::App* command, PartyFiles& files);

}  // namespace partita::cli
