import { StratigraphError } from "@stratigraph/core";
import { createCheckpointer } from "stratigraph";
import { createWorkspace, type Workspace } from "../src/index.ts";
import type { Orders, Said } from "./processes.ts";

// A process with a workspace, which does one thing.

const { storage, workspace: name, clockMs = 0, work } = JSON.parse(process.argv[2]!) as Orders;
if (clockMs !== 0) {
  const { now } = Date;
  Date.now = () => now() + clockMs;
}
const checkpointer = await createCheckpointer(storage);
const workspace = createWorkspace(checkpointer, name);

function say(said: Said): void {
  process.send!(said);
}

const told = async (): Promise<void> => await new Promise((resolve) => process.once("message", resolve));

const sumOf = (value: Record<string, unknown> | undefined): number => Number(value?.["sum"] ?? 0);

/** Counts once, beside an item of its own. An item that is there was counted. */
async function counted(at: Workspace, key: string): Promise<boolean> {
  for (;;) {
    const item = await at.get(["counters"], "c");
    const result = await at.transact([
      {
        put: {
          ...{ namespace: ["counters"], key: "c", value: { sum: sumOf(item?.value) + 1 } },
          ifVersion: item?.version ?? 0,
        },
      },
      { put: { namespace: ["counted"], key, value: {}, ifVersion: 0 } },
    ]);
    if (result.ok) return true;
    if (result.conflicts.some(({ step }) => step === 1)) return false;
  }
}

if (work.do === "count") {
  for (let n = 0; n < work.times; n += 1)
    if (await counted(workspace, `${work.as} ${n}`)) say({ did: "count", n });
} else if (work.do === "update") {
  for (let n = 0; n < work.times; n += 1)
    await workspace.update(["counters"], "c", (value) => ({ sum: sumOf(value) + 1 }));
} else if (work.do === "subscribe") {
  for await (const { body, ack } of workspace.topic("tasks").subscribe("worker")) {
    const n = Number(body["n"]);
    say({ did: "handle", n });
    if (n === work.diesAt) await told();
    await ack();
    say({ did: "ack", n });
  }
} else if (work.do === "watch") {
  for await (const { version } of workspace.watch({ since: 0 })) say({ did: "see", n: version });
} else {
  const codeOf = (error: unknown): string => (StratigraphError.is(error) ? error.code : String(error));
  const locked = workspace.lock("deploy", { ttl: "300ms" }, async (lock) => {
    say({ did: "lock", n: lock.token });
    for (;;) {
      await told();
      const put = workspace.put(["plan"], "state", { by: "child" }, { lock });
      say({
        did: "write",
        code: await put.then(
          () => "written",
          (error: unknown) => codeOf(error),
        ),
      });
    }
  });
  await locked;
}
say({ did: "end" });
await told();
await checkpointer.end();
process.disconnect();
