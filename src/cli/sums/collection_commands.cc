// partita collection node | check | plan, partita aggregate
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/sums/round_options.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/units.h"
#include "crypto/certificate.h"
#include "privacy/rounded_text.h"
#include "sums/file/collection_file.h"
#include "sums/service/box_key_file.h"
#include "sums/service/collect_sum.h"
#include "sums/service/compute_run.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

Json CollectionData(const sums::CollectionFile& collection) {
  const sums::Contract& contract = collection.contract;
  Json nodes = Json::array();
  for (const sums::CollectionNode& node : collection.nodes) {
    nodes.push_back(
        {{"name", node.name}, {"address", node.address}, {"fingerprint", node.fingerprint}});
  }
  return {{"collection", collection.name},
          {"study", ToHex(contract.study)},
          {"epoch", collection.epoch},
          {"deadline", FormatUtc(collection.deadline)},
          {"dimension", contract.dimension},
          {"clients", contract.clients},
          {"max_drop", contract.max_drop},
          {"max_collude", contract.max_collude},
          {"admission", sums::AdmissionName(collection.admission)},
          {"nodes", nodes}};
}

void AddCollectionCheck(CLI::App* group, Invocation& invocation) {
  auto file = std::make_shared<std::string>();
  CLI::App* command =
      AddCommand(group, "check", "collection check",
                 "Check a collection file and show what it says", invocation, [&invocation, file] {
                   const sums::CollectionFile collection = sums::LoadCollectionFile(*file);
                   PrintResult(invocation.output, sums::CollectionText(collection),
                               CollectionData(collection).dump());
                   return kDone;
                 });
  command->add_option("COLLECTION", *file, "The collection file")->required();
}

void AddCollectionPlan(CLI::App* group, Invocation& invocation) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      group, "plan", "collection plan", "Say what a collection promises to whom, and what it costs",
      invocation, [&invocation, file] {
        const sums::CollectionFile collection = sums::LoadCollectionFile(*file);
        const sums::CollectionPlan plan = sums::PlanCollection(collection);
        Json data = CollectionData(collection);
        data["upload_bytes"] = plan.upload_bytes;
        data["client_bytes"] = plan.client_bytes;
        data["client_seconds"] = plan.client_seconds;
        data["node_bytes"] = plan.node_bytes;
        data["ingest_seconds"] = plan.ingest_seconds;
        data["sum_seconds"] = plan.sum_seconds;
        data["noise_stddev"] = plan.noise_stddev;
        data["statement"] = Json::parse(privacy::StatementJson(plan.statement));
        PrintResult(invocation.output, sums::CollectionPlanText(collection, plan), data.dump());
        return kDone;
      });
  command->add_option("COLLECTION", *file, "The collection file")->required();
}

struct NodeCommand {
  std::string name, address, folder;
  int days = 365;
};

// The [[node]] table of a folder, whose keys are made where they are missing.
int RunNode(const OutputOptions& output, const NodeCommand& command) {
  const fs::path folder = command.folder.empty() ? command.name : command.folder;
  fs::create_directories(folder);
  const sums::ComputeFiles files = sums::FilesIn(folder);
  if (!fs::exists(files.key) && !fs::exists(files.certificate)) {
    crypto::SaveIdentity(crypto::MakeIdentity({.name = command.name, .days = command.days}),
                         files.certificate, files.key);
  }
  if (!fs::exists(files.box_key)) {
    crypto::SystemRandom random;
    sums::SaveBoxKey(crypto::MakeBoxKeyPair(random), files.box_key);
  }
  const crypto::Identity identity = crypto::LoadIdentity(files.certificate, files.key);
  const crypto::CertificateInfo info = crypto::Describe(*identity.certificate);
  if (info.name != command.name) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the certificate in {} was made for {}", folder.string(), info.name),
                "name another --folder");
  }
  const std::string box_key = ToHex(sums::LoadBoxKey(files.box_key).public_key);
  const std::string table = fmt::format(
      "[[node]]\nname = \"{}\"\naddress = \"{}\"\nbox_key = \"{}\"\ncertificate = "
      "\"\"\"\n{}\"\"\"\n",
      command.name, command.address, box_key, crypto::FormatCertificate(*identity.certificate));
  PrintResult(output, table,
              Json{{"name", command.name},
                   {"address", command.address},
                   {"fingerprint", info.fingerprint},
                   {"box_key", box_key},
                   {"table", table}}
                  .dump());
  PrintNote(output, fmt::format("\nthe secrets of this node are in {}; put the table above into "
                                "the collection file",
                                folder.string()));
  return kDone;
}

