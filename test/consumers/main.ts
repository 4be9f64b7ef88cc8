import { startPostgres, postgresBin } from "../servers/postgres.ts";
import { consumers, type Context } from "./consumers.ts";

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
for (const [name, consume] of Object.entries(consumers)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const begun = performance.now();
  const seconds = (): string => `${Math.round((performance.now() - begun) / 1000)} s`;
  try {
    const what = await consume(context);
    passed += 1;
    console.log(`${name}: ${what} (${seconds()})`);
  } catch (error) {
    failed += 1;
    console.log(`${name}: FAILED (${seconds()})\n${error instanceof Error ? error.message : String(error)}`);
  }
}
await server?.stop();
console.log(`${passed} kinds of application work, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
