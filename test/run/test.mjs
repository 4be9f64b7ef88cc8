import { bootstrap, fail } from "./bootstrap.mjs";
import { roundsLine } from "./rounds.mjs";
import { ensureServers } from "./servers.mjs";
import { countLine, runVitest } from "./vitest.mjs";

// `npm test`: all tests. `npm test -- packages/core -t name`: arguments go to vitest. The last line is the count.
const args = process.argv.slice(2);
let rounds;
try {
  rounds = roundsLine();
} catch (error) {
  fail(error.message);
}
bootstrap();
ensureServers(args.filter((arg) => !arg.startsWith("-")));
const counts = await runVitest(args, { timeoutMs: 60 * 60_000 });
if (counts.passed + counts.failed === 0) console.error("\nNo test ran.");
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
console.log(`\n${rounds}\n${countLine(counts)}`);
