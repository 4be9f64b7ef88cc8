import { startPostgres, postgresBin } from "../servers/postgres.ts";
import { consumers, onTheirOwn, type Context } from "./consumers.ts";

// Run by test/run/consumers.mjs. A line for each application; what a failing one said is shown in full.
const wanted = process.argv.slice(2);
const named = process.env["STRATIGRAPH_TEST_POSTGRES_URL"];
const server = named === undefined && postgresBin() !== undefined ? await startPostgres() : undefined;
const context: Context = {
  tarballs: process.env["STRATIGRAPH_TARBALLS"] ?? "",
  nodes: (process.env["STRATIGRAPH_NODES"] ?? "").split(":").filter((node) => node !== ""),
  postgres: named ?? server?.url ?? "",
};
// In CI npm test has installed PostgreSQL before, and the newer Nodes come from npm.
const lacking = [context.postgres === "" && "PostgreSQL", context.nodes.length < 2 && "newer Nodes"].filter(
  Boolean,
);
if (lacking.length > 0) console.log(`not here, and left out: ${lacking.join(", ")}`);

let passed = 0;
let failed = process.env["CI"] === "true" ? lacking.length : 0;
async function tryOut(name: string): Promise<void> {
  const begun = performance.now();
  const seconds = (): string => `${Math.round((performance.now() - begun) / 1000)} s`;
  try {
    const what = await consumers[name]!(context);
    passed += 1;
    console.log(`${name}: ${what} (${seconds()})`);
  } catch (error) {
    failed += 1;
    console.log(`${name}: FAILED (${seconds()})\n${error instanceof Error ? error.message : String(error)}`);
  }
}
async function oneByOne(names: readonly string[]): Promise<void> {
  for (const name of names) await tryOut(name);
}

const names = Object.keys(consumers).filter((name) => wanted.length === 0 || wanted.includes(name));
// An installation waits for its registry and its disk: another application may use the processor meanwhile.
await Promise.all([
  oneByOne(names.filter((name) => !onTheirOwn.has(name))),
  oneByOne(names.filter((name) => onTheirOwn.has(name))),
]);
await server?.stop();
console.log(`${passed} kinds of application work, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
