// The whole command line, for a program with one process and for one whose process is a rank of several.
#pragma once

namespace partita::run {
class Ranks;
}

namespace partita::cli {

// Runs the command of these arguments; its exit code. ranks: of a party with several processes, of which this
// is rank 0; null: there is one. Borrowed.
int Program(int argc, char** argv, run::Ranks* ranks);

// At every other rank: computes what rank 0 orders, until it has nothing more to do.
void ServeRank(run::Ranks& ranks);

}  // namespace partita::cli
