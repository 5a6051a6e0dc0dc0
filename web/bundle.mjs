// What the builds of the report (build.mjs) and of a node's pages (node/build.mjs) share: bundles of
// scripts and styles, the policies that allow exactly these, licences, and bytes as C++. Reads nothing
// but this folder, so the same sources give the same bytes.
import {createHash} from "node:crypto";
import {existsSync, readFileSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));

export function fail(message) {
  console.error(`web: ${message}`);
  process.exit(1);
}

if (!existsSync(join(here, "node_modules"))) {
  fail("the packages of web/package-lock.json are not installed: run tools/setup");
}
const {build} = await import("esbuild");

// The text of an entry with everything that it imports, and the files that it is made of.
export async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, entry)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome110", "firefox110", "safari16"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "ascii",
    metafile: true,
    // node_modules may be a link to another folder; licences are looked for below this one.
    preserveSymlinks: true,
    write: false,
    outdir: "out"
  });
  const text = result.outputFiles[0].text.trim();
  if (/<\/(script|style)|<!--/i.test(text)) fail(`${entry} holds text that ends its own element`);
  return {text, inputs: Object.keys(result.metafile.inputs)};
}

const digest = (text) => createHash("sha256").update(text, "utf8").digest("base64");

// The value of a content security policy that allows exactly this inline text.
export const policy = (text) => `'sha256-${digest(text)}'`;

// The value of an ETag header.
export const etag = (text) => `"${digest(text).slice(0, 22)}"`;

// The licences of the packages that are in the bundle, one text for packages that share it.
export function licences(inputs) {
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

// The definition of a constant array of bytes.
export function array(name, text) {
  const bytes = Buffer.from(text, "utf8");
  const lines = [];
  for (let i = 0; i < bytes.length; i += 32) lines.push(bytes.subarray(i, i + 32).join(","));
  return `constexpr unsigned char ${name}[] = {\n${lines.join(",\n")}};\n`;
}
