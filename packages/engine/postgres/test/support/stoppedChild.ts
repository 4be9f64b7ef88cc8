import { PostgresSaver } from "@stratigraph/postgres";
import { at, checkpointOf } from "./checkpoints.ts";

// Puts a checkpoint each time it is told a thread, and says how that went. First its timers may fire, as those of a process that was stopped do.
export type Told = { readonly thread: string; readonly wakesUp?: true };
export type StoppedMessage = { readonly put?: string; readonly code?: string; readonly ended?: string };

const send = (message: StoppedMessage): void => void process.send?.(message);
const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);
const renewals: (() => void)[] = [];
const setTimer = globalThis.setInterval;
globalThis.setInterval = ((work: () => void, ms: number) => {
  if (ms === 5_000) renewals.push(work);
  return setTimer(work, ms);
}) as typeof setInterval;
const saver = PostgresSaver.embedded(process.argv[2]!);
await saver.setup();

process.on("message", ({ thread, wakesUp }: Told) => {
  if (wakesUp === true) for (const renew of renewals) renew();
  const checkpoint = checkpointOf({ n: 1 });
  const metadata = { source: "loop", step: 0, parents: {} } as const;
  saver.put(at(thread), checkpoint, metadata, checkpoint.channel_versions).then(
    () => send({ put: thread }),
    async (error: unknown) => {
      const ended = await saver.end().then(() => "well", codeOf);
      send({ code: codeOf(error), ended });
    },
  );
});
