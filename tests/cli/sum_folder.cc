#include "tests/cli/sum_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "crypto/certificate.h"
#include "crypto/hash.h"
#include "sums/protocol/masked_sum.h"
#include "sums/service/box_key_file.h"
#include "tests/cli/process.h"

namespace partita::testing {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace

SumFolder::SumFolder(const SumOptions& options) {
  // In memory where there is such a file system: a disk would take milliseconds per transaction.
  const fs::path memory = "/dev/shm";
  std::string name =
      ((fs::exists(memory) ? memory : fs::temp_directory_path()) / "partita_sum_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
  reader_ = crypto::MakeIdentity({.name = "analyst"});
  fs::create_directory(path_ / "analyst");
  crypto::SaveIdentity(reader_, path_ / "analyst/cert.pem", path_ / "analyst/key.pem");
  MakeNodes(options);
  Write(collection_file(),
        fmt::format("collection = 1\nname = \"steps\"\ndeadline = \"2099-01-01T00:00:00Z\"\n"
                    "[clients]\nplanned = {}\nmax_drop = {}\nmax_collude = {}\nadmission = \"{}\"\n"
                    "{}[privacy]\n{}\n{}"
                    "[[reader]]\nname = \"analyst\"\nfingerprint = \"{}\"\n",
                    options.clients, options.max_drop, options.max_collude, options.admission,
                    options.regression.empty() ? fmt::format("[sum]\ndimension = {}\nbound = {}\n",
                                                             options.dimension, options.bound)
                                               : options.regression,
                    options.noise, nodes_text_, crypto::Fingerprint(*reader_.certificate)));
  collection_ = sums::LoadCollectionFile(collection_file());
  MakeClients(options);
}

SumFolder::~SumFolder() { fs::remove_all(path_); }

void SumFolder::MakeNodes(const SumOptions& options) {
  crypto::SystemRandom random;
  for (uint16_t k = 0; k < options.nodes; ++k) {
    const fs::path folder = path_ / node(k);
    fs::create_directory(folder);
    node_identities_.push_back(crypto::MakeIdentity({.name = node(k)}));
    boxes_.push_back(crypto::MakeBoxKeyPair(random));
    crypto::SaveIdentity(node_identities_[k], folder / "cert.pem", folder / "key.pem");
    sums::SaveBoxKey(boxes_[k], folder / "box.key");
    nodes_text_ += fmt::format(
        "[[node]]\nname = \"{}\"\naddress = \"{}\"\nbox_key = \"{}\"\ncertificate = "
        "\"\"\"\n{}\"\"\"\n",
        node(k), FreeAddress(), ToHex(boxes_[k].public_key),
        crypto::FormatCertificate(*node_identities_[k].certificate));
  }
}

void SumFolder::MakeClients(const SumOptions& options) {
  crypto::SystemRandom random;
  std::vector<std::vector<sums::AdmittedClient>> admitted_at(options.nodes);
  for (uint32_t client = 0; client < options.clients; ++client) {
    const fs::path folder = path_ / ("client" + std::to_string(client));
    if (options.client_files) fs::create_directory(folder);
    sums::ClientCredential credential;
    sums::AdmittedClient admitted;
    admitted.valid_until = 4'000'000'000;
    if (collection_.admission == sums::Admission::kRegistered) {
      credential.key = crypto::MakeBoxKeyPair(random);
      if (options.client_files) sums::SaveBoxKey(*credential.key, folder / "client.key");
      admitted.credential = credential.key->public_key;
    } else if (collection_.admission == sums::Admission::kTokens) {
      credential.token.emplace();
      random.Fill(credential.token->client);
      credential.token->secret = crypto::RandomKey(random);
      sums::SaveToken(*credential.token, folder / "client.token");
    } else {
      credential.identity = crypto::MakeIdentity({.name = "client"});
      crypto::SaveIdentity(*credential.identity, folder / "cert.pem", folder / "key.pem");
      const Bytes bytes = FromHex(crypto::Fingerprint(*credential.identity->certificate));
      std::copy_n(bytes.begin(), 32, admitted.credential.begin());
    }
    admitted.client = sums::ClientOf(credential, collection_);
    for (uint16_t k = 0; k < options.nodes; ++k) {
      if (credential.token) {
        admitted.credential = crypto::Sha256Of(AsBytes(sums::BearerOf(*credential.token, node(k))));
      }
      admitted_at[k].push_back(admitted);
    }
    credentials_.push_back(std::move(credential));
    if (!options.client_files) continue;
    std::string text;
    for (const double value : row(client)) text += fmt::format("{} ", value);
    Write(row_file(client), text);
  }
  for (uint16_t k = 0; k < options.nodes; ++k) {
    sums::AdmissionList list;
    list.admission = collection_.admission;
    sums::Admit(admitted_at[k], list);
    Write(path_ / node(k) / "clients.txt", sums::FormatAdmissionList(list));
  }
}

std::string SumFolder::row_file(uint32_t client) const {
  return (path_ / ("client" + std::to_string(client)) / "row.txt").string();
}

std::vector<double> SumFolder::row(uint32_t client) const {
  std::vector<double> row(collection_.contract.dimension);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = 0.25 * (client % 5) - 0.5 * static_cast<double>(i);
  return row;
}

fs::path SumFolder::upload_file(uint32_t client) const {
  return path_ / ("client" + std::to_string(client)) /
         fmt::format("steps-1-{}.upload", ToHex(sums::ClientOf(credentials_[client], collection_)));
}

sums::KeptUpload SumFolder::Keep(uint32_t client) const {
  crypto::SystemRandom random;
  return sums::KeepUpload(collection_, credentials_[client], row(client), upload_file(client),
                          random);
}

std::vector<std::string> SumFolder::ComputeArguments(uint16_t k) const {
  return {"compute",  collection_file(), "--as",        node(k),
          "--folder", path_ / node(k),   "--log-every", "1s"};
}

std::vector<Int128> SumFolder::ValueOf(const sums::KeptUpload& upload) const {
  const sums::Contract& contract = collection_.contract;
  sums::MaskedSum sum = sums::MaskedSum::Of(contract);
  for (uint16_t k = 0; k < contract.nodes; ++k) {
    sums::ClientDirectory directory;
    for (const sums::ClientCredential& credential : credentials_) {
      const auto client = sums::ClientOf(credential, collection_);
      if (client != upload.client) continue;
      if (credential.key) {
        directory[client] =
            sums::RegisteredKey(boxes_[k], credential.key->public_key, contract.study, client, k);
      } else {
        directory[client] = std::nullopt;
      }
    }
    const sums::OpenedUpload opened = sums::OpenUpload(
        upload.envelopes[k], {contract, collection_.epoch, k, boxes_[k]}, directory);
    if (opened.verdict != sums::Verdict::kAccepted) {
      throw std::runtime_error("an upload that no node accepts");
    }
    if (k == 0) {
      sum.AddWords(opened.content);
    } else {
      crypto::Key seed;
      std::copy(opened.content.begin(), opened.content.end(), seed.Expose().begin());
      sum.AddStreams({&seed, 1});
    }
  }
  return sum.Signed();
}

}  // namespace partita::testing
