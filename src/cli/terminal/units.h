// Durations and bandwidths as people write them.
#pragma once

#include <chrono>
#include <string>

namespace partita::cli {

// "20ms", "150us", "1.5s", "10m", "2h". Throws kUsage with the accepted forms.
std::chrono::microseconds ParseDuration(const std::string& text);
// The same in whole milliseconds, rounded down.
std::chrono::milliseconds MillisecondsOf(const std::string& duration);

// "100Mbit/s", "1Gbit/s", "5000bit/s" in bytes per second. Throws kUsage with the accepted forms.
double ParseBandwidth(const std::string& text);

}  // namespace partita::cli
