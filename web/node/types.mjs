// node types.mjs OPENAPI.json: prints the schemas of the API as TypeScript, what src/base/types.ts is;
// a test compares the two.
import {readFileSync} from "node:fs";
import {argv} from "node:process";
import {fileURLToPath} from "node:url";

const nameOf = (ref) => ref.slice(ref.lastIndexOf("/") + 1);

function typeOf(schema, indent) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.oneOf) return schema.oneOf.map((one) => typeOf(one, indent)).join(" | ");
  const types = [schema.type ?? []].flat();
  const one = (type) => {
    switch (type) {
      case "string":
      case "boolean":
      case "null":
        return type;
      case "integer":
      case "number":
        return "number";
      case "array": {
        const item = typeOf(schema.items, indent);
        return /[|{]/.test(item) ? `Array<${item}>` : `${item}[]`;
      }
      case "object":
        return schema.properties ? objectOf(schema, indent) : "Record<string, unknown>";
      default:
        throw new Error(`a schema of type ${type}`);
    }
  };
  return types.length ? types.map(one).join(" | ") : "unknown";
}

function objectOf(schema, indent) {
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties).map(
    ([name, value]) => `${inner}${name}${required.has(name) ? "" : "?"}: ${typeOf(value, inner)};`
  );
  return `{\n${lines.join("\n")}\n${indent}}`;
}

export function typesOf(openapi) {
  const types = Object.entries(openapi.components.schemas).map(([name, schema]) =>
    schema.properties
      ? `export interface ${name} ${objectOf(schema, "")}`
      : `export type ${name} = ${typeOf(schema, "")};`
  );
  return `// Made by web/node/types.mjs from the API's openapi.json.\n\n${types.join("\n\n")}\n`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(typesOf(JSON.parse(readFileSync(argv[2], "utf8"))));
}
