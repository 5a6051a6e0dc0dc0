// What the folder of a node knows of the database that holds its state: which one, and how many changes it had there.
//
// Whoever administers the database may put back an older copy, or a standby that lacks the last changes may take its
// place, and a node that forgot what it said is a danger. So the database counts changes, the folder keeps the count, and
// a node starts only where the two agree: the database may be one change ahead, of a node that was killed between the two
// writes, before anything of that change left.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace partita::node {

struct DatabaseMark {
  std::array<uint8_t, 16> identity{};  // random, of the database's tables
  uint64_t changes = 0;                // 0: of tables that are about to be made

  bool operator==(const DatabaseMark&) const = default;
};

// None if the file is not there. Throws kBadInput for one that is damaged.
std::optional<DatabaseMark> ReadDatabaseMark(const std::filesystem::path& file);
// Durable when it returns. Throws kStorage.
void WriteDatabaseMark(const std::filesystem::path& file, const DatabaseMark& mark);

// Throws kRefused unless a database that says `there` is where the folder left it.
void RequireSameDatabase(const std::optional<DatabaseMark>& kept, const DatabaseMark& there);

}  // namespace partita::node
