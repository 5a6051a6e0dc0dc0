#include "data/source/postgres_copy.h"

#include <algorithm>
#include <cstring>

#include "data/source/postgres_session.h"

namespace partita::data {

std::vector<std::string> PostgresColumns(const SourceFile& source) {
  PostgresSession session(source);
  RefuseWriters(session, source.file);
  std::vector<std::string> names;
  for (PostgresColumn& column : RequireTypes(session, source))
    names.push_back(std::move(column.name));
  return names;
}

ByteSource OpenPostgres(const SourceFile& source) {
  struct State {
    PostgresSession session;
    std::string piece = {};
    size_t used = 0;
    bool more = true;
  };
  const auto state = std::make_shared<State>(State{PostgresSession(source)});
  RefuseWriters(state->session, source.file);
  RequireTypes(state->session, source);
  state->session.Execute("COPY (" + source.query + "\n) TO STDOUT WITH (FORMAT csv, HEADER)",
                         PGRES_COPY_OUT);
  return [state](std::span<uint8_t> out) {
    size_t done = 0;
    while (done < out.size()) {
      if (state->used == state->piece.size()) {
        if (state->more) state->more = state->session.Next(state->piece);
        if (!state->more) break;
        // A row of one missing cell; an empty line is no record.
        if (state->piece == "\n") state->piece = "\"\"\n";
        state->used = 0;
      }
      const size_t size = std::min(out.size() - done, state->piece.size() - state->used);
      std::memcpy(out.data() + done, state->piece.data() + state->used, size);
      state->used += size;
      done += size;
    }
    return done;
  };
}

}  // namespace partita::data
