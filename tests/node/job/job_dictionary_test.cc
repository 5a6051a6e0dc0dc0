// The dictionary of a site's table in its jobs: what is hidden is as good as not there, what differs is for the steward
// to see, and what a draft tells of a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "node/job/own_dictionary.h"
#include "node/job/statement.h"
#include "tests/node/job/job_world.h"

namespace partita::node::job_dictionary_test {
namespace {

using job_world::Said;
using job_world::Site;
using job_world::World;
using ::testing::HasSubstr;
using ::testing::Not;

void Describe(Site& site, const std::string& text) {
  site.settings.dictionaries = site.settings.stewards.parent_path() / "dictionaries";
  std::filesystem::create_directories(site.settings.dictionaries);
  WriteFileAtomically(DictionaryFile(site.settings.dictionaries, "pupils").string(), text);
}

std::string Variable(const std::string& name, const std::string& more = "") {
  return "[[variable]]\nname = \"" + name +
         "\"\ntype = \"numeric\"\nlower = -10\nupper = 20\nunit = \"points\"\n" + more;
}

std::string NineVariables() {
  std::string text;
  for (int i = 1; i <= 9; ++i) text += Variable("x" + std::to_string(i));
  return text;
}

std::string RefusalAt(Site& site) {
  const Said said = World::Do(site, JobKind::kCheck, 0);
  const Checked* checked = said.Last<Checked>();
  if (checked == nullptr) throw Error(ErrorCode::kInternal, "a job did not say what it found");
  return checked->refusal;
}

CommitStatement StatementOf(Site& site) {
  const Said said = World::Do(site, JobKind::kCommit, 0);
  if (said.Last<Committed>() == nullptr)
    throw Error(ErrorCode::kInternal, "nothing was committed: " + World::Problem(site));
  return DecodeSignedCommit(said.reports.back().statement).statement;
}

// The proposer learns the same of a column that is hidden and of one that is not there.
TEST(JobDictionaryTest, AHiddenVariableIsAsGoodAsNotThere) {
  World world;
  Site& south = world.at("south");
  Describe(south, NineVariables());
  EXPECT_EQ(RefusalAt(south), "");
  Site& west = world.at("west");
  Describe(west, "[[variable]]\nname = \"x4\"\ntype = \"numeric\"\npeers = \"hidden\"\n");
  const std::string hidden = RefusalAt(west);
  EXPECT_THAT(World::Problem(west), HasSubstr("the dictionary of pupils hides 'x4'"));
  EXPECT_FALSE(std::filesystem::exists(World::FolderOf(west) / "table"));
  EXPECT_FALSE(std::filesystem::exists(World::FolderOf(west) / "run.key.pem"));
  Site& north = world.at("north");
  const std::filesystem::path other = north.settings.stewards.parent_path() / "other.csv";
  WriteFileAtomically(other.string(), "x1,x2\n1,2\n");
  north.settings.catalogue["pupils"].data = other;
  EXPECT_EQ(hidden, RefusalAt(north));
  EXPECT_EQ(hidden, "no table here offers the variables that it asks for");
}

// A table that hides it is none of those that have the columns.
TEST(JobDictionaryTest, AnotherTableThatOffersThemIsTaken) {
  World world;
  Site& south = world.at("south");
  south.settings.catalogue["copy"] = south.settings.catalogue.at("pupils");
  EXPECT_THAT(RefusalAt(south), HasSubstr("more than one table"));
  Describe(south, Variable("x1", "peers = \"hidden\"\n"));
  EXPECT_EQ(RefusalAt(south), "");
  EXPECT_EQ(StudyFolder(south.settings, south.study.id).Table(), "copy");
}

// Hidden after the check, or after the approval: nothing is frozen, and nothing is run.
TEST(JobDictionaryTest, WhatIsHiddenLaterIsNeitherFrozenNorRun) {
  World world;
  Site& south = world.at("south");
  Describe(south, NineVariables());
  world.Check();
  Describe(south, Variable("X2", "peers = \"hidden\"\n"));
  EXPECT_EQ(World::Do(south, JobKind::kCommit, 0).Last<Committed>(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(World::FolderOf(south) / "draft.json"));
  EXPECT_THAT(World::Problem(south), HasSubstr("hides what the study asks for: 'x2'"));
  Describe(south, NineVariables());
  world.Approve();
  Describe(south, Variable("x2", "peers = \"hidden\"\n"));
  const Said said = World::Do(south, JobKind::kRun, 1);
  const JobEnded* ended = said.Last<JobEnded>();
  ASSERT_NE(ended, nullptr);
  EXPECT_FALSE(ended->ended.may_have_opened);
  EXPECT_THAT(World::Problem(south), HasSubstr("hides what the study asks for: 'x2'"));
}

// A file that cannot be read hides everything.
TEST(JobDictionaryTest, ADictionaryThatCannotBeReadOffersNothing) {
  World world;
  Site& south = world.at("south");
  Describe(south, NineVariables() + "peers = \"hiden\"\n");
  EXPECT_EQ(RefusalAt(south), "this node cannot check it now");
  EXPECT_THAT(World::Problem(south), HasSubstr("'peers'"));
}

TEST(JobDictionaryTest, StewardsSeeWhereAStudyDeparts) {
  World world;
  Site& south = world.at("south");
  Site& west = world.at("west");
  Describe(south, NineVariables());
  Describe(west, Variable("x1") +
                     "[[variable]]\nname = \"x2\"\ntype = \"numeric\"\nlower = 0\n"
                     "upper = 20\nunit = \"points\"\n");
  world.Check();
  EXPECT_EQ(StatementOf(south).dictionary, "Its variables are as the dictionary of pupils says.\n");
  const std::string departs = StatementOf(west).dictionary;
  EXPECT_THAT(departs, HasSubstr("departs from the dictionary of pupils in 8 places:\n"));
  EXPECT_THAT(departs, HasSubstr("'x2' is in [-10, 20] in the study, [0, 20] in the dictionary\n"));
  EXPECT_THAT(departs, HasSubstr("'x9' is not in the dictionary\n"));
  EXPECT_THAT(departs, Not(HasSubstr("'x1'")));
  EXPECT_EQ(StatementOf(world.at("north")).dictionary, "");
}

TEST(JobDictionaryTest, ADraftTellsNamesAndTypesAlone) {
  World world;
  Site& south = world.at("south");
  const std::filesystem::path file = south.settings.stewards.parent_path() / "mixed.csv";
  std::string rows = "pupil id,age,group,when,remarks,none,two words\n";
  for (int i = 0; i < 40; ++i) {
    rows += "kept-" + std::to_string(i) + "," + std::to_string(31 + i) + "," +
            (i % 2 == 0 ? "secretlevel" : "otherlevel") + ",2021-04-0" + std::to_string(1 + i % 9) +
            ",remark " + std::to_string(i % 39) + ",," + std::to_string(i) + "\n";
  }
  WriteFileAtomically(file.string(), rows);
  south.settings.catalogue["mixed"] = {file, ""};
  const std::string text = DraftOfTable(south.settings, "mixed");
  const auto draft = nlohmann::json::parse(text);
  std::map<std::string, std::string> types, left_out;
  for (const auto& one : draft.at("variables")) {
    EXPECT_EQ(one.size(), 2U);
    types[one.at("name")] = one.at("type");
  }
  for (const auto& one : draft.at("left_out")) left_out[one.at("name")] = one.at("why");
  EXPECT_EQ(types, (std::map<std::string, std::string>{
                       {"age", "integer"}, {"group", "factor"}, {"when", "date"}}));
  EXPECT_EQ(left_out, (std::map<std::string, std::string>{
                          {"pupil id", "another text in every row: it names the row"},
                          {"remarks", "free text"},
                          {"none", "empty"},
                          {"two words", "no study can name it"}}));
  for (const char* cell : {"secretlevel", "2021", "kept", "31", "70"})
    EXPECT_THAT(text, Not(HasSubstr(cell)));
  EXPECT_THROW(DraftOfTable(south.settings, "nowhere"), Error);
  std::filesystem::remove(file);
  EXPECT_TRUE(nlohmann::json::parse(DraftOfTable(south.settings, "mixed")).contains("problem"));
}

}  // namespace
}  // namespace partita::node::job_dictionary_test
