import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runChild } from "../../../../../test/servers/children.ts";
import { points, type Done, type Effect, type Orders, type Point } from "./message.ts";

const script = join(import.meta.dirname, "killsChild.ts");

/** Kills a child once at each of the points, starting it again each time, until all threads are done. */
async function killedEverywhere(
  orders: Omit<Orders, "die">,
  dieAt: readonly Point[],
): Promise<{ done: Done; kills: Map<Point, number> }> {
  const kills = new Map<Point, number>();
  for (const at of dieAt) {
    // The first time is often that of a thread's beginning; later ones meet several threads at work.
    const { signal, stderr, code } = await runChild<Done>(script, [
      JSON.stringify({ ...orders, die: { at, time: 1 + Math.floor(Math.random() * 3) } } satisfies Orders),
    ]).exit;
    if (code === 0) break;
    expect([signal, stderr]).toEqual(["SIGKILL", ""]);
    kills.set(at, 1);
  }
  const child = runChild<Done>(script, [JSON.stringify(orders)]);
  const { code, stderr } = await child.exit;
  expect([code, stderr]).toEqual([0, ""]);
  return { done: child.messages[0]!, kills };
}

/** Asserts that what was done is what an agent that is never killed does. */
function expectOnce(effects: readonly Effect[], threads: readonly string[], { finished }: Done): void {
  for (const thread of threads) {
    const messages = finished.find((one) => one.thread === thread)!.messages;
    expect(messages.filter((text) => text.startsWith("Error"))).toEqual([]);
    const of = (tool: Effect["tool"], turn: number): Effect[] =>
      effects.filter((effect) => effect.thread === thread && effect.tool === tool && effect.turn === turn);
    // Lines are compared, and not counted, so that a failure shows which call was made twice.
    for (const [turn, times] of [
      [0, 1],
      [2, 2],
      [3, 1],
    ] as const) {
      const paid = of("pay", turn);
      expect({ thread, turn, paid: paid.map(({ fingerprint }) => fingerprint) }).toEqual({
        thread,
        turn,
        paid: [...new Set(paid.map(({ fingerprint }) => fingerprint))],
      });
      expect({
        thread,
        turn,
        paid: paid.length,
        asked: new Set(paid.map(({ nonce }) => nonce)).size,
      }).toEqual({
        thread,
        turn,
        paid: times,
        asked: 1,
      });
    }
    for (const turn of [1, 3]) {
      const charged = of("charge", turn);
      expect(charged.length).toBeGreaterThan(0);
      expect(new Set(charged.map(({ key }) => key)).size, `keys of ${thread}, turn ${turn}`).toBe(1);
    }
    expect(messages.at(-1)).toBe("done");
    expect(messages.filter((text) => text !== "").length, messages.join("|")).toBe(1 + 8 + 1);
  }
}

/** A storage to be killed on. */
export interface Storage {
  /** How often each point is reached in each durability. */
  readonly rounds: number;
  readonly durabilities: readonly ("sync" | "async")[];
  /** Where processes are killed. Default: at every point. */
  readonly dieAt?: readonly Point[] | undefined;
  /** How many rounds are made at the same time. */
  readonly atOnce: number;
  /** Where it is; called once. `folder` is removed afterwards. */
  open(folder: string): Promise<{ url: string; hot?: string; close(): Promise<void> }>;
}

/** Kills an agent with SIGKILL at every point of the protocol, in every durability, as often as `rounds` says. */
export function testKills(
  name: string,
  { rounds, durabilities, dieAt = points, atOnce, open }: Storage,
): void {
  describe(`an agent that is killed with SIGKILL at every point, on ${name}`, () => {
    let folder: string;
    let opened: Awaited<ReturnType<Storage["open"]>>;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "kills-"));
      opened = await open(folder);
    });

    afterAll(async () => {
      await opened?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it.each(durabilities)(
      "pays once, durability %s",
      async (durability) => {
        let killed = 0;
        const play = async (round: number): Promise<void> => {
          const effects = join(folder, `${durability}_${round}.jsonl`);
          writeFileSync(effects, "");
          const threads = ["1", "2", "'três' 🧾"].map((thread) => `${durability} ${round} ${thread}`);
          const { done, kills } = await killedEverywhere(
            {
              url: opened.url,
              hot: opened.hot,
              threads,
              durability,
              effects,
            },
            dieAt,
          );
          killed += kills.size;
          const lines = readFileSync(effects, "utf8").trimEnd().split("\n");
          expectOnce(
            lines.map((line) => JSON.parse(line) as Effect),
            threads,
            done,
          );
        };
        const left = Array.from({ length: rounds }, (_, round) => round).values();
        const player = async (): Promise<void> => {
          for (const round of left) await play(round);
        };
        await Promise.all(Array.from({ length: atOnce }, player));
        console.log(`${name}, durability ${durability}: killed ${killed} times`);
        // A point that the last threads had passed already kills nobody.
        expect(killed).toBeGreaterThanOrEqual(Math.floor(0.6 * dieAt.length) * rounds);
      },
      60_000 + rounds * 240_000,
    );
  });
}
