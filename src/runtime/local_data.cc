#include "runtime/local_data.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "data/csv_reader.h"

namespace partita::runtime {

LocalData LoadLocalData(const MleStudy& study, size_t party, const std::filesystem::path& path,
                        const crypto::Key& salt, Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  const data::Schema schema =
      data::SchemaForParty(study.file.dictionary, study.partition, party, study.row_columns);
  data::CsvOptions csv;
  csv.separator = study.file.table.separator;
  csv.decimal = study.file.table.decimal;
  data::SnapshotHasher snapshot(salt);
  data::CsvContents contents = data::ReadCsvFile(path, schema, csv, [&](ByteView bytes) {
    snapshot.Update(bytes);
    progress.CheckCancelled();
  });
  data::CheckRules rules;
  // A holder of some of the rows may have a constant column where the whole does not.
  rules.allow_constant = study.partition.kind != data::PartitionKind::kVertical;
  data::RequireClean(contents.report, rules);

  LocalData local;
  local.snapshot = snapshot.Finish();
  local.seconds_read = SecondsSince(start);
  local.holding =
      data::MakeHolding(std::move(contents.table), study.partition, party, study.row_columns);
  local.row_order = match::RowOrderDigests(study.partition, local.holding);
  local.seconds_order = SecondsSince(start) - local.seconds_read;
  for (size_t b = 0; b < study.task.blocks.size(); ++b) {
    methods::mle::LocalBlock block;
    for (const methods::mle::BlockHolder& holder : study.task.blocks[b].holders) {
      if (holder.party != party) continue;
      const data::BlockRows& rows = local.holding.Block(b);
      block.num_rows = rows.num_rows;
      if (!study.partition.blocks[b].count && rows.num_rows > kMaxUndeclaredRows) {
        throw Error(ErrorCode::kBadData,
                    fmt::format("block '{}' has {} rows, more than the {} assumed for a block "
                                "without a declared count",
                                study.partition.blocks[b].name, rows.num_rows, kMaxUndeclaredRows),
                    "agree on `count = ...` in its [[rows]] entry of the study file");
      }
      std::vector<std::string> columns;
      for (size_t v : holder.variables) columns.push_back(study.analysis.variables[v].name);
      if (!columns.empty())
        block.values = data::ScaledRows(local.holding, b, columns, study.task.fraction_bits);
      if (holder.holds_group) {
        const data::Column& group = local.holding.table->Get(study.analysis.options.group);
        block.groups.assign(
            group.codes.begin() + static_cast<std::ptrdiff_t>(rows.first_row),
            group.codes.begin() + static_cast<std::ptrdiff_t>(rows.first_row + rows.num_rows));
      }
    }
    local.blocks.push_back(std::move(block));
  }
  return local;
}

}  // namespace partita::runtime
