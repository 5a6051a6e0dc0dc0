// What a browser, or anybody, sends to the pages of a node: paths, queries, cookies, bodies. Each is refused
// or is what it says, and what is taken of a path or a query is plain.
#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "node/web/answers.h"
#include "node/web/cookies.h"
#include "node/web/fields.h"
#include "node/web/routes.h"

namespace {

using namespace partita;
using namespace partita::node::web;

bool IsPlainText(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

void ReadBody(ByteView bytes) {
  try {
    Fields fields(bytes);
    fields.TextIf("name", 64);
    fields.IntegerIf("days", 1, 60);
    fields.Flag("accept_useless");
    fields.End();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView bytes(data + 1, size - 1);
  const std::string text(bytes.begin(), bytes.end());
  switch (data[0] % 5) {
    case 0: {
      bool is_there = false;
      for (const char* method : {"GET", "POST", "DELETE"}) {
        const auto match = FindRoute(method, text, is_there);
        if (match && !std::all_of(match->parts.begin(), match->parts.end(), IsPlainText))
          std::abort();
      }
      break;
    }
    case 1: {
      const auto query = ReadQuery(text, "after wait");
      if (!query) break;
      for (const auto& entry : *query) {
        if ((entry.first != "after" && entry.first != "wait") || !IsPlainText(entry.second))
          std::abort();
      }
      break;
    }
    case 2: {
      net::HttpRequest request;
      request.headers = {{"cookie", text}};
      const auto token = SessionTokenOf(request);
      if (token && (token->size() != 64 || !IsPlainText(*token))) std::abort();
      break;
    }
    case 3:
      ReadBody(bytes);
      break;
    case 4: {
      const std::string clean = WithoutPaths(text);
      if (WithoutPaths(clean) != clean) std::abort();
      AddressOfRemote(text);
      break;
    }
  }
  return 0;
}
