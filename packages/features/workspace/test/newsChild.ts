import { subscribe } from "node:diagnostics_channel";
import type { TraceEvent } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { createWorkspace } from "../src/index.ts";

// A process that changes a workspace. It dies before it can tell of that, or watches, ends its saver, and has nothing left to do.

const { url, workspace: name, redis, dies } = JSON.parse(process.argv[2]!) as Record<string, string>;
const saver = redis === undefined ? PostgresSaver.fromConnString(url!) : await RedisSaver.fromUrl(url!);
if (dies !== undefined)
  subscribe("stratigraph", (event) => {
    const { type, ...rest } = event as TraceEvent;
    if (type === "call-start" && "method" in rest && rest.method === "notify")
      process.kill(process.pid, "SIGKILL");
  });
const workspace = createWorkspace(saver, name!);
if (dies !== undefined) await workspace.put(["a"], "k", { by: "child" });
for await (const event of workspace.watch({ since: 0 })) {
  if (!("key" in event)) continue;
  process.send!({ saw: event.key });
  if (event.key === "last") break;
}
await workspace.put(["a"], "k", { by: "child" });
await saver.end();
process.disconnect();
