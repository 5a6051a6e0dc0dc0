// The file that a study's rows are read from.
//
// A database may change between approval and run. So `commit` freezes its rows into the folder of the
// study (data/source/freeze.h), and all that follows reads these; they go when the study ends. An exact study gets all
// columns and rows of the table's edition (run/party/editions.h), which stands under the table's name in the folder
// of all studies; one with noise the columns that it reads, as the rows are now. What a party has served of a table is recorded beside the table of the catalogue, for all studies of it, and
// under the table's name in the folder of all studies: another file under one name is one table still.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "node/job/documents.h"
#include "node/job/folder.h"
#include "node/job/settings.h"
#include "run/party/editions.h"

namespace partita::node {

struct StudyTable {
  std::filesystem::path data;                   // what is read
  std::vector<std::filesystem::path> row_sets;  // run/party/row_sets.h
};

// Where the rows are, or will be once they are frozen; of the table that is bound.
StudyTable TableOf(const StudyFolder& folder, const JobTable& table);

// Whether an exact study was ever served of the table with this name, or of this file of it; `studies`: the folder of
// all studies. Of a source file that cannot be read only the name is looked for.
bool WasServedExactly(const std::filesystem::path& studies, const std::string& name,
                      const std::filesystem::path& data);

// The record of the editions of the table with this name, and what the catalogue says of it.
run::EditionTable EditionsOf(const std::filesystem::path& studies, const std::string& name,
                             const std::filesystem::path& data);

// "edition of 2026-11-28, 312 rows", of frozen rows; empty: they are of no edition. For the own stewards.
std::string FrozenEdition(const StudyFolder& folder);

// Rows of a database, of its edition or of now, or its sums where no rows leave it (run/party/pushed_sums.h), unless they were frozen before. Durable on return. Throws kRefused for a
// database in a study of rows that match: these were matched in the order of a file. Else as
// data::OpenTable, data::Freeze and run::UseEdition.
void FreezeTable(const StudyFolder& folder, const Prepared& prepared, const JobTable& table);

// What became of the studies that hold frozen rows of the table, by their numbers.
struct ThawedStudies {
  std::vector<std::string> ended;    // had not opened anything: their rows and keys are deleted
  std::vector<std::string> running;  // a job works on them now
  std::vector<std::string> opened;   // may have opened something, and may need the rows to go on
};
ThawedStudies EndFrozenStudies(const JobSettings& settings, const std::string& name);

}  // namespace partita::node
