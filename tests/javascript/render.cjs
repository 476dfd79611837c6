// Reads lines of JSON {template, context} and answers each with a line {text} or {error}, as @huggingface/jinja renders.
const path = require("node:path");
const { Template } = require(path.join(process.argv[2], "node_modules/@huggingface/jinja"));

for (const line of require("node:fs").readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const { template, context } = JSON.parse(line);
  let answer;
  try {
    answer = { text: new Template(template).render(context) };
  } catch (error) {
    answer = { error: String(error.message) };
  }
  console.log(JSON.stringify(answer));
}
