// Starts this test program again, under valgrind's memcheck, unless it runs there already.
#pragma once

namespace partita::ctime {

// Whether a report makes the program fail whatever its tests say.
enum class Reports { kFail, kExpected };

void RequireMemcheck(Reports reports);
// Of secrets that were branched on or that made an address, so far.
unsigned NumReports();

}  // namespace partita::ctime
