// partita client keygen | register | invite | submit
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/sums/regression_row.h"
#include "cli/sums/round_options.h"
#include "cli/terminal/json.h"
#include "cli/terminal/units.h"
#include "crypto/hash.h"
#include "sums/file/collection_file.h"
#include "sums/regression/rows.h"
#include "sums/service/admission_list.h"
#include "sums/service/box_key_file.h"
#include "sums/service/submit_upload.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;
using sums::AdmissionList;
using sums::AdmittedClient;

int RunKeygen(const OutputOptions& output, const fs::path& folder) {
  fs::create_directories(folder);
  crypto::SystemRandom random;
  const crypto::BoxKeyPair pair = crypto::MakeBoxKeyPair(random);
  AdmissionList own;
  own.clients.push_back({sums::ClientOfKey(pair.public_key), pair.public_key, 0});
  sums::SaveBoxKey(pair, folder / "client.key");
  WriteNewFile(folder / "client.pub", sums::FormatAdmissionList(own), 0644, "the list");
  const std::string client = ToHex(own.clients.front().client);
  PrintResult(output, "client " + client,
              Json{{"client", client}, {"key", ToHex(pair.public_key)}}.dump());
  PrintNote(output,
            fmt::format("\nkeep {} to yourself; give {} to those who admit clients",
                        (folder / "client.key").string(), (folder / "client.pub").string()));
  return kDone;
}

struct RegisterCommand {
  std::string list;
  std::vector<std::string> keys, certificates;
};

AdmittedClient OfCertificate(const std::string& file) {
  const Bytes bytes = FromHex(crypto::Fingerprint(*crypto::LoadCertificate(file)));
  AdmittedClient client;
  std::copy_n(bytes.begin(), client.credential.size(), client.credential.begin());
  client.client = sums::ClientOfCertificate(client.credential);
  return client;
}

// The public parts of registered clients; their names must be those of their keys.
AdmissionList OfKeys(const std::string& file) {
  AdmissionList list = sums::LoadAdmissionList(file);
  for (const AdmittedClient& client : list.clients) {
    if (list.admission == sums::Admission::kRegistered &&
        client.client == sums::ClientOfKey(client.credential)) {
      continue;
    }
    throw Error(ErrorCode::kBadInput, file + " names a client that does not belong to its key",
                "use the client.pub that partita client keygen made");
  }
  return list;
}

int RunRegister(const OutputOptions& output, const RegisterCommand& command) {
  AdmissionList list;
  list.admission =
      command.certificates.empty() ? sums::Admission::kRegistered : sums::Admission::kCertificates;
  if (fs::exists(command.list)) {
    const AdmissionList earlier = sums::LoadAdmissionList(command.list);
    if (earlier.admission != list.admission) {
      throw Error(ErrorCode::kUsage,
                  command.list + " admits clients by " + sums::AdmissionName(earlier.admission),
                  "name another list");
    }
    list = earlier;
  }
  std::vector<AdmittedClient> added;
  for (const std::string& file : command.keys) {
    const AdmissionList keys = OfKeys(file);
    added.insert(added.end(), keys.clients.begin(), keys.clients.end());
  }
  for (const std::string& file : command.certificates) added.push_back(OfCertificate(file));
  sums::Admit(added, list);
  WriteFileAtomically(command.list, sums::FormatAdmissionList(list));
  PrintResult(
      output,
      fmt::format("{} clients added, {} now in {}", added.size(), list.clients.size(),
                  command.list),
      Json{{"list", command.list}, {"added", added.size()}, {"clients", list.clients.size()}}
          .dump());
  return kDone;
}

struct InviteCommand {
  std::string collection, folder = ".", until;
  size_t count = 1;
};

// New tokens: a secret for each client, and for each node the digests of what it will be shown.
int RunInvite(const OutputOptions& output, const InviteCommand& command) {
  const sums::CollectionFile collection = sums::LoadCollectionFile(command.collection);
  const auto until = ParseUntil(command.until);
  if (!until) {
    throw Error(ErrorCode::kUsage, "--until " + command.until + " is no day",
                "write, for example, --until 2026-12-31");
  }
  const fs::path folder = command.folder;
  fs::create_directories(folder);
  std::vector<std::vector<AdmittedClient>> admitted(collection.nodes.size());
  crypto::SystemRandom random;
  for (size_t i = 0; i < command.count; ++i) {
    sums::ClientToken token;
    random.Fill(token.client);
    token.secret = crypto::RandomKey(random);
    for (size_t k = 0; k < admitted.size(); ++k) {
      const std::string bearer = sums::BearerOf(token, collection.nodes[k].name);
      admitted[k].push_back({token.client, crypto::Sha256Of(AsBytes(bearer)), *until});
    }
    sums::SaveToken(token, folder / (ToHex(token.client) + ".token"));
  }
  Json files = Json::array();
  for (size_t k = 0; k < admitted.size(); ++k) {
    AdmissionList list;
    list.admission = sums::Admission::kTokens;
    sums::Admit(admitted[k], list);
    const fs::path file = folder / ("clients-" + collection.nodes[k].name + ".txt");
    WriteNewFile(file, sums::FormatAdmissionList(list), 0600, "the list");
    files.push_back(file.string());
  }
  PrintResult(
      output,
      fmt::format("{} tokens in {}, valid until {}; give each node its clients-NODE.txt",
                  command.count, folder.string(), FormatUtc(*until)),
      Json{{"tokens", command.count}, {"folder", folder.string()}, {"lists", files}}.dump());
  return kDone;
}

