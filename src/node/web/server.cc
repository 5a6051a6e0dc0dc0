#include "node/web/server.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/trim.h"
#include "node/web/api.h"
#include "node/web/cookies.h"
#include "node/web/metrics.h"
#include "node/web/pool.h"
#include "node/web/repeats.h"
#include "node/web/routes.h"
#include "node/web/waiting.h"

namespace partita::node::web {
namespace {

constexpr unsigned kServerThreads = 2;
constexpr unsigned kAskingThreads = 8;
constexpr unsigned kPasswordThreads = 2;  // 64 MiB each
constexpr unsigned kHeavyThreads = 2;
constexpr unsigned kDecidingThreads = 2;
constexpr unsigned kStoppingThreads = 1;
constexpr unsigned kStrangersThreads = 1;
// Plans of an account that are made or wait at one time; a page that is left asks for no more than two.
constexpr int kMostHeavyPerAccount = 4;
constexpr size_t kMostAsking = 128;
constexpr size_t kMostSlow = 16;
constexpr std::chrono::seconds kLongestPoll{25};
constexpr std::string_view kOpenApiPath = "/api/v1/openapi.json";
constexpr std::string_view kCheckPath = "/api/v1/studies/check";

// A request that passed everything that is looked at before it is done.
struct Admitted {
  const Route* route = nullptr;
  std::vector<std::string> parts;
  std::map<std::string, std::string> query;
  std::optional<Session> session;
  std::string token;
};

struct Target {
  std::string path, query;
};

Target TargetOf(const net::HttpRequest& request) {
  const size_t mark = std::min(request.target.find('?'), request.target.size());
  return {request.target.substr(0, mark),
          request.target.substr(std::min(mark + 1, request.target.size()))};
}

std::string Header(const net::HttpRequest& request, std::string_view name) {
  return net::HeaderValue(request.headers, name).value_or("");
}

bool HasHeader(const net::HttpRequest& request, std::string_view name) {
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [name](const net::HttpHeader& header) { return header.name == name; });
}

// In a time that does not depend on where they differ.
bool IsSame(const std::string& given, const std::string& wanted) {
  if (given.size() != wanted.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    different |= static_cast<unsigned>(static_cast<uint8_t>(given[i] ^ wanted[i]));
  return different == 0;
}

bool IsJson(const std::string& content_type) {
  const std::string_view type =
      Trim(std::string_view(content_type)
               .substr(0, std::min(content_type.find(';'), content_type.size())));
  return net::SmallLetters(std::string(type)) == "application/json";
}

// A proxy on this machine speaks for others.
bool IsOfAProxy(const net::HttpHeader& header) {
  constexpr std::string_view kNames[] = {"forwarded", "via", "x-real-ip", "x-client-ip"};
  return header.name.starts_with("x-forwarded-") ||
         std::find(std::begin(kNames), std::end(kNames), header.name) != std::end(kNames);
}

// What the page asks by itself, after news or by a timer, is nobody's click; it changes nothing.
bool IsByItself(const net::HttpRequest& request, const Route& route) {
  return HasHeader(request, "partita-by-itself") &&
         (route.method == "GET" || route.path == kCheckPath);
}

crypto::Digest RequestDigest(const net::HttpRequest& request) {
  crypto::Sha256 hash;
  return hash.Field(request.method).Field(request.target).Field(ByteView(request.body)).Finish();
}

net::HttpResponse Busy() {
  return Problem(429, "too-many", "the node's pages have too much to do", "Try again in a moment.");
}

}  // namespace

net::HttpsLimits WebLimits() {
  net::HttpsLimits limits;
  limits.body_bytes = size_t{4} << 20;
  limits.all_body_bytes = uint64_t{32} << 20;
  limits.connections = 256;
  limits.connections_per_address = 128;
  return limits;
}

struct WebServer::Impl {
  Impl(WebOptions given, crypto::RandomSource& random)
      : options(std::move(given)),
        log(options.log),
        accounts(options.accounts, random),
        sessions(random),
        site{options.node,   options.signer,
             accounts,       sessions,
             delay,          log,
             options.reader, StudyNames(options.reader, options.names_reader)},
        asking(kAskingThreads, kMostAsking),
        passwords(kPasswordThreads, kMostSlow),
        heavy(kHeavyThreads, kMostSlow),
        deciding(kDecidingThreads, kMostSlow),
        stopping(kStoppingThreads, kMostSlow),
        strangers(kStrangersThreads, kMostSlow),
        waiting([this](const std::string& study) {
          return study.empty() ? NodeNow(site) : StudyNow(site, study);
        }) {
    const std::string port = options.listener.address.substr(options.listener.address.rfind(':'));
    hosts = options.hosts;
    for (const char* own : {"localhost", "127.0.0.1", "[::1]"}) hosts.push_back(own + port);
    hosts.push_back(options.listener.address);
    server = std::make_unique<net::HttpsServer>(
        std::move(options.listener), options.tls, options.limits, kServerThreads,
        [this](net::HttpRequest request, const net::HttpReply& reply) {
          Answer(std::move(request), reply);
        },
        [this](const net::HttpRequest& request) { return Screen(request); });
    serving = server.get();
  }

