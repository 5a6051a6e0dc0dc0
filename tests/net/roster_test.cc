#include "net/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace partita::net::roster_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kA(64, 'a'), kB(64, 'b');

std::string Entry(const std::string& name, const std::string& address,
                  const std::string& fingerprint) {
  return "[[party]]\nname = \"" + name + "\"\naddress = \"" + address + "\"\nfingerprint = \"" +
         fingerprint + "\"\n";
}

std::string Good() {
  return Entry("north", "north.example.org:7400", kA) + Entry("south", "[2001:db8::1]:1", kB);
}

Error ErrorOf(const std::string& text) {
  try {
    ParseRoster(text, "roster.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_FALSE(error.hint().empty());
    return error;
  }
  ADD_FAILURE() << "accepted:\n" << text;
  return Error(ErrorCode::kInternal, "none");
}

TEST(RosterTest, ReadsInOrder) {
  const Roster roster = ParseRoster(Good(), "roster.toml");
  EXPECT_EQ(roster,
            (Roster{{"north", "north.example.org:7400", kA}, {"south", "[2001:db8::1]:1", kB}}));
  EXPECT_EQ(Names(roster), (std::vector<std::string>{"north", "south"}));
  EXPECT_EQ(FindParty(roster, "south"), 1u);
}

TEST(RosterTest, FormatsWhatItReads) {
  const Roster roster = ParseRoster(Good(), "roster.toml");
  EXPECT_EQ(ParseRoster(FormatRoster(roster), "again"), roster);
}

TEST(RosterTest, FingerprintsAreNormalised) {
  std::string colons = "AB";
  for (int i = 1; i < 32; ++i) colons += ":AB";
  const Roster roster = ParseRoster(Entry("north", "a:1", colons), "roster.toml");
  std::string plain;
  for (int i = 0; i < 32; ++i) plain += "ab";
  EXPECT_EQ(roster[0].fingerprint, plain);
}

TEST(RosterTest, ErrorsNameThePlaceAndTheRemedy) {
  const Error unknown =
      ErrorOf("[[party]]\nname = \"north\"\nadress = \"a:1\"\nfingerprint = \"" + kA + "\"\n");
  EXPECT_THAT(unknown.message(), StartsWith("roster.toml:3:1: unknown key 'adress'"));
  EXPECT_THAT(unknown.hint(), HasSubstr("Did you mean 'address'?"));
  EXPECT_THAT(ErrorOf(Good() + "[party2]\n").message(), HasSubstr("roster.toml:9:2"));
  EXPECT_THAT(ErrorOf("[[party]]\nname = \"north\"\naddress = \"a:1\"\n").message(),
              HasSubstr("no 'fingerprint'"));
  EXPECT_THAT(ErrorOf("[[party]]\nname = 3\n").message(), HasSubstr("2:8: 'name' must be a text"));
  EXPECT_THAT(ErrorOf("[[party]\n").message(), HasSubstr("roster.toml:1:"));
  EXPECT_THAT(ErrorOf("").message(), HasSubstr("needs 1 to 64"));
  EXPECT_THAT(ErrorOf("party = 3").message(), HasSubstr("needs 1 to 64"));
  EXPECT_THAT(ErrorOf("party = [3]").message(), HasSubstr("[[party]]"));
  EXPECT_THAT(ErrorOf(Entry("no rth", "a:1", kA)).message(), HasSubstr("2:8: 'no rth'"));
  EXPECT_THAT(ErrorOf(Entry("north", "a", kA)).message(),
              HasSubstr("3:11: the address 'a' has no"));
  EXPECT_THAT(ErrorOf(Entry("north", "a:1", "abc")).message(), HasSubstr("4:15: the fingerprint"));
}

TEST(RosterTest, RepeatsAreRefused) {
  auto with = [](const std::string& name, const std::string& address, const std::string& print) {
    return ErrorOf(Good() + Entry(name, address, print)).message();
  };
  EXPECT_THAT(with("south", "c:1", std::string(64, 'c')), HasSubstr("10:8: the name 'south'"));
  EXPECT_THAT(with("east", "north.example.org:7400", std::string(64, 'c')),
              HasSubstr("the address 'north.example.org:7400' was given before, to party north"));
  EXPECT_THAT(with("east", "c:1", kB), HasSubstr("to party south"));
}

TEST(RosterTest, AtMost64Parties) {
  std::string text;
  for (int i = 0; i < 64; ++i) {
    std::string print(64, '0');
    print.replace(0, 2, std::to_string(10 + i));
    text += Entry("p" + std::to_string(i), "h:" + std::to_string(i + 1), print);
  }
  EXPECT_EQ(ParseRoster(text, "roster.toml").size(), 64u);
  ErrorOf(text + Entry("last", "h:99", kA));
}

TEST(RosterTest, Addresses) {
  EXPECT_EQ(ParseAddress("h:65535").port, "65535");
  EXPECT_EQ(ParseAddress("[::1]:7").host, "::1");
  EXPECT_EQ(ParseAddress("127.0.0.1:7400").host, "127.0.0.1");
  for (const char* bad : {"", ":", "h", "h:", ":1", "h:0", "h:65536", "h:-1", "h:1x", "h: 1",
                          "::1:7", "[]:7", "a b:7", "h\n:7", "[::1]7"}) {
    EXPECT_THROW(ParseAddress(bad), Error) << bad;
  }
  EXPECT_THROW(ParseAddress(std::string(300, 'a') + ":1"), Error);
}

TEST(RosterTest, UnknownPartyIsSuggested) {
  try {
    FindParty(ParseRoster(Good(), "r"), "nort");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("no party 'nort'"));
    EXPECT_THAT(error.hint(), HasSubstr("'north'"));
  }
}

TEST(RosterTest, Files) {
  const fs::path folder =
      fs::temp_directory_path() / ("partita-roster-" + std::to_string(getpid()));
  fs::create_directory(folder);
  const fs::path file = folder / "roster.toml";
  const Roster roster = ParseRoster(Good(), "r");
  SaveRoster(roster, file);
  SaveRoster(roster, file);  // replaces
  EXPECT_EQ(LoadRoster(file), roster);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);

  // A link that somebody laid where a temporary file might be is not followed.
  const fs::path victim = folder / "victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, folder / "roster.toml.partial");
  SaveRoster(roster, file);
  std::string kept;
  std::getline(std::ifstream(victim), kept);
  EXPECT_EQ(kept, "precious");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write |
                                                fs::perms::group_read | fs::perms::others_read);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 3);

  auto code = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code([&] { LoadRoster(folder / "missing"); }), ErrorCode::kBadInput);
  EXPECT_EQ(code([&] { SaveRoster(roster, folder / "no" / "roster"); }), ErrorCode::kUsage);
  EXPECT_EQ(code([&] { SaveRoster({roster[0], roster[0]}, file); }), ErrorCode::kBadInput);
  EXPECT_EQ(LoadRoster(file), roster);  // still the old one
  std::ofstream(folder / "big") << std::string(size_t{2} << 20, '#');
  EXPECT_EQ(code([&] { LoadRoster(folder / "big"); }), ErrorCode::kBadInput);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace partita::net::roster_test
