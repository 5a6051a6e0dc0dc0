#include "node/store/database_mark.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hex.h"

namespace partita::node {
namespace {

constexpr char kFirstLine[] = "partita node database 1\n";
constexpr uint64_t kMostBytes = 4096;
constexpr char kIfLost[] =
    "Bring back the newest database. If it is lost, write a backup of what is there (partita node "
    "backup), and restore it as docs/node-guide.md says.";

}  // namespace

std::optional<DatabaseMark> ReadDatabaseMark(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const std::string text = ReadFile(file, kMostBytes, "what this node knows of its database");
  DatabaseMark mark;
  const std::string first = kFirstLine;
  const size_t digits = 2 * mark.identity.size();
  bool is_whole = text.size() > first.size() + digits + 2 && text.starts_with(first) &&
                  text[first.size() + digits] == '\n' && text.ends_with('\n') &&
                  FromHex(std::string_view(text).substr(first.size(), digits), mark.identity);
  if (is_whole) {
    const char* begin = text.data() + first.size() + digits + 1;
    const char* end = text.data() + text.size() - 1;
    const auto [stop, problem] = std::from_chars(begin, end, mark.changes);
    is_whole = problem == std::errc() && stop == end;
  }
  if (!is_whole) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{} is damaged: it says what this node left in its database", file.string()),
        kIfLost);
  }
  return mark;
}

void WriteDatabaseMark(const std::filesystem::path& file, const DatabaseMark& mark) {
  try {
    WriteFileAtomically(file.string(),
                        fmt::format("{}{}\n{}\n", kFirstLine, ToHex(mark.identity), mark.changes));
  } catch (const Error& error) {
    throw Error(ErrorCode::kStorage, error.message(), error.hint());
  }
}

void RequireSameDatabase(const std::optional<DatabaseMark>& kept, const DatabaseMark& there) {
  if (!kept) {
    throw Error(ErrorCode::kRefused,
                "the database holds the state of a node, and this node's folder does not know of "
                "it",
                "A database holds one node. Name another one, or the folder that it belongs to; "
                "docs/node-guide.md says how to restore.");
  }
  if (kept->identity != there.identity) {
    throw Error(ErrorCode::kRefused,
                "the database holds another state than the one that this node left: of another "
                "node, or of a restore elsewhere",
                "Name the database that this node had.");
  }
  if (there.changes < kept->changes) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the database holds an older state than this node left: {} changes of "
                            "{}; an older copy was put back, or a standby without the last "
                            "changes took over",
                            there.changes, kept->changes),
                kIfLost);
  }
  if (there.changes > kept->changes + 1) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the database holds a newer state than this node's folder knows of: {} "
                            "changes, {} known; another copy of the folder served from it",
                            there.changes, kept->changes),
                "Serve from the folder that went on; what this one has in 'run' is older than the "
                "state.");
  }
}

}  // namespace partita::node
