// What a collection costs and promises.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text_table.h"
#include "base/utc_time.h"
#include "privacy/rounded_text.h"
#include "sums/file/collection_file.h"
#include "sums/protocol/sum_statement.h"

namespace partita::sums {
namespace {

// Around one upload: handshake of TLS 1.3, request and answer.
constexpr size_t kOverheadBytes = 3500;
constexpr double kLinkLatency = 0.02, kLinkBytesPerSecond = 1.25e6;
constexpr int kRoundTrips = 3;  // TCP, TLS, request
// For a forecast of the order of magnitude on two cores: one connection with its handshake, one
// upload judged and stored, one ring element expanded or added.
constexpr double kHandshakeSeconds = 1e-3, kStoreSeconds = 5e-5, kElementSeconds = 5e-10;
constexpr double kOpenSeconds = 3e-6;  // of a stored share

double NodeSeconds(const Contract& contract) {
  const double words = static_cast<double>(WordBytes(contract)) / 8;  // of 64 bits in an element
  return contract.clients *
         (kOpenSeconds + static_cast<double>(contract.dimension) * kElementSeconds * words);
}

}  // namespace

CollectionPlan PlanCollection(const CollectionFile& collection) {
  const Contract& contract = collection.contract;
  const UploadMode mode = collection.admission == Admission::kRegistered ? UploadMode::kRegistered
                                                                         : UploadMode::kSealed;
  CollectionPlan plan;
  for (uint16_t node = 0; node < contract.nodes; ++node) {
    plan.upload_bytes.push_back(EnvelopeBytes(contract, mode, node));
    plan.client_bytes += plan.upload_bytes.back() + kOverheadBytes;
  }
  plan.client_seconds =
      kRoundTrips * 2 * kLinkLatency + static_cast<double>(plan.client_bytes) / kLinkBytesPerSecond;
  constexpr size_t kStoredAround = 16 + 32 + 32 + crypto::kAeadBytes + 30;
  plan.node_bytes = contract.clients * (ContentBytes(contract, 0) + kStoredAround);
  plan.ingest_seconds = contract.clients * (kHandshakeSeconds + kStoreSeconds);
  plan.sum_seconds = NodeSeconds(contract);
  plan.noise_stddev =
      std::ldexp(TotalNoiseStddev(contract, contract.clients), -contract.clip.fraction_bits);
  plan.statement = StateSum(contract, MinAccepted(contract), collection.delta);
  return plan;
}

std::string CollectionText(const CollectionFile& collection) {
  const Contract& contract = collection.contract;
  std::string text = fmt::format("{}, epoch {}, until {}\n", collection.name, collection.epoch,
                                 FormatUtc(collection.deadline));
  text += WrapText(
      fmt::format("Sums of {} numbers over {} {} clients; {} may drop out, {} may collude; rows of "
                  "{} norm up to {:g}, on a grid of 2^-{}, in a ring of {} bits.",
                  contract.dimension, FormatCount(contract.clients),
                  collection.admission == Admission::kRegistered ? "registered" : "unregistered",
                  FormatCount(contract.max_drop), FormatCount(contract.max_collude),
                  contract.clip.norm == privacy::Norm::kL1 ? "L1" : "L2", contract.clip.bound,
                  contract.clip.fraction_bits, static_cast<int>(contract.ring)),
      0);
  if (collection.regression) {
    text += WrapText(
        fmt::format("For a linear regression of {}; replacing one client's row moves the sums by "
                    "at most {} ({} norm, scaled units).",
                    collection.regression->outcome().name,
                    privacy::GivenText(RowSensitivity(contract), 6, true),
                    contract.clip.norm == privacy::Norm::kL1 ? "L1" : "L2"),
        0);
  }
  TextTable table;
  table.header = {"compute node", "address", "fingerprint"};
  for (const CollectionNode& node : collection.nodes) {
    table.rows.push_back({node.name, node.address, node.fingerprint});
  }
  for (const CollectionReader& reader : collection.readers) {
    table.rows.push_back({reader.name + " (reader)", "", reader.fingerprint});
  }
  text += RenderTable(table, 2);
  text += fmt::format("study hash {}\n", ToHex(contract.study));
  return text;
}

std::string CollectionPlanText(const CollectionFile& collection, const CollectionPlan& plan) {
  const Contract& contract = collection.contract;
  std::string text = CollectionText(collection);
  text += fmt::format("\nIf the fewest arrive, {} of {} clients (with fewer, nothing is opened):\n",
                      FormatCount(MinAccepted(contract)), FormatCount(contract.clients));
  text += privacy::StatementText(plan.statement);
  text +=
      "\nNobody but a client sees its row as long as one compute node keeps its shares to "
      "itself.\n";
  text += fmt::format(
      "All {} compute nodes must publish: if one is lost for good with its folder, the collection "
      "is lost, and clients would have to submit to a new one.\n",
      contract.nodes);
  const size_t seed_bytes = plan.upload_bytes.back();
  text += fmt::format("\nNoise of each value of the sum, if all arrive: standard deviation {}\n",
                      privacy::RoundedText(plan.noise_stddev, 6, false));
  text += fmt::format("A client sends {} to {}, {} to each other node; with TLS {} in all, {}\n",
                      FormatBytes(plan.upload_bytes.front()), collection.nodes.front().name,
                      FormatBytes(seed_bytes), FormatBytes(plan.client_bytes),
                      "about " + FormatSeconds(plan.client_seconds) + " at 20 ms and 10 Mbit/s");
  text += fmt::format(
      "A compute node on two cores takes all uploads in about {}, keeps up to {}, "
      "and sums in about {}\n",
      FormatSeconds(plan.ingest_seconds), FormatBytes(plan.node_bytes),
      FormatSeconds(plan.sum_seconds));
  return text;
}

}  // namespace partita::sums
