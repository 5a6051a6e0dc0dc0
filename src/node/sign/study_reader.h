// Where the documents of a study are parsed: they are other people's bytes, the signer has a key, and the
// process of the pages has sessions and takes passphrases.
//
// In a child: the same program started again, which has no descriptor but its standard streams, gets the bytes
// on its standard input, locks itself in (lock_in.h), and writes what it read to its standard output. It is
// ended when it has answered, or after 80 s. A hole in a parser so gets no key, no passphrase, no
// connection of a caller and no file; it could show another plan than the study's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node/sign/for_steward.h"
#include "node/sign/read_file.h"

namespace partita::node {

inline constexpr size_t kMaxReadBytes = size_t{64} << 20;

// Throws what ReadForSteward throws.
using StudyReader = std::function<ForSteward(const ReadOrder&)>;

// program: with its arguments, runs RunStudyReader. Throws also kInternal if it ends without an answer,
// kTimeout.
StudyReader ReadInChild(std::vector<std::string> program);
// The same for a text alone. Names have 10 s, a plan 80 s.
FileReader ReadFileInChild(std::vector<std::string> program);
// One child for all names that are asked for at once, which have 10 s together.
NamesReader ReadNamesInChild(std::vector<std::string> program);

// The child. Returns its exit code. Where it cannot lock itself in, it reads nothing and answers with the error.
int RunStudyReader();

Bytes Encode(const ReadOrder& order);
// Throws kPeerFault.
ReadOrder DecodeReadOrder(ByteView bytes);
// Answers an order, with an error where ReadForSteward throws one.
Bytes AnswerReadOrder(ByteView order);
// Throws the error of the answer; kPeerFault for what is no answer.
ForSteward DecodeReadAnswer(ByteView answer);

}  // namespace partita::node
