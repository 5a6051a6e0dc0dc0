// [clients], [sum] and [privacy].
#include <cmath>

#include "base/error.h"
#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"
#include "sums/file/collection_sections.h"
#include "sums/protocol/calibrate.h"
#include "sums/protocol/sum_statement.h"

namespace partita::sums {
namespace {

using study::TableReader;

constexpr int64_t kMaxClients = 100'000'000;
constexpr int64_t kDefaultFractionBits = 24;

int64_t WithinOr(const TableReader& reader, std::string_view key, std::optional<int64_t> otherwise,
                 int64_t low, int64_t high, const std::string& example, const std::string& hint) {
  const auto value = reader.OptionalInteger(key);
  if (!value) {
    if (!otherwise) reader.FailMissing(key, example);
    return *otherwise;
  }
  if (value->value < low || value->value > high) {
    reader.Fail(value->position,
                "'" + std::string(key) + "' must be from " + std::to_string(low) + " to " +
                    std::to_string(high),
                hint);
  }
  return value->value;
}

double NumberWithin(const TableReader& reader, std::string_view key, double low, double high,
                    const std::string& example, const std::string& hint) {
  const study::Located<double> number = reader.Number(key, example);
  if (!(number.value >= low && number.value <= high)) {
    reader.Fail(number.position, "'" + std::string(key) + "' is out of range", hint);
  }
  return number.value;
}

void ReadDelta(const TableReader& reader, CollectionFile& collection) {
  if (collection.contract.noise_law == NoiseLaw::kLaplace) {
    if (!reader.Has("delta")) return;
    reader.Fail(reader.PositionOf("delta"), "the epsilon of Laplace noise is pure: it has no delta",
                "remove it, or write noise = \"gaussian\" in [regression]");
  }
  collection.delta = privacy::Delta(
      NumberWithin(reader, "delta", study::kMinDelta, study::kMaxDelta, "delta = 1e-6",
                   "use a number from 1e-15 to 0.01, well below one over the number of clients"));
}

// The promise holds for what N - T_drop uploads carry, sums of shares and all.
void RequirePromise(const TableReader& reader, const CollectionFile& collection) {
  const Contract& contract = collection.contract;
  const privacy::PrivacyLoss loss = ChargedLoss(contract, MinAccepted(contract), collection.delta);
  if (!collection.epsilon || (!loss.infinite && loss.epsilon_upper <= *collection.epsilon)) return;
  reader.Fail(reader.PositionOf("epsilon"), "no noise on this grid keeps this epsilon",
              "use more fraction bits");
}

}  // namespace

void ReadClients(const TableReader& root, CollectionFile& collection) {
  const TableReader reader =
      root.Table("clients", {"planned", "max_drop", "max_collude", "admission"}, "[clients]");
  Contract& contract = collection.contract;
  contract.clients =
      static_cast<uint32_t>(WithinOr(reader, "planned", std::nullopt, 2, kMaxClients,
                                     "planned = 1000", "write how many clients are admitted"));
  const int64_t most = contract.clients - 1;
  contract.max_drop = static_cast<uint32_t>(
      WithinOr(reader, "max_drop", std::nullopt, 0, most, "max_drop = 200",
               "write how many clients may fail to upload; with more, nothing is opened"));
  contract.max_collude = static_cast<uint32_t>(
      WithinOr(reader, "max_collude", std::nullopt, 0, most, "max_collude = 50",
               "write how many clients may tell others their share of the noise, or not add it"));
  if (uint64_t{contract.max_drop} + contract.max_collude + 1 >= contract.clients) {
    reader.Fail(reader.PositionOf("planned"),
                "'planned' must be above max_drop + max_collude + 1: somebody's noise must remain",
                "plan with more clients, or with fewer that drop out or collude");
  }
  const std::string admission =
      reader.Choice(reader.Text("admission", "admission = \"registered\""), "admission",
                    {"registered", "tokens", "certificates"});
  collection.admission = admission == "registered" ? Admission::kRegistered
                         : admission == "tokens"   ? Admission::kTokens
                                                   : Admission::kCertificates;
}

void ReadSum(const TableReader& root, CollectionFile& collection) {
  const TableReader reader =
      root.Table("sum", {"dimension", "bound", "fraction_bits", "ring_bits"}, "[sum]");
  Contract& contract = collection.contract;
  contract.dimension =
      static_cast<size_t>(WithinOr(reader, "dimension", std::nullopt, 1, kMaxDimension,
                                   "dimension = 10", "write how many numbers a client's row has"));
  contract.clip.norm = privacy::Norm::kL2;
  contract.clip.bound =
      NumberWithin(reader, "bound", 1e-9, 1e9, "bound = 1.0",
                   "write the largest L2 norm of a row; longer rows are shortened to it");
  contract.clip.fraction_bits =
      static_cast<int>(WithinOr(reader, "fraction_bits", kDefaultFractionBits, 0, 80, "",
                                "24 suits most sums; a grid unit is 2^-fraction_bits"));
  const int64_t ring =
      WithinOr(reader, "ring_bits", 64, 64, 128, "", "write 64, or 128 where sums do not fit");
  if (ring != 64 && ring != 128) {
    reader.Fail(reader.PositionOf("ring_bits"), "'ring_bits' must be 64 or 128",
                "write 64, or 128 where sums do not fit");
  }
  contract.ring = ring == 64 ? RingBits::k64 : RingBits::k128;
}

void RefuseSum(const TableReader& root) {
  if (!root.Has("sum")) return;
  root.Fail(root.PositionOf("sum"), "[regression] says what the sum is",
            "remove [sum]: length, bound, grid and ring follow from the regression");
}

void ReadNoise(const TableReader& root, CollectionFile& collection) {
  const TableReader reader =
      root.Table("privacy", {"epsilon", "delta", "noise_stddev", "noise_from"}, "[privacy]");
  Contract& contract = collection.contract;
  const std::string source = reader.Choice(reader.Text("noise_from", "noise_from = \"clients\""),
                                           "noise_from", {"clients", "nodes"});
  contract.noise_source = source == "clients" ? NoiseSource::kClients : NoiseSource::kNodes;
  ReadDelta(reader, collection);
  if (reader.Has("epsilon") == reader.Has("noise_stddev")) {
    reader.Fail(reader.PositionOf("noise_stddev"),
                "[privacy] needs 'epsilon' or 'noise_stddev', and not both",
                "write epsilon = 1.0 to have the noise chosen for it");
  }
  try {
    if (reader.Has("epsilon")) {
      collection.epsilon =
          NumberWithin(reader, "epsilon", study::kMinEpsilon, study::kMaxEpsilon, "epsilon = 1.0",
                       "use a number from 0.0001 to 100; around 1 is usual, above 10 protects "
                       "little");
      CalibrateNoise(contract, privacy::Epsilon(*collection.epsilon), collection.delta);
    } else {
      if (contract.noise_law == NoiseLaw::kLaplace) {
        reader.Fail(reader.PositionOf("noise_stddev"), "Laplace noise is sized by 'epsilon'",
                    "write epsilon = 1.0, or noise = \"gaussian\" in [regression]");
      }
      const double stddev = NumberWithin(reader, "noise_stddev", 1e-12, 1e15, "noise_stddev = 10.0",
                                         "write a positive number, in units of the values");
      contract.variance =
          privacy::VarianceOfStddev(std::ldexp(stddev, contract.clip.fraction_bits));
    }
    CheckContract(contract);
    RequirePromise(reader, collection);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    study::FailWith(reader, reader.position(), error);
  }
}

}  // namespace partita::sums
