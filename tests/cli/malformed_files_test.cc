// Whatever is in a file that a command reads, its user reads Partita's words about it: no word of a
// library, no bytes that are no text, no crash, and no error that claims to be a bug.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::malformed_files_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Libraries and what they say.
const std::regex& LibraryWords() {
  static const std::regex words(
      R"(json\.|exception|parse error|type_error|parse_error|out_of_range|nlohmann|std::|basic_)"
      R"(|vector|_M_|bad_alloc|bad_optional|stoi|stod|toml::|OpenSSL|libssl|error:[0-9A-F]|ASN)"
      R"(|PEM routines|SQLITE|sqlite3|terminate|Assertion)");
  return words;
}

// One command and a file that it takes, for which "@" stands in the arguments.
struct Reader {
  std::vector<std::string> arguments;
  std::string text;  // that it takes
};

void ExpectOwnWords(const Reader& reader, const std::string& file, const std::string& text,
                    const std::string& what) {
  StudyFolder::Write(file, text);
  std::vector<std::string> arguments = reader.arguments;
  std::replace(arguments.begin(), arguments.end(), std::string("@"), file);
  const ProcessResult result = Partita(arguments);
  const std::string said = result.out + result.err;
  const std::string where = arguments[0] + " " + arguments[1] + ", " + what;
  EXPECT_LT(result.exit_code, 20) << where << ": " << said;
  std::smatch word;
  EXPECT_FALSE(std::regex_search(said, word, LibraryWords()))
      << where << " says '" << word.str() << "': " << said;
  EXPECT_NO_THROW(Json(said).dump()) << where << " is not UTF-8";
}

std::string Replaced(const std::string& text, const std::string& pattern, const std::string& by) {
  return std::regex_replace(text, std::regex(pattern), by, std::regex_constants::format_first_only);
}

