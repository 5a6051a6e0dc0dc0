#include "node/job/short_answer.h"

#include "base/error.h"

namespace partita::node {

Bytes ShortAnswerOf(const std::function<Bytes()>& answer) {
  Bytes told{1};
  try {
    const Bytes bytes = answer();
    told.insert(told.end(), bytes.begin(), bytes.end());
  } catch (const Error& error) {
    const ByteView sentence = AsBytes(error.message());
    told.assign(1, 0);
    told.insert(told.end(), sentence.begin(), sentence.end());
  }
  return told;
}

Bytes ShortAnswerIn(ByteView told) {
  if (!told.empty() && told[0] == 1) return {told.begin() + 1, told.end()};
  std::string why = "the job gave no answer";
  if (!told.empty() && told[0] == 0) why.assign(told.begin() + 1, told.end());
  throw Error(ErrorCode::kRefused, why, "Look at the node's log, and try again.");
}

}  // namespace partita::node
