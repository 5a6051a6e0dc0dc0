#include "run/party/editions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "base/file_in_pieces.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "data/source/open_table.h"
#include "run/party/locked_file.h"
#include "run/party/table_columns.h"

namespace partita::run {
namespace {

namespace fs = std::filesystem;

constexpr char kEditionName[] = "the record of a table's editions";

std::string DayOf(int64_t utc) { return FormatUtc(utc).substr(0, 10); }

// Since the year 0: of months, quarters or years.
int PeriodOf(int64_t utc, data::EditionRule rule) {
  const std::string text = FormatUtc(utc);
  const int year = std::stoi(text.substr(0, 4)), month = std::stoi(text.substr(5, 2)) - 1;
  if (rule == data::EditionRule::kMonthly) return 12 * year + month;
  return rule == data::EditionRule::kQuarterly ? 4 * year + month / 3 : year;
}

bool IsDue(const data::SourceFile& source, const EditionRecord& record, int64_t now) {
  if (record.editions.empty()) return true;
  const data::EditionRule rule = source.edition.value_or(data::EditionRule::kSteward);
  return rule != data::EditionRule::kSteward &&
         PeriodOf(now, rule) > PeriodOf(record.editions.back().opened, rule);
}

uint64_t LeastOf(const data::SourceFile& source, const EditionRecord& record) {
  return std::max({data::kLeastEditionRows, source.edition_rows, record.asked});
}

EditionRecord ReadOrNew(const EditionTable& table, crypto::RandomSource& random) {
  if (std::optional<EditionRecord> record = ReadEditionRecord(table.record))
    return *std::move(record);
  EditionRecord fresh;
  fresh.salt = crypto::RandomKey(random);
  return fresh;
}

data::DroppedRows DroppedBy(const EditionRecord& record) {
  if (record.withdrawn.empty()) return {};
  return {record.key, [&record](std::string_view text) {
            return std::binary_search(record.withdrawn.begin(), record.withdrawn.end(),
                                      data::CellDigest(record.salt, record.key, text));
          }};
}

data::CsvOptions OptionsOf(const data::OpenedTable& opened) {
  return data::WithDialect({}, opened.dialect);
}

// As DroppedBy, of digests.
void DropWithdrawn(const EditionRecord& record, data::CellDigests& digests) {
  if (record.withdrawn.empty()) return;
  data::RequireKeys(digests, record.key);
  const size_t width = digests.columns.size();
  const auto key =
      static_cast<size_t>(std::find(digests.columns.begin(), digests.columns.end(), record.key) -
                          digests.columns.begin());
  std::vector<uint64_t> kept;
  for (size_t row = 0; row < digests.cells.size(); row += width) {
    if (std::binary_search(record.withdrawn.begin(), record.withdrawn.end(),
                           digests.cells[row + key]))
      continue;
    for (size_t c = 0; c < width; ++c) kept.push_back(digests.cells[row + c]);
  }
  digests.cells = std::move(kept);
}

crypto::Digest DigestOfFile(const fs::path& file) {
  const data::ByteSource bytes = data::OpenFile(file);
  std::array<uint8_t, 1 << 16> piece{};
  crypto::Sha256 hash;
  while (const size_t size = bytes(piece)) hash.Update(ByteView(piece).first(size));
  return hash.Finish();
}

class RemovedUnlessKept {
 public:
  explicit RemovedUnlessKept(fs::path file) : file_(std::move(file)) {}
  RemovedUnlessKept(const RemovedUnlessKept&) = delete;
  RemovedUnlessKept& operator=(const RemovedUnlessKept&) = delete;
  ~RemovedUnlessKept() {
    std::error_code ignored;
    if (!kept_) fs::remove(file_, ignored);
  }
  void Keep() { kept_ = true; }