void AddNode(CLI::App* group, Invocation& invocation) {
  auto options = std::make_shared<NodeCommand>();
  CLI::App* command = AddCommand(
      group, "node", "collection node",
      "Make the keys of a compute node and show its part of the collection file", invocation,
      [&invocation, options] { return RunNode(invocation.output, *options); });
  command->add_option("NAME", options->name, "The node's name: small letters, digits and '-'")
      ->required();
  command->add_option("--address", options->address, "HOST:PORT that clients connect to")
      ->required();
  command->add_option("--folder", options->folder,
                      "Where key.pem, cert.pem and box.key are or go (default: NAME)");
  command->add_option("--days", options->days, "How long the certificate is valid")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
}

struct AggregateCommand {
  std::string collection, folder = ".", key, certificate, ledger, table, wait = "1m", result;
};

Json SumData(const sums::CollectionFile& collection, const sums::CollectedSum& collected) {
  Json grid = Json::array();
  for (const Int128 value : collected.sum.grid) grid.push_back(ToString(value));
  Json data = {{"collection", collection.name},
               {"study", ToHex(collection.contract.study)},
               {"epoch", collection.epoch},
               {"clients", collected.sum.accepted},
               {"planned", collection.contract.clients},
               {"values", collected.sum.values},
               {"grid", grid},
               {"fraction_bits", collection.contract.clip.fraction_bits},
               {"noise_stddev", collected.sum.noise_stddev},
               {"statement", Json::parse(privacy::StatementJson(collected.statement))},
               {"ledger", nullptr}};
  if (collected.charge) {
    data["ledger"] = {{"table", collected.charge->table},
                      {"reservation", collected.charge->reservation}};
  }
  return data;
}

std::string SumText(const sums::CollectionFile& collection, const sums::CollectedSum& collected) {
  constexpr size_t kShown = 20;
  const sums::PrivateSum& sum = collected.sum;
  std::string text =
      fmt::format("{}, epoch {}: sums over {} of {} clients\n", collection.name, collection.epoch,
                  FormatCount(sum.accepted), FormatCount(collection.contract.clients));
  TextTable table;
  table.header = {"", "sum", "mean"};
  table.right = {0, 1, 2};
  for (size_t i = 0; i < std::min(kShown, sum.values.size()); ++i) {
    table.rows.push_back({std::to_string(i + 1), fmt::format("{:.6g}", sum.values[i]),
                          fmt::format("{:.6g}", sum.values[i] / sum.accepted)});
  }
  text += RenderTable(table, 2);
  if (sum.values.size() > kShown) {
    text += fmt::format("  ... and {} more (--format json)\n", sum.values.size() - kShown);
  }
  text += fmt::format("noise of each sum: standard deviation {}\n\n",
                      privacy::RoundedText(sum.noise_stddev, 6, false));
  text += privacy::StatementText(collected.statement);
  if (collected.charge) {
    text += fmt::format("Charged to table {} of the ledger as entry {}.\n", collected.charge->table,
                        collected.charge->reservation);
  }
  return text;
}

int RunAggregate(const OutputOptions& output, const AggregateCommand& command) {
  const sums::CollectionFile collection = sums::LoadCollectionFile(command.collection);
  const crypto::Identity identity = IdentityIn(command.folder, command.key, command.certificate);
  CancellableProgress progress;
  const sums::CollectedSum collected =
      sums::CollectSum(collection, identity, LedgerOf(command.ledger, command.table),
                       MillisecondsOf(command.wait), LogTo(output), progress);
  const std::string data = SumData(collection, collected).dump();
  if (!command.result.empty()) WriteFileAtomically(command.result, data + "\n");
  PrintResult(output, SumText(collection, collected), data);
  if (!command.result.empty()) PrintNote(output, "result written to " + command.result);
  return kDone;
}

}  // namespace

void AddCollectionCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* group = app.add_subcommand(
      "collection", "Prepare a private sum from very many clients (docs/private-sums.md)");
  group->require_subcommand(1);
  AddNode(group, invocation);
  AddCollectionCheck(group, invocation);
  AddCollectionPlan(group, invocation);

  auto options = std::make_shared<AggregateCommand>();
  CLI::App* command = AddCommand(
      &app, "aggregate", "aggregate", "Collect what the compute nodes published, and add it up",
      invocation, [&invocation, options] { return RunAggregate(invocation.output, *options); });
  command->add_option("COLLECTION", options->collection, "The collection file")->required();
  command
      ->add_option("--folder", options->folder,
                   "Where key.pem and cert.pem of a reader or a compute node are")
      ->capture_default_str();
  command->add_option("--key", options->key, "The private key (default: key.pem in the folder)");
  command->add_option("--certificate", options->certificate,
                      "The certificate (default: cert.pem in the folder)");
  CLI::Option* ledger = command->add_option("--ledger", options->ledger,
                                            "Charge this ledger before the sum is collected");
  command->add_option("--table", options->table, "The table in the ledger (default: its only one)")
      ->needs(ledger);
  command->add_option("--wait", options->wait, "How long to wait for the compute nodes")
      ->capture_default_str();
  AddNewFile(*command, invocation, "--output", options->result,
             "Also write the result as JSON to this file");
}

}  // namespace partita::cli
