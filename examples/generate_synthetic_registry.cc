// Writes the example tables of examples/synthetic_registry: mock data from a fixed seed.
//
//   generate_synthetic_registry OUTPUT_FOLDER
//
// No value stems from a real person. std::mt19937_64 is fine for mock data and for nothing else.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: generate_synthetic_registry OUTPUT_FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  for (const char* party : {"clinic", "insurer"})
    std::filesystem::create_directories(folder / party);
  std::ofstream clinic(folder / "clinic" / "data.csv", std::ios::binary);
  std::ofstream insurer(folder / "insurer" / "data.csv", std::ios::binary);
  clinic << "person,age,sex,smoking\n";
  insurer << "person,visits,region,cost\n";
  std::mt19937_64 random(20240918);
  const auto below = [&](uint64_t n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 800; ++i) {
    // Two kinds of persons: the older ones see doctors more often.
    const bool older = below(5) < 2;
    const int age = older ? 60 + below(30) : 20 + below(40);
    const int smoking = below(4) == 0 ? 2 : below(3) == 0 ? 1 : 0;
    const int visits = std::min(20, older ? 4 + below(9) : below(5));
    const int cost = std::min(9999, 60 * visits + below(older ? 4000 : 900));
    const int region = below(10) < 5 ? 0 : below(3) == 0 ? 2 : 1;
    clinic << 'p' << 1000 + i << ',' << age << ',' << (below(2) == 0 ? "female" : "male") << ','
           << (smoking == 0   ? "never"
               : smoking == 1 ? "former"
                              : "current")
           << '\n';
    insurer << 'p' << 1000 + i << ',' << visits << ','
            << (region == 0   ? "north"
                : region == 1 ? "south"
                              : "islands")
            << ',' << cost << '\n';
  }
  return 0;
}
