// The web process of a node: pages and the API for the site's own people, over TLS.
//
// Before anything is done for a request: its Host is one of the server's, its route is in the table
// (routes.h), its session has one of the route's roles, and what is no GET comes from a page of this server
// (Origin), with the session's token in Partita-Csrf, as JSON, and no longer than the route takes. Bodies of
// requests that fail this are not read.
//
// Holds accounts and sessions; everything else it asks of the node and its signer. What somebody can do
// who holds this process: docs/node-guide.md.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "net/https_server.h"
#include "node/web/page_assets.h"
#include "node/web/site.h"

namespace partita::node::web {

struct WebOptions {
  net::Listener listener;
  std::shared_ptr<ssl_ctx_st> tls;  // net::MakeBrowserContext
  // What browsers may ask for beside this machine's own names, as in their Host header:
  // "node.north.example", "node.north.example:8443".
  std::vector<std::string> hosts;
  std::filesystem::path accounts;  // file
  Ask node, signer;                // signer may be empty
  FileReader reader;               // of study files, in another process
  NamesReader names_reader;        // of the names in many; without it each is read by itself
  std::span<const PageAsset> pages;
  std::string_view page_policy;
  LogSink log;
  std::function<int64_t()> clock;
  net::HttpsLimits limits;  // WebLimits()
};

// 256 connections, half of them of one address, bodies of at most 4 MiB each and 32 MiB together.
net::HttpsLimits WebLimits();

// The file openapi.json, as it is in the program (GET /api/v1/openapi.json).
std::string_view OpenApiText();

class WebServer {
 public:
  // Serves from now on. Throws as AccountStore and HttpsServer.
  WebServer(WebOptions options, crypto::RandomSource& random);
  // Ends: what is being done is done, but perhaps not answered.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  const std::string& address() const;
  AccountStore& accounts();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::node::web