struct SubmitCommand {
  std::string collection, row, key, certificate, token, upload, wait = "2m";
  RowOfTable table;  // instead of row
};

sums::ClientCredential CredentialOf(const SubmitCommand& command) {
  sums::ClientCredential credential;
  if (!command.token.empty()) {
    credential.token = sums::LoadToken(command.token);
  } else if (!command.certificate.empty()) {
    credential.identity = crypto::LoadIdentity(command.certificate, command.key);
  } else {
    credential.key = sums::LoadBoxKey(command.key);
  }
  return credential;
}

std::string DefaultUploadFile(const SubmitCommand& command, const sums::CollectionFile& collection,
                              const sums::ClientId& client) {
  const fs::path secret = command.token.empty() ? command.key : command.token;
  return (secret.parent_path() /
          fmt::format("{}-{}-{}.upload", collection.name, collection.epoch, ToHex(client)))
      .string();
}

int PrintReceipts(const OutputOptions& output, const sums::ClientId& client,
                  const std::string& upload_file, bool drawn, const sums::regression::Rows& encoded,
                  const std::vector<sums::NodeReceipt>& receipts) {
  TextTable table;
  table.header = {"compute node", "answer", "attempts", ""};
  table.right = {2};
  Json nodes = Json::array();
  size_t acknowledged = 0;
  bool refused = false;
  for (const sums::NodeReceipt& receipt : receipts) {
    acknowledged += receipt.acknowledged ? 1 : 0;
    refused = refused || (!receipt.acknowledged && !receipt.answer.empty());
    table.rows.push_back({receipt.node, receipt.answer.empty() ? "none" : receipt.answer,
                          std::to_string(receipt.attempts), receipt.problem});
    nodes.push_back({{"node", receipt.node},
                     {"acknowledged", receipt.acknowledged},
                     {"answer", receipt.answer},
                     {"problem", receipt.problem},
                     {"attempts", receipt.attempts}});
  }
  Json clipped = Json::array();
  for (const auto& column : encoded.clipped) clipped.push_back(column.name);
  const bool all = acknowledged == receipts.size();
  std::string text = RenderTable(table, 0);
  text += all ? "every compute node has the upload\n"
              : fmt::format(
                    "{} of {} compute nodes have the upload: it does not count yet; the "
                    "same command sends the same bytes again\n",
                    acknowledged, receipts.size());
  PrintResult(output, text,
              Json{{"client", ToHex(client)},
                   {"upload", upload_file},
                   {"drawn", drawn},
                   {"clipped", clipped},
                   {"shortened", encoded.shortened > 0},
                   {"acknowledged", acknowledged},
                   {"nodes", nodes}}
                  .dump(),
              all ? "done" : "problems");
  return all ? kDone : refused ? kRefused : kUnreachable;
}

// The numbers to submit, and the row of the table that they come from, if any.
std::vector<double> RowToSubmit(const OutputOptions& output, const SubmitCommand& command,
                                const sums::CollectionFile& collection,
                                const std::string& upload_file, sums::regression::Rows& encoded) {
  if (!command.table.file.empty()) {
    EncodedRow row = EncodeRowOfTable(collection, command.table);
    for (const std::string& note :
         sums::regression::ClippingNotes(row.row, *collection.regression)) {
      PrintNote(output, note);
    }
    encoded = std::move(row.row);
    return std::move(row.vector);
  }
  if (!command.row.empty()) {
    std::vector<double> row = sums::ReadRowFile(command.row, collection.contract.dimension);
    if (const auto& spec = collection.regression) {
      sums::regression::RequireOfARow(*spec, sums::regression::DesignOf(*spec), row, command.row);
    }
    return row;
  }
  throw Error(ErrorCode::kUsage, "no upload is kept in " + upload_file,
              collection.regression
                  ? "name a table with --table FILE, or a row of numbers with --row FILE"
                  : "name a row with --row FILE");
}

