// node schemas.mjs FOLDER FILE.cc: the JSON Schemas of FOLDER as one C++ source, the definition of
// CommandSchemas() in src/cli/terminal/schemas.h. The title of a schema names the commands that print it, all
// others are parts. A schema is printed as its file; one that refers to other files of the folder has
// these in its definitions, so that what is printed stands alone. FILE.cc.d says what was read.
import {readFileSync, readdirSync, writeFileSync} from "node:fs";
import {join, resolve} from "node:path";

const folder = resolve(process.argv[2]);
const target = process.argv[3];
const names = readdirSync(folder).filter((file) => file.endsWith(".json")).sort()
  .map((file) => file.slice(0, -".json".length));
const texts = new Map(names.map((name) => [name, readFileSync(join(folder, `${name}.json`), "utf8")]));

function parse(name) {
  try {
    return JSON.parse(texts.get(name));
  } catch (error) {
    throw new Error(`${name}.json: ${error.message}`);
  }
}
const schemas = new Map(names.map((name) => [name, parse(name)]));

// The same schema with every reference as seen from the root, where the file `name` stands at
// #/definitions/NAME (empty: at #); other files that it needs go into `needed`.
function moved(value, name, needed) {
  if (Array.isArray(value)) return value.map((item) => moved(item, name, needed));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, item]) => {
    if (key !== "$ref") return [key, moved(item, name, needed)];
    const [file, pointer] = item.split("#");
    const other = file === "" ? name : file.replace(/\.json$/, "");
    if (file !== "" && !schemas.has(other)) throw new Error(`no ${file} for the reference ${item}`);
    if (file !== "") needed.add(other);
    return [key, `#${other === "" ? "" : `/definitions/${other}`}${pointer ?? ""}`];
  });
  return Object.fromEntries(entries);
}

function printed(name) {
  const needed = new Set();
  const whole = moved(schemas.get(name), "", needed);
  if (needed.size === 0) return texts.get(name);
  for (const other of needed) {  // grows while it is walked
    const {$schema, ...part} = moved(schemas.get(other), other, needed);
    whole.definitions[other] = part;
  }
  return `${format(whole, 0, 0)}\n`;
}

const kWidth = 100;
const flat = (value) =>
  Array.isArray(value) ? `[${value.map(flat).join(", ")}]`
  : value !== null && typeof value === "object"
    ? `{${Object.entries(value).map(([key, item]) => `"${key}": ${flat(item)}`).join(", ")}}`
    : JSON.stringify(value);

// JSON for people: what fits on a line stands on one. `taken`: of the first line, behind the indent.
function format(value, indent, taken) {
  const line = flat(value);
  const scalar = value === null || typeof value !== "object";
  if (scalar || line.length + indent + taken <= kWidth) return line;
  const inner = " ".repeat(indent + 2);
  const end = `\n${" ".repeat(indent)}`;
  if (!Array.isArray(value)) {
    const items = Object.entries(value).map(
      ([key, item]) => `${inner}"${key}": ${format(item, indent + 2, key.length + 5)}`);
    return `{\n${items.join(",\n")}${end}}`;
  }
  return `[\n${value.map((item) => inner + format(item, indent + 2, 1)).join(",\n")}${end}]`;
}

const constants = [];
const rows = [];
for (const name of names) {
  const title = schemas.get(name).title ?? "";
  if (!title.startsWith("partita ")) continue;
  const constant = `kSchema${constants.length}`;
  constants.push(`constexpr char ${constant}[] = R"json(${printed(name)})json";`);
  for (const command of title.split(", ")) {
    const words = command.replace("partita ", "");
    rows.push(`    {"${words}", {${constant}, sizeof(${constant}) - 1}},`);
  }
}
writeFileSync(target, `// Made by cmake/schemas.mjs.
#include "cli/terminal/schemas.h"

#pragma GCC diagnostic ignored "-Woverlength-strings"

namespace partita::cli {
namespace {

${constants.join("\n")}

constexpr CommandSchema kSchemas[] = {
${rows.join("\n")}
};

}  // namespace

std::span<const CommandSchema> CommandSchemas() { return kSchemas; }

}  // namespace partita::cli
`);
const escaped = (path) => path.replaceAll(" ", "\\ ");
const read = names.map((name) => escaped(join(folder, `${name}.json`)));
writeFileSync(`${target}.d`, `${escaped(target)}: ${read.join(" ")}\n`);
