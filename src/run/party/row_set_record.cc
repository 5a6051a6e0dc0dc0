#include "run/party/row_set_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/state_stream.h"

namespace partita::run {
namespace {

const crypto::StateKind kRowSetsKind = {
    "partita row sets 1", "the record of served rows",
    "bring it back from a backup, or delete it if no exact result of this table was released"};

constexpr size_t kDigestBytes = sizeof(uint64_t);
constexpr size_t kDigestsOfBlock = size_t{1} << 16;

RowSetRecord ReadHead(crypto::StateStream& stream) {
  RowSetRecord record;
  stream.Read(record.key.Expose());
  record.num_sets = stream.U64();
  return record;
}

void ReadSet(crypto::StateStream& stream, uint64_t set, const TakeDigests& take, Bytes& block,
             std::vector<uint64_t>& digests) {
  uint64_t left = stream.U64();
  do {
    const auto count = static_cast<size_t>(std::min<uint64_t>(left, kDigestsOfBlock));
    const std::span<uint8_t> bytes = std::span(block).first(count * kDigestBytes);
    stream.Read(bytes);
    digests.clear();
    ByteReader in(bytes);
    while (in.remaining() > 0) digests.push_back(in.U64());
    take(set, digests);
    left -= count;
  } while (left > 0);
}

void AddSet(const RowDigests& set, const crypto::StateContent& add) {
  ByteWriter head;
  head.U64(set.size());
  add(head.bytes());
  for (size_t first = 0; first < set.size(); first += kDigestsOfBlock) {
    ByteWriter block;
    const size_t last = std::min(set.size(), first + kDigestsOfBlock);
    for (size_t d = first; d < last; ++d) block.U64(set[d]);
    add(block.bytes());
  }
}

// The sets that are on disk, byte by byte: those that were read before.
void CopySets(const std::filesystem::path& file, const RowSetRecord& record,
              const crypto::StateContent& add) {
  crypto::StateStream stream(kRowSetsKind, file);
  const RowSetRecord there = ReadHead(stream);
  if (there.key.Expose() != record.key.Expose() || there.num_sets != record.num_sets)
    throw ReplacedRecord(file);
  Bytes block(kDigestsOfBlock * kDigestBytes);
  while (stream.left() > 0) {
    const std::span<uint8_t> bytes = std::span(block).first(
        static_cast<size_t>(std::min<uint64_t>(stream.left(), block.size())));
    stream.Read(bytes);
    add(bytes);
  }
  stream.ExpectEnd();
}

}  // namespace

Error ReplacedRecord(const std::filesystem::path& file) {
  return {ErrorCode::kRefused,
          fmt::format("the record of served rows, {}, was replaced while this run began",
                      file.string()),
          "start again"};
}

const std::string& RowSetRecordName() { return kRowSetsKind.name; }

std::optional<RowSetRecord> ReadRowSets(const std::filesystem::path& file,
                                        const TakeDigests& take) {
  if (!crypto::StateExists(file)) return std::nullopt;
  crypto::StateStream stream(kRowSetsKind, file);
  const RowSetRecord record = ReadHead(stream);
  Bytes block(kDigestsOfBlock * kDigestBytes);
  std::vector<uint64_t> digests;
  for (uint64_t set = 0; set < record.num_sets; ++set) ReadSet(stream, set, take, block, digests);
  stream.ExpectEnd();
  return record;
}

void WriteRowSets(const std::filesystem::path& file, const RowSetRecord& record,
                  std::span<const RowDigests> more) {
  crypto::WriteStateInPieces(kRowSetsKind, file, [&](const crypto::StateContent& add) {
    ByteWriter head;
    head.U64(record.num_sets + more.size());
    add(record.key.Expose());
    add(head.bytes());
    if (record.num_sets > 0) CopySets(file, record, add);
    for (const RowDigests& set : more) AddSet(set, add);
  });
}

}  // namespace partita::run
