// The example that `partita demo` runs, examples/three_factor, as part of the program.
#pragma once

#include <span>
#include <string_view>

namespace partita::cli {

// name: below examples/three_factor, such as "complex/study.toml".
struct DemoFile {
  std::string_view name, text;
};

// Made during the build (cmake/demo.mjs).
std::span<const DemoFile> DemoFiles();

}  // namespace partita::cli
