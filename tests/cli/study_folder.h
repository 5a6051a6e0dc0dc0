// A small study on disk that a test can spoil in one place.
#pragma once

#include <functional>
#include <string>

namespace partita::testing {

// STUDY/study.toml with two holders of split columns (north: x1 x2 and receiver; south: x3) and a
// dealer, 40 rows, tables STUDY/north/data.csv and STUDY/south/data.csv.
class StudyFolder {
 public:
  StudyFolder();
  ~StudyFolder();
  StudyFolder(const StudyFolder&) = delete;
  StudyFolder& operator=(const StudyFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string study_file() const { return path_ + "/study.toml"; }
  std::string data(const std::string& party) const { return path_ + "/" + party + "/data.csv"; }

  // The same rows held whole: north the first half, south the second, all of x1 x2 x3 at both; no
  // shared block.
  void MakeHorizontal();

  // Replaces the first occurrence of `from`; a test error if there is none.
  void Edit(const std::string& file, const std::string& from, const std::string& to);
  static std::string Read(const std::string& file);
  static void Write(const std::string& file, const std::string& text);

 private:
  std::string path_;
};

}  // namespace partita::testing
