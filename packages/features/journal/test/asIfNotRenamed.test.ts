import { HumanMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { inRounds } from "../../../../test/rounds.ts";
import { createJournal, type ToolOptions } from "../src/index.ts";
import { agentOf, asks, call, says, type Script } from "./support/effects.ts";

// The same story, told with a deployment in its middle that renames tools, and without: what is paid is the same.

/** What each of an agent's tools is called, and how it is treated besides what a repetition would do. */
type Names = Readonly<Record<"card" | "cash" | "mail" | "look", readonly [string, Former?]>>;
type Former = Omit<Exclude<ToolOptions, string>, "effects">;

interface World {
  readonly saver: TierSaver;
  /** What really happened. */
  readonly done: string[];
  readonly isWithin: boolean;
  readonly effects: "once" | "idempotent";
}

/** How the tools of a deployment misbehave. */
interface Luck {
  /** The process dies after the tools of so many messages, before their checkpoint. */
  diesAfter?: number;
  /** The next payments fail before anything happens. */
  declines?: number;
}

const on = (thread = "ada", journal = thread) => ({ configurable: { thread_id: thread, journal } });

/** A deployment of an agent that does what it is told: "card 5; card 5 then mail 7" are three calls in two messages. */
function deployment(
  { saver, done, isWithin, effects }: World,
  names: Names,
  luck: Luck = {},
): ReturnType<typeof agentOf>["graph"] {
  const journal = createJournal(saver);
  const act = (what: string, euros: number): string => {
    if ((luck.declines ?? 0) > 0) {
      luck.declines! -= 1;
      throw Object.assign(new Error("declined"), { certain: true });
    }
    done.push(`${what} ${euros}`);
    return `receipt ${done.length}`;
  };
  const options: Record<string, ToolOptions> = {};
  const tools = new Map<string, ReturnType<typeof make>>();
  const make = (what: string, name: string) =>
    tool(({ euros }: { euros: number }) => act(what, euros), {
      name,
      description: what,
      schema: z.object({ euros: z.number() }),
    });
  for (const [role, [name, former]] of Object.entries(names)) {
    const what = role === "cash" ? "card" : role;
    tools.set(name, make(what, name));
    options[name] = { effects: role === "look" ? "none" : effects, ...former };
  }
  const script: Script = (_turn, _asked, messages) => {
    const from = messages.findLastIndex((message) => message.getType() === "human");
    const since = messages.slice(from + 1);
    const steps = String(messages[from]!.content).split(" then ");
    const unknownTools = since.filter(({ content }) => /not found/.test(String(content)));
    const rounds = since.filter((message) => message.getType() === "ai").length;
    const lost = new Set(unknownTools.map((message) => asker(since, message))).size;
    const step = steps[rounds - lost];
    if (step === undefined) return says("done");
    return asks(
      ...step.split("; ").map((each) => {
        const [role, euros] = each.split(" ") as [keyof Names, string];
        return call(names[role][0], { euros: Number(euros) });
      }),
    );
  };
  const died = (): void => {
    luck.diesAfter! -= 1;
    if (luck.diesAfter === 0) throw new Error("died");
  };
  const checkpointer = isWithin ? undefined : saver;
  const { graph: agent } = agentOf(
    journal,
    journal.tools([...tools.values()], options),
    script,
    checkpointer,
    {
      afterTools: luck.diesAfter === undefined ? undefined : died,
    },
  );
  if (!isWithin) return agent;
  const outer = new StateGraph(MessagesAnnotation).addNode("agent", agent).addEdge(START, "agent");
  return outer.compile({ checkpointer: saver }) as never;
}

/** The message that a tool's answer belongs to. */
function asker(messages: readonly BaseMessage[], answer: BaseMessage): BaseMessage | undefined {
  const { tool_call_id: id } = answer as BaseMessage & { tool_call_id?: string };
  return messages.find((message) => (message as AIMessage).tool_calls?.some((asked) => asked.id === id));
}

type App = ReturnType<typeof deployment>;
type Deploy = (luck?: Luck) => App;

const says1 = (text: string, id?: string) => ({
  messages: [new HumanMessage({ content: text, ...(id === undefined ? {} : { id }) })],
});

/** The place before the model answered the thread's nth message of a person. */
async function beforeModel(app: App, humans: number, thread = "ada") {
  let found;
  for await (const state of app.getStateHistory(on(thread))) {
    const { messages = [] } = state.values as { messages?: BaseMessage[] };
    const last = messages.at(-1);
    const asked = messages.filter((message) => message.getType() === "human").length;
    if (last?.getType() === "human" && asked === humans && state.next[0] === "agent") found = state;
  }
  const { thread_id, checkpoint_id, checkpoint_ns } = found!.config.configurable!;
  return { configurable: { thread_id, checkpoint_id, checkpoint_ns } };
}

/** Stories, with a deployment in their middle, and another one, which may be the same, at their end. */
const stories: Record<string, (before: Deploy, after: Deploy, last: Deploy) => Promise<unknown>> = {
  "a crash after the payment, and a resumption": async (before, after) => {
    await expect(before({ diesAfter: 1 }).invoke(says1("card 5"), on())).rejects.toThrow("died");
    return await after().invoke(null, on());
  },
  "a crash after a second payment, and a resumption": async (before, after) => {
    await expect(before({ diesAfter: 2 }).invoke(says1("card 5 then cash 6"), on())).rejects.toThrow("died");
    return await after().invoke(null, on());
  },
  "a crash after two payments of one message": async (before, after) => {
    await expect(before({ diesAfter: 1 }).invoke(says1("card 5; cash 6"), on())).rejects.toThrow("died");
    return await after().invoke(null, on());
  },
  "a crash after the payment, and another turn that asks for the same": async (before, after) => {
    await expect(before({ diesAfter: 1 }).invoke(says1("card 5"), on())).rejects.toThrow("died");
    return await after().invoke(says1("card 5"), on());
  },
  "a later turn that asks for the same": async (before, after, last) => {
    await before().invoke(says1("card 5"), on());
    await after().invoke(says1("card 5"), on());
    return await last().invoke(says1("card 5"), on());
  },
  "time travel to before the model": async (before, after, last) => {
    await before().invoke(says1("card 5"), on());
    const app = after();
    await app.invoke(null, await beforeModel(app, 1));
    const then = last();
    return await then.invoke(null, await beforeModel(then, 1));
  },
  "time travel to before the model, and all that follows": async (before, after, last) => {
    const text = "card 5 then look 1 then mail 5 then card 5; mail 5 then cash 6 then mail 7";
    await before().invoke(says1(text), on());
    const app = after();
    await app.invoke(null, await beforeModel(app, 1));
    const then = last();
    return await then.invoke(null, await beforeModel(then, 1));
  },
  "turns before and after the deployment, and a step back to before all of them": async (
    before,
    after,
    last,
  ) => {
    await before().invoke(says1("card 5 then mail 5"), on());
    const app = after();
    await app.invoke(says1("card 6 then mail 6"), on());
    await app.invoke(says1("card 7; look 3 then mail 6"), on());
    const then = last();
    await then.invoke(null, await beforeModel(then, 1));
    await then.invoke(says1("card 6 then mail 6"), on());
    return await then.invoke(says1("card 7; look 3 then mail 6"), on());
  },
  "an earlier message is edited": async (before, after, last) => {
    await before().invoke(says1("card 5 then mail 5", "first"), on());
    for (const app of [after(), last()]) {
      const place = await beforeModel(app, 1);
      const edited = says1("card 5 then mail 5 then cash 6", "first");
      const at = await app.updateState(place, edited, "__start__");
      await app.invoke(null, at);
    }
    return await last().invoke(says1("mail 5"), on());
  },
  "equal calls of one message": async (before, after, last) => {
    await before().invoke(says1("card 5; card 5 then mail 5; mail 5"), on());
    for (const app of [after(), last()]) await app.invoke(null, await beforeModel(app, 1));
    return await last().invoke(says1("card 5; card 5; card 5"), on());
  },
  "a payment that failed": async (before, after, last) => {
    const bad = before({ declines: 1 });
    await bad.invoke(says1("card 5 then mail 5"), on()).catch(() => undefined);
    for (const app of [after(), last()]) await app.invoke(null, await beforeModel(app, 1));
    return await last().invoke(null, await beforeModel(last(), 1));
  },
  "another thread with the journal": async (before, after, last) => {
    await before().invoke(says1("card 5 then mail 5", "first"), on());
    await after().invoke(says1("card 5 then mail 5", "first"), on("bob", "ada"));
    return await last().invoke(says1("card 5 then mail 5", "first"), on("eve", "ada"));
  },
};

const plain: Names = { card: ["pay"], cash: ["pay"], mail: ["mail"], look: ["look"] };
const versioned: Names = { ...plain, card: ["pay", { version: "1" }], cash: ["pay", { version: "1" }] };
const former = (name: string, options: Former): Partial<Names> => ({
  card: [name, options],
  cash: [name, options],
});
const cards: Names = { ...plain, card: ["pay_card"], cash: ["pay_cash"] };

/** Deployments, each with what an agent's tools are called before, in and after the middle of a story. */
const renamings: Record<string, readonly [Names, Names, Names?]> = {
  "a tool is renamed": [plain, { ...plain, ...former("pay_invoice", { formerly: "pay" }) }],
  "all tools get a prefix": [
    plain,
    {
      card: ["mcp__bank__pay", { formerly: "pay" }],
      cash: ["mcp__bank__pay", { formerly: "pay" }],
      mail: ["mcp__post__mail", { formerly: "mail" }],
      look: ["mcp__bank__look", { formerly: "look" }],
    },
  ],
  "a tool is renamed twice": [
    plain,
    { ...plain, ...former("pay_bill", { formerly: "pay" }) },
    { ...plain, ...former("pay_invoice", { formerly: ["pay_bill", "pay"] }) },
  ],
  "a tool with a version is renamed": [
    versioned,
    { ...plain, ...former("pay_invoice", { formerly: "pay", version: "1" }) },
  ],
  "a tool gets a version": [plain, { ...plain, ...former("pay", { formerly: "pay", version: "2" }) }],
  "a tool gets another version": [
    versioned,
    { ...plain, ...former("pay", { formerly: { name: "pay", version: "1" }, version: "2" }) },
  ],
  "a tool gets another name and a version": [
    plain,
    { ...plain, ...former("pay_invoice", { formerly: { name: "pay" }, version: "2" }) },
  ],
};

/** Tells a story. Returns what happened, and what the model was told last. */
async function told(
  story: (typeof stories)[string],
  world: Pick<World, "isWithin" | "effects">,
  [before, after, last = after]: readonly [Names, Names, Names?],
) {
  const all: World = { saver: new MemorySaver(), done: [], ...world };
  const deploy =
    (names: Names): Deploy =>
    (luck) =>
      deployment(all, names, luck);
  const end = (await story(deploy(before), deploy(after), deploy(last))) as { messages: BaseMessage[] };
  const receipts = end.messages.flatMap(({ content }) => /^receipt \d+$/.exec(String(content))?.[0] ?? []);
  expect(await createJournal(all.saver).verify("ada")).toMatchObject({ ok: true });
  return { done: all.done, receipts };
}

describe.each([
  ["in the root graph", false],
  ["in a subgraph", true],
] as const)("%s", (_where, isWithin) => {
  describe.each(Object.entries(renamings).slice(0, inRounds({ few: 3, all: Infinity })))(
    "%s",
    (_how, names) => {
      it.each(Object.entries(stories))("%s", async (_story, story) => {
        const world = { isWithin, effects: "once" } as const;
        const expected = await told(story, world, [names[0], names[0]]);
        expect(expected.done).not.toEqual([]);
        expect(await told(story, world, names)).toEqual(expected);
      });
    },
  );
});

describe("two tools become one", () => {
  const merged: Names = { ...plain, ...former("pay", { formerly: ["pay_card", "pay_cash"] }) };
  it.each([
    ["a crash after the payment, and a resumption"],
    ["a crash after two payments of one message"],
    ["a crash after the payment, and another turn that asks for the same"],
    ["a later turn that asks for the same"],
    ["time travel to before the model"],
  ])("%s", async (name) => {
    for (const isWithin of [false, true])
      for (const effects of ["once", "idempotent"] as const) {
        const world = { isWithin, effects };
        expect(await told(stories[name]!, world, [cards, merged])).toEqual(
          await told(stories[name]!, world, [cards, cards]),
        );
      }
  });
});
