import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { observe, withThread } from "@stratigraph/service";
import { FaultyTier } from "@stratigraph/testing";
import { MemoryTier, TierSaver, type TraceEvent } from "stratigraph";
import { createApp } from "../../examples/production/service/app.ts";
import { inRounds } from "../rounds.ts";
import type { Shown } from "./user.ts";

// What a client may rely on that gives up and sends again, on instances of examples/production over one storage in memory.

/** Instances over one storage, who pays for them, and what was paid. */
async function instances(names: readonly string[], pay = async (): Promise<unknown> => undefined) {
  const shared = new MemoryTier();
  const paid: number[] = [];
  const noLog = (): void => undefined;
  const telemetry = observe({ log: { debug: noLog, info: noLog, warn: noLog, error: noLog } });
  const made = names.map(async () => {
    const tier = new FaultyTier(shared);
    const checkpointer = new TierSaver(tier);
    const payBack = async ({ amount }: { amount: number }): Promise<string> => {
      paid.push(amount);
      await pay();
      return `${amount} EUR were paid back`;
    };
    const metrics = async () => ({ contentType: "text/plain", body: "" });
    const { app, service } = await createApp({ checkpointer, telemetry, payBack, metrics });
    onTestFinished(() => checkpointer.end());
    const headers = { "x-user-id": "ada", "content-type": "application/json" };
    const post = async (path: string, body: object, signal?: AbortSignal): Promise<Response> =>
      await app.request(`/threads/1/${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      });
    const look = async (): Promise<Shown> =>
      (await (await app.request("/threads/1", { headers })).json()) as Shown;
    return { tier, checkpointer, service, post, look };
  });
  onTestFinished(() => telemetry.stop());
  return { paid, made: await Promise.all(made) };
}

/** Another run of the thread, which another process has until `end`. */
async function otherHolder({ tier }: { tier: FaultyTier }) {
  let end = (): void => undefined;
  let begun = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const work = (): Promise<void> => {
    begun();
    return new Promise((resolve) => (end = resolve));
  };
  const held = withThread(new TierSaver(new FaultyTier(tier)), "ada/1", work);
  await hasBegun;
  return async (): Promise<void> => {
    end();
    await held;
  };
}

/** Fails all writes of an instance after so many, as for one that dies. @returns whether it came to that */
function cutOff(tier: FaultyTier, after: number): () => boolean {
  let left = after;
  for (const method of ["append", "appendWrites"] as const) {
    const write = tier[method].bind(tier) as (...args: unknown[]) => Promise<never>;
    const failing = async (...args: unknown[]): Promise<never> => {
      left -= 1;
      if (left < 0) throw new Error("the storage is gone for this instance");
      return await write(...args);
    };
    Object.assign(tier, { [method]: failing });
  }
  return () => left < 0;
}

/** The state at the end of an answer; undefined for one that is refused. */
async function stateOf(answer: Response | Promise<Response>): Promise<Shown | undefined> {
  const [, state] = /event: state\ndata: (.*)/.exec(await (await answer).text()) ?? [];
  return state === undefined ? undefined : (JSON.parse(state) as Shown);
}

/** Waits for something that happens by itself. */
const eventually = async (check: () => unknown): Promise<unknown> =>
  await vi.waitFor(check, { timeout: 60_000, interval: 5 });

const refund = { id: "m-1", text: "Please refund 20 EUR." };
const said = ({ messages }: Shown): string[] =>
  messages.filter(({ role }) => role === "human").map(({ text }) => text);

test("a run is counted until its client has the answer, so that a shutdown waits for that", async () => {
  const { made } = await instances(["a"]);
  const { post, service } = made[0]!;
  const counts: number[] = [];
  const listen = (event: unknown): void => {
    if ((event as TraceEvent).type === "operation-start") counts.push(service.underWay);
  };
  subscribe("stratigraph", listen);
  const answer = await post("messages", { id: "m-1", text: "How long is the warranty?" });
  expect(await answer.text()).toContain("event: state");
  unsubscribe("stratigraph", listen);
  expect(counts.length).toBeGreaterThan(3);
  expect(new Set(counts)).toEqual(new Set([1]));
  expect(service.underWay).toBe(0);
});

test.each([
  ["the same instance", 0],
  ["another instance", 1],
])(
  "a client that gives up while its message waits, looks, and sends it again to %s: paid once",
  async (_, at) => {
    const { paid, made } = await instances(["a", "b"]);
    const release = await otherHolder(made[0]!);
    const client = new AbortController();
    const first = made[0]!.post("messages", refund, client.signal);
    await eventually(async () => expect((await made[0]!.look()).underWay).toEqual(["m-1"]));
    client.abort();
    expect(await made[at]!.look()).toMatchObject({ messages: [], unfinished: false, underWay: [] });
    const second = made[at]!.post("messages", refund);
    await eventually(async () => expect((await made[at]!.look()).underWay).toEqual(["m-1"]));
    await release();
    const state = await stateOf(second);
    expect(await stateOf(first)).toBeUndefined();
    expect(paid).toEqual([20]);
    expect(said(state!)).toEqual([refund.text]);
    expect(state!.messages.at(-1)!.text).toBe("Done: 20 EUR were paid back");
    expect(await made[0]!.look()).toEqual(state);
  },
);

test.each([
  ["the same instance", 0],
  ["another instance", 1],
])("a message that is sent again to %s while the first still waits runs once", async (_, at) => {
  const { paid, made } = await instances(["a", "b"]);
  const release = await otherHolder(made[0]!);
  const both = [made[0]!.post("messages", refund), made[at]!.post("messages", refund)];
  await eventually(async () => {
    const waits = [
      ...(await made[0]!.look()).underWay,
      ...(at === 0 ? [] : (await made[1]!.look()).underWay),
    ];
    expect(waits).toEqual(["m-1", "m-1"]);
  });
  await release();
  const [one, two] = await Promise.all(both.map(stateOf));
  expect(paid).toEqual([20]);
  expect(one!.messages).toEqual(two!.messages);
  expect(said(one!)).toEqual([refund.text]);
  // And once more, after it was answered.
  expect((await stateOf(made[at]!.post("messages", refund)))!.messages).toEqual(one!.messages);
  expect(paid).toEqual([20]);
});

test("a client that leaves for good before its turn: nothing is run", async () => {
  const { paid, made } = await instances(["a"]);
  const release = await otherHolder(made[0]!);
  const client = new AbortController();
  const left = made[0]!.post("messages", refund, client.signal);
  await eventually(async () => expect((await made[0]!.look()).underWay).toEqual(["m-1"]));
  client.abort();
  await release();
  await left;
  expect(await made[0]!.look()).toMatchObject({ messages: [], unfinished: false, underWay: [] });
  expect(paid).toEqual([]);
  expect(made[0]!.service.underWay).toBe(0);
});

test("a client that leaves in the midst of its run: the run goes on, a look says so, and nothing is counted afterwards", async () => {
  let pays = (): void => undefined;
  const { paid, made } = await instances(["a"], () => new Promise<void>((resolve) => (pays = resolve)));
  const { post, look, service } = made[0]!;
  const client = new AbortController();
  const answer = await post("messages", refund, client.signal);
  await eventually(() => expect(paid).toEqual([20]));
  client.abort();
  await answer.body!.cancel();
  expect((await look()).underWay).toEqual(["m-1"]);
  const again = post("messages", refund);
  pays();
  expect((await stateOf(again))!.messages.at(-1)!.text).toBe("Done: 20 EUR were paid back");
  await eventually(() => expect(service.underWay).toBe(0));
  expect((await look()).underWay).toEqual([]);
  expect(paid).toEqual([20]);
});

test("a run that was cut off goes on when its message is sent again, and before another message runs", async () => {
  const other = { id: "m-2", text: "How long is the warranty?" };
  const step = inRounds({ few: 3, all: 1 });
  for (const sent of [[refund], [other, refund]])
    // The run has so many writes: it is cut off before each of them.
    for (let writes = 0; ; writes += step) {
      const { paid, made } = await instances(["a", "b"]);
      const [a, b] = made as [(typeof made)[0], (typeof made)[0]];
      const isCut = cutOff(a.tier, writes);
      await (await a.post("messages", refund)).text();
      if (!isCut()) {
        expect(writes).toBeGreaterThan(8);
        break;
      }
      const note = `cut off at write ${writes}, then ${sent.length} messages`;
      for (const message of sent) await (await b.post("messages", message)).text();
      const [question] = (await b.look()).questions;
      if (question !== undefined) {
        expect(question.kind, note).toBe("ambiguous");
        const answer = { id: question.id, happened: true, result: "20 EUR were paid back" };
        await (await b.post("answers", answer)).text();
        // Those that were refused while the question waited.
        for (const message of sent) await (await b.post("messages", message)).text();
      }
      const state = await b.look();
      expect(paid, note).toEqual([20]);
      expect(state, note).toMatchObject({ questions: [], unfinished: false, underWay: [] });
      expect(said(state).toSorted(), note).toEqual(sent.map(({ text }) => text).toSorted());
      expect(state.messages.map(({ text }) => text)).toContain("Done: 20 EUR were paid back");
    }
});

test("an id that the thread has with another text, or of another role, is refused, and nothing is replaced", async () => {
  const { paid, made } = await instances(["a"]);
  const { post, look } = made[0]!;
  const state = (await stateOf(post("messages", refund)))!;
  const other = await post("messages", { ...refund, text: "Please refund 30 EUR." });
  expect([other.status, await other.json()]).toMatchObject([422, { code: "OTHER_MESSAGE" }]);
  for (const { id, role, text } of state.messages.filter((message) => message.role !== "human"))
    expect((await post("messages", { id, text: text || "x" })).status, role).toBe(422);
  expect((await look()).messages).toEqual(state.messages);
  expect(paid).toEqual([20]);
  for (const wrong of [{ text: "no id" }, { ...refund, id: "" }, { ...refund, id: "../x" }])
    expect((await post("messages", wrong)).status).toBe(400);
});

test("a question keeps its thread until it is answered, once", async () => {
  const { paid, made } = await instances(["a"]);
  const { post, look } = made[0]!;
  const large = { id: "m-1", text: "Please refund 500 EUR." };
  const { questions } = (await stateOf(post("messages", large)))!;
  const other = await post("messages", { id: "m-2", text: "How long is the warranty?" });
  expect([other.status, await other.json()]).toMatchObject([409, { code: "QUESTION_WAITS" }]);
  expect((await look()).questions).toEqual(questions);
  const answer = { id: questions[0]!.id, allow: true };
  const both = await Promise.all([post("answers", answer), post("answers", answer)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  await Promise.all(both.map((each) => each.text()));
  expect(paid).toEqual([500]);
  expect((await look()).messages.at(-1)!.text).toBe("Done: 500 EUR were paid back");
});