 private:
  fs::path file_;
  bool kept_ = false;
};

// The rows of now in the file of the edition that is not there yet.
struct Candidate {
  Edition edition;
  data::CellDigests digests;
  std::unique_ptr<RemovedUnlessKept> extract;
};

Candidate FreezeNow(const EditionTable& table, const data::SourceFile& source,
                    const EditionRecord& record, int64_t now) {
  Candidate candidate;
  Edition& edition = candidate.edition;
  edition.number = record.editions.empty() ? 1 : record.editions.back().number + 1;
  edition.opened = now;
  const fs::path extract = ExtractPath(table.record, edition.number);
  const data::OpenedTable rows = data::OpenTable(table.source);
  data::FrozenTable frozen =
      data::Freeze(rows.bytes, table.source.string(), {}, OptionsOf(rows),
                   table.record.parent_path(), data::kFreezeMemory, DroppedBy(record));
  edition.rows = frozen.rows();
  candidate.extract = std::make_unique<RemovedUnlessKept>(extract);
  crypto::Sha256 hash;
  WriteInPiecesAtomically(extract.string(), [&](const PieceWriter& write) {
    frozen.Write([&](std::string_view piece) {
      hash.Update(AsBytes(piece));
      write(piece);
    });
  });
  edition.extract = hash.Finish();
  candidate.digests = data::DigestCells(data::OpenFile(extract), extract.string(), {}, record.salt);
  if (source.key.empty()) return candidate;
  data::RequireKeys(candidate.digests, source.key);
  for (const Edition& before : record.editions) {
    if (!before.served) continue;
    const data::CellDigests digests = ReadEditionDigests(table.record, before.number, record.salt);
    if (!data::HasColumn(digests, source.key)) continue;
    edition.apart.emplace_back(before.number,
                               data::ComparePersons(digests, candidate.digests, source.key));
  }
  return candidate;
}

std::string CountsText(const data::PersonsApart& apart) {
  return fmt::format("{} came, {} changed and {} went", FormatCount(apart.came),
                     FormatCount(apart.changed), FormatCount(apart.went));
}

// From an edition before it; null: nobody can tell.
const data::PersonsApart* ApartFrom(const Edition& edition, uint64_t before) {
  for (const auto& [number, apart] : edition.apart) {
    if (number == before) return &apart;
  }
  return nullptr;
}

// Whether its rows are those of the newest edition.
bool IsNewest(const EditionRecord& record, const Candidate& candidate) {
  return !record.editions.empty() && record.editions.back().extract == candidate.edition.extract;
}

std::vector<std::string> ColumnsOf(const data::PersonsApart& apart) {
  std::vector<std::string> columns;
  for (const auto& [column, persons] : apart.columns) columns.push_back(column);
  return columns;
}

// Why the rule does not open it; empty: it does.
std::string AgainstRule(const data::SourceFile& source, const EditionRecord& record,
                        const Candidate& candidate) {
  if (IsNewest(record, candidate))
    return "no row has come, changed or gone since the edition before";
  const uint64_t least = LeastOf(source, record);
  for (const Edition& before : record.editions) {
    if (!before.served) continue;
    const data::PersonsApart* apart = ApartFrom(candidate.edition, before.number);
    if (apart == nullptr) {
      return fmt::format(
          "exact studies were given the edition of {}, and no column of keys is named in the "
          "source file, and there in both, by which it could be told in how many persons another "
          "one differs",
          DayOf(before.opened));
    }
    const uint64_t fewest = data::FewestApart(*apart, candidate.digests.columns);
    if (fewest == 0 || fewest >= least) continue;
    return fmt::format(
        "since the edition of {}, which exact studies were given, {}; in a column, or in who is "
        "there, the two differ by {}, fewer than {}",
        DayOf(before.opened), CountsText(*apart), fewest, least);
  }
  return "";
}

void KeepEdition(const EditionTable& table, EditionRecord& record, Candidate candidate) {
  WriteEditionDigests(table.record, candidate.edition.number, record.salt, candidate.digests);
  record.editions.push_back(std::move(candidate.edition));
  WriteEditionRecord(table.record, record);
  candidate.extract->Keep();
  RemoveOldFiles(table.record, record);
}

void RequireEditionsApart(const EditionTable& table, const EditionRecord& record,
                          const std::vector<std::string>& columns, uint64_t least) {
  const Edition& newest = record.editions.back();
  for (const Edition& before : record.editions) {
    if (!before.served || before.number == newest.number) continue;
    const data::PersonsApart* apart = ApartFrom(newest, before.number);
    std::string differs = "it is not known by how many persons";
    if (apart != nullptr) {
      const uint64_t fewest =
          data::FewestApart(*apart, columns.empty() ? ColumnsOf(*apart) : columns);
      if (fewest == 0 || fewest >= least) continue;
      differs =
          fmt::format("in what this study reads, by {} persons, fewer than {},", fewest, least);
    }
    throw Error(
        ErrorCode::kRefused,
        fmt::format("{}: {} the {} differs from the edition of {}, which exact studies were "
                    "given: exact results of both could show these persons",
                    table.source.string(), differs, EditionText(newest), DayOf(before.opened)),
        "open another edition once more rows have changed (partita data edition); a study "
        "with noise of its own needs none");
  }
}

void RequireExtract(const EditionTable& table, const Edition& edition) {
  const fs::path extract = ExtractPath(table.record, edition.number);
  if (fs::exists(extract) && DigestOfFile(extract) == edition.extract) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}, the rows of the {}, {}", extract.string(), EditionText(edition),
                          fs::exists(extract) ? "is damaged" : "is not there"),
              "bring it back from a copy, or open another edition: partita data edition --open");
}

