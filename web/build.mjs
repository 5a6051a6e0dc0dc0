// node build.mjs FILE.cc: bundles src/report.js and src/report.css with everything that they import
// into one C++ source, the definition of src/report/web_assets.h. Reads nothing but this folder, so
// the same sources give the same bytes.
import {createHash} from "node:crypto";
import {existsSync, readFileSync, writeFileSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2];

function fail(message) {
  console.error(`web/build.mjs: ${message}`);
  process.exit(1);
}

if (!target) fail("usage: node build.mjs FILE.cc");
if (!existsSync(join(here, "node_modules"))) {
  fail("the packages of web/package-lock.json are not installed: run tools/setup");
}
const {build} = await import("esbuild");

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, "src", entry)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome110", "firefox110", "safari16"],
    legalComments: "none",
    charset: "ascii",
    metafile: true,
    // node_modules may be a link to another folder; licences are looked for below this one.
    preserveSymlinks: true,
    write: false,
    outdir: "out"
  });
  return {text: result.outputFiles[0].text.trim(), inputs: Object.keys(result.metafile.inputs)};
}

// The value of a content security policy that allows exactly this inline text.
const policy = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

// Plots carry a style element of their own, whose text depends on their class alone.
function plotStyle() {
  const source = readFileSync(join(here, "node_modules/@observablehq/plot/src/plot.js"), "utf8");
  const found = source.match(/append\("style"\)\.text\(\s*`([^`]*)`/);
  if (!found) fail("Observable Plot writes its style in another way than this script knows");
  return found[1].replaceAll("${className}", "plot");
}

// The licences of the packages that are in the bundle, one text for packages that share it.
function licences(inputs) {
  const folders = new Set();
  for (const input of inputs) {
    const found = input.match(/^node_modules\/(@[^/]+\/[^/]+|[^/]+)\//);
    if (found) folders.add(found[1]);
  }
  if (folders.size === 0) fail("no package is in the bundle, whose licences belong to it");
  const texts = new Map();
  for (const name of [...folders].sort()) {
    const folder = join(here, "node_modules", name);
    const {version, license} = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = ["LICENSE", "LICENSE.md", "LICENCE", "LICENSE.txt"].find((f) =>
      existsSync(join(folder, f))
    );
    if (!file) fail(`the package ${name} has no licence file`);
    const text = readFileSync(join(folder, file), "utf8").replace(/\r/g, "").trim();
    const names = texts.get(text) ?? [];
    texts.set(text, [...names, `${name} ${version} (${license})`]);
  }
  return [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}\n`).join("\n----\n\n");
}

function array(name, text) {
  const bytes = Buffer.from(text, "utf8");
  const lines = [];
  for (let i = 0; i < bytes.length; i += 32) lines.push(bytes.subarray(i, i + 32).join(","));
  return `constexpr unsigned char ${name}[] = {\n${lines.join(",\n")}};\n`;
}

const script = await bundle("report.js");
const style = await bundle("report.css");
for (const {text} of [script, style]) {
  if (/<\/(script|style)|<!--/i.test(text)) fail("the bundle holds text that ends its own element");
}

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
