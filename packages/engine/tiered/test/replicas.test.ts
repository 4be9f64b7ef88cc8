import { postgres } from "@stratigraph/postgres";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { available } from "../../../../test/servers/available.ts";
import {
  startPostgres,
  startReplica,
  type PostgresReplica,
  type PostgresServer,
} from "../../../../test/servers/postgres.ts";
import { configOf, put, stepsOf, text, valueOf } from "./support.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";

describe.skipIf(!available.postgres)("a streaming replica", () => {
  let primary: PostgresServer;
  let replica: PostgresReplica;
  const savers: TieredSaver[] = [];

  beforeAll(async () => {
    primary = await startPostgres();
    replica = await startReplica(primary);
    await open().setup();
    await replica.caughtUp();
  });

  afterAll(async () => {
    await Promise.all(savers.map((saver) => saver.end()));
    await replica?.stop();
    await primary?.stop();
  });

  function open(options: Partial<TieredSaverOptions> = {}, url: string = primary.url): TieredSaver {
    const saver = new TieredSaver({
      warm: postgres({ url, retryFor: "200ms" }),
      replicas: [postgres({ url: replica.url, retryFor: "200ms" })],
      ...options,
    });
    savers.push(saver);
    return saver;
  }

  test("bytes come from the replica, the head from the primary; a replica that lags is recognised by what it lacks", async () => {
    const saver = open();
    await put(saver, "t", 1, text("one"));
    await replica.caughtUp();
    expect(await valueOf(saver, "t")).toBe(text("one"));
    await replica.pauseReplay();
    try {
      await put(saver, "t", 2, text("two"));
      await saver.putWrites(configOf("t", 2), [["value", text("pending")]], "task");
      const tuple = await open({ hot: boundedMemory() }).getTuple(configOf("t"));
      expect(tuple?.checkpoint.channel_values).toEqual({ value: text("two") });
      expect(tuple?.pendingWrites).toEqual([["task", "value", text("pending")]]);
      expect(await stepsOf(saver, "t")).toEqual([2, 1]);
    } finally {
      await replica.resumeReplay();
    }
  });

  test("with the primary down, history can be read and says so; the head is an error; after a promotion all goes on", async () => {
    const saver = open();
    for (let n = 1; n <= 3; n += 1) await put(saver, "down", n, text(`value ${n}`));
    await replica.caughtUp();
    await primary.shutDown("immediate");
    const events = await tracedWhile(async () => {
      expect(await stepsOf(saver, "down")).toEqual([3, 2, 1]);
      expect(await valueOf(saver, "down", 2)).toBe(text("value 2"));
      await expect(valueOf(saver, "down")).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringContaining("History"),
      });
      await expect(put(saver, "down", 4, text("value 4"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
    expect(events.filter(({ type }) => type === "behind")).toMatchObject([
      { tier: "postgres", method: "list" },
      { tier: "postgres", method: "read" },
    ]);
    await replica.promote();
    const next = open({ replicas: [] }, replica.url);
    await put(next, "down", 4, text("value 4"), 3);
    expect(await valueOf(next, "down")).toBe(text("value 4"));
    expect(await stepsOf(next, "down")).toEqual([4, 3, 2, 1]);
  });
});