uint64_t CountFound(const EditionTable& table, const EditionRecord& before,
                    const data::SourceFile& source, const std::vector<uint64_t>& asked) {
  std::vector<uint64_t> there;
  const auto add = [&](const data::CellDigests& digests) {
    const auto column = std::find(digests.columns.begin(), digests.columns.end(), source.key);
    if (column == digests.columns.end()) return;
    const auto place = static_cast<size_t>(column - digests.columns.begin());
    for (uint64_t row = 0; row < digests.rows(); ++row)
      there.push_back(digests.cells[row * digests.columns.size() + place]);
  };
  if (!before.editions.empty())
    add(ReadEditionDigests(table.record, before.editions.back().number, before.salt));
  const data::OpenedTable rows = data::OpenTable(table.source);
  add(data::DigestCells(rows.bytes, table.source.string(), OptionsOf(rows), before.salt));
  std::sort(there.begin(), there.end());
  return static_cast<uint64_t>(std::count_if(asked.begin(), asked.end(), [&](uint64_t key) {
    return std::binary_search(there.begin(), there.end(), key);
  }));
}

// Adds them to the record; how many of them have rows.
uint64_t Withdraw(const EditionTable& table, const data::SourceFile& source,
                  const std::vector<std::string>& keys, EditionRecord& record) {
  if (keys.empty()) return 0;
  if (source.key.empty() || (!record.withdrawn.empty() && record.key != source.key)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{}: it does not name the column in which these keys stand",
                    table.source.string()),
        fmt::format("write key = \"{}\" there", record.key.empty() ? "COLUMN" : record.key));
  }
  record.key = source.key;
  std::vector<uint64_t> asked;
  for (const std::string& key : keys)
    asked.push_back(data::CellDigest(record.salt, record.key, key));
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  const uint64_t found = CountFound(table, record, source, asked);
  std::vector<uint64_t> all;
  std::set_union(record.withdrawn.begin(), record.withdrawn.end(), asked.begin(), asked.end(),
                 std::back_inserter(all));
  record.withdrawn = std::move(all);
  return found;
}

}  // namespace

fs::path EditionRecordPath(const fs::path& source) { return source.string() + ".edition"; }

bool NeedsEdition(const Study& study, const fs::path& source) {
  return data::MayChange(source) && !data::GivesOnlySums(source) && !study.IsPrivate();
}

