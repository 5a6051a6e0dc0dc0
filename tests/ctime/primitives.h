// What is run with its secrets poisoned: one function for each primitive, so that a report of
// memcheck names it. Compiled as the product is, and into a library of its own.
#pragma once

#include <iosfwd>
#include <vector>

namespace partita::ctime {

struct Primitive {
  const char* name;
  void (*run)();
};

// For ./test: together a few seconds under valgrind.
std::vector<Primitive> QuickPrimitives();
// Those that take longer.
std::vector<Primitive> SlowPrimitives();
// Planted: each depends on a secret in its own way, and has to be reported.
std::vector<Primitive> FaultyPrimitives();

// The parts of the lists above.
std::vector<Primitive> ArithmeticPrimitives();
std::vector<Primitive> BitPrimitives();
std::vector<Primitive> CryptoPrimitives();
std::vector<Primitive> TransferPrimitives();
std::vector<Primitive> EnginePrimitives();

void PrintTo(const Primitive& primitive, std::ostream* out);

}  // namespace partita::ctime
