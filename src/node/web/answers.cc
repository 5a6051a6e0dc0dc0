#include "node/web/answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace partita::node::web {
namespace {

constexpr unsigned kRetryMomentSeconds = 1;

unsigned StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return 400;
    case ErrorCode::kBadInput:
    case ErrorCode::kBadData:
      return 422;
    case ErrorCode::kUnreachable:
    case ErrorCode::kPeerFault:
    case ErrorCode::kPeerLost:
      return 502;
    case ErrorCode::kTimeout:
      return 504;
    case ErrorCode::kUntrusted:
    case ErrorCode::kRefused:
    case ErrorCode::kBudget:
    case ErrorCode::kNotConverged:
    case ErrorCode::kCancelled:
      return 409;
    case ErrorCode::kStorage:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

net::HttpResponse Typed(unsigned status, const WebJson& json) {
  const std::string text = json.dump(-1, ' ', false, WebJson::error_handler_t::replace);
  net::HttpResponse response = net::TextResponse(status, text);
  response.content_type = "application/json";
  return response;
}

bool IsSaid(const net::HttpResponse& response, const std::string& name) {
  return net::HeaderValue(response.headers, name).has_value();
}

}  // namespace

net::HttpResponse JsonAnswer(const WebJson& json) { return Typed(200, json); }

net::HttpResponse NothingToSay() { return net::TextResponse(204, ""); }

net::HttpResponse Problem(unsigned status, const std::string& code, const std::string& message,
                          const std::string& hint) {
  net::HttpResponse response =
      Typed(status, {{"code", code}, {"message", message}, {"hint", hint}});
  if (status == 429 || status == 503) response.retry_after = kRetryMomentSeconds;
  return response;
}

std::string WithoutPaths(const std::string& text) {
  constexpr std::string_view kBefore = " \n\t'\"([<:=", kAfter = " \n\t'\")]>,;";
  std::string clean;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_path = text[i] == '/' &&
                         (i == 0 || kBefore.find(text[i - 1]) != std::string_view::npos) &&
                         i + 1 < text.size() && text[i + 1] != ' ';
    if (!is_path) {
      clean += text[i];
      continue;
    }
    const size_t end = std::min(text.find_first_of(kAfter, i), text.size());
    clean += "(a file of this site)";
    i = end - 1;
  }
  return clean;
}

WebJson ProblemJson(const Error& error) {
  std::string message = WithoutPaths(error.message()), hint = WithoutPaths(error.hint());
  if (error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kStorage) {
    message = "this site's node failed";
    hint = "Its log says more: ask its operator.";
  }
  return {{"code", ErrorCodeName(error.code())}, {"message", message}, {"hint", hint}};
}

net::HttpResponse ProblemOf(const Error& error, bool is_get) {
  // A GET asks for nothing but what its address names.
  if (is_get && error.code() == ErrorCode::kUsage)
    return Problem(404, "not-found", WithoutPaths(error.message()), WithoutPaths(error.hint()));
  return Typed(StatusOf(error.code()), ProblemJson(error));
}

void AddDefences(net::HttpResponse& response) {
  const net::HttpHeader defences[] = {
      {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
      {"Cache-Control", "no-store"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"}};
  for (const net::HttpHeader& header : defences) {
    if (!IsSaid(response, header.name)) response.headers.push_back(header);
  }
}

}  // namespace partita::node::web
