// partita reproduce smle-protocols, smle-table1, smle-figure5, smle-accuracy: commands of
// `reproduce`.
#pragma once

#include "cli/commands.h"
#include "crypto/prg.h"

namespace partita::papers {

void AddReproduceSmle(CLI::App& reproduce, cli::Invocation& invocation);

// Parts of it.
void AddSmleProtocols(CLI::App& reproduce, cli::Invocation& invocation);
void AddSmleTable1(CLI::App& reproduce, cli::Invocation& invocation);
void AddSmleFigure5(CLI::App& reproduce, cli::Invocation& invocation);
void AddSmleAccuracy(CLI::App& reproduce, cli::Invocation& invocation);

// Made-up rows are the same for one seed: they protect nobody. Masks come from the system.
crypto::Prg RowRandom(uint64_t seed);

}  // namespace partita::papers
