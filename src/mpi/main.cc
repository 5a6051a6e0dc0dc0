// partita-mpi: the program partita for a party that has several machines. mpirun starts it once for each rank;
// rank 0 runs the command, and the others compute stripes for it (run/ranks).
#include <iostream>

#include "cli/program.h"
#include "mpi/mpi_ranks.h"
#include "run/ranks/serve.h"

namespace partita::mpi {
namespace {

int Main(int argc, char** argv) {
  Environment environment(&argc, &argv);
  run::Ranks& ranks = environment.ranks();
  int exit_code = 0;
  try {
    if (ranks.rank() == 0) {
      exit_code = cli::Program(argc, argv, &ranks);
      if (exit_code == 0) run::DismissRanks(ranks);
    } else {
      cli::ServeRank(ranks);
    }
  } catch (const std::exception& error) {
    std::cerr << "partita-mpi: rank " << ranks.rank() << ": " << error.what() << "\n";
    exit_code = 1;
  }
  // The others would wait for orders for ever.
  if (exit_code != 0) Environment::Abort(exit_code);
  return exit_code;
}

}  // namespace
}  // namespace partita::mpi

int main(int argc, char** argv) { return partita::mpi::Main(argc, argv); }
