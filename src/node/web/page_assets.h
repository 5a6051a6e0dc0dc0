// The pages of a node for browsers: the bundle of web/node/, made during the build (web/build.mjs) and
// part of the program.
#pragma once

#include <span>
#include <string_view>

namespace partita::node::web {

struct PageAsset {
  std::string_view path;  // what a browser asks for: "/", "/licences.txt"
  std::string_view type;  // Content-Type
  std::string_view etag;  // with its quotation marks; of the bytes
  std::string_view bytes;
};

std::span<const PageAsset> PageAssets();

// Content-Security-Policy of every page asset: exactly the script and style of "/".
std::string_view PagePolicy();

}  // namespace partita::node::web