  // Its first requests come before its construction has returned.
  net::HttpsServerCounts Counts() const {
    const net::HttpsServer* const now = serving;
    return now == nullptr ? net::HttpsServerCounts() : now->Counts();
  }

  void Stop() {
    waiting.Stop();
    asking.Stop();
    passwords.Stop();
    for (Pool* pool : {&heavy, &deciding, &stopping, &strangers}) pool->Stop();
    if (server) server->Stop(std::chrono::milliseconds(500));
  }

  // Before the body of a request is read.
  std::optional<net::HttpResponse> Screen(const net::HttpRequest& request) {
    std::variant<Admitted, net::HttpResponse> looked = LookAt(request);
    if (std::holds_alternative<Admitted>(looked)) return std::nullopt;
    AddDefences(std::get<net::HttpResponse>(looked));
    return std::move(std::get<net::HttpResponse>(looked));
  }

  std::optional<net::HttpResponse> Page(const net::HttpRequest& request, const std::string& path) {
    if (path == kOpenApiPath) {
      net::HttpResponse response = net::TextResponse(200, OpenApiText());
      response.content_type = "application/json";
      return response;
    }
    for (const PageAsset& asset : options.pages) {
      if (asset.path != path) continue;
      const bool is_known = Header(request, "if-none-match") == asset.etag;
      net::HttpResponse response =
          net::TextResponse(is_known ? 304 : 200, is_known ? "" : asset.bytes);
      response.content_type = std::string(asset.type);
      response.headers.push_back({"Content-Security-Policy", std::string(options.page_policy)});
      response.headers.push_back({"ETag", std::string(asset.etag)});
      response.headers.push_back({"Cache-Control", "no-cache"});
      return response;
    }
    return std::nullopt;
  }

  bool IsHere(const net::HttpRequest& request) const {
    return IsLoopback(AddressOfRemote(request.remote)) &&
           std::none_of(request.headers.begin(), request.headers.end(), IsOfAProxy);
  }

  std::variant<Admitted, net::HttpResponse> LookAt(const net::HttpRequest& request) {
    const std::string host = Header(request, "host");
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
      return Problem(421, "not-allowed", "this server is not known by the name that was asked for",
                     "Start the pages with --host and the name that people use.");
    }
    const Target target = TargetOf(request);
    bool is_there = false;
    std::optional<Match> match = FindRoute(request.method, target.path, is_there);
    if (!match) {
      if (std::optional<net::HttpResponse> page = Page(request, target.path)) {
        if (request.method == "GET" && target.query.empty()) return std::move(*page);
        is_there = true;
      }
      if (!is_there)
        return Problem(404, "not-found", "there is nothing here", "Begin at the first page.");
      return Problem(405, "wrong-method", "this cannot be done here", "Look at openapi.json.");
    }
    Admitted admitted;
    admitted.route = match->route;
    admitted.parts = std::move(match->parts);
    const Route& route = *match->route;
    std::optional<std::map<std::string, std::string>> query = ReadQuery(target.query, route.query);
    if (!query)
      return Problem(400, "usage", "the address has what is not known", "Look at openapi.json.");
    admitted.query = std::move(*query);
    if (route.effort == Effort::kMetrics && !IsHere(request))
      return Problem(404, "not-found", "there is nothing here", "Ask from the machine itself.");
    if (route.roles != kAnyone) {
      admitted.token = SessionTokenOf(request).value_or("");
      // Long polls are the page's, not a person's.
      const bool is_person = route.effort != Effort::kWaits && !IsByItself(request, route);
      admitted.session = sessions.Find(admitted.token, options.clock(), is_person);
      if (!admitted.session) return Problem(401, "login-needed", "this needs a login", "Log in.");
      if ((route.roles & RoleBit(admitted.session->role)) == 0) {
        return Problem(
            403, "not-allowed",
            "an account of role " + RoleName(admitted.session->role) + " may not do this",
            "Ask somebody of the site who may.");
      }
    }
    if (route.method != "GET") {
      if (std::optional<net::HttpResponse> refusal = Distrust(request, admitted, host))
        return std::move(*refusal);
    }
    const std::string length = Header(request, "content-length");
    if (length.size() > 9 || (!length.empty() && std::stoul("0" + length) > route.body_bytes))
      return Problem(413, "too-large", "the request is too large", "");
    return admitted;
  }

