// node build.mjs FILE.cc: bundles the pages of a node into one C++ source, the definition of
// src/node/web/page_assets.h. With FILE.json: into an object {policy, assets}, for tests.
import {writeFileSync} from "node:fs";
import {array, bundle, etag, fail, licences, policy} from "../bundle.mjs";

const target = process.argv[2];
if (!target) fail("usage: node build.mjs FILE.cc | FILE.json");

const script = await bundle("node/src/main.tsx");
const style = await bundle("node/src/style/all.css");

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Partita</title>
<style>${style.text}</style>
</head>
<body>
<div id="app"></div>
<noscript><main><h1>Partita</h1><p>These pages need JavaScript. The command <code>partita node</code> does the same.</p></main></noscript>
<script>${script.text}</script>
</body>
</html>
`;

// Peers' words can become elements nowhere: no sink of the browser takes text as markup.
const policies = [
  "default-src 'none'",
  `script-src ${policy(script.text)}`,
  `style-src ${policy(style.text)}`,
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ");

const assets = [
  {path: "/", type: "text/html; charset=utf-8", bytes: page},
  {
    path: "/licences.txt",
    type: "text/plain; charset=utf-8",
    bytes: licences([...script.inputs, ...style.inputs])
  }
].map((asset) => ({...asset, etag: etag(asset.bytes)}));

function source() {
  const view = (name) => `{reinterpret_cast<const char*>(${name}), sizeof(${name})}`;
  const rows = assets.map(
    ({path, type, etag}, i) =>
      `    {"${path}", "${type}", R"(${etag})",\n     ${view(`kBytes${i}`)}},\n`
  );
  return `// Made by web/node/build.mjs.
#include "node/web/page_assets.h"

#include <array>

namespace partita::node::web {
namespace {

${assets.map(({bytes}, i) => array(`kBytes${i}`, bytes)).join("\n")}
${array("kPolicy", policies)}
}  // namespace

std::span<const PageAsset> PageAssets() {
  static const std::array<PageAsset, ${assets.length}> kAssets{{
${rows.join("")}  }};
  return kAssets;
}

std::string_view PagePolicy() { return ${view("kPolicy")}; }

}  // namespace partita::node::web
`;
}

writeFileSync(target, target.endsWith(".json") ? JSON.stringify({policy: policies, assets}) : source());
