#include "run/party/local_data.h"

#include "base/clock.h"
#include "data/csv_reader.h"

namespace partita::run {

LocalData LoadLocalData(const Study& study, size_t party, const std::filesystem::path& path,
                        const crypto::Key& salt, Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  const data::Schema schema =
      data::SchemaForParty(study.file.dictionary, study.partition, party, study.row_columns);
  data::CsvOptions csv;
  csv.separator = study.file.table.separator;
  csv.decimal = study.file.table.decimal;
  csv.repair = study.IsPrivate();
  data::SnapshotHasher snapshot(salt);
  data::CsvContents contents = data::ReadCsvFile(path, schema, csv, [&](ByteView bytes) {
    snapshot.Update(bytes);
    progress.CheckCancelled();
  });
  data::CheckRules rules;
  const bool incomplete = study.file.design.missing != study::MissingPolicy::kRefuse;
  rules.allow_missing = incomplete;
  // A holder of some of the rows may have a constant column where the whole does not.
  rules.allow_constant = study.partition.kind != data::PartitionKind::kVertical;
  LocalData local;
  if (study.IsPrivate()) {
    rules.repaired = rules.allow_missing = rules.allow_constant = true;
    local.repaired = data::CountRepaired(contents.report, incomplete);
    if (!incomplete) {
      const bool fill = study.file.design.faulty_rows == study::FaultyRowsRule::kFill;
      data::FillMissing(contents.table, study.used,
                        fill ? data::FaultyRows::kFill : data::FaultyRows::kNeutral);
    }
  } else {
    data::RequireClean(contents.report, rules);
  }
  study.DeriveColumns(contents.table);

  local.snapshot = snapshot.Finish();
  local.seconds_read = SecondsSince(start);
  local.holding = data::MakeHolding(std::move(contents.table), study.partition, party,
                                    study.row_columns, rules);
  local.row_order = match::RowOrderDigests(study.partition, local.holding);
  local.seconds_order = SecondsSince(start) - local.seconds_read;
  local.method = study.PrepareRows(party, local.holding, local.rows);
  return local;
}

LocalData NoLocalData(const Study& study) {
  LocalData local;
  local.row_order.resize(study.shared_blocks.size());
  local.method = study.NoRows();
  return local;
}

}  // namespace partita::run
