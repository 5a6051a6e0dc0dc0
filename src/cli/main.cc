// partita: one statistical model on data that several institutions hold in pieces.
#include "cli/program.h"

int main(int argc, char** argv) { return partita::cli::Program(argc, argv, nullptr); }
