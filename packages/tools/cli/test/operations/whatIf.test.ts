import type { TierSaver } from "@stratigraph/core";
import type { OutputOf } from "../../src/operations/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { on } from "../../../../features/branch/test/support/graphs.ts";
import { savers } from "../../../../features/branch/test/support/savers.ts";
import { trip } from "./run/support.ts";
import { ran } from "./support/ran.ts";

type Forked = OutputOf<"fork">;
type Ran = OutputOf<"run">;
const hello = JSON.stringify({ messages: [{ role: "user", content: "hello" }], by: "rail" });

describe.each(savers)("what-if on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ saver, close } = await open());
    await ran("run", { at: "ada", input: hello, create: true }, saver, { graph: trip(saver) });
  });
  afterAll(() => close());

  const fork = async (input: object) =>
    (await ran<Forked>("fork", { at: "ada", whatIf: true, ...input }, saver, { graph: trip(saver) })).output;
  const run = async (at: string, input: object = {}) =>
    (await ran<Ran>("run", { at, ...input }, saver, { graph: trip(saver) })).output;
  const values = async (id: string) => (await trip(saver).getState(on(id))).values;
  const head = async (threadId: string) => (await saver.tier.peek({ threadId, namespace: "" })).head;
  const air = { channel: "by", value: '"air"' };

  test("a fork of an earlier checkpoint is edited, runs on otherwise, and the source stays", async () => {
    const before = await head("ada");
    const planned = await fork({ ...air, at: "ada@step:1", dryRun: true });
    expect(planned).toMatchObject({
      name: "ada/what-if-1",
      items: [],
      edit: { channel: "by", before: { value: "rail" }, after: { value: "air" } },
      next: ["choose"],
    });
    expect(await head("ada/what-if-1")).toBeUndefined();
    const made = await fork({ ...air, at: "ada@step:1" });
    expect(made).toMatchObject({ items: [{ thread: "ada/what-if-1" }], next: ["choose"] });
    expect(made.from).toMatchObject({ thread: "ada", wasHead: false });
    const done = await run("ada/what-if-1");
    expect(done.nodes.map(({ node }) => node)).toEqual(["choose", "air", "ask"]);
    expect((await values("ada/what-if-1")).log).toEqual(["talk", "choose air", "air"]);
    expect(await head("ada")).toBe(before);
    const compared = await ran<OutputOf<"compare">>("compare", { threads: ["ada", "ada/what-if-1"] }, saver);
    expect(compared.output.threads[1]).toMatchObject({ since: made.from.checkpoint });
  });

  test("as if a node had written it: what follows the node is next, which a dry run tells without writing", async () => {
    const as = { ...air, at: "ada@step:1", asNode: "choose" };
    const planned = await fork({ ...as, dryRun: true });
    expect(planned).toMatchObject({ name: "ada/what-if-2", next: ["air"] });
    expect(await head("ada/what-if-2")).toBeUndefined();
    const made = await fork(as);
    expect(made).toMatchObject({ items: [{ thread: "ada/what-if-2" }], next: ["air"] });
    await run("ada/what-if-2", { steps: 1 });
    expect((await values("ada/what-if-2")).log).toEqual(["talk", "air"]);
  });

  test("a what-if of a what-if has the next name; one that was deleted is free again or left out", async () => {
    const made = await fork({ at: "ada/what-if-2" });
    expect(made.items).toMatchObject([{ thread: "ada/what-if-3" }]);
    await ran("delete", { thread: "ada/what-if-3" }, saver);
    expect(await head("ada/what-if-3")).toBeUndefined();
    const again = await fork({});
    expect(again.items).toMatchObject([{ thread: "ada/what-if-3" }]);
    expect(again.next).toEqual(["ask"]);
  });

  test("where the edit is refused, no thread is left behind", async () => {
    for (const [input, message] of [
      [{ channel: "by" }, /`value` together/],
      [{ value: "1" }, /`channel` and/],
      [{ channel: "by", value: "air" }, /not JSON/],
      [{ channel: "bi", value: '"air"' }, /Did you mean by/],
      [{ channel: "messages", value: '"x"' }, /list of messages/],
      [{ ...air, asNode: "nobody" }, /nobody/],
      [{ ...air, to: "named" }, /Leave out/],
      [{ channel: "branch:to:ask", value: '"x"', create: true }, /says what runs next/],
    ] as const)
      await expect(fork(input), JSON.stringify(input)).rejects.toThrow(message);
    expect(await head("ada/what-if-4")).toBeUndefined();
  });
});
