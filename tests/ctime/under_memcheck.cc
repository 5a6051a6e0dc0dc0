#include "tests/ctime/under_memcheck.h"

#include <unistd.h>
#include <valgrind/memcheck.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "tests/paths.h"

namespace partita::ctime {
namespace {

std::vector<std::string> OwnArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

}  // namespace

void RequireMemcheck(Reports reports) {
  if (RUNNING_ON_VALGRIND != 0) return;
  // Nothing of it looks for memory that was not given back, nor for where a secret came from, which
  // --track-origins=yes tells.
  std::vector<std::string> command = {"valgrind", "--quiet", "--error-limit=no", "--leak-check=no",
                                      "--suppressions=" + SourcePath("tests/ctime/trusted.supp")};
  if (reports == Reports::kFail) command.push_back("--error-exitcode=9");
  for (const std::string& argument : OwnArguments()) command.push_back(argument);
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  execvp(argv[0], argv.data());
  throw std::system_error(errno, std::generic_category(), "cannot start valgrind");
}

unsigned NumReports() { return VALGRIND_COUNT_ERRORS; }

}  // namespace partita::ctime
