// What nodes ask of each other over HTTPS, by node keys at both ends.
#pragma once

#include <string_view>

namespace partita::node {

// POST, the bytes of a message. Answers: 200 taken, 503 later, 403 refused, 409 the body has to come
// first.
inline constexpr std::string_view kMessagesPath = "/peer/v1/messages";
// POST, a body, under this path and the digits of its digest: 200 if it is the one.
inline constexpr std::string_view kBodiesPath = "/peer/v1/bodies/";

}  // namespace partita::node
