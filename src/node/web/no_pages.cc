// A program without the pages of web/node/: one page that says so.
#include "node/web/page_assets.h"

namespace partita::node::web {
namespace {

constexpr PageAsset kNoPages[] = {
    {"/", "text/html; charset=utf-8", "\"no-pages-1\"",
     "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Partita node</title>"
     "<h1>Partita node</h1><p>This program has no pages. Its API is at /api/v1."},
    {"/licences.txt", "text/plain; charset=utf-8", "\"no-pages-1\"", "No packages."}};

}  // namespace

std::span<const PageAsset> PageAssets() { return kNoPages; }
std::string_view PagePolicy() {
  return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace partita::node::web
