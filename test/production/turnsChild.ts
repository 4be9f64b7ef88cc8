import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { observe } from "@stratigraph/service";
import * as prometheus from "prom-client";
import { createCheckpointer } from "stratigraph";
import { createApp } from "../../examples/production/service/app.ts";

// One instance of examples/production that takes many turns of many users, and tells how much memory it holds along the way.

const [, , warm, hot, turns] = process.argv as [string, string, string, string, string];
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

// What a saver remembers for patches may take up to `patchMemory`, by default 128 MB. Here it is full before memory is compared.
const checkpointer = await createCheckpointer({ warm, hot, patchMemory: "4mb" });
const telemetry = observe({ prometheus });
const { app, service } = await createApp({
  checkpointer,
  telemetry,
  payBack: async ({ amount }) => `${amount} EUR were paid back`,
  metrics: async () => ({ contentType: "text/plain", body: await prometheus.register.metrics() }),
});

/** Four users talk at a time, each for ten turns; then come four others, so that the process always gets new threads. */
const userOf = (n: number): string => `user-${4 * Math.floor(n / 40) + (n % 4)}`;

async function turn(n: number): Promise<void> {
  const text =
    n % 10 === 0 ? `Please refund ${1 + n / 1000} EUR.` : `Question ${n}: how long is the warranty?`;
  const answer = await app.request("/threads/main/messages", {
    method: "POST",
    headers: { "x-user-id": userOf(n), "content-type": "application/json" },
    body: JSON.stringify({ id: `m-${n}`, text }),
  });
  const events = await answer.text();
  if (!events.includes("event: state")) throw new Error(`turn ${n}: ${answer.status} ${events}`);
}

const total = Number(turns);
for (let n = 0; n < total; n += 4) {
  if ((n * 8) % total === 0) {
    await (checkpointer.tier as { idle?(): Promise<void> }).idle?.();
    for (let round = 0; round < 3; round += 1) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    process.send!({ turns: n, heap: process.memoryUsage().heapUsed });
  }
  await Promise.all([0, 1, 2, 3].map((k) => turn(n + k)));
}
process.send!({ ended: (await service.drain()).ok });
process.disconnect();
