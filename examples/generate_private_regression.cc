// Writes the example tables of examples/private_regression: mock data from a fixed seed.
//
//   generate_private_regression OUTPUT_FOLDER
//
// No value stems from a real person. std::mt19937_64 is fine for mock data and for nothing else.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>

namespace {

// Almost normal: the sum of twelve uniform numbers. The standard's distributions differ between
// libraries, this does not.
double Normal(std::mt19937_64& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
  return sum;
}

int Rounded(double value, double lower, double upper) {
  return static_cast<int>(std::lround(std::clamp(value, lower, upper)));
}

void WriteClinic(const std::filesystem::path& folder, int patients, std::mt19937_64& random) {
  std::filesystem::create_directories(folder);
  std::ofstream csv(folder / "data.csv", std::ios::binary);
  csv << "sbp,age,bmi,smoker\n";
  for (int i = 0; i < patients; ++i) {
    const int age = Rounded(52 + 16 * Normal(random), 18, 90);
    const int tenths = Rounded(270 + 45 * Normal(random), 150, 450);  // of the body mass index
    const int smoker = random() % 4 == 0 ? 1 : 0;
    const int pressure = Rounded(
        92 + 0.45 * age + 0.05 * tenths + 4 * smoker + 12 * Normal(random), 90, 190);
    csv << pressure << ',' << age << ',' << tenths / 10 << '.' << tenths % 10 << ',' << smoker
        << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: generate_private_regression OUTPUT_FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::mt19937_64 random(20240917);
  WriteClinic(folder / "north", 1500, random);
  WriteClinic(folder / "south", 1200, random);
  WriteClinic(folder / "west", 900, random);
  return 0;
}
