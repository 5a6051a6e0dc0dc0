#include "sums/file/collection_file.h"

#include <bit>

#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/hash.h"
#include "study/file/sections.h"
#include "study/file/text.h"
#include "sums/file/collection_sections.h"
#include "sums/file/regression_contract.h"
#include "sums/file/regression_section.h"

namespace partita::sums {
namespace {

constexpr int kCollectionFormat = 1;

const std::vector<std::string> kCollectionKeys = {"collection", "name",   "title",      "epoch",
                                                  "deadline",   "sum",    "clients",    "privacy",
                                                  "node",       "reader", "regression", "variable"};

void ReadRound(const study::TableReader& root, CollectionFile& collection) {
  if (const auto epoch = root.OptionalInteger("epoch")) {
    if (epoch->value < 0) {
      root.Fail(epoch->position, "'epoch' must not be negative",
                "number the rounds of a collection 1, 2, 3");
    }
    collection.epoch = static_cast<uint64_t>(epoch->value);
  }
  constexpr std::string_view kExample = "deadline = \"2026-12-01T18:00:00Z\"";
  const study::LocatedText deadline = root.Text("deadline", kExample);
  const auto utc = ParseUtc(deadline.value);
  if (!utc) {
    root.Fail(deadline.position, "'deadline' is no time: " + study::Quote(deadline.value),
              "write date and time in UTC, for example: " + std::string(kExample));
  }
  collection.deadline = *utc;
}

void AddVariance(const privacy::GridVariance& variance, crypto::Sha256& hash) {
  for (const UInt128 part : {variance.numerator, variance.denominator}) {
    hash.U64(static_cast<uint64_t>(part)).U64(static_cast<uint64_t>(part >> 64));
  }
  hash.U64(static_cast<uint64_t>(static_cast<int64_t>(variance.exponent)));
}

}  // namespace

CollectionFile ParseCollectionFile(std::string text, std::string file_name) {
  if (text.size() > study::kMaxStudyFileBytes) {
    study::FailAt(file_name, {1, 1}, "the file is larger than 1 MiB",
                  "a collection file describes a sum; clients are listed in a file of their own");
  }
  CollectionFile collection;
  collection.file_name = std::move(file_name);
  collection.text = std::move(text);
  const toml::table tree = study::ParseToml(collection.text, collection.file_name);
  const study::TableReader root(collection.file_name, tree, "the collection file", kCollectionKeys);
  study::CheckFormat(root, "collection", kCollectionFormat);
  study::FileNames names = study::ReadNames(root, "name = \"steps-2026\"");
  collection.name = std::move(names.name);
  collection.title = std::move(names.title);
  ReadRound(root, collection);
  ReadClients(root, collection);
  collection.regression = ReadRegression(root);
  if (collection.regression) {
    RefuseSum(root);
    ShapeContract(*collection.regression, collection.contract);
  } else {
    ReadSum(root, collection);
  }
  ReadNodes(root, collection);
  ReadReaders(root, collection);
  ReadNoise(root, collection);
  collection.contract.study = CollectionHash(collection);
  return collection;
}

CollectionFile LoadCollectionFile(const std::string& path) {
  return ParseCollectionFile(ReadFile(path, study::kMaxStudyFileBytes, "the collection file"),
                             path);
}

StudyHash CollectionHash(const CollectionFile& collection) {
  const Contract& contract = collection.contract;
  crypto::Sha256 hash;
  hash.Field("partita collection").U64(kCollectionFormat).Field(collection.name);
  hash.U64(static_cast<uint64_t>(collection.admission));
  hash.U64(contract.dimension).U64(static_cast<uint64_t>(contract.ring)).U64(contract.clients);
  hash.U64(contract.max_drop).U64(contract.max_collude);
  hash.U64(std::bit_cast<uint64_t>(contract.clip.bound));
  hash.U64(static_cast<uint64_t>(contract.clip.fraction_bits));
  AddVariance(contract.variance, hash);
  if (collection.regression) {
    hash.Field(CanonicalRegression(*collection.regression));
    hash.U64(std::bit_cast<uint64_t>(contract.sensitivity));
    hash.U64(static_cast<uint64_t>(contract.laplace_scale));
    hash.U64(static_cast<uint64_t>(contract.laplace_scale >> 64));
  }
  hash.U64(static_cast<uint64_t>(contract.noise_source));
  hash.U64(std::bit_cast<uint64_t>(collection.delta ? collection.delta->value() : 0.0));
  hash.U64(collection.nodes.size());
  for (const CollectionNode& node : collection.nodes) {
    hash.Field(node.name).Field(node.fingerprint).Update(node.box_key);
  }
  hash.U64(collection.readers.size());
  for (const CollectionReader& reader : collection.readers) {
    hash.Field(reader.name).Field(reader.fingerprint);
  }
  return hash.Finish();
}

uint16_t NodeIndexByName(const CollectionFile& collection, std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < collection.nodes.size(); ++i) {
    if (collection.nodes[i].name == name) return static_cast<uint16_t>(i);
    names.push_back(collection.nodes[i].name);
  }
  throw Error(ErrorCode::kBadInput,
              collection.file_name + ": there is no compute node " + study::Quote(name) +
                  " in collection " + collection.name,
              study::KnownNamesHint(name, names));
}

NodeCertificates CertificatesOf(const CollectionFile& collection) {
  NodeCertificates certificates;
  for (const CollectionNode& node : collection.nodes) certificates.push_back(node.certificate);
  return certificates;
}

std::string AdmissionName(Admission admission) {
  switch (admission) {
    case Admission::kRegistered:
      return "registered";
    case Admission::kTokens:
      return "tokens";
    case Admission::kCertificates:
      return "certificates";
  }
  return "registered";
}

}  // namespace partita::sums
