import { bootstrap, fail } from "./bootstrap.mjs";
import { askedRounds, roundsLine } from "./rounds.mjs";
import { ensureServers } from "./servers.mjs";
import { isQuick, isSoaked, LEFT_OUT, shareOf, testFiles } from "./testFiles.mjs";
import { timesLines } from "./times.mjs";
import { countLine, runVitest } from "./vitest.mjs";

// `npm test`: all tests. `npm test -- packages/engine/core -t name`: arguments go to vitest. `--quick`: the files that start no process, and so need
// no server. `--soak`: the files that have rounds which no change waits for, with these. `--third TEXT`: all rounds of the third of the files that
// the text chooses, few rounds of the others. The last line is the count.
const [first, ...others] = process.argv.slice(2);
const chosen = { "--quick": isQuick, "--soak": isSoaked }[first];
const isAsked = (file) => chosen(file) && (chosen === isSoaked || !LEFT_OUT.includes(file));
const args = chosen === undefined ? process.argv.slice(2) : [...testFiles().filter(isAsked), ...others];
const third = first === "--third" ? shareOf(3, others.join(" ")) : undefined;
if (chosen === isSoaked) {
  process.env.STRATIGRAPH_TEST_ROUNDS = "soak";
  console.log(`${args.length} files, which takes two idle cores about half an hour.`);
}
const except = (files) => files.map((file) => `--exclude=${file}`);
let rounds;
let runs;
try {
  rounds = roundsLine();
  runs = [args.length === 0 && askedRounds() === "few" ? except(LEFT_OUT) : args];
} catch (error) {
  fail(error.message);
}
if (third !== undefined) {
  rounds = `Rounds: all of ${third.length} files, few of the others`;
  runs = [except([...new Set([...LEFT_OUT, ...third])]), third];
}
bootstrap();
if (chosen !== isQuick) ensureServers(third === undefined ? args.filter((arg) => !arg.startsWith("-")) : []);
const counts = { passed: 0, failed: 0, skipped: 0, files: [] };
for (const each of runs) {
  const env = each === third ? { STRATIGRAPH_TEST_ROUNDS: "all" } : {};
  const timeoutMs = (chosen === isSoaked ? 180 : 90) * 60_000;
  const { passed, failed, skipped, files } = await runVitest(each, { timeoutMs, env });
  counts.passed += passed;
  counts.failed += failed;
  counts.skipped += skipped;
  counts.files.push(...files);
}
if (counts.passed + counts.failed === 0) console.error("\nNo test ran.");
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
if (args.length === 0 || third !== undefined)
  console.log(`\n${timesLines(counts.files, third === undefined && askedRounds() === "few")}`);
console.log(`\n${rounds}\n${countLine(counts)}`);
