import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bootstrap, fail, root, run } from "./bootstrap.mjs";
import { pack } from "./pack.mjs";

// What a stranger does who has only the documents: the commands of the README's first shell block in an empty folder, with the
// packages as they would be published and the newest LangGraph, and the README's first code saved under the name that the block
// runs. It is run twice (the thread must go on) and type-checked. Then each whole program of the guides is type-checked and run, and
// the tools are installed: the inspector shows the README's thread, and serves its page. Then come the packages of the guide of the
// dev server, which runs a graph.
// The packages must be built.
bootstrap({ quiet: true });
const folder = mkdtempSync(join(tmpdir(), "stratigraph-stranger-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const readme = readFileSync(join(root, "README.md"), "utf8");
const code = /^```ts\n(.*?)^```/ms.exec(readme)?.[1] ?? fail("README.md has no code.");
const commands = (/^```sh\n(.*?)^```/ms.exec(readme)?.[1] ?? fail("README.md has no commands."))
  .trim()
  .split("\n");
const [init, install, start] = commands;
const main = /^node (\S+)/.exec(start ?? "")?.[1];
if (init !== "npm init -y" || !install?.startsWith("npm install stratigraph ") || main === undefined)
  fail(`The README's first commands are others than are followed here:\n${commands.join("\n")}`);
if (!readme.includes(`\`${main}\``)) fail(`The README doesn't say to save its code as ${main}.`);

const tarballs = await pack(folder, ["stratigraph", "journal"]);
await step("npm", ["init", "-y"], 1);
// Our packages find each other among the tarballs, as they would in the registry.
const others = install.split(" ").filter((word) => !["npm", "install", "stratigraph"].includes(word));
const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
await step("npm", ["install", ...quiet, ...tarballs, ...others], 5);
const { version } = JSON.parse(
  readFileSync(join(folder, "node_modules/@langchain/langgraph/package.json"), "utf8"),
);

writeFileSync(join(folder, main), code);
const printed = [output(), output()];
const opening = "Opening .stratigraph; the first time creates its database …";
if (printed.join("\n") !== `${opening}\nMessage 1 was read.\n${opening}\nMessage 3 was read.`)
  fail(`The README's code printed ${JSON.stringify(printed)} in two runs.`);
if (!existsSync(join(folder, ".stratigraph")))
  fail("There is no folder .stratigraph after the README's code.");

// Not in the README: what a stranger's editor brings. It makes the guides' TypeScript programs runnable, too.
const mcp = ["@modelcontextprotocol/server@2", "@modelcontextprotocol/client@2", "zod@4"];
const devGuide = readFileSync(join(root, "docs/guides/dev-server.md"), "utf8");
const devInstall =
  /^npm install (.*)$/m.exec(devGuide)?.[1] ?? fail("The dev server's guide installs nothing.");
const api = devInstall.split(" ").filter((word) => /^[^-]/.test(word) && word !== "@stratigraph/cli");
await step("npm", ["install", ...quiet, "typescript@5.9.3", "@types/node@20", ...mcp, ...api, "hono@4"], 5);
const programs = guidePrograms();
if (programs.length === 0) fail("No guide has a whole program.");
writeFileSync(join(folder, "main.mts"), code);
for (const { name, text } of programs) writeFileSync(join(folder, `${name}.mts`), text);
writeServers();
const sources = ["main.mts", "embed.mts", ...programs.map(({ name }) => `${name}.mts`)];
const compiler = ["tsc", "--strict", "--module", "nodenext", "--target", "es2023", "--outDir", "built"];
await step("npx", [...compiler, ...sources], 3);
for (const { name } of programs) await step(process.execPath, [`built/${name}.mjs`], 1);
await step("npm", ["install", ...quiet, "--save-dev", ...(await pack(folder, ["cli"]))], 5);
await lookAtThreads();
await runOnDevServer();
console.log(
  `the README's commands and code: run twice and type-check; ${programs.length} programs of the guides run; the inspector shows its page, and the dev server runs a graph; with LangGraph ${version}`,
);

/** Fences of the guides that are whole programs: code of an example that imports what it opens its checkpointer with. */
function guidePrograms() {
  return readdirSync(join(root, "docs/guides")).flatMap((guide) => {
    const text = readFileSync(join(root, "docs/guides", guide), "utf8");
    return [...text.matchAll(/^```ts\n(\/\/ file: examples\/.*?)^```/gms)]
      .map(([, program], n) => ({ name: `${guide.replace(/\.md$/, "")}${n}`, text: program }))
      .filter(({ text }) => /^import .*\bcreateCheckpointer\b/m.test(text));
  });
}

/** Runs a program in the stranger's folder; shows what it said only if it fails. */
async function step(command, args, minutes, cwd = folder) {
  const code = await run(command, args, {
    cwd,
    timeoutMs: minutes * 60_000,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (code !== 0) fail(`${command} ${args.slice(0, 4).join(" ")} … ended with ${code}.`);
}

/** Opens the inspector over what the README's program stored, as its users do, and asks for the page, what it loads, and the threads. */
async function lookAtThreads() {
  await served(["inspect", "--json"], async ({ url }) => {
    const { origin, hash } = new URL(url);
    const headers = { "x-stratigraph-token": hash.slice("#token=".length) };
    const page = await (await fetch(origin)).text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? fail(`The inspector served ${page}`);
    const loaded = await fetch(`${origin}${script}`);
    if (!loaded.ok) fail(`The inspector doesn't serve ${script}: ${loaded.status}.`);
    const threads = await (await fetch(`${origin}/api/threads`, { headers })).json();
    if (threads.items?.length !== 1) fail(`The inspector answered ${JSON.stringify(threads)}.`);
  });
}

/** Writes a graph, and a program that reads a thread of it through an embed server. */
function writeServers() {
  writeFileSync(
    join(folder, "graph.mts"),
    `import { Annotation, START, StateGraph } from "@langchain/langgraph";
const State = Annotation.Root({ said: Annotation<string>() });
export const graph = new StateGraph(State)
  .addNode("answer", ({ said }: typeof State.State) => ({ said: said + "!" }))
  .addEdge(START, "answer")
  .compile();
`,
  );
  writeFileSync(
    join(folder, "embed.mts"),
    `import { createEmbedServer } from "@langchain/langgraph-api/experimental/embed";
import { createCheckpointer, createThreads } from "stratigraph";
import { graph } from "./graph.mjs";
const checkpointer = await createCheckpointer();
const threads = createThreads(checkpointer, { graph: "agent" });
const api = createEmbedServer({ graph: { agent: graph }, checkpointer, threads });
const answer = await api.request(\`/threads/\${process.argv[2]}/state\`);
const { values } = (await answer.json()) as { values: { said: string } };
if (values.said !== "hello!") throw new Error(JSON.stringify(values));
await checkpointer.end();
`,
  );
}

/** Runs a TypeScript graph through the dev server, and reads it through an embed server. */
async function runOnDevServer() {
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: { agent: "./graph.mts:graph" } }));
  const post = async (url, body) => {
    const headers = { "content-type": "application/json" };
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json();
  };
  const thread = await served(["dev", "--port", "0", "--json", "--quiet"], async (urls) => {
    const { thread_id } = await post(`${urls.api}/threads`, {});
    const run = { assistant_id: "agent", input: { said: "hello" } };
    const values = await post(`${urls.api}/threads/${thread_id}/runs/wait`, run);
    if (values.said !== "hello!") fail(`The dev server answered ${JSON.stringify(values)}.`);
    return thread_id;
  });
  await step(process.execPath, ["built/embed.mjs", thread], 1);
}

/** Starts a command that serves, with what it printed as JSON for `work`, and ends it by Ctrl-C. */
async function served(args, work) {
  const program = join(folder, "node_modules/.bin/stratigraph");
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [line] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    once(child, "close").then(() => []),
  ]);
  const done = await work(JSON.parse(line ?? fail(`stratigraph ${args[0]} ended before it served.`)));
  child.kill("SIGINT");
  const [code] = await once(child, "close");
  clearTimeout(timer);
  if (code !== 0) fail(`stratigraph ${args[0]} ended with ${code} after Ctrl-C.`);
  return done;
}

/** What the README's program prints. */
function output() {
  return execFileSync(process.execPath, [main], {
    cwd: folder,
    encoding: "utf8",
    timeout: 120_000,
  }).trim();
}
