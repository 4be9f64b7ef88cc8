import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deafToDeaths, Life } from "../../packages/features/journal/test/support/mortal.ts";
import { savers } from "../../packages/features/journal/test/support/places.ts";
import { rendered, run } from "../../packages/tools/cli/test/operations/support/run.ts";
import { testContext } from "../../packages/tools/cli/test/operations/support/testContext.ts";
import { allRounds } from "../rounds.ts";
import { runChild } from "../servers/children.ts";
import { kinds } from "./agents.ts";
import type { FamilyOrders } from "./familyChild.ts";
import { finish, type Kind } from "./kind.ts";
import { Book } from "./world.ts";

// deepagents, supervisor, swarm, and createAgent with its middleware. Each is brought to its end by one process, and by many that die in the
// midst of a step: their final states are equal, and what their tools did.

beforeAll(deafToDeaths);

interface Played {
  readonly values: Record<string, unknown>;
  readonly deeds: readonly string[];
  /** How many processes died. */
  readonly deaths: number;
  /** How many points the last one passed. */
  readonly points: number;
}

/** Plays a thread in processes each of which dies at its n-th point, but for the last, which doesn't get there. */
async function play(
  saver: TierSaver,
  thread: string,
  kind: Kind,
  diesAt = Number.POSITIVE_INFINITY,
  book = new Book(),
): Promise<Played> {
  for (let deaths = 0; deaths < 60; deaths += 1) {
    const life = new Life();
    let points = 0;
    const reached = async (): Promise<void> => {
      life.lives();
      points += 1;
      if (points === diesAt) life.end();
    };
    const own = new TierSaver(life.of(saver.tier));
    try {
      const world = { reached, book };
      const agent = kind.open({ saver: own, store: own.store(), world });
      const values = await finish(kind, agent, thread);
      if (!life.isOver) return { values: plain(values), deeds: book.deeds, deaths, points };
    } catch (error) {
      if (!life.isOver && !StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
    }
  }
  throw new Error("it never ends");
}

/** Values as data, of messages what a model sees. Without what differs from run to run: times, and ids that a library made. */
function plain({ messages, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const told = (messages as BaseMessage[]).map((message) => {
    const { name, content, tool_calls: calls, tool_call_id: id } = message as AIMessage & ToolMessage;
    return { by: message.getType(), name, content, calls, id };
  });
  const isMade = (key: string, value: unknown) =>
    key.endsWith("_at") || (key === "id" && /^[\da-f]{8}-/.test(String(value)));
  const text = JSON.stringify({ ...rest, told }, (key, value: unknown) =>
    isMade(key, value) ? undefined : value,
  );
  return JSON.parse(text) as Record<string, unknown>;
}

const result = (id: string, content: string) => expect.objectContaining({ by: "tool", id, content });
const told = (...some: unknown[]) => ({ told: expect.arrayContaining(some) });
const completed = ["part 1", "part 2"].map((content) => ({ content, status: "completed" }));

/** What each kind ends with, beside being the same whether or not somebody died. */
const ends: Readonly<Record<string, { readonly deeds: readonly string[]; readonly values: object }>> = {
  deepagents: {
    deeds: ["pay coffee", "pay tea", "publish report"],
    values: {
      files: {
        "/notes/coffee.md": { content: "coffee\n" },
        "/notes/tea.md": { content: "tea\n" },
        "/report.md": { content: "green tea, coffee\n" },
      },
      todos: completed,
      ...told(result("task-tea", "tea is paid"), result("task-coffee", "coffee is paid")),
    },
  },
  supervisor: { deeds: ["pay buyer", "pay seller"], values: told(result("pay-buyer", "pay: buyer")) },
  swarm: {
    deeds: ["pay turn-1", "pay turn-2"],
    values: { activeAgent: "clerk", ...told(expect.objectContaining({ name: "clerk", content: "paid 2" })) },
  },
  summarization: {
    deeds: ["pay rent", "pay rent", "pay rent"],
    values: told(expect.objectContaining({ by: "human", content: expect.stringContaining("summary of") })),
  },
  "human in the loop": {
    deeds: ["pay coffee", "pay green-tea"],
    values: told(result("pay-tea", "pay: green-tea"), result("pay-gold", "too much")),
  },
  toolRetry: {
    deeds: ["looked", "looked", "pay coffee", "pay tea"],
    values: told(result("look-1", "found")),
  },
  "todo list": { deeds: ["pay tea"], values: { todos: completed } },
  "context editing": {
    deeds: ["pay cocoa", "pay coffee", "pay tea"],
    values: told(
      result("pay-tea", "[cleared]"),
      expect.objectContaining({ by: "ai", content: "[cleared],[cleared],pay: cocoa" }),
    ),
  },
};

interface Subagents {
  readonly items: readonly { readonly agent: string; readonly call?: { readonly id: string } }[];
}

/** What each kind comes to if nobody dies. */
const whole = new Map<string, Played>();

beforeAll(async () => {
  const saver = new TierSaver(new MemoryTier());
  for (const [name, kind] of Object.entries(kinds)) whole.set(name, await play(saver, name, kind));
});

describe.each(savers.filter(([name]) => name === "memory" || (allRounds && name !== "PGlite")))(
  "on %s",
  (_, open) => {
    let opened: Awaited<ReturnType<typeof open>>;
    let folder: string;
    const book = (name: string) => new Book(opened.place && join(folder, name));

    beforeAll(async () => {
      opened = await open();
      folder = mkdtempSync(join(tmpdir(), "family-"));
      if (opened.place === undefined) return;
      const stops = Object.keys(kinds).map((name) => [
        name,
        { thread: name, book: join(folder, name), stopsAt: Math.ceil(whole.get(name)!.points / 2) },
      ]);
      const orders: FamilyOrders = { place: opened.place, kinds: Object.fromEntries(stops) };
      const child = runChild(join(import.meta.dirname, "familyChild.ts"), [JSON.stringify(orders)]);
      const { signal, stderr } = await child.exit;
      expect([signal, stderr]).toEqual(["SIGKILL", ""]);
    });

    afterAll(async () => {
      await opened.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test.each(Object.entries(kinds))("%s ends as if nobody had died", async (name, kind) => {
      const { values, deeds } = whole.get(name)!;
      expect(deeds).toEqual(ends[name]!.deeds);
      expect(values).toMatchObject(ends[name]!.values);
      const diesAt = (kind.atOnce ?? 1) + 1;
      const broken = await play(opened.saver, name, kind, diesAt, book(name));
      expect(broken.deaths).toBeGreaterThan(0);
      expect(broken.deeds).toEqual(deeds);
      expect(broken.values).toEqual(values);
    });

    test("subagents are told by their names, and by the calls or handoffs that led to them, with their messages", async () => {
      const context = testContext(opened.saver);
      const of = async (thread: string, one?: string) => {
        const found = await run<Subagents>(
          "subagents",
          { thread, ...(one === undefined ? {} : { one }) },
          context,
        );
        const named = found.items.map(({ agent, call }) => `${agent} for ${call?.id}`);
        return { found, named: named.toSorted() };
      };
      expect((await of("deepagents")).named).toEqual(["scout for task-coffee", "scout for task-tea"]);
      const { found } = await of("deepagents", "task-tea");
      expect(rendered("subagents", found)).toMatch(
        /human: tea .*\n.*ai \(scout\):.*\n +calls pay\(.*\n.*tool \(pay\): pay: tea(.|\n)*: tea is paid/,
      );
      expect((await of("swarm")).named).toEqual([
        "clerk for to-clerk",
        "clerk for undefined",
        "greeter for undefined",
      ]);
      const team = (await of("supervisor")).named;
      expect(team.filter((name) => !name.startsWith("supervisor"))).toEqual([
        "buyer for to-buyer",
        "seller for to-seller",
      ]);
    });
  },
);
