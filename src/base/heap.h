// How this process asks the system for memory.
#pragma once

namespace partita {

// From now on freed memory stays with the process, for its next arrays. Protocols allocate and free
// arrays of many megabytes in every round; by default each is mapped anew, and clearing its pages
// took a quarter of the time of a million products. The process keeps its peak until it ends. For
// programs, first thing in main; where the C library has no such switch, nothing happens.
void KeepFreedMemory();

}  // namespace partita
