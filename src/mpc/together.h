// Several tasks whose operations travel together.
//
//   const std::vector<Task> tasks = {
//       [&](Engine& engine) { steps = TakeSteps(engine, ...); },
//       [&](Engine& engine) { determinants = LogDeterminant(engine, ...); }};
//   Together(engine, tasks);
//
// A task is protocol code as any other, but on the engine that it is given, and must not need what
// another task makes. Whenever every task has ended or come to an operation that communicates,
// these operations, in the order of tasks, are one set of rounds: Batch (batch.h) for code that
// knows nothing of its neighbours.
//
// Order       Each task has a thread, and one of them at a time, or the caller, is at work: the
//             first task until it comes to an operation, then the second, .., then the caller, who
//             runs the operations, then the first again. So the order of operations and of random
//             bits follows from the code alone, and is the same at all parties, at the dealer and
//             in the plan. The caller's engine is not to be used by tasks; what they share with
//             each other and with the caller needs no lock.
// Results     Those of the tasks one after the other, but for the rounding of what is truncated.
// Rounds      As many sets as the longest task has. On `dealer`, where one set is one round, the
//             rounds of the longest task; elsewhere a set takes those of its longest operation.
// Bytes       The sum of all tasks', except where an engine adds to a set what does not depend on
//             its operations (`ot`).
// Revealed    Nothing: a task that opens something, or asks an oracle, names a phase or agrees to
//             open, gets kUsage. What opens has its place in the program, not beside something.
// Errors      The first error ends all: tasks that have not ended leave by an exception at the
//             operation where they wait (no std::exception; do not hold it back), and when no
//             thread is left the error is thrown.
// Timing      constant in shares, as the engine; not in shapes and bounds (public).
#pragma once

#include <functional>
#include <span>

#include "mpc/engine.h"

namespace partita::mpc {

using Task = std::function<void(Engine& engine)>;

// None: nothing happens. A task may itself begin tasks on its engine.
void Together(Engine& engine, std::span<const Task> tasks);

}  // namespace partita::mpc
