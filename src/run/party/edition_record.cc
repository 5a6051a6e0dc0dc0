#include "run/party/edition_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file_in_pieces.h"
#include "crypto/state_file.h"

namespace partita::run {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostText = 1 << 16;  // a name of a column, a reason
// What ReadState reads.
constexpr uint64_t kMostDigests = (uint64_t{1} << 32) / 8 - (1 << 20);

const crypto::StateKind kRecordKind = {
    "partita edition 1", "the record of a table's editions",
    "bring it back from a backup, or delete it if no exact result of this table was released"};
const crypto::StateKind kDigestsKind = {
    "partita edition digests 1", "the digests of an edition's cells",
    "bring the file back from a backup: the next edition is compared with it"};

fs::path DigestsPath(const fs::path& record, uint64_t number) {
  return fmt::format("{}-{}.digests", record.string(), number);
}

crypto::Digest BindingOf(const crypto::Key& salt, uint64_t number) {
  crypto::Sha256 hash;
  return hash.Field(salt.Expose()).Field("edition").U64(number).Finish();
}

void WriteApart(ByteWriter& writer, const data::PersonsApart& apart) {
  for (const uint64_t count : {apart.came, apart.changed, apart.went, apart.regrouped})
    writer.U64(count);
  writer.U64(apart.columns.size());
  for (const auto& [column, persons] : apart.columns) {
    writer.String(column);
    writer.U64(persons);
  }
}

data::PersonsApart ReadApart(ByteReader& reader) {
  data::PersonsApart apart;
  for (uint64_t* count : {&apart.came, &apart.changed, &apart.went, &apart.regrouped})
    *count = reader.U64();
  for (uint64_t i = reader.U64(); i > 0; --i) {
    const std::string column = reader.String(kMostText);
    apart.columns[column] = reader.U64();
  }
  return apart;
}

void WriteEdition(ByteWriter& writer, const Edition& edition) {
  writer.U64(edition.number);
  writer.U64(static_cast<uint64_t>(edition.opened));
  writer.U64(edition.rows);
  writer.Raw(edition.extract);
  writer.U8(edition.served ? 1 : 0);
  writer.String(edition.reason);
  writer.U64(edition.apart.size());
  for (const auto& [number, apart] : edition.apart) {
    writer.U64(number);
    WriteApart(writer, apart);
  }
}

Edition ReadEdition(ByteReader& reader) {
  Edition edition;
  edition.number = reader.U64();
  edition.opened = static_cast<int64_t>(reader.U64());
  edition.rows = reader.U64();
  const ByteView extract = reader.Raw(edition.extract.size());
  std::copy(extract.begin(), extract.end(), edition.extract.begin());
  edition.served = reader.U8() != 0;
  edition.reason = reader.String(kMostText);
  for (uint64_t i = reader.U64(); i > 0; --i) {
    const uint64_t number = reader.U64();
    edition.apart.emplace_back(number, ReadApart(reader));
  }
  return edition;
}

}  // namespace

const Edition* EditionRecord::Find(uint64_t number) const {
  for (const Edition& edition : editions) {
    if (edition.number == number) return &edition;
  }
  return nullptr;
}

std::optional<EditionRecord> ReadEditionRecord(const fs::path& record) {
  const std::optional<SecretBytes> bytes = crypto::ReadState(kRecordKind, record);
  if (!bytes) return std::nullopt;
  EditionRecord content;
  crypto::DecodeState(kRecordKind, bytes->Expose(), {}, [&](ByteReader& reader) {
    const ByteView salt = reader.Raw(content.salt.Expose().size());
    std::copy(salt.begin(), salt.end(), content.salt.Expose().begin());
    content.asked = reader.U64();
    for (uint64_t i = reader.U64(); i > 0; --i) content.editions.push_back(ReadEdition(reader));
    content.key = reader.String(kMostText);
    for (uint64_t i = reader.U64(); i > 0; --i) content.withdrawn.push_back(reader.U64());
  });
  return content;
}

