// long file: stories
import { once } from "node:events";
import {
  inputRequired,
  UrlElicitationRequiredError,
  McpServer,
  type CallToolResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createJournal, currentCall, type Journal } from "../../src/index.ts";
import { wrapServer, type WrapServerOptions } from "../../src/mcp.ts";
import { Life } from "../support/mortal.ts";
import { eras, type Connect } from "../support/mcpClient.ts";

// What users of an MCP server would say was paid, and what they are told.

const says = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });
const amount = { inputSchema: z.object({ amount: z.number() }) };

let saver: TierSaver;
let journal: Journal;
let paid: number[];
beforeEach(() => {
  saver = new TierSaver(new MemoryTier());
  journal = createJournal(saver);
  paid = [];
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

interface Bank {
  readonly pay?: (amount: number, context: ServerContext) => CallToolResult | Promise<CallToolResult>;
  readonly options?: Partial<WrapServerOptions<ServerContext>>;
}

/** A server that pays. One tool is registered before it is wrapped, and one afterwards. */
function bank({ pay, options }: Bank = {}) {
  return (): McpServer => {
    const server = new McpServer({ name: "bank", version: "1" });
    server.registerTool("pay", amount, async ({ amount: given }, context) => {
      paid.push(given);
      return (await pay?.(given, context)) ?? says(`receipt ${paid.length}`);
    });
    wrapServer(server, {
      journal,
      thread: "desk",
      tools: { pay: "once", look: "none", refund: "idempotent" },
      ...options,
    });
    server.registerTool("look", { description: "at the balance" }, () => says(`${paid.length} paid`));
    server.registerTool("refund", amount, ({ amount: given }) => {
      expect(currentCall()?.idempotencyKey).toMatch(/./);
      paid.push(-given);
      return says(`refund ${paid.length}`);
    });
    return server;
  };
}

async function statuses(of: Journal = journal, thread = "desk"): Promise<string[]> {
  return (await of.calls(thread)).map(({ tool, status }) => `${tool} ${status}`);
}

describe.each(eras)("with a client of %s", (_era, connect: Connect) => {
  it("a named call that is repeated after a lost answer is paid once; without a name, or for another tool, it is another call", async () => {
    const first = await connect(bank());
    expect((await first.call("pay", { amount: 5 }, "invoice 7")).text).toBe("receipt 1");
    const later = await connect(bank());
    expect((await later.call("pay", { amount: 5 }, "invoice 7")).text).toBe("receipt 1");
    expect((await later.call("refund", { amount: 5 }, "invoice 7")).text).toBe("refund 2");
    expect((await later.call("refund", { amount: 5 }, "invoice 7")).text).toBe("refund 2");
    expect((await later.call("pay", { amount: 5 })).text).toBe("receipt 3");
    expect((await later.call("pay", { amount: 5 })).text).toBe("receipt 4");
    expect((await later.call("look")).text).toBe("4 paid");
    const other = await later.call("pay", { amount: 6 }, "invoice 7");
    expect([other.isError, other.text]).toEqual([true, expect.stringContaining("different arguments")]);
    expect(paid).toEqual([5, -5, 5, 5]);
  });

  it("two clients at once: one name is one payment, and requests without a name are two", async () => {
    let go = (): void => undefined;
    const gone = new Promise<void>((resolve) => (go = resolve));
    const pays = bank({ pay: async () => (await gone, says(`receipt ${paid.length}`)) });
    const [one, two] = await Promise.all([connect(pays), connect(pays)]);
    const calls = [one, two].flatMap(({ call }) => [
      call("pay", { amount: 5 }, "the same"),
      call("pay", { amount: 7 }),
    ]);
    while (paid.length < 3) await new Promise(setImmediate);
    go();
    expect(new Set((await Promise.all(calls)).map(({ text }) => text))).toEqual(new Set(["receipt 3"]));
    expect(paid.toSorted()).toEqual([5, 7, 7]);
  });

  it("if the server is killed between effect and answer, nothing is paid again, and a person is told how to answer", async () => {
    const life = new Life();
    const doomed = createJournal(new TierSaver(life.of(saver.tier)));
    const thread = 'Ada\'s 🏦 "desk"';
    const dying = await connect(bank({ pay: () => life.end(), options: { journal: doomed, thread } }));
    await dying.call("pay", { amount: 5 }, "invoice 7").catch(() => undefined);
    const { call } = await connect(bank({ options: { thread } }));
    const [unknown] = await all(journal.unresolved(thread));
    for (const name of ["invoice 7", undefined]) {
      const told = await call("pay", { amount: 5 }, name);
      expect(told).toMatchObject({
        isError: true,
        _meta: { "dev.stratigraph/unknown": { thread, call: unknown!.fingerprint } },
      });
      const command = `npx stratigraph answer 'Ada'\\''s 🏦 "desk"' ${unknown!.fingerprint.slice(0, 12)}`;
      expect(told.text).toContain(`${command} happened`);
      expect(told.text).toContain(`${command} not-happened`);
    }
    expect((await call("pay", { amount: 6 }, "invoice 8")).text).toBe("receipt 2");
    await journal.resolve(unknown!.fingerprint, {
      threadId: thread,
      happened: true,
      result: "receipt by hand",
    });
    expect((await call("pay", { amount: 5 }, "invoice 7")).content).toEqual(says("receipt by hand").content);
    expect(paid).toEqual([5, 6]);
  });

  it("a call that happened and whose result isn't kept isn't an invitation to call again", async () => {
    const { call } = await connect(bank());
    await call("pay", { amount: 5 }, "invoice 7");
    await journal.erase("desk", { before: new Date(Date.now() + 60_000) });
    for (const name of ["invoice 7", undefined]) {
      const told = await call("pay", { amount: 5 }, name);
      const [lost] = await all(journal.unresolved("desk"));
      expect(told).toMatchObject({
        isError: true,
        _meta: { "dev.stratigraph/unknown": { thread: "desk", call: lost!.fingerprint } },
      });
      expect(told.text).toMatch(
        /^This call of "pay" happened, once\. Don't make it again.*\(it was erased\)/u,
      );
      expect(told.text).toContain(`answer desk ${lost!.fingerprint.slice(0, 12)} happened`);
      expect(told.text).not.toContain("not-happened");
    }
    const [lost] = await all(journal.unresolved("desk"));
    await journal.resolve(lost!.fingerprint, { threadId: "desk", happened: true, result: "by hand" });
    expect((await call("pay", { amount: 5 }, "invoice 7")).content).toEqual(says("by hand").content);
    expect(paid).toEqual([5]);
  });

  it("a tool that throws may have paid; an error that is certain, or an error that the tool reports, is a failure", async () => {
    const errors: (Error | CallToolResult)[] = [
      new Error("no answer"),
      Object.assign(new Error("not connected"), { certain: true }),
      { ...says("declined"), isError: true, structuredContent: { code: 51 } },
    ];
    const { call } = await connect(
      bank({
        pay: (given) => {
          const error = errors.shift();
          if (error instanceof Error) throw error;
          return error ?? says(`paid ${given}`);
        },
      }),
    );
    expect((await call("pay", { amount: 1 }, "a")).text).toBe("no answer");
    expect((await call("pay", { amount: 1 }, "a")).text).toContain("Nobody knows");
    expect((await call("pay", { amount: 2 }, "b")).text).toBe("not connected");
    expect(await call("pay", { amount: 2 }, "b")).toMatchObject({
      isError: true,
      text: "declined",
      structuredContent: { code: 51 },
    });
    expect((await call("pay", { amount: 2 }, "b")).text).toBe("paid 2");
    expect(await statuses()).toEqual(["pay unknown", "pay succeeded"]);
    expect(paid).toEqual([1, 2, 2, 2]);
  });

  it("a cancelled call isn't repeated by guess, and one that ended nevertheless has its result", async () => {
    const began: ServerContext[] = [];
    const ends: (() => void)[] = [];
    const { call } = await connect(
      bank({
        pay: async (given, context) => {
          began.push(context);
          if (given === 1)
            await once(context.mcpReq.signal, "abort").then(() => Promise.reject(new Error("cancelled")));
          await new Promise<void>((resolve) => ends.push(resolve));
          return says("receipt");
        },
      }),
    );
    const cancel = new AbortController();
    const calls = [1, 2].map((given) =>
      call("pay", { amount: given }, `${given}`, cancel.signal).catch(() => "cancelled"),
    );
    while (began.length < 2 || ends.length < 1) await new Promise(setImmediate);
    cancel.abort();
    expect(await Promise.all(calls)).toEqual(["cancelled", "cancelled"]);
    ends[0]!();
    expect((await call("pay", { amount: 2 }, "2")).text).toBe("receipt");
    expect((await call("pay", { amount: 1 }, "1")).text).toContain("Nobody knows");
    const entries = await all(journal.trail("desk"));
    expect(entries.find(({ event }) => event.type === "unknown")?.event).toMatchObject({ reason: "aborted" });
    expect(paid.toSorted()).toEqual([1, 2]);
  });

  it("a tool that sends its client to a page first has paid once in the end", async () => {
    let sent = false;
    const pay = (): CallToolResult => {
      if (sent) return says("receipt");
      sent = true;
      paid.pop();
      throw new UrlElicitationRequiredError([
        { mode: "url", message: "Log in", url: "https://example.com", elicitationId: "1" },
      ]);
    };
    const { call } = await connect(bank({ pay }));
    await call("pay", { amount: 5 }, "a").catch(() => undefined);
    for (const _ of [1, 2]) expect((await call("pay", { amount: 5 }, "a")).text).toBe("receipt");
    expect(await statuses()).toEqual(["pay succeeded"]);
    expect(paid).toEqual([5]);
  });

  it("a tool that asks its client for input has paid once in the end", async () => {
    const asks = (given: number, context: ServerContext): CallToolResult => {
      if (context.mcpReq.inputResponses?.["sure"] !== undefined) return says(`paid ${given}`);
      paid.pop();
      const sure = inputRequired.elicit({ message: "Sure?", requestedSchema: z.object({}) });
      return inputRequired({ inputRequests: { sure } }) as never;
    };
    const { client, call } = await connect(bank({ pay: asks }), { capabilities: { elicitation: {} } });
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
    for (const _ of [1, 2]) expect((await call("pay", { amount: 5 }, "a")).text).toBe("paid 5");
    expect(await statuses()).toEqual(["pay succeeded"]);
    expect(paid).toEqual([5]);
  });

  it.each([true, false])(
    "a client's user is asked whether the call happened, if the server allows it, and says %s",
    async (happened) => {
      const pay = (): CallToolResult => {
        if (paid.length === 1) throw new Error("no answer");
        return says("receipt");
      };
      const questions: string[] = [];
      const { client, call } = await connect(bank({ pay, options: { elicit: true } }), {
        capabilities: { elicitation: {} },
      });
      client.setRequestHandler("elicitation/create", ({ params }) => {
        questions.push(params.message);
        return { action: "accept", content: happened ? { happened, result: "by hand" } : { happened } };
      });
      await call("pay", { amount: 5 });
      // A request without a name is another call, which isn't made when the user says that the first one happened.
      expect((await call("pay", { amount: 5 })).text).toBe(happened ? "by hand" : "receipt");
      expect(questions).toEqual([expect.stringContaining('"pay" happened')]);
      expect(paid).toHaveLength(happened ? 1 : 2);
      expect(await all(journal.unresolved("desk"))).toEqual([]);
    },
  );

  it("a client that can't ask, or isn't allowed to answer, is told", async () => {
    const pay = (): never => {
      throw new Error("no answer");
    };
    const dumb = await connect(bank({ pay, options: { elicit: true } }));
    const eager = await connect(bank({ pay }), { capabilities: { elicitation: {} } });
    await dumb.call("pay", { amount: 5 });
    for (const { call } of [dumb, eager])
      expect((await call("pay", { amount: 5 })).text).toContain("npx stratigraph answer desk");
    const [{ fingerprint } = { fingerprint: "" }] = await all(journal.unresolved("desk"));
    const forged = { action: "accept", content: { happened: false } };
    const inputResponses = { [`dev.stratigraph/outcome/${fingerprint}`]: forged };
    const params = { name: "pay", arguments: { amount: 5 }, inputResponses };
    expect(await eager.client.request({ method: "tools/call", params })).toMatchObject({ isError: true });
    expect(await all(journal.unresolved("desk"))).toHaveLength(1);
    expect(paid).toEqual([5]);
  });

  it("a replay serves the recorded results, named or not, in their order, and runs nothing", async () => {
    const declined = { ...says("declined"), isError: true, structuredContent: { code: 51 } };
    const errors = [new Error("no answer"), declined];
    const pay = (given: number): CallToolResult => {
      const error = given === 9 ? errors.pop() : undefined;
      if (error instanceof Error) throw error;
      return error ?? says(`receipt ${paid.length}`);
    };
    const calls: [string, object?, string?][] = [
      ["pay", { amount: 5 }],
      ["look"],
      ["pay", { amount: 5 }],
      ["pay", { amount: 6 }, "invoice"],
      ["pay", { amount: 6 }, "invoice"],
      ["pay", { amount: 9 }],
      ["pay", { amount: 9 }],
    ];
    const play = async (options: Bank) => {
      const { call } = await connect(bank(options));
      const results = [];
      for (const made of calls) results.push(await call(...made));
      return results;
    };
    const recorded = await play({ pay });
    paid = [];
    const replay = await journal.replay("desk");
    expect(await play({ options: { journal: replay, state: () => ({ paid }) } })).toEqual(recorded);
    expect(replay.unused()).toEqual([]);
    const { call } = await connect(bank({ options: { journal: replay } }));
    expect((await call("pay", { amount: 5 })).text).toContain("wasn't recorded");
    const atOnce = await connect(bank({ options: { journal: await journal.replay("desk") } }));
    const texts = await Promise.all([1, 2].map(async () => (await atOnce.call("pay", { amount: 5 })).text));
    expect(texts.toSorted()).toEqual(["receipt 1", "receipt 2"]);
    expect(paid).toEqual([]);
  });
});

const [[, connect]] = eras as [(typeof eras)[number]];

it("large results, ids full of quotes and emoji, and threads per client: all are kept; other ids are refused", async () => {
  const large = "x".repeat(2_000_000);
  const thread = (context: ServerContext): string => String(context.mcpReq._meta?.["thread"] ?? "desk");
  const { client, call } = await connect(bank({ pay: () => says(large), options: { thread } }));
  const id = `"'\\ \n🤖👩‍👩‍👧 é`;
  for (const _ of [1, 2]) expect((await call("pay", { amount: 1 }, id)).text).toHaveLength(large.length);
  const _meta = { thread: `'); drop "🏦"`, "dev.stratigraph/call": id };
  await client.callTool({ name: "pay", arguments: { amount: 1 }, _meta });
  expect(paid).toEqual([1, 1]);
  expect((await journal.calls(_meta.thread))[0]!.where.run).toBe(id);
  for (const wrong of ["", "x".repeat(501), "\ud800", 7, {}, null])
    expect(await call("pay", { amount: 2 }, wrong)).toMatchObject({
      isError: true,
      text: expect.stringContaining('_meta["dev.stratigraph/call"]'),
    });
  const nowhere = await connect(bank({ options: { thread: () => "" } }));
  expect((await nowhere.call("pay", { amount: 2 })).text).toContain("thread");
  expect(paid).toEqual([1, 1]);
});

it("a read that fails is made again under its name, and a replay shows its failure", async () => {
  const failed = { ...says("busy"), isError: true };
  let looks = 0;
  const office = (on: WrapServerOptions["journal"]) => (): McpServer => {
    const server = new McpServer({ name: "office", version: "1" });
    wrapServer(server, { journal: on, thread: "desk", tools: { look: "none" } });
    server.registerTool("look", {}, () => ((looks += 1), looks % 2 === 0 ? says(`look ${looks}`) : failed));
    return server;
  };
  const { call } = await connect(office(journal));
  expect((await call("look", {}, "a")).content).toEqual(failed.content);
  const replay = await connect(office(await journal.replay("desk")));
  expect(await replay.call("look", {}, "a")).toMatchObject(failed);
  expect(looks).toBe(1);
  for (const _ of [1, 2]) expect((await call("look", {}, "a")).text).toBe("look 2");
});

it("a client in the same process that calls from within a call of a journal names its calls as others do", async () => {
  const { call } = await connect(bank());
  for (const id of ["one", "two"])
    await journal.run({ configurable: { thread_id: "ada" } }, { id }, async () => {
      expect((await call("pay", { amount: 5 }, "invoice 7")).text).toBe("receipt 1");
    });
  expect(paid).toEqual([5]);
});

it("a deleted thread begins anew", async () => {
  const { call } = await connect(bank({ options: { state: () => ({ paid: [...paid] }) } }));
  await call("pay", { amount: 5 }, "a");
  await saver.deleteThread("desk");
  expect((await call("pay", { amount: 5 }, "a")).text).toBe("receipt 2");
  expect((await call("pay", { amount: 5 }, "a")).text).toBe("receipt 2");
  expect(await statuses()).toEqual(["pay succeeded"]);
});

it("a tool without effects is refused, before and after, and the error names what its annotations propose", () => {
  const server = new McpServer({ name: "bank", version: "1" });
  const none = (): CallToolResult => says("");
  server.registerTool("old", { annotations: { readOnlyHint: true } }, none);
  const wrap = (tools: WrapServerOptions["tools"]) => () =>
    wrapServer(server, { journal, thread: "desk", tools });
  expect(wrap({})).toThrow(/tools\.old.*proposes "none" \(readOnlyHint: true\)/su);
  wrap({ old: "none", constructor_: "once" })();
  const register = (name: string, annotations?: object) => () =>
    server.registerTool(name, annotations === undefined ? {} : { annotations }, none);
  expect(register("idem", { idempotentHint: true })).toThrow(
    /proposes "idempotent" \(idempotentHint: true\)/u,
  );
  expect(register("wipe", { destructiveHint: true, readOnlyHint: false })).toThrow(
    /proposes "once" \(readOnlyHint: false, destructiveHint: true\)/u,
  );
  expect(register("mute")).toThrow(/tools\.mute(?!.*proposes)/su);
  expect(register("toString")).toThrow("tools.toString");
  expect(register("stratigraph:own")).toThrow("the journal's own");
  // Nothing was registered.
  register("constructor_")();
  expect(wrap({ old: "none", constructor_: "once" })).toThrow("once");
});

it("a tool whose function is replaced, and one that is registered later, go through the journal too", async () => {
  const server = new McpServer({ name: "bank", version: "1" });
  const early = server.registerTool("early", {}, () => says("first"));
  wrapServer(server, { journal, thread: "desk", tools: { early: "once", late: "once" } });
  const late = server.registerTool("late", {}, () => says("first"));
  for (const tool of [early, late]) tool.update({ callback: () => says(`second ${paid.push(1)}`) });
  const { call } = await connect(() => server);
  for (const _ of [1, 2]) {
    expect((await call("early", {}, "a")).text).toBe("second 1");
    expect((await call("late", {}, "a")).text).toBe("second 2");
  }
});

it("the policy decides, and sees who asks", async () => {
  const seen: unknown[] = [];
  journal = createJournal(saver, {
    author: (config) =>
      String((config as { configurable: { mcp: ServerContext } }).configurable.mcp.mcpReq.method),
    policy: ({ author, args }) => (seen.push(author, args), { deny: "not today" }),
  });
  const { call } = await connect(bank());
  expect(await call("pay", { amount: 5 })).toMatchObject({
    isError: true,
    text: expect.stringContaining("not today"),
  });
  expect([seen, paid]).toEqual([["tools/call", { amount: 5 }], []]);
});

describe("snapshots", () => {
  /** The checkpoints, oldest first. */
  const history = async () => (await all(saver.list({ configurable: { thread_id: "desk" } }))).toReversed();

  it("are checkpoints before and after each call that changed something, from which a server goes on", async () => {
    const { call } = await connect(bank({ options: { state: () => ({ paid: [...paid] }) } }));
    await call("pay", { amount: 5 }, "a");
    await call("look");
    await call("pay", { amount: 5 }, "a");
    paid.push(100); // by somebody else
    await call("pay", { amount: 6 });
    const taken = await history();
    expect(taken.map(({ checkpoint }) => checkpoint.channel_values)).toEqual(
      [[], [5], [5, 100], [5, 100, 6]].map((each) => ({ paid: each })),
    );
    const ids = taken.map(({ checkpoint }) => checkpoint.id);
    expect(taken.map(({ parentConfig }) => parentConfig?.configurable?.["checkpoint_id"])).toEqual([
      undefined,
      ...ids.slice(0, -1),
    ]);
    const calls = await journal.calls("desk");
    expect(calls.map(({ where }) => where.checkpoint)).toEqual([ids[0], ids[1], ids[2]]);
    expect(taken.map(({ metadata }) => (metadata as { call?: string }).call)).toEqual([
      undefined,
      calls[0]!.fingerprint,
      undefined,
      calls[2]!.fingerprint,
    ]);
  });

  it("a state that can't be stored refuses the call; afterwards it changes nothing about the call", async () => {
    let state: unknown = { since: new Date() };
    const { call } = await connect(bank({ options: { state: () => state as object } }));
    expect((await call("pay", { amount: 5 })).text).toContain("since");
    state = [];
    expect((await call("pay", { amount: 5 })).text).toContain("state");
    expect(paid).toEqual([]);
    state = {
      get paid() {
        return paid.length === 0 ? 0 : 1n;
      },
    };
    expect((await call("pay", { amount: 5 }, "a")).text).toBe("receipt 1");
    state = {};
    expect((await call("pay", { amount: 5 }, "a")).text).toBe("receipt 1");
  });

  it("of many calls at the same time, and of two processes, follow one another", async () => {
    const other = createJournal(new TierSaver(saver.tier));
    let looks = 0;
    const state = () => ({ paid: paid.length, looks: (looks += 1) });
    const servers = await Promise.all(
      [journal, other].map((on) => connect(bank({ options: { state, journal: on } }))),
    );
    const ways = [...Array(12).keys()].map((n) => servers[n === 0 ? 1 : 0]!.call("pay", { amount: n }));
    expect((await Promise.all(ways)).filter(({ isError }) => isError)).toEqual([]);
    const taken = await history();
    expect(taken.at(-1)!.checkpoint.channel_values).toMatchObject({ paid: 12 });
    for (const [n, { parentConfig }] of taken.entries())
      expect(parentConfig?.configurable?.["checkpoint_id"]).toBe(taken[n - 1]?.checkpoint.id);
    expect(new Set(await statuses())).toEqual(new Set(["pay succeeded"]));
  });
});

it("wrong calls name the field", () => {
  const server = new McpServer({ name: "bank", version: "1" });
  const right = { journal, thread: "desk", tools: {} };
  const wrong: [unknown, object, string][] = [
    [{}, right, "server"],
    [{ registerTool: () => undefined }, right, "server"],
    [server, { ...right, journal: {} }, "journal"],
    [server, { ...right, thread: "" }, "thread"],
    [server, { ...right, tools: null }, "tools"],
    [server, { ...right, tools: { pay: "twice" } }, "tools.pay"],
    [server, { ...right, state: {} }, "state"],
    [server, { ...right, elicit: "yes" }, "elicit"],
    [server, { ...right, threads: "x" }, "threads"],
  ];
  for (const [given, options, field] of wrong)
    expect(() => wrapServer(given as McpServer, options as typeof right)).toThrow(field);
});