std::vector<std::pair<std::string, std::string>> Damaged(const std::string& text) {
  const size_t half = text.size() / 2;
  std::string byte = text, nul = text, digits = text;
  byte[half] = '\xff';
  nul[half] = '\0';
  std::replace_if(
      digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }, 'x');
  return {{"empty", ""},
          {"cut", text.substr(0, half)},
          {"without its end", text.substr(0, text.size() - 2)},
          {"another encoding", "\xff\xfe" + text},
          {"a byte that is no text", byte},
          {"a NUL", nul},
          {"no digits", digits},
          {"nested deeply", std::string(100'000, '[')},
          {"another object", "{}"},
          {"a list", "[1, 2, 3]"},
          {"a number too large", Replaced(text, "[0-9]+", "1e999")},
          {"a text for a number", Replaced(text, "([:=] *)-?[0-9.]+", "$1\"many\"")},
          {"a number for a text", Replaced(text, "([:=] *)\"[^\"]*\"", "$017")},
          {"an open quote", Replaced(text, "\"", "")}};
}

TEST(MalformedFilesTest, CommandsSpeakInTheirOwnWords) {
  StudyFolder folder;
  const std::string home = folder.path() + "/home", result = folder.path() + "/result.json",
                    moments = R"({"variables": ["x", "y"], "groups": [{"label": "", "n": 100, )"
                              R"("mean": [0, 0], "covariance": [[1, 0.5], [0.5, 1]]}]})",
                    model = folder.path() + "/model.lav";
  StudyFolder::Write(model, "y ~ x\n");
  StudyFolder::Write(folder.path() + "/moments.json", moments);
  ASSERT_EQ(Partita({"study", "simulate", folder.study_file(), "--output", result, "--in-process"})
                .exit_code,
            0);
  ASSERT_EQ(Partita({"cert", "new", "north", "--folder", home}).exit_code, 0);
  ASSERT_EQ(Partita({"client", "keygen", "--folder", home}).exit_code, 0);
  const auto corpus = [](const std::string& name) {
    return StudyFolder::Read(SourcePath("fuzz/corpus/" + name));
  };
  const std::string collection = SourcePath("examples/regression_of_many_clients/collection.toml");
  const std::vector<Reader> readers = {
      {{"study", "validate", "@"}, StudyFolder::Read(folder.study_file())},
      {{"study", "report", "@"}, StudyFolder::Read(result)},
      {{"study", "approval", "@"}, corpus("approval/approval")},
      {{"study", "approval", "@"}, corpus("approval/envelope")},
      {{"sem", "measures", "@"}, StudyFolder::Read(result)},
      {{"sem", "fit", "--moments", "@", "--model", model}, moments},
      {{"sem", "fit", "--moments", folder.path() + "/moments.json", "--model", "@"},
       "y ~ x\nz =~ x + y\n"},
      {{"synthetic", "draw", "@", "--folder", folder.path() + "/drawn", "--rows", "5", "--force"},
       corpus("mixture_model/small.json")},
      {{"data", "describe", "@", "--draft"}, StudyFolder::Read(folder.data("north"))},
      {{"data", "check", "@", "--study", folder.study_file(), "--party", "north"},
       StudyFolder::Read(folder.data("north"))},
      {{"data", "describe", "@"}, "source = \"sqlite:t.db\"\ntable = \"t\"\n"},
      {{"data", "compare", "@", "@"}, corpus("share_summary/one")},
      {{"cert", "show", "@"}, StudyFolder::Read(home + "/cert.pem")},
      {{"cert", "roster", "@"}, corpus("roster/two.toml")},
      {{"collection", "check", "@"}, StudyFolder::Read(collection)},
      {{"client", "register", folder.path() + "/list.txt", "--key", "@"},
       StudyFolder::Read(home + "/client.pub")},
      {{"regression", "fit", "@", "--collection", collection},
       R"({"rows": 5, "values": [1.5, 2.5], "noise_stddev": 0.5, "grid": ["1", "2"]})"},
      {{"ledger", "show", "@"}, corpus("ledger/chain")},
      {{"correlations", "show", "@"}, corpus("correlations/store")},
      {{"audit", "outputs", "@", "@", "--epsilon", "1"}, "1.5\n2.5\n3.5\n"},
      {{"privacy", "compose", "@", "--delta", "1e-6"}, "gaussian sigma=2\nlaplace scale=5\n"}};
  size_t inputs = 0;
  for (const Reader& reader : readers) {
    for (const auto& [what, text] : Damaged(reader.text)) {
      ExpectOwnWords(reader, folder.path() + "/damaged", text, what);
      ++inputs;
    }
  }
  EXPECT_GE(inputs, 200u);
}

// Every key of a result away, and every value another: what is missing is named.
TEST(MalformedFilesTest, ResultsAreReadWithoutTheWordsOfALibrary) {
  StudyFolder folder;
  const std::string file = folder.path() + "/result.json";
  ASSERT_EQ(Partita({"study", "simulate", folder.study_file(), "--output", file, "--in-process"})
                .exit_code,
            0);
  const Json whole = Json::parse(StudyFolder::Read(file));
  const Reader reader = {{"study", "report", "@"}, ""};
  const std::string damaged = folder.path() + "/damaged.json";
  for (const auto& [key, value] : whole.items()) {
    Json without = whole, changed = whole, emptied = whole;
    without.erase(key);
    changed[key] = value.is_string() ? Json(1.5) : Json("many");
    emptied[key] = value.is_array() ? Json::array({Json::object()}) : Json::array();
    ExpectOwnWords(reader, damaged, without.dump(), "without " + key);
    ExpectOwnWords(reader, damaged, changed.dump(), "another " + key);
    ExpectOwnWords(reader, damaged, emptied.dump(), "emptied " + key);
  }
  Json without = whole;
  without.erase("traffic");
  StudyFolder::Write(damaged, without.dump());
  EXPECT_EQ(Partita({"study", "report", damaged}).err,
            "error: " + damaged +
                ": this is no result of Partita: 'traffic' is missing\nhint: give the result.json "
                "that the receiver of a study wrote\n");
}

}  // namespace
}  // namespace partita::testing::malformed_files_test
