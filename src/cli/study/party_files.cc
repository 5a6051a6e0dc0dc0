#include "cli/study/party_files.h"

#include "crypto/certificate.h"

namespace partita::cli {

std::string PartyOf(const PartyFiles& files, const std::string& given) {
  if (!given.empty()) return given;
  return crypto::Describe(*crypto::LoadCertificate(files.Certificate())).name;
}

void AddParty(CLI::App* command, std::string& party, const std::string& of) {
  command->add_option("--party", party,
                      "Which party of the " + of + " this is (default: the certificate's)");
}

void AddPartyFolder(CLI::App* command, PartyFiles& files, const std::string& folder) {
  command->add_option("--folder", files.folder, folder)->capture_default_str();
}

void AddPartyData(CLI::App* command, PartyFiles& files) {
  command->add_option("--data", files.data, "The table (default: data.csv in the folder)");
}

void AddPartyIdentity(CLI::App* command, PartyFiles& files) {
  command->add_option("--key", files.key, "The private key (default: key.pem in the folder)");
  command->add_option("--certificate", files.certificate,
                      "The certificate (default: cert.pem in the folder)");
  command->add_option("--roster", files.roster, "The roster (default: roster.toml in the folder)");
}

}  // namespace partita::cli
