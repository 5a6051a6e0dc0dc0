// partita reproduce smle-protocols, smle-table1, smle-figure5, smle-accuracy: commands of
// `reproduce`.
#pragma once

#include "cli/commands.h"
#include "crypto/prg.h"

namespace partita::cli {

void AddReproduceSmle(CLI::App& reproduce, Invocation& invocation);

// Parts of it.
void AddSmleProtocols(CLI::App& reproduce, Invocation& invocation);
void AddSmleTable1(CLI::App& reproduce, Invocation& invocation);
void AddSmleFigure5(CLI::App& reproduce, Invocation& invocation);
void AddSmleAccuracy(CLI::App& reproduce, Invocation& invocation);

// Made-up rows are the same for one seed: they protect nobody. Masks come from the system.
crypto::Prg RowRandom(uint64_t seed);

}  // namespace partita::cli
