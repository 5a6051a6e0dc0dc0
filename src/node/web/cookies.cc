#include "node/web/cookies.h"

#include <array>

#include "base/hex.h"
#include "node/web/accounts.h"

namespace partita::node::web {
namespace {

constexpr std::string_view kSessionCookie = "__Host-partita";
constexpr std::string_view kBrowserCookie = "__Host-partita-browser";

net::HttpHeader Cookie(std::string_view name, const std::string& value, const std::string& age) {
  return {"Set-Cookie",
          std::string(name) + "=" + value + "; Path=/; Secure; HttpOnly; SameSite=Strict" + age};
}

std::optional<std::string> TokenIn(const net::HttpRequest& request, std::string_view name) {
  std::optional<std::string> token = net::CookieValue(request.headers, name);
  std::array<uint8_t, 32> bytes{};
  if (!token || !FromHex(*token, bytes)) return std::nullopt;
  return token;
}

}  // namespace

net::HttpHeader SetSessionCookie(const std::string& token) {
  return Cookie(kSessionCookie, token, "");  // until the browser is closed
}
net::HttpHeader EndSessionCookie() { return Cookie(kSessionCookie, "", "; Max-Age=0"); }
net::HttpHeader SetBrowserCookie(const std::string& token) {
  return Cookie(kBrowserCookie, token, "; Max-Age=" + std::to_string(kBrowserSeconds));
}

std::optional<std::string> SessionTokenOf(const net::HttpRequest& request) {
  return TokenIn(request, kSessionCookie);
}
std::optional<std::string> BrowserTokenOf(const net::HttpRequest& request) {
  return TokenIn(request, kBrowserCookie);
}

}  // namespace partita::node::web
