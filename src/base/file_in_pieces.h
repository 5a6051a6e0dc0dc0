// Files that are written piece by piece, and are there whole or not at all (base/files.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace partita {

using PieceWriter = std::function<void(std::string_view piece)>;

// WriteFileAtomically of what `fill` writes. What it throws is thrown, and whatever was at `path` stays.
void WriteInPiecesAtomically(const std::string& path,
                             const std::function<void(const PieceWriter& write)>& fill);

}  // namespace partita
