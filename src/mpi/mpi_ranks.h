// The ranks of a party as processes that mpirun or srun started (Open MPI 4.1).
//
// Open MPI neither encrypts nor authenticates: keys and rows go over a network that belongs to the job alone.
// A process that dies makes Open MPI end all of them, which says which rank it was.
#pragma once

#include <memory>

#include "run/ranks/ranks.h"

namespace partita::mpi {

// The environment of the process: to be made once, first, and by one thread that alone uses it.
class Environment {
 public:
  Environment(int* argc, char*** argv);
  // Ends all ranks together. Every rank comes here, or none: whoever fails calls Abort instead.
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  run::Ranks& ranks() { return *ranks_; }
  // Ends every rank at once, with this exit code.
  [[noreturn]] static void Abort(int exit_code);

 private:
  std::unique_ptr<run::Ranks> ranks_;
};

}  // namespace partita::mpi
