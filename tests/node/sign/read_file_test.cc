// Study files that are read for the pages: what a child is asked and answers, and children that answer nothing.
#include "node/sign/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "node/sign/study_reader.h"
#include "tests/paths.h"

namespace partita::node::read_file_test {
namespace {

using ::testing::HasSubstr;

std::string Text() {
  return ReadFile(SourcePath("examples/three_factor/horizontal/study.toml"), 1 << 20, "a study");
}

FileRead Through(const std::string& text, FileDepth depth) {
  return DecodeFileAnswer(AnswerFileOrder(EncodeFileOrder(text, depth)));
}

TEST(ReadFileTest, AnAnswerIsWhatWasRead) {
  for (const FileDepth depth : {FileDepth::kNames, FileDepth::kPlan}) {
    const FileRead here = ReadStudyFile(Text(), depth), there = Through(Text(), depth);
    EXPECT_FALSE(there.problem);
    EXPECT_EQ(there.name, "three-factor-rows");
    EXPECT_EQ(there.title, here.title);
    EXPECT_EQ(there.plan_text, here.plan_text);
    EXPECT_EQ(there.plan_json, here.plan_json);
    EXPECT_EQ(there.warnings, here.warnings);
    EXPECT_EQ(there.plan_json.empty(), depth == FileDepth::kNames);
  }
}

TEST(ReadFileTest, VariablesAreThoseOfTheDictionary) {
  const FileRead here = ReadStudyFile(Text(), FileDepth::kVariables);
  const FileRead there = Through(Text(), FileDepth::kVariables);
  EXPECT_EQ(there.variables, here.variables);
  EXPECT_EQ(there.plan_json, "");
  ASSERT_EQ(there.variables.size(), 9U);
  const FileVariable& first = there.variables[0];
  EXPECT_EQ(first.name, "x1");
  EXPECT_EQ(first.type, "numeric");
  EXPECT_EQ(first.bounds, "[-10, 20]");
  EXPECT_EQ(first.holders.size(), 3U);
  // Neither names nor a plan have them.
  EXPECT_TRUE(Through(Text(), FileDepth::kNames).variables.empty());
  EXPECT_TRUE(Through(Text(), FileDepth::kPlan).variables.empty());
}

TEST(ReadFileTest, WhatIsWrongWithATextIsItsProblem) {
  for (const std::string& text : {std::string(), std::string("[[[["), std::string("\x01")}) {
    const FileRead read = Through(text, FileDepth::kPlan);
    ASSERT_TRUE(read.problem);
    EXPECT_EQ(read.problem->code(), ErrorCode::kBadInput);
    EXPECT_EQ(read.problem->message(), ReadStudyFile(text, FileDepth::kPlan).problem->message());
    EXPECT_EQ(read.name, "");
  }
}

TEST(ReadFileTest, NamesOfManyTextsAreThoseOfEach) {
  const std::vector<std::string> texts = {Text(), "[[[", "", Text()};
  const Bytes answer = AnswerNamesOrder(EncodeNamesOrder(texts));
  const std::vector<FileNames> names = DecodeNamesAnswer(answer, texts.size());
  ASSERT_EQ(names.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const FileRead one = ReadStudyFile(texts[i], FileDepth::kNames);
    EXPECT_EQ(names[i].name, one.name) << i;
    EXPECT_EQ(names[i].title, one.title) << i;
  }
  EXPECT_EQ(names[0].name, "three-factor-rows");
  EXPECT_THROW(DecodeNamesAnswer(answer, 3), Error);
  EXPECT_THROW(DecodeNamesAnswer(answer, 5), Error);
  EXPECT_THROW(AnswerNamesOrder(Bytes{1, 0, 0, 0}), Error);
  EXPECT_THROW(ReadNamesInChild({"/bin/true"})(texts), Error);
}

TEST(ReadFileTest, WhatIsNoAnswerIsRefused) {
  const Bytes answer = AnswerFileOrder(EncodeFileOrder("[[[", FileDepth::kNames));
  for (size_t size = 0; size < answer.size(); ++size) {
    const Bytes cut(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(DecodeFileAnswer(cut), Error) << size;
  }
  Bytes longer = answer;
  longer.push_back(0);
  EXPECT_THROW(DecodeFileAnswer(longer), Error);
}

TEST(ReadFileTest, ChildrenThatAnswerNothingAreAnError) {
  for (const char* program : {"/bin/true", "/nowhere/reader"}) {
    try {
      ReadFileInChild({program})("x", FileDepth::kNames);
      ADD_FAILURE() << program;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
      EXPECT_THAT(error.message(), HasSubstr("the process that reads studies"));
    }
  }
}

}  // namespace
}  // namespace partita::node::read_file_test
