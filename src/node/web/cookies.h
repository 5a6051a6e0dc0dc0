// The two cookies of the pages: of the session, and by which a browser that logged in is known again. Both
// are the browser's alone: only over TLS, not for scripts, not sent when another site asks, and bound to
// this host (__Host-, RFC 6265bis section 4.1.3.2).
#pragma once

#include <optional>
#include <string>

#include "net/https.h"

namespace partita::node::web {

net::HttpHeader SetSessionCookie(const std::string& token);
net::HttpHeader EndSessionCookie();
net::HttpHeader SetBrowserCookie(const std::string& token);

// 64 hexadecimal digits; none for anything else, or if it came more than once.
std::optional<std::string> SessionTokenOf(const net::HttpRequest& request);
std::optional<std::string> BrowserTokenOf(const net::HttpRequest& request);

}  // namespace partita::node::web
