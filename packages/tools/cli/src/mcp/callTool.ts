import type { CallToolResult, InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import type { Context } from "../operations/index.ts";
import { audited, contextOf, type Told, type ToolHost } from "./calls.ts";
import { refuseForeignThreads } from "./clients.ts";
import { errorResult } from "./results.ts";

/** Runs the work of a tool's call; errors become results that say so. */
export async function callTool<R extends CallToolResult | InputRequiredResult>(
  host: ToolHost,
  name: string,
  input: Readonly<Record<string, unknown>>,
  ctx: ServerContext,
  work: (context: Context) => Promise<Told<R>>,
): Promise<R | CallToolResult> {
  try {
    return await audited(host, host.client, name, input, ctx.mcpReq.signal, async (signal) => {
      refuseForeignThreads(host.client, input);
      return await work(contextOf(host, signal, progressTo(ctx)));
    });
  } catch (error) {
    return errorResult(host, error);
  }
}

/** Reports progress to a client that asked for it. A lost report is no failure: the next one says the same and more. */
function progressTo({ mcpReq: { _meta, notify } }: ServerContext): Context["progress"] {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let lastAt = Number.NEGATIVE_INFINITY;
  let reports = 0;
  return ({ done, total, unit, at }) => {
    const now = performance.now();
    if (now - lastAt < 200) return;
    lastAt = now;
    reports += 1;
    const message = at === undefined ? unit : `${unit}: ${at}`;
    // It must grow with each report, which `done` needn't.
    const progress = total === undefined ? Math.max(done, reports) : done;
    const params = { progressToken, progress, ...(total === undefined ? {} : { total }), message };
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}
