// node demo.mjs FOLDER FILE.cc: the study files and tables below FOLDER as one C++ source, the definition of
// DemoFiles() in src/cli/study/demo_files.h. Only files in folders of FOLDER count. FILE.cc.d says what was read.
import {readFileSync, readdirSync, writeFileSync} from "node:fs";
import {join, resolve} from "node:path";

const folder = resolve(process.argv[2]);
const target = process.argv[3];
const files = readdirSync(folder, {recursive: true, withFileTypes: true})
  .filter((entry) => entry.isFile() && resolve(entry.path) !== folder)
  .map((entry) => join(entry.path, entry.name)).sort();
const rows = files.map((file) => {
  const text = readFileSync(file, "utf8");
  return `    {"${file.slice(folder.length + 1)}", R"demo(${text})demo"},`;
});
writeFileSync(target, `// Made by cmake/demo.mjs.
#include "cli/study/demo_files.h"

#pragma GCC diagnostic ignored "-Woverlength-strings"

namespace partita::cli {
namespace {

constexpr DemoFile kFiles[] = {
${rows.join("\n")}
};

}  // namespace

std::span<const DemoFile> DemoFiles() { return kFiles; }

}  // namespace partita::cli
`);
const escaped = (path) => path.replaceAll(" ", "\\ ");
writeFileSync(`${target}.d`, `${escaped(target)}: ${files.map(escaped).join(" ")}\n`);
