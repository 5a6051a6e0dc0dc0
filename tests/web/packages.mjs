// The npm packages of web/package-lock.json, for programs that lie elsewhere.
import {createRequire} from "node:module";
import {join} from "node:path";
import {root} from "./samples.mjs";

export const packages = createRequire(join(root, "web/package.json"));
