// Runs the partita program as a user would.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace partita::testing {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal if it was ended by one
  std::string out, err;
};

// A running program; its streams are collected by threads. The destructor kills it. What partita
// prints with --format json is compared with what it prints with --schema: a test error if it is
// anything else.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Blocks until standard error contains `text` or the program has ended; true if it does.
  bool WaitForStandardError(const std::string& text);
  void Kill(int signal);
  ProcessResult Wait();

 private:
  struct State;
  State* state_;
};

// The program under test.
std::string PartitaProgram();

// HOST:PORT of a loopback port that nobody else is given until this process ends: a program that
// listens with SO_REUSEADDR may, again and again.
std::string FreeAddress();

// Runs `partita arguments...` to its end.
ProcessResult Partita(std::vector<std::string> arguments);

}  // namespace partita::testing