  // What changes something comes from a page of this server, and as JSON.
  static std::optional<net::HttpResponse> Distrust(const net::HttpRequest& request,
                                                   const Admitted& admitted,
                                                   const std::string& host) {
    if (Header(request, "origin") != "https://" + host) {
      return Problem(403, "not-allowed", "the request comes from another site",
                     "Use the pages of this server.");
    }
    if (admitted.route->roles != kAnyone &&
        !IsSame(Header(request, "partita-csrf"), CsrfToken(admitted.token))) {
      return Problem(403, "not-allowed", "the request lacks the token of its session",
                     "Reload the page.");
    }
    if (admitted.route->method == "POST" && !IsJson(Header(request, "content-type")))
      return Problem(415, "not-json", "the request is no JSON", "Send application/json.");
    return std::nullopt;
  }

  void Answer(net::HttpRequest request, const net::HttpReply& reply) {
    const auto say = [reply, is_head = request.method == "HEAD"](net::HttpResponse response) {
      AddDefences(response);
      if (is_head) response.body.clear();
      reply(std::move(response));
    };
    std::variant<Admitted, net::HttpResponse> looked = LookAt(request);
    if (std::holds_alternative<net::HttpResponse>(looked))
      return say(std::move(std::get<net::HttpResponse>(looked)));
    auto admitted = std::make_shared<Admitted>(std::move(std::get<Admitted>(looked)));
    if (admitted->route->effort == Effort::kWaits) return Wait(*admitted, reply);
    auto held = std::make_shared<net::HttpRequest>(std::move(request));
    const auto task = [this, held, admitted, say] { say(Do(*held, *admitted)); };
    Pool* pool = nullptr;
    switch (admitted->route->effort) {
      case Effort::kAtOnce:
      case Effort::kWaits:
        return task();
      case Effort::kAsks:
      case Effort::kMetrics:
        pool = &asking;
        break;
      case Effort::kPassword:
        pool = &passwords;
        break;
      case Effort::kHeavy:
        return AnswerHeavy(admitted->session->account, task, [say] { say(Busy()); });
      case Effort::kDecides:
        pool = &deciding;
        break;
      case Effort::kStops:
        pool = &stopping;
        break;
      case Effort::kStrangers:
        pool = &strangers;
        break;
    }
    if (!pool->Do(task)) say(Busy());
  }

  // At most so many of an account at one time.
  void AnswerHeavy(const std::string& account, const std::function<void()>& task,
                   const std::function<void()>& refuse) {
    {
      const std::lock_guard lock(heavy_mutex);
      int& own = heavy_of[account];
      if (own >= kMostHeavyPerAccount) return refuse();
      ++own;
    }
    const auto leave = [this, account] {
      const std::lock_guard lock(heavy_mutex);
      if (--heavy_of[account] == 0) heavy_of.erase(account);
    };
    const auto done = [task, leave] {
      task();
      leave();
    };
    if (heavy.Do(done)) return;
    leave();
    refuse();
  }

  // Never throws.
  net::HttpResponse Do(const net::HttpRequest& request, const Admitted& admitted) {
    const Route& route = *admitted.route;
    net::HttpResponse response;
    try {
      // It may have waited: what ended meanwhile does nothing any more.
      if (admitted.session && !sessions.Find(admitted.token, options.clock(), false))
        return Problem(401, "login-needed", "the session is over", "Log in again.");
      response = route.method == "POST" && admitted.session ? Once(request, admitted)
                                                            : DoNow(request, admitted);
    } catch (const std::exception&) {
      response = ProblemOf(Error(ErrorCode::kInternal, ""), false);
    }
    if (route.method != "GET") {
      log.Write("page", {{"did", std::string(route.path)},
                         {"account", admitted.session ? admitted.session->account : ""},
                         {"status", int64_t{response.status}}});
    }
    return response;
  }