int RunSubmit(const OutputOptions& output, const SubmitCommand& command) {
  const sums::CollectionFile collection = sums::LoadCollectionFile(command.collection);
  const sums::ClientCredential credential = CredentialOf(command);
  const sums::ClientId client = sums::ClientOf(credential, collection);
  const std::string file =
      command.upload.empty() ? DefaultUploadFile(command, collection, client) : command.upload;
  const bool drawn = !fs::exists(file);
  std::vector<double> row;
  sums::regression::Rows encoded;
  if (drawn) {
    row = RowToSubmit(output, command, collection, file, encoded);
  } else if (!command.row.empty() || !command.table.file.empty()) {
    PrintNote(output, "the upload kept in " + file + " is sent again; the row is not read");
  }
  crypto::SystemRandom random;
  const sums::KeptUpload upload = sums::KeepUpload(collection, credential, row, file, random);
  CancellableProgress progress;
  const std::vector<sums::NodeReceipt> receipts =
      sums::SendUpload(collection, credential, upload, MillisecondsOf(command.wait), progress);
  return PrintReceipts(output, client, file, drawn, encoded, receipts);
}

void AddKeygen(CLI::App* group, Invocation& invocation) {
  auto folder = std::make_shared<std::string>(".");
  CLI::App* command = AddCommand(
      group, "keygen", "client keygen", "Make the key of a registered client", invocation,
      [&invocation, folder] { return RunKeygen(invocation.output, *folder); });
  command->add_option("--folder", *folder, "Where client.key and client.pub go")
      ->capture_default_str();
}

void AddRegister(CLI::App* group, Invocation& invocation) {
  auto options = std::make_shared<RegisterCommand>();
  CLI::App* command = AddCommand(
      group, "register", "client register", "Admit clients: add them to a node's list", invocation,
      [&invocation, options] { return RunRegister(invocation.output, *options); });
  command->add_option("LIST", options->list, "The list of clients, made if it is missing")
      ->required();
  CLI::Option* keys =
      command->add_option("--key", options->keys, "client.pub of registered clients");
  command
      ->add_option("--certificate", options->certificates,
                   "Certificates of clients that connect with them")
      ->excludes(keys);
}

void AddInvite(CLI::App* group, Invocation& invocation) {
  auto options = std::make_shared<InviteCommand>();
  CLI::App* command =
      AddCommand(group, "invite", "client invite",
                 "Make tokens for unregistered clients, and the lists of the nodes", invocation,
                 [&invocation, options] { return RunInvite(invocation.output, *options); });
  command->add_option("COLLECTION", options->collection, "The collection file")->required();
  command->add_option("--count", options->count, "How many")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  command->add_option("--until", options->until, "The last day of their validity")->required();
  command->add_option("--folder", options->folder, "Where CLIENT.token and clients-NODE.txt go")
      ->capture_default_str();
}

void AddSubmit(CLI::App* group, Invocation& invocation) {
  auto options = std::make_shared<SubmitCommand>();
  CLI::App* command =
      AddCommand(group, "submit", "client submit",
                 "Send one client's row, noised and split, to the compute nodes", invocation,
                 [&invocation, options] { return RunSubmit(invocation.output, *options); });
  command->add_option("COLLECTION", options->collection, "The collection file")->required();
  command->add_option("--row", options->row,
                      "The numbers of the row; not needed to send a kept upload again");
  CLI::Option* table = command->add_option(
      "--table", options->table.file,
      "Instead of --row: a table (CSV) of this client, encoded as [regression] of the collection "
      "says");
  table->excludes("--row");
  command->add_option("--table-row", options->table.row, "Which row of the table, from 1")
      ->needs(table)
      ->capture_default_str();
  AddTableFormat(*command, options->table.format);
  CLI::Option* key = command->add_option(
      "--key", options->key, "client.key of a registered client, or the key of --certificate");
  CLI::Option* token = command->add_option("--token", options->token, "A client's token");
  command->add_option("--certificate", options->certificate, "A client's certificate")
      ->needs(key)
      ->excludes(token);
  key->excludes(token);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunSubmit(invocation.output, *options); };
    if (options->key.empty() && options->token.empty()) {
      throw CLI::RequiredError("--key or --token");
    }
  });
  command->add_option("--upload", options->upload,
                      "Where the upload is kept (default: beside the key or token)");
  command->add_option("--wait", options->wait, "How long to try to reach the compute nodes")
      ->capture_default_str();
}

}  // namespace

void AddClientCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* group = app.add_subcommand(
      "client", "Take part in a private sum as one of very many (docs/private-sums.md)");
  group->require_subcommand(1);
  AddKeygen(group, invocation);
  AddRegister(group, invocation);
  AddInvite(group, invocation);
  AddSubmit(group, invocation);
}

}  // namespace partita::cli
