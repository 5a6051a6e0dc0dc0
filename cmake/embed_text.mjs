// node embed_text.mjs FILE OUT.cc HEADER NAMESPACE FUNCTION: a text as one C++ source, the definition of
// `std::string_view FUNCTION()` that HEADER declares.
import {readFileSync, writeFileSync} from "node:fs";

const [file, target, header, namespace, name] = process.argv.slice(2);
const bytes = readFileSync(file);
const lines = [];
for (let i = 0; i < bytes.length; i += 32) lines.push(bytes.subarray(i, i + 32).join(","));
writeFileSync(target, `// Made by cmake/embed_text.mjs.
#include "${header}"

namespace ${namespace} {
namespace {

constexpr unsigned char k${name}[] = {
${lines.join(",\n")}};

}  // namespace

std::string_view ${name}() { return {reinterpret_cast<const char*>(k${name}), sizeof(k${name})}; }

}  // namespace ${namespace}
`);
