// node build.mjs FILE.cc: bundles src/report.js and src/report.css with everything that they import
// into one C++ source, the definition of src/report/web_assets.h.
import {readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {array, bundle, fail, here, licences, policy} from "./bundle.mjs";

const target = process.argv[2];
if (!target) fail("usage: node build.mjs FILE.cc");

// Plots carry a style element of their own, whose text depends on their class alone.
function plotStyle() {
  const source = readFileSync(join(here, "node_modules/@observablehq/plot/src/plot.js"), "utf8");
  const found = source.match(/append\("style"\)\.text\(\s*`([^`]*)`/);
  if (!found) fail("Observable Plot writes its style in another way than this script knows");
  return found[1].replaceAll("${className}", "plot");
}

const script = await bundle("src/report.js");
const style = await bundle("src/report.css");

const policies = [
  "default-src 'none'",
  `script-src ${policy(script.text)}`,
  `style-src ${policy(style.text)} ${policy(plotStyle())}`,
  "base-uri 'none'",
  "form-action 'none'"
].join("; ");
const parts = {Script: script.text, Style: style.text, Policy: policies,
               Licences: licences([...script.inputs, ...style.inputs])};
const definitions = Object.entries(parts).map(
  ([name, text]) => `
std::string_view ${name}() {
  return {reinterpret_cast<const char*>(k${name}), sizeof(k${name})};
}
`
);
writeFileSync(
  target,
  `// Made by web/build.mjs.
#include "report/web_assets.h"

namespace partita::report::web_assets {
namespace {

${Object.entries(parts).map(([name, text]) => array(`k${name}`, text)).join("\n")}
}  // namespace
${definitions.join("")}
}  // namespace partita::report::web_assets
`
);
