/**
 * An agent of ten steps is killed with SIGKILL in step 9 and started again. Then its thread is forked from step 4. Everything is
 * stored in an embedded database in a folder, without a server. The example asserts what it shows, and exits 0 only if that holds.
 */
import { strict as assert } from "node:assert";
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PostgresSaver } from "@stratigraph/postgres";
import { tools, tripAgent, type TripState } from "./trip.ts";

interface Told {
  at: "starts" | "begins" | "ends" | "forked";
  step: number;
  plan?: string;
  main?: string;
  fork?: string;
}

const killedIn = 9;
const forkedFrom = 4;
const folder = mkdtempSync(join(tmpdir(), "stratigraph-"));
const colour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
const paint = (code: number, text: string): string => (colour ? `\u001B[${code}m${text}\u001B[0m` : text);
const write = (text: string): void => void process.stdout.write(text);
const say = (line = ""): void => write(`${line}\n`);

/** Runs the agent in a process of its own, until it ends or `dies` in the middle of a step; `onTold` hears what it does meanwhile. */
async function run(args: string[], onTold: (event: Told) => void, dies?: number): Promise<{ told: Told[] }> {
  const script = fileURLToPath(new URL("work.ts", import.meta.url));
  const child = fork(script, [folder, ...args], {
    execArgv: ["--import", "tsx", "--conditions=@stratigraph/source"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  write(`process ${child.pid}   `);
  const told: Told[] = [];
  child.on("message", (message) => {
    const event = message as Told;
    told.push(event);
    onTold(event);
    if (event.at === "begins" && event.step === dies) child.kill("SIGKILL");
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once("exit", (...how) => resolve(how)),
  );
  assert.ok(dies === undefined ? code === 0 : signal === "SIGKILL", `the agent ended with ${code ?? signal}`);
  return { told };
}

/** Shows the steps of a process as they end. */
function show({ at, step }: Told): void {
  if (at === "starts" && step > 0) write(`resumes with ${step} steps done:  `);
  if (at === "ends") write(`${paint(32, "■")} ${step}  `);
}

const stepsOf = (told: Told[], at: Told["at"]): number[] =>
  told.filter((event) => event.at === at).map(({ step }) => step);
const textOf = ({ messages }: TripState): string[] =>
  messages.map((message) => String(message.content)).filter((text) => text !== "");

try {
  say(paint(1, "A ten-step agent, killed and resumed, then forked"));
  say(paint(2, `Stratigraph on an embedded PostgreSQL in ${folder}; no server runs.`));
  say();

  say(paint(2, "The first process creates the database, which takes seconds on a busy machine …"));
  const first = await run([], show, killedIn);
  say(paint(31, `✗ ${killedIn}`));
  say(`${" ".repeat(16)}${paint(31, `SIGKILL in the middle of step ${killedIn}, ${tools[killedIn - 1]}`)}`);

  const second = await run([], show);
  say();
  const finished = [...stepsOf(first.told, "ends"), ...stepsOf(second.told, "ends")];
  assert.deepEqual(
    finished,
    tools.map((_, index) => index + 1),
    "every step finished once, in order",
  );
  assert.equal(stepsOf(second.told, "begins")[0], killedIn, "it went on where it was killed");
  say(
    `${" ".repeat(16)}every step finished exactly once; none of the ${killedIn - 1} before the kill ran again`,
  );
  say();

  const third = await run([String(forkedFrom)], ({ at, step, plan }) => {
    if (at !== "ends") return;
    if (step === forkedFrom + 1)
      write(`goes back to step ${forkedFrom} and takes the ${plan} plan from there:\n${" ".repeat(16)}`);
    write(`${paint(36, "■")} ${step}  `);
  });
  const { main, fork: tip } = third.told.find(({ at }) => at === "forked")!;
  say();
  say();

  say(paint(2, "This process reads what is on disk now …"));
  const saver = PostgresSaver.embedded(folder);
  const graph = tripAgent(saver, async () => undefined);
  const at = (checkpoint_id: string | undefined) => ({
    configurable: { thread_id: "trip-1", checkpoint_id },
  });
  const [mainState, forkState] = [
    (await graph.getState(at(main))).values,
    (await graph.getState(at(tip))).values,
  ];
  const [mainTexts, forkTexts] = [textOf(mainState), textOf(forkState)];
  const plans = (texts: string[]): string =>
    texts
      .slice(1)
      .map((text) => (text.endsWith("cheap") ? "c" : "C"))
      .join("");
  assert.equal(plans(mainTexts), "C".repeat(10), "the main line took the comfortable plan to its end");
  assert.equal(plans(forkTexts), "CCCCcccccc", "the fork shares four steps and has six of its own");
  let checkpoints = 0;
  for await (const _ of saver.list({ configurable: { thread_id: "trip-1" } })) checkpoints += 1;
  await saver.end();

  const line = (from: number, to: number): string =>
    Array.from({ length: to - from + 1 }, (_, index) => `●${from + index}`).join("──");
  say(`  main  ${line(1, forkedFrom)}──${line(forkedFrom + 1, 10)}   ${paint(2, mainTexts.at(-1)!)}`);
  const indent = " ".repeat(8 + line(1, forkedFrom).length - 1);
  say(
    `${indent}╰──${paint(36, line(forkedFrom + 1, 10))}   ${paint(2, forkTexts.at(-1)!)}   ${paint(36, "fork")}`,
  );
  say();
  say(
    `Both branches read back intact, of ${checkpoints} checkpoints. ${paint(32, "All of this was checked.")}`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
