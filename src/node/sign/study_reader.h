// Where the documents of a study are parsed: they are other people's bytes, the signer has a key, and the
// process of the pages has sessions and takes passphrases.
//
// In a child: the same program started again, which gets the bytes on its standard input, takes from
// itself the right to open a file or a connection, 60 s of processor time and 4 GiB at most, and writes
// what it read to its standard output. A hole in a parser so gets no key, no passphrase and no list to
// sign; it could show another plan than the study's, and that is what it is for.
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

// Takes from this process the right to open anything beyond its standard streams and to make a file longer,
// for good, and bounds its time and memory.
void LockReaderIn();
// The child. Returns its exit code.
int RunStudyReader();

Bytes Encode(const ReadOrder& order);
// Throws kPeerFault.
ReadOrder DecodeReadOrder(ByteView bytes);
// Answers an order, with an error where ReadForSteward throws one.
Bytes AnswerReadOrder(ByteView order);
// Throws the error of the answer; kPeerFault for what is no answer.
ForSteward DecodeReadAnswer(ByteView answer);

}  // namespace partita::node
