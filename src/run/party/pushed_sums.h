// A party whose rows stay in their database: it has the sums formed that its part of a study adds up to, before
// anything is approved or run, and the run takes them from a file (data/source/sum_file.h).
//
// Revealed  To this program: the sums, and numbers of rows. To the database and its logs: what is asked.
// Served    Which rows are in which exact result nobody can see in sums, so a record beside the source file,
//           SOURCE.sum-sets, mode 0600, keeps what was asked and a digest of each answer. What was asked before is
//           asked again, in the same snapshot: another answer, and rows have come, gone or changed since, so that
//           exact results of both would show them; it is refused. The sets of rows of the new study are counted
//           against those served, and refused if they differ by fewer than the method says (row_sets.h). Kept when
//           the sums leave the database, whether or not a study runs on them.
#pragma once

#include <filesystem>

#include "base/progress.h"
#include "crypto/random.h"
#include "data/source/sum_file.h"
#include "data/source/sum_source.h"
#include "run/method/study.h"
#include "run/party/local_data.h"

namespace partita::run {

std::filesystem::path SumSetsPath(const std::filesystem::path& source);

// Of a source that was first asked for rows and now for sums, or the other way round, no record knows what both gave:
// throws kRefused. editions: a record of editions (edition_record.h) that is not beside the source; empty: there is
// none.
void RequireOneRecord(const std::filesystem::path& source, bool only_sums,
                      const std::filesystem::path& editions = {});

struct FormedSums {
  data::SumQuery query;
  data::SumFile sums;
};
// Throws kRefused by the rule above, and where the method needs rows; kBadData for rows that the study refuses; as
// data::OpenSums, and what `progress` throws. What is thrown is for the owner's eyes.
FormedSums FormSums(const Study& study, size_t party, const std::filesystem::path& source,
                    const std::filesystem::path& record, Progress* progress = nullptr);

// Of a file of sums: as LoadLocalData, without rows. The commitment is to the sums.
LocalData LoadSums(const Study& study, size_t party, const std::filesystem::path& path,
                   const crypto::Key& salt);

}  // namespace partita::run