  net::HttpResponse Once(const net::HttpRequest& request, const Admitted& admitted) {
    const std::string key = Header(request, "idempotency-key");
    if (!HasHeader(request, "idempotency-key")) return DoNow(request, admitted);
    if (!IsRepeatKey(key)) {
      return Problem(400, "usage", "this is no Idempotency-Key",
                     "Take 16 to 64 letters, digits and '-'.");
    }
    const std::string& account = admitted.session->account;
    std::optional<net::HttpResponse> before =
        repeats.Begin(account, key, RequestDigest(request), options.clock());
    if (before) return std::move(*before);
    net::HttpResponse response = DoNow(request, admitted);
    repeats.End(account, key, response);
    return response;
  }

  net::HttpResponse DoNow(const net::HttpRequest& request, const Admitted& admitted) {
    const Route& route = *admitted.route;
    if (route.effort == Effort::kMetrics) {
      net::HttpResponse response = net::TextResponse(
          200,
          MetricsText(site, {Counts(), logins, logins_failed, sessions.Count(options.clock())}));
      response.content_type = "text/plain; version=0.0.4";
      return response;
    }
    Call call{request,          admitted.parts,
              admitted.query,   NetworkOf(AddressOfRemote(request.remote)),
              IsHere(request),  admitted.token,
              admitted.session, options.clock()};
    net::HttpResponse response;
    try {
      response = route.answer(site, call);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kStorage)
        log.Write(error, std::string(route.path));
      response = ProblemOf(error, route.method == "GET");
    } catch (const std::exception& error) {
      const Error bug(ErrorCode::kInternal, error.what(), "please report this");
      log.Write(bug, std::string(route.path));
      response = ProblemOf(bug, false);
    }
    if (route.effort == Effort::kPassword && route.roles == kAnyone)
      ++(response.status == 200 ? logins : logins_failed);
    return response;
  }

  void Wait(const Admitted& admitted, const net::HttpReply& reply) {
    Waiter waiter;
    if (!admitted.parts.empty()) waiter.study = admitted.parts.front();
    const auto value = [&admitted](const char* name) {
      const auto found = admitted.query.find(name);
      return found == admitted.query.end() ? std::string() : found->second;
    };
    waiter.known = value("after");
    const std::string wait = value("wait");
    const bool is_number = wait.size() <= 2 && std::all_of(wait.begin(), wait.end(), [](char c) {
                             return c >= '0' && c <= '9';
                           });
    const std::chrono::seconds patience(is_number && !wait.empty() ? std::stoi(wait) : 25);
    if (!is_number || patience > kLongestPoll) {
      net::HttpResponse refusal =
          Problem(400, "usage", "'wait' of the address is not 0 to 25", "Look at openapi.json.");
      AddDefences(refusal);
      return reply(std::move(refusal));
    }
    waiter.until = Deadline::After(patience);
    waiter.account = admitted.session->account;
    waiter.is_allowed = [this, token = admitted.token] {
      return sessions.Find(token, options.clock(), false).has_value();
    };
    waiter.reply = reply;
    waiting.Add(std::move(waiter));
  }

  WebOptions options;
  Log log;
  AccountStore accounts;
  Sessions sessions;
  LoginDelay delay;
  Repeats repeats;
  Site site;
  std::vector<std::string> hosts;
  std::atomic<uint64_t> logins{0}, logins_failed{0};
  std::mutex heavy_mutex;
  std::map<std::string, int> heavy_of;  // by account
  Pool asking, passwords, heavy, deciding, stopping, strangers;
  Waiting waiting;
  std::atomic<const net::HttpsServer*> serving{nullptr};
  std::unique_ptr<net::HttpsServer> server;
};

WebServer::WebServer(WebOptions options, crypto::RandomSource& random)
    : impl_(std::make_unique<Impl>(std::move(options), random)) {}

WebServer::~WebServer() { impl_->Stop(); }

const std::string& WebServer::address() const { return impl_->server->address(); }
AccountStore& WebServer::accounts() { return impl_->accounts; }

}  // namespace partita::node::web
