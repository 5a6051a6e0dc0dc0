// Writes the example tables of examples/private_classifier: mock data from a fixed seed.
//
//   generate_private_classifier OUTPUT_FOLDER
//
// No value stems from a real person. std::mt19937_64 is fine for mock data and for nothing else.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

namespace {

double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

void WriteClinic(const std::filesystem::path& folder, int patients, std::mt19937_64& random) {
  std::filesystem::create_directories(folder);
  std::ofstream csv(folder / "data.csv", std::ios::binary);
  csv << "age,dose,sex,relapse\n";
  for (int i = 0; i < patients; ++i) {
    const int age = 20 + static_cast<int>(61 * Uniform(random));
    const int tenths = static_cast<int>(101 * Uniform(random));  // of the dose
    const bool male = Uniform(random) < 0.5;
    const double score = 0.06 * (age - 50) - 0.05 * (tenths - 50) + (male ? 0.5 : 0);
    const bool relapse = Uniform(random) < 1 / (1 + std::exp(-score));
    csv << age << ',' << tenths / 10 << '.' << tenths % 10 << ',' << (male ? "male" : "female")
        << ',' << (relapse ? "yes" : "no") << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: generate_private_classifier OUTPUT_FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::mt19937_64 random(20261122);
  WriteClinic(folder / "north", 2000, random);
  WriteClinic(folder / "south", 1600, random);
  WriteClinic(folder / "west", 1200, random);
  return 0;
}
