// A private sum on disk: a collection file, the keys of its compute nodes, a reader and clients.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/int128.h"
#include "sums/file/collection_file.h"
#include "sums/service/admission_list.h"
#include "sums/service/compute_run.h"
#include "sums/service/submit_upload.h"

namespace partita::testing {

struct SumOptions {
  uint32_t clients = 20;
  size_t dimension = 3;
  uint16_t nodes = 3;
  uint32_t max_drop = 10;
  uint32_t max_collude = 2;
  std::string admission = "registered";
  std::string noise = "epsilon = 1.0\ndelta = 1e-6\nnoise_from = \"clients\"";
  std::string bound = "8.0";
  std::string regression = {};  // [regression] and [[variable]] instead of [sum]
  bool client_files =
      true;  // a folder with key and row for each client; registered ones do without
};

class SumFolder {
 public:
  explicit SumFolder(const SumOptions& options = {});
  ~SumFolder();
  SumFolder(const SumFolder&) = delete;
  SumFolder& operator=(const SumFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string collection_file() const { return (path_ / "sum.toml").string(); }
  const sums::CollectionFile& collection() const { return collection_; }
  std::string node(uint16_t k) const { return "node" + std::to_string(k); }
  const crypto::BoxKeyPair& box(uint16_t k) const { return boxes_[k]; }
  crypto::Identity node_identity(uint16_t k) const { return node_identities_[k]; }
  crypto::Identity reader_identity() const { return reader_; }
  const sums::ClientCredential& credential(uint32_t client) const { return credentials_[client]; }
  std::string row_file(uint32_t client) const;
  std::vector<double> row(uint32_t client) const;
  // Where `client submit` keeps the upload of a registered client by default.
  std::filesystem::path upload_file(uint32_t client) const;
  // Draws the upload of a client and keeps it there.
  sums::KeptUpload Keep(uint32_t client) const;

  // The arguments that run a node, after the program.
  std::vector<std::string> ComputeArguments(uint16_t k) const;
  // Row and noise of an upload, in grid units: what its shares add up to.
  std::vector<Int128> ValueOf(const sums::KeptUpload& upload) const;

 private:
  void MakeNodes(const SumOptions& options);
  void MakeClients(const SumOptions& options);

  std::filesystem::path path_;
  std::string nodes_text_;
  sums::CollectionFile collection_;
  std::vector<crypto::Identity> node_identities_;
  std::vector<crypto::BoxKeyPair> boxes_;
  crypto::Identity reader_;
  std::vector<sums::ClientCredential> credentials_;
};

}  // namespace partita::testing
