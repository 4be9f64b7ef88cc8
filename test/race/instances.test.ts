import { join } from "node:path";
import { PostgresSaver } from "@stratigraph/postgres";
import { expect, onTestFinished, test } from "vitest";
import { inRounds } from "../rounds.ts";
import { runChild } from "../servers/children.ts";
import { freshDatabase, sharedRedis } from "../servers/shared.ts";
import type { InstanceMessage, InstanceOrder } from "./instanceChild.ts";

// Two instances of a service answer by turns: whatever one has acknowledged, the other sees at once, also after a run that was stopped.

const script = join(import.meta.dirname, "instanceChild.ts");
const rounds = inRounds({ few: 6, all: 27 });
const storages = ["postgres", "redis", "stack, verified", "stack, trusted"];

test.each(storages)(`%s: of ${rounds * 4} reads in two processes none is old`, async (storage) => {
  const [database, { url, prefix }] = await Promise.all([freshDatabase(), sharedRedis()]);
  onTestFinished(() => database.drop());
  const setup = PostgresSaver.fromConnString(database.url);
  await setup.setup();
  await setup.end();
  const instances = [0, 1].map(() => runChild<InstanceMessage>(script, [storage, database.url, url, prefix]));
  await Promise.all(instances.map((instance) => instance.message(({ n }) => n === -1)));
  let orders = 0;
  const tell = async (who: number, order: Omit<InstanceOrder, "n">): Promise<InstanceMessage> => {
    const n = (orders += 1);
    const answer = instances[who]!.message((message) => message.n === n);
    instances[who]!.send({ ...order, n });
    return await answer;
  };
  const firsts: InstanceMessage[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [writer, reader] = [round % 2, (round + 1) % 2];
    const durability = round % 4 < 2 ? "sync" : "async";
    const before = firsts.at(-1)?.log ?? [];
    const deed = round % 3 === 2 ? "stop" : "send";
    const { log } = await tell(writer, { deed, durability });
    const read = async (who: number): Promise<InstanceMessage> =>
      await tell(who, { deed: "read", durability });
    const seen = [
      await read(reader),
      await read(writer),
      ...(await Promise.all([read(reader), read(writer)])),
    ];
    const first = seen[0]!;
    if (deed === "send") expect(first.log).toEqual(log);
    // A stopped run's message is there, and its answer may be.
    else expect([1, 2]).toContain(first.log.length - before.length);
    expect(first.log.slice(0, before.length)).toEqual(before);
    for (const { checkpointId, log } of seen)
      expect({ checkpointId, log }).toEqual({ checkpointId: first.checkpointId, log: first.log });
    firsts.push(first);
  }
  for (const instance of instances) {
    instance.send({ n: 0, deed: "end", durability: "sync" } satisfies InstanceOrder);
    expect(await instance.exit).toMatchObject({ code: 0, stderr: "" });
  }
  expect(new Set(firsts.map(({ checkpointId }) => checkpointId)).size).toBe(rounds);
});
