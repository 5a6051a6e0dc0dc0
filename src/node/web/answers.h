// Answers of the API: JSON, errors in their one form {"code", "message", "hint"}, and the headers that every
// answer carries.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "net/https.h"

namespace partita::node::web {

using WebJson = nlohmann::ordered_json;

net::HttpResponse JsonAnswer(const WebJson& json);
net::HttpResponse NothingToSay();  // 204

// Of what the server itself says no to: code is one of openapi.json's.
net::HttpResponse Problem(unsigned status, const std::string& code, const std::string& message,
                          const std::string& hint);
// Of what a handler threw, or the node, or the signer: no paths of this machine, and no words of bugs.
net::HttpResponse ProblemOf(const Error& error, bool is_get);
WebJson ProblemJson(const Error& error);
// The same text without names of files.
std::string WithoutPaths(const std::string& text);

// What browsers may do with an answer, whatever it is: nothing, unless the answer says more.
void AddDefences(net::HttpResponse& response);

}  // namespace partita::node::web
