// partita cert new | show | roster
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "crypto/certificate.h"
#include "net/roster.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

std::string DescribeCertificate(const crypto::CertificateInfo& info) {
  return fmt::format("party        {}\nvalid        {} to {}\nfingerprint  {}", info.name,
                     info.valid_from, info.valid_until, info.fingerprint);
}

std::string DescribeJson(const crypto::CertificateInfo& info) {
  return nlohmann::ordered_json{{"party", info.name},
                                {"valid_from", info.valid_from},
                                {"valid_until", info.valid_until},
                                {"fingerprint", info.fingerprint}}
      .dump();
}

void AddNewIdentity(CLI::App* cert, Invocation& invocation) {
  struct Options {
    std::string party, folder = ".";
    int days = 365;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      cert->add_subcommand("new", "Make a private key and a certificate for one party");
  AddOutputOptions(*command, invocation, "cert new");
  command->add_option("PARTY", options->party, "The party's name in the study file")->required();
  command->add_option("--folder", options->folder, "Where key.pem and cert.pem go")
      ->capture_default_str();
  command->add_option("--days", options->days, "How long the certificate is valid")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      const fs::path folder = options->folder;
      fs::create_directories(folder);
      const crypto::Identity identity =
          crypto::MakeIdentity({.name = options->party, .days = options->days});
      crypto::SaveIdentity(identity, folder / "cert.pem", folder / "key.pem");
      const crypto::CertificateInfo info = crypto::Describe(*identity.certificate);
      PrintResult(invocation.output, DescribeCertificate(info), DescribeJson(info));
      PrintNote(invocation.output,
                fmt::format(
                    "\nwrote {} (keep it here, show it to nobody) and {} (give it to the others);\n"
                    "compare the fingerprint with the other parties over another way, such as a "
                    "phone call",
                    (folder / "key.pem").string(), (folder / "cert.pem").string()));
      return kDone;
    };
  });
}

void AddShowCertificate(CLI::App* cert, Invocation& invocation) {
  auto file = std::make_shared<std::string>();
  CLI::App* command =
      cert->add_subcommand("show", "Show whose a certificate is, its validity and its fingerprint");
  AddOutputOptions(*command, invocation, "cert show");
  command->add_option("CERTIFICATE", *file, "A certificate (PEM)")->required();
  command->callback([&invocation, file] {
    invocation.run = [&invocation, file] {
      const crypto::CertificateInfo info = crypto::Describe(*crypto::LoadCertificate(*file));
      PrintResult(invocation.output, DescribeCertificate(info), DescribeJson(info));
      return kDone;
    };
  });
}

std::string DescribeRoster(const net::Roster& roster) {
  std::string text;
  for (const net::RosterEntry& entry : roster) {
    text += fmt::format("{:<16} {:<24} {}\n", entry.name, entry.address, entry.fingerprint);
  }
  return text;
}

std::string RosterJson(const net::Roster& roster) {
  nlohmann::ordered_json parties = nlohmann::ordered_json::array();
  for (const net::RosterEntry& entry : roster) {
    parties.push_back(
        {{"name", entry.name}, {"address", entry.address}, {"fingerprint", entry.fingerprint}});
  }
  return nlohmann::ordered_json{{"parties", parties}}.dump();
}

void AddRoster(CLI::App* cert, Invocation& invocation) {
  struct Options {
    std::string file, address, certificate;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = cert->add_subcommand(
      "roster", "Show a roster, or add (replace) a party's address and certificate in it");
  AddOutputOptions(*command, invocation, "cert roster");
  command->add_option("ROSTER", options->file, "The roster file")->required();
  CLI::Option* certificate = command->add_option("--certificate", options->certificate,
                                                 "The certificate of the party to add");
  CLI::Option* address = command->add_option("--address", options->address, "Its HOST:PORT");
  certificate->needs(address);
  address->needs(certificate);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      net::Roster roster;
      if (fs::exists(options->file) || options->certificate.empty())
        roster = net::LoadRoster(options->file);
      if (!options->certificate.empty()) {
        const crypto::CertificateInfo info =
            crypto::Describe(*crypto::LoadCertificate(options->certificate));
        crypto::RequirePartyCertificate(info, options->certificate);
        std::erase_if(roster,
                      [&](const net::RosterEntry& entry) { return entry.name == info.name; });
        roster.push_back({info.name, options->address, info.fingerprint});
        net::SaveRoster(roster, options->file);
      }
      PrintResult(invocation.output, DescribeRoster(roster), RosterJson(roster));
      return kDone;
    };
  });
}

}  // namespace

void AddCertCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* cert = app.add_subcommand("cert", "Make and show keys, certificates and rosters");
  cert->require_subcommand(1);
  AddNewIdentity(cert, invocation);
  AddShowCertificate(cert, invocation);
  AddRoster(cert, invocation);
}

}  // namespace partita::cli