EditionUse UseOf(const Study& study, size_t party) {
  return {TableColumns(study, party),
          std::max({data::kLeastEditionRows, uint64_t{study.file.disclosure.min_cell},
                    study.LeastRowsApart()})};
}

Edition UseEdition(
    const EditionTable& table, const EditionUse& use, int64_t now, crypto::RandomSource& random,
    const std::function<void(const fs::path& extract, const Edition& edition)>& take) {
  const data::SourceFile source = data::ReadSourceFile(table.source);
  const LockedFile locked(table.record, kEditionName);
  EditionRecord record = ReadOrNew(table, random);
  if (IsDue(source, record, now)) {
    Candidate candidate = FreezeNow(table, source, record, now);
    if (AgainstRule(source, record, candidate).empty())
      KeepEdition(table, record, std::move(candidate));
  }
  RequireExtract(table, record.editions.back());
  RequireEditionsApart(table, record, use.columns,
                       use.least == 0 ? LeastOf(source, record) : use.least);
  Edition& newest = record.editions.back();
  const uint64_t asked = std::max(record.asked, use.least);
  if (!newest.served || asked != record.asked) {
    newest.served = true;
    record.asked = asked;
    WriteEditionRecord(table.record, record);
  }
  take(ExtractPath(table.record, newest.number), newest);
  return newest;
}

OpenedEdition OpenEdition(const EditionTable& table, const EditionOpening& opening, int64_t now,
                          crypto::RandomSource& random) {
  const data::SourceFile source = data::ReadSourceFile(table.source);
  const LockedFile locked(table.record, kEditionName);
  EditionRecord record = ReadOrNew(table, random);
  OpenedEdition opened;
  opened.keys_found = Withdraw(table, source, opening.keys, record);
  Candidate candidate = FreezeNow(table, source, record, now);
  if (!opening.keys.empty() && IsNewest(record, candidate)) {  // who is named is not in it
    WriteEditionRecord(table.record, record);
    opened.edition = record.editions.back();
    return opened;
  }
  const std::string against = AgainstRule(source, record, candidate);
  if (!against.empty() && opening.reason.empty()) {
    throw Error(ErrorCode::kRefused, fmt::format("{}: {}", table.source.string(), against),
                "wait until more rows have changed, or give a reason with --reason, which is "
                "recorded: exact studies stay refused where too few persons differ");
  }
  if (!against.empty()) candidate.edition.reason = opening.reason;
  opened.edition = candidate.edition;
  KeepEdition(table, record, std::move(candidate));
  return opened;
}

EditionLook LookAtEdition(const EditionTable& table, int64_t now) {
  const data::SourceFile source = data::ReadSourceFile(table.source);
  const LockedFile locked(table.record, kEditionName);
  const EditionRecord record = ReadEditionRecord(table.record).value_or(EditionRecord{});
  EditionLook look;
  look.editions = record.editions;
  look.least = LeastOf(source, record);
  look.due = IsDue(source, record, now);
  look.withdrawn = record.withdrawn.size();
  const data::OpenedTable rows = data::OpenTable(table.source);
  data::CellDigests digests =
      data::DigestCells(rows.bytes, table.source.string(), OptionsOf(rows), record.salt);
  DropWithdrawn(record, digests);
  look.rows_now = digests.rows();
  if (record.editions.empty() || source.key.empty()) return look;
  look.since = data::ComparePersons(
      ReadEditionDigests(table.record, record.editions.back().number, record.salt), digests,
      source.key);
  return look;
}

data::DroppedRows WithdrawnRows(const EditionTable& table) {
  const auto record =
      std::make_shared<EditionRecord>(ReadEditionRecord(table.record).value_or(EditionRecord{}));
  if (record->withdrawn.empty()) return {};
  return {record->key,
          [record, drop = DroppedBy(*record).drop](std::string_view text) { return drop(text); }};
}

std::string EditionText(const Edition& edition) {
  return fmt::format("edition of {}, {} rows", DayOf(edition.opened), FormatCount(edition.rows));
}

}  // namespace partita::run
