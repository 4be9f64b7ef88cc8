import { appendFileSync } from "node:fs";
import { createJournal } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";
import { createWorkspace } from "../src/index.ts";
import type { OnceOrders, OnceSaid } from "./once.ts";

// A process that makes a payment for each message, by a call of the journal, and may stop in the middle.

const { url, file, stopsIn, at } = JSON.parse(process.argv[2]!) as OnceOrders;
const checkpointer = await createCheckpointer({ postgres: url });
const journal = createJournal(checkpointer);

const stops = async (where: OnceOrders["stopsIn"], n: number): Promise<void> => {
  if (stopsIn !== where || at !== n) return;
  process.send!({ did: "stop", n } satisfies OnceSaid);
  await new Promise(() => {});
};

for await (const message of createWorkspace(checkpointer, "shop").topic("orders").subscribe("payer")) {
  const n = Number(message.body["n"]);
  const call = { id: `orders ${message.version}`, args: message.body };
  try {
    await journal.run({ configurable: { thread_id: "payments" } }, call, async () => {
      appendFileSync(file, `${n}\n`);
      await stops("effect", n);
      return { paid: n };
    });
  } catch (error) {
    process.send!({
      did: "fail",
      n,
      code: (error as { code?: string }).code ?? String(error),
    } satisfies OnceSaid);
    break;
  }
  await stops("ack", n);
  await message.ack();
  process.send!({ did: "ack", n } satisfies OnceSaid);
}
await journal.end();
await checkpointer.end();
process.disconnect();
