// The process in which the signer reads studies: what it says, what it cannot do, and when it is ended.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>
#include <set>
#include <thread>

#include "base/files.h"
#include "net/socket.h"
#include "node/sign/lock_in.h"
#include "node/sign/read_file.h"
#include "tests/node/sign/signer_scene.h"
#include "tests/paths.h"

namespace partita::node::signer_child_test {
namespace {

using signer_scene::ErrorOf;
using signer_scene::HasSubstr;
using signer_scene::SignerScene;

class SignerChildTest : public SignerScene {};

TEST_F(SignerChildTest, WhatTheChildSaysComesBackAsItWas) {
  ReadOrder order = Order();
  EXPECT_EQ(DecodeReadOrder(Encode(order)), order);
  const ForSteward here = ReadForSteward(order);
  const Bytes answer = AnswerReadOrder(Encode(order));
  const ForSteward there = DecodeReadAnswer(answer);
  EXPECT_EQ(there.plan_text, here.plan_text);
  EXPECT_EQ(there.plan_json, here.plan_json);
  EXPECT_EQ(there.terms.agreement_hash, here.terms.agreement_hash);
  EXPECT_EQ(there.terms.plan_hash, here.terms.plan_hash);
  EXPECT_EQ(there.terms.disclosure.min_rows, here.terms.disclosure.min_rows);
  EXPECT_EQ(there.parties, here.parties);
  EXPECT_EQ(there.is_holder, here.is_holder);
  order.study.file += " ";
  EXPECT_THAT(ErrorOf([&] { DecodeReadAnswer(AnswerReadOrder(Encode(order))); }),
              HasSubstr("untrusted: the study is not the one that its number stands for"));
  for (size_t size = 0; size < answer.size(); size += 1 + size / 7) {
    const Bytes cut(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(ErrorOf([&] { DecodeReadAnswer(cut); }), HasSubstr("peer-fault: ")) << size;
  }
  // A child that ends without an answer, or is none.
  EXPECT_THAT(ErrorOf([&] { ReadInChild({"/bin/true"})(order); }),
              HasSubstr("internal: the process that reads studies"));
  EXPECT_THAT(ErrorOf([&] { ReadInChild({"/nowhere/reader"})(order); }),
              HasSubstr("internal: the process that reads studies"));
}

// A program in the place of the child: `script` of a shell, after all that it is given was read.
StudyReader ShellReader(const std::string& script) {
  return ReadInChild({"/bin/sh", "-c", "cat >/dev/null; " + script});
}

TEST_F(SignerChildTest, AChildThatAnsweredIsEnded) {
  // The answer, which is an error, and then nothing: it would be waited for without end.
  WriteFileAtomically((world.folder() / "answer").string(), [] {
    const Bytes answer = AnswerReadOrder({});
    return std::string(answer.begin(), answer.end());
  }());
  const auto began = std::chrono::steady_clock::now();
  const StudyReader stays = ShellReader("cat " + (world.folder() / "answer").string() +
                                        "; exec 0<&- 1>&-; exec sleep 30");
  EXPECT_THAT(ErrorOf([&] { stays(Order()); }), HasSubstr("peer-fault: "));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST_F(SignerChildTest, TheChildInheritsNothing) {
  const std::string answer = (world.folder() / "answer").string();
  const Bytes bytes = AnswerReadOrder({});
  WriteFileAtomically(answer, std::string(bytes.begin(), bytes.end()));
  const net::Socket left_open(::open("/dev/null", O_RDONLY));  // as by whoever started the signer
  const auto reads = [&](const std::string& condition) {
    return ErrorOf(
        [&] { ShellReader("if " + condition + "; then cat " + answer + "; fi")(Order()); });
  };
  EXPECT_THAT(reads("[ ! -e /proc/self/fd/" + std::to_string(left_open.fd()) + " ]"),
              HasSubstr("peer-fault: "));
  EXPECT_THAT(reads("[ ! -e /proc/self/fd/1 ]"), HasSubstr("ended without an answer"));
}

// A study that is long in the child keeps no withdrawal waiting.
TEST_F(SignerChildTest, OthersAreAnsweredWhileAStudyIsRead) {
  std::promise<void> begun, answered;
  std::future<void> is_answered = answered.get_future();
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  begun.set_value();
                                                  is_answered.wait_for(std::chrono::seconds(30));
                                                  return ReadForSteward(order);
                                                },
                                                [this] { return now; }});
  std::thread looking([&] { EXPECT_EQ(Show().at("why_not"), "this site took its approval back"); });
  begun.get_future().wait();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(Refusal(EndRequest("withdraw")), "none");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  answered.set_value();
  looking.join();
}

// Nesting that would end the process on its stack.
TEST_F(SignerChildTest, WhatIsTooDeepIsNoRequest) {
  const std::string deep(2'000'000, '[');
  EXPECT_THAT(ErrorOf([&] { signer->Answer(R"({"do":"withdraw","documents":)" + deep + "}"); }),
              HasSubstr("usage: the signer does not understand the request"));
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_THAT(ErrorOf([&] { signer->Answer(R"({"do":"withdraw","documents":)" + closed + "}"); }),
              HasSubstr("usage: the signer does not understand the request"));
  signer = std::make_unique<Signer>(SignerParts{SignerFolder(home),
                                                [&](const ReadOrder& order) {
                                                  ForSteward read = ReadForSteward(order);
                                                  read.plan_json = R"({"a":)" + closed + "}";
                                                  return read;
                                                },
                                                [this] { return now; }});
  EXPECT_THAT(Refusal(Request("study")), HasSubstr("wrote a plan that is none"));
}

// What a hole in a parser could try, a bit each; 0: nothing went well.
int WhatIsStillPossible(const std::string& folder, int inherited) {
  const auto name = [&](const char* file) { return folder + "/" + file; };
  int done = 0;
  auto tried = [&done, bit = 0](bool went_well) mutable {
    if (went_well) done |= 1 << bit;
    ++bit;
  };
  tried(::open("/etc/passwd", O_RDONLY) >= 0);
  tried(::socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  tried(::rename(name("a").c_str(), name("b").c_str()) == 0);
  tried(::unlink(name("b").c_str()) == 0 || ::unlink(name("a").c_str()) == 0);
  tried(::symlink("/etc/passwd", name("c").c_str()) == 0);
  tried(::chmod(folder.c_str(), 0700) == 0);
  tried(::kill(::getppid(), 0) == 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  tried(child > 0);
  char byte = 0;
  tried(::read(inherited, &byte, 1) >= 0 || errno != EBADF);
  // As fork, by the call that makes threads.
  const long other = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (other == 0) ::_exit(0);
  tried(other > 0);
  return done;
}

TEST_F(SignerChildTest, TheChildCanOnlyComputeAndSpeak) {
  const std::string folder = world.folder().string();
  for (const bool locks : {false, true}) {
    WriteFileAtomically(folder + "/a", "a file of the steward");
    const net::Socket inherited(::open("/dev/zero", O_RDONLY));
    EXPECT_EXIT(
        {
          if (locks) LockReaderIn();
          const int possible = WhatIsStillPossible(folder, inherited.fd());
          // 1023: all ten, without the lock.
          ::_exit(possible == (locks ? 0 : 1023) ? 7 : 8);
        },
        testing::ExitedWithCode(7), "");
    EXPECT_EQ(std::filesystem::exists(folder + "/a"), locks);
  }
}

// Every example of the house, with its plan: what a steward cannot be shown is never approved.
TEST_F(SignerChildTest, StudiesOfAllMethodsAreReadInTheChild) {
  std::set<std::string> methods;
  size_t read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourcePath("examples"))) {
    if (entry.path().extension() != ".toml") continue;
    const std::string text = ReadFile(entry.path(), 1 << 20, "an example");
    if (text.find("\npartita = 1\n") == std::string::npos) continue;
    SCOPED_TRACE(entry.path());
    const FileRead here = ReadStudyFile(text, FileDepth::kPlan);
    if (here.problem) continue;  // nodes cannot run it: a record of another matching, say
    EXPECT_EXIT(
        {
          LockReaderIn();
          const FileRead locked = ReadStudyFile(text, FileDepth::kPlan);
          if (locked.problem) std::fputs(locked.problem->message().c_str(), stderr);
          ::_exit(!locked.problem && locked.plan_json == here.plan_json ? 7 : 8);
        },
        testing::ExitedWithCode(7), "");
    ++read;
    for (size_t at = text.find("\nmethod = \""); at != std::string::npos;
         at = text.find("\nmethod = \"", at + 1))
      methods.insert(text.substr(at + 11, text.find('"', at + 11) - at - 11));
  }
  EXPECT_GE(read, 15u);
  EXPECT_THAT(methods, ::testing::IsSupersetOf({"mle", "describe", "glm", "survival", "mixed",
                                                "meta", "mixture", "marginals", "classify"}));
}

}  // namespace
}  // namespace partita::node::signer_child_test
