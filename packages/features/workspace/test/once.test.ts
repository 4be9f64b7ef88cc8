import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJournal } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";
import { expect, onTestFinished, test } from "vitest";
import { runChild, type Child } from "../../../../test/servers/children.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { createWorkspace } from "../src/index.ts";
import type { OnceOrders, OnceSaid } from "./once.ts";
import { allRounds } from "../../../../test/rounds.ts";

// Messages that are handled exactly once: delivered at least once, by calls of a journal.

test.runIf(allRounds)(
  "a payment for each message is made once, though its process is killed before it acknowledges; one of which nobody knows is asked about",
  async () => {
    const database = await freshDatabase();
    const folder = mkdtempSync(join(tmpdir(), "stratigraph-once-"));
    const file = join(folder, "payments");
    const checkpointer = await createCheckpointer({ postgres: database.url });
    const journal = createJournal(checkpointer);
    const children: Child<OnceSaid>[] = [];
    onTestFinished(async () => {
      await Promise.all(children.map((child) => child.kill()));
      await journal.end();
      await checkpointer.end();
      await database.drop();
      rmSync(folder, { recursive: true });
    });
    const start = (stops: Partial<OnceOrders> = {}): Child<OnceSaid> => {
      const orders: OnceOrders = { url: database.url, file, ...stops };
      const child = runChild<OnceSaid>(join(import.meta.dirname, "onceChild.ts"), [JSON.stringify(orders)]);
      children.push(child);
      return child;
    };
    const stopped = async (stops: Partial<OnceOrders>): Promise<void> => {
      const child = start(stops);
      await child.message(({ did, n }) => did === "stop" && n === stops.at);
      await child.kill();
    };
    const paid = (): number[] => readFileSync(file, "utf8").trim().split("\n").map(Number);
    const topic = createWorkspace(checkpointer, "shop").topic("orders");
    for (let n = 0; n < 8; n += 1) await topic.publish({ n });

    await stopped({ stopsIn: "ack", at: 2 });
    await stopped({ stopsIn: "ack", at: 5 });
    await stopped({ stopsIn: "effect", at: 6 });
    expect(paid()).toEqual([0, 1, 2, 3, 4, 5, 6]);

    const unknowing = start();
    await unknowing.message(({ did }) => did === "fail");
    expect(unknowing.messages).toEqual([{ did: "fail", n: 6, code: "AMBIGUOUS_OUTCOME" }]);
    for await (const { fingerprint } of journal.unresolved("payments"))
      await journal.resolve(fingerprint, { threadId: "payments", happened: true, result: { paid: 6 } });

    const last = start();
    await last.message(({ did, n }) => did === "ack" && n === 7);
    expect(paid()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  },
);
