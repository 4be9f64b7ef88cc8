import { bootstrap, fail } from "./bootstrap.mjs";
import { askedRounds, roundsLine } from "./rounds.mjs";
import { ensureServers } from "./servers.mjs";
import { isQuick, isSoaked, LEFT_OUT, testFiles } from "./testFiles.mjs";
import { timesLines } from "./times.mjs";
import { countLine, runVitest } from "./vitest.mjs";

// `npm test`: all tests. `npm test -- packages/engine/core -t name`: arguments go to vitest. `--quick`: the files that start no process, and so need
// no server. `--soak`: the files that have rounds which no change waits for, with these. The last line is the count.
const [first, ...others] = process.argv.slice(2);
const chosen = { "--quick": isQuick, "--soak": isSoaked }[first];
const isAsked = (file) => chosen(file) && (chosen === isSoaked || !LEFT_OUT.includes(file));
const args = chosen === undefined ? process.argv.slice(2) : [...testFiles().filter(isAsked), ...others];
if (chosen === isSoaked) {
  process.env.STRATIGRAPH_TEST_ROUNDS = "soak";
  console.log(`${args.length} files, which takes two idle cores about half an hour.`);
}
let rounds;
let leftOut;
try {
  rounds = roundsLine();
  leftOut = args.length === 0 && askedRounds() === "few" ? LEFT_OUT : [];
} catch (error) {
  fail(error.message);
}
bootstrap();
if (chosen !== isQuick) ensureServers(args.filter((arg) => !arg.startsWith("-")));
const counts = await runVitest([...args, ...leftOut.map((file) => `--exclude=${file}`)], {
  timeoutMs: (chosen === isSoaked ? 180 : 90) * 60_000,
});
if (counts.passed + counts.failed === 0) console.error("\nNo test ran.");
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
if (args.length === 0) console.log(`\n${timesLines(counts.files, askedRounds() === "few")}`);
console.log(`\n${rounds}\n${countLine(counts)}`);
