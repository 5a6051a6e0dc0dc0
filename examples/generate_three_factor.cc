// Writes the example tables of examples/three_factor: mock data, so that anybody can try Partita.
//
//   generate_three_factor OUTPUT_FOLDER
//
// 301 pupils of two schools (156 and 145) took nine tests. The tests measure three correlated
// abilities, with loadings and scales like those of classic mental-ability batteries; no value
// stems from a real person. The numbers come from a fixed seed and std::mt19937_64, which is fine
// for mock data and for nothing else: randomness that protects data comes from the operating system
// (crypto/random.h).
//
// The same rows are written pooled (for comparison with other programs) and in two partitions, one
// folder per holder. Every holder lists its rows in an order of its own, as in real life.
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numbers>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr size_t kTests = 9;
constexpr size_t kAbilities = 3;

struct Pupil {
  std::string id;
  std::string school;
  std::array<double, kTests> scores{};
};

struct School {
  std::string name;
  size_t pupils;
  std::array<double, kAbilities> ability_means;
};

const std::array<School, 2> kSchools = {
    {{"pasteur", 156, {0.05, -0.28, 0.1}}, {"grant-white", 145, {-0.05, 0.3, -0.1}}}};

constexpr std::array<double, kTests> kMeans = {4.9, 6.1, 2.3, 3.1, 4.3, 2.2, 4.2, 5.5, 5.4};
// Tests 1-3 measure the first ability, 4-6 the second, 7-9 the third.
constexpr std::array<double, kTests> kLoadings = {0.90, 0.50, 0.66, 0.97, 1.08,
                                                  0.90, 0.62, 0.73, 0.67};
constexpr std::array<double, kTests> kUniqueDeviations = {0.74, 1.06, 0.92, 0.61, 0.67,
                                                          0.60, 0.89, 0.70, 0.75};
// Lower Cholesky factor of the correlations 0.46 (1,2), 0.47 (1,3), 0.28 (2,3).
constexpr double kCorrelation12 = 0.46, kCorrelation13 = 0.47, kCorrelation23 = 0.28;

class Normals {
 public:
  explicit Normals(uint64_t seed) : engine_(seed) {}

  // Uniform on {0, ..., bound - 1}. The standard's distributions differ between libraries; this
  // does not.
  uint64_t Below(uint64_t bound) { return engine_() % bound; }

  // Box and Muller.
  double Next() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  // In (0, 1].
  double Uniform() { return static_cast<double>((engine_() >> 11) + 1) * 0x1p-53; }
  std::mt19937_64 engine_;
};

Pupil DrawPupil(const School& school, std::string id, Normals& normals) {
  const std::array<double, kAbilities> z = {normals.Next(), normals.Next(), normals.Next()};
  const double l22 = std::sqrt(1 - kCorrelation12 * kCorrelation12);
  const double l32 = (kCorrelation23 - kCorrelation12 * kCorrelation13) / l22;
  const double l33 = std::sqrt(1 - kCorrelation13 * kCorrelation13 - l32 * l32);
  const std::array<double, kAbilities> ability = {
      school.ability_means[0] + z[0], school.ability_means[1] + kCorrelation12 * z[0] + l22 * z[1],
      school.ability_means[2] + kCorrelation13 * z[0] + l32 * z[1] + l33 * z[2]};
  Pupil pupil{std::move(id), school.name, {}};
  for (size_t test = 0; test < kTests; ++test) {
    pupil.scores[test] = kMeans[test] + kLoadings[test] * ability[test / 3] +
                         kUniqueDeviations[test] * normals.Next();
  }
  return pupil;
}

std::vector<Pupil> DrawPupils(Normals& normals) {
  std::vector<Pupil> pupils;
  std::set<std::string> ids;
  for (const School& school : kSchools) {
    for (size_t i = 0; i < school.pupils; ++i) {
      std::string id;
      do {
        id = "p" + std::to_string(10000 + normals.Below(90000));
      } while (!ids.insert(id).second);
      pupils.push_back(DrawPupil(school, id, normals));
    }
  }
  return pupils;
}

// Fisher and Yates.
std::vector<Pupil> Shuffled(std::vector<Pupil> pupils, Normals& normals) {
  for (size_t i = pupils.size(); i > 1; --i) std::swap(pupils[i - 1], pupils[normals.Below(i)]);
  return pupils;
}

std::vector<Pupil> OfSchool(const std::vector<Pupil>& pupils, const std::string& school) {
  std::vector<Pupil> chosen;
  for (const Pupil& pupil : pupils) {
    if (pupil.school == school) chosen.push_back(pupil);
  }
  return chosen;
}

// Tests first_test .. last_test, counted from 1.
struct Columns {
  bool school;
  size_t first_test, last_test;
};

void Write(const std::filesystem::path& path, const std::vector<Pupil>& pupils, Columns columns) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.setf(std::ios::fixed);
  out.precision(4);
  out << "id" << (columns.school ? ",school" : "");
  for (size_t test = columns.first_test; test <= columns.last_test; ++test) out << ",x" << test;
  out << '\n';
  for (const Pupil& pupil : pupils) {
    out << pupil.id;
    if (columns.school) out << ',' << pupil.school;
    for (size_t test = columns.first_test; test <= columns.last_test; ++test) {
      out << ',' << pupil.scores[test - 1];
    }
    out << '\n';
  }
  out.flush();
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

// Three holders of whole rows.
void WriteHorizontal(const std::filesystem::path& folder, const std::vector<Pupil>& pupils,
                     Normals& normals) {
  const std::vector<Pupil> shuffled = Shuffled(pupils, normals);
  auto part = [&](size_t first, size_t count) {
    auto begin = shuffled.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<Pupil>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  const Columns all{.school = true, .first_test = 1, .last_test = kTests};
  Write(folder / "north" / "data.csv", part(0, 120), all);
  Write(folder / "south" / "data.csv", part(120, 101), all);
  Write(folder / "west" / "data.csv", part(221, 80), all);
}

// Two holders of x1-x3, one for each school, and one holder each of x4-x6 and x7-x9 of all pupils.
void WriteComplex(const std::filesystem::path& folder, const std::vector<Pupil>& pupils,
                  Normals& normals) {
  const Columns first{.school = false, .first_test = 1, .last_test = 3};
  Write(folder / "north" / "data.csv", Shuffled(OfSchool(pupils, "pasteur"), normals), first);
  Write(folder / "south" / "data.csv", Shuffled(OfSchool(pupils, "grant-white"), normals), first);
  Write(folder / "east" / "data.csv", Shuffled(pupils, normals), {true, 4, 6});
  Write(folder / "west" / "data.csv", Shuffled(pupils, normals), {true, 7, 9});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: generate_three_factor OUTPUT_FOLDER\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    Normals normals(19390301);
    const std::vector<Pupil> pupils = DrawPupils(normals);
    Write(folder / "pooled.csv", pupils, {.school = true, .first_test = 1, .last_test = kTests});
    WriteHorizontal(folder / "horizontal", pupils, normals);
    WriteComplex(folder / "complex", pupils, normals);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