void WriteEditionRecord(const fs::path& record, const EditionRecord& content) {
  ByteWriter writer;
  writer.Raw(content.salt.Expose());
  writer.U64(content.asked);
  writer.U64(content.editions.size());
  for (const Edition& edition : content.editions) WriteEdition(writer, edition);
  writer.String(content.key);
  writer.U64(content.withdrawn.size());
  for (const uint64_t key : content.withdrawn) writer.U64(key);
  crypto::WriteState(record, crypto::EncodeState(kRecordKind, {}, writer.Take()));
}

fs::path ExtractPath(const fs::path& record, uint64_t number) {
  return fmt::format("{}-{}.frozen", record.string(), number);
}

data::CellDigests ReadEditionDigests(const fs::path& record, uint64_t number,
                                     const crypto::Key& salt) {
  const std::optional<SecretBytes> bytes =
      crypto::ReadState(kDigestsKind, DigestsPath(record, number));
  if (!bytes) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} is not there", DigestsPath(record, number).string()),
                kDigestsKind.remedy);
  }
  data::CellDigests digests;
  crypto::DecodeState(
      kDigestsKind, bytes->Expose(), BindingOf(salt, number), [&](ByteReader& reader) {
        for (uint64_t i = reader.U64(); i > 0; --i)
          digests.columns.push_back(reader.String(kMostText));
        const uint64_t cells = reader.U64();
        if (digests.columns.empty() || cells % digests.columns.size() != 0)
          throw crypto::DamagedState(kDigestsKind);
        digests.cells.reserve(std::min<uint64_t>(cells, reader.remaining() / sizeof(uint64_t)));
        for (uint64_t i = 0; i < cells; ++i) digests.cells.push_back(reader.U64());
      });
  return digests;
}

void WriteEditionDigests(const fs::path& record, uint64_t number, const crypto::Key& salt,
                         const data::CellDigests& digests) {
  if (digests.cells.size() > kMostDigests) {
    throw Error(ErrorCode::kUsage,
                fmt::format("an edition has {} cells, more than the {} that can be kept",
                            digests.cells.size(), kMostDigests),
                "let the query give the columns that studies use, and no others");
  }
  ByteWriter writer;
  writer.U64(digests.columns.size());
  for (const std::string& column : digests.columns) writer.String(column);
  writer.U64(digests.cells.size());
  for (const uint64_t cell : digests.cells) writer.U64(cell);
  crypto::WriteState(DigestsPath(record, number),
                     crypto::EncodeState(kDigestsKind, BindingOf(salt, number), writer.Take()));
}

void RemoveOldFiles(const fs::path& record, const EditionRecord& content) {
  std::vector<fs::path> kept;
  for (const Edition& edition : content.editions) {
    const bool newest = edition.number == content.editions.back().number;
    if (newest) kept.push_back(ExtractPath(record, edition.number).filename());
    if (newest || edition.served) kept.push_back(DigestsPath(record, edition.number).filename());
  }
  // With a temporary file's ending (base/files.h), of one that was killed.
  const auto is_ours = [start = record.filename().string() + "-"](const std::string& name) {
    if (!name.starts_with(start)) return false;
    const std::string rest = name.substr(start.size());
    const size_t digits = rest.find_first_not_of("0123456789");
    return digits != 0 && digits != std::string::npos &&
           (rest.compare(digits, 7, ".frozen") == 0 || rest.compare(digits, 8, ".digests") == 0);
  };
  const fs::path folder = record.has_parent_path() ? record.parent_path() : fs::path(".");
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    if (is_ours(name.string()) && std::find(kept.begin(), kept.end(), name) == kept.end())
      old.push_back(entry.path());
  }
  for (const fs::path& file : old) {
    std::error_code failed;
    fs::remove(file, failed);
    if (!failed) continue;
    throw Error(ErrorCode::kStorage, "cannot remove " + file.string() + ": " + failed.message(),
                "remove it: it holds rows of an edition that is over");
  }
}

}  // namespace partita::run
