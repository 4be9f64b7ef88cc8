import { type McpServer, type ReadResourceResult, type Resource } from "@modelcontextprotocol/server";
import { NotFoundError, StratigraphError } from "@stratigraph/core";
import { lookOnly } from "@stratigraph/core/internal";
import { valueBytes } from "../serving/valueBytes.ts";
import type { Context, OutputOf } from "../operations/index.ts";
import { resolvePoint } from "../operations/table/address.ts";
import { parsePath } from "../operations/values/path.ts";
import { Redaction } from "../operations/values/redaction.ts";
import { State } from "../operations/values/state.ts";
import { audited, contextOf, type ToolHost } from "./calls.ts";
import { refuseForeignThreads } from "./clients.ts";
import { rebuiltRun } from "./rebuiltRun.ts";
import { runNamed } from "./runNamed.ts";
import { withProtocolErrors } from "./results.ts";
import { parseUri, templates, threadsUri, uriOf, type Named } from "./uris.ts";

/** The largest value that is read as a resource, in bytes. Longer ones are read in parts. */
const mostValueBytes = 1_000_000;

/** How much of a checkpoint's values its resource shows, in bytes; each value has a resource of its own. */
const shownBytes = 64_000;

/** How long a client may keep what never changes, in milliseconds. It may be deleted meanwhile, or redacted. */
const unchangingMs = 24 * 3_600_000;

/** What a checkpoint's resource leaves out, because it changes: the head moves, tasks write. */
const changing = new Set<string>([
  "head",
  "lostTo",
  "next",
  "waits",
  "writes",
] satisfies (keyof OutputOf<"show">)[]);

const json = "application/json";

/** Offers threads, their histories and their values as resources. @param subscribe whether this client can hear of changes */
export function addResources(server: McpServer, host: ToolHost, subscribe: boolean): void {
  const { server: base } = server;
  base.registerCapabilities({ resources: { subscribe, listChanged: false } });
  if (subscribe) {
    // In the protocol of 2026 the SDK answers for these; what follows from them is done where messages come in.
    base.setRequestHandler("resources/subscribe", () => ({}));
    base.setRequestHandler("resources/unsubscribe", () => ({}));
  }
  base.setRequestHandler("resources/list", async ({ params }, ctx) =>
    withProtocolErrors(host, () =>
      audited(host, host.client, "resources/list", {}, ctx.mcpReq.signal, async (signal) => ({
        result: await listed(contextOf(host, signal), params?.cursor),
        outcome: "ok",
      })),
    ),
  );
  base.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: described }));
  base.setRequestHandler("resources/read", async ({ params: { uri } }, ctx) => {
    const read = async (signal: AbortSignal): Promise<ReadResourceResult> => {
      const named = parseUri(uri);
      if (named === undefined)
        throw new NotFoundError("There is no resource at this address.", { resource: uri });
      if ("thread" in named) refuseForeignThreads(host.client, { thread: named.thread });
      return await readNamed(named, uri, contextOf(host, signal));
    };
    return await withProtocolErrors(
      host,
      () =>
        audited(host, host.client, "resources/read", { at: uri }, ctx.mcpReq.signal, async (signal) => ({
          result: await read(signal),
          outcome: "ok",
        })),
      uri,
    );
  });
}

async function listed(context: Context, cursor: string | undefined) {
  const page = await runNamed("threads", cursor === undefined ? {} : { cursor }, context);
  const threads = page.items.map(({ thread, writtenAt }): Resource => ({
    uri: uriOf({ kind: "thread", thread }),
    name: thread,
    mimeType: json,
    annotations: { lastModified: writtenAt },
  }));
  const all: Resource = {
    uri: threadsUri,
    name: "threads",
    description: "The newest threads.",
    mimeType: json,
  };
  return {
    resources: [...(cursor === undefined ? [all] : []), ...threads],
    ...(page.cursor === undefined ? {} : { nextCursor: page.cursor }),
  };
}

/** The result of reading what is named. */
async function readNamed(named: Named, uri: string, context: Context): Promise<ReadResourceResult> {
  switch (named.kind) {
    case "threads":
      return fresh(uri, await runNamed("threads", {}, context));
    case "thread":
      return fresh(uri, await runNamed("show", { at: named.thread, maxBytes: shownBytes }, context));
    case "history": {
      const { thread, namespace, cursor } = named;
      return fresh(
        uri,
        await runNamed(
          "history",
          { thread, namespace, ...(cursor === undefined ? {} : { cursor }) },
          context,
        ),
      );
    }
    case "calls": {
      const { thread, cursor } = named;
      return fresh(
        uri,
        await runNamed("calls", { thread, ...(cursor === undefined ? {} : { cursor }) }, context),
      );
    }
    case "run":
      return fresh(uri, await lookOnly(() => rebuiltRun(context, named)));
    case "checkpoint": {
      const { thread, checkpoint, namespace } = named;
      const shown = await runNamed(
        "show",
        { at: thread, checkpoint, namespace, maxBytes: shownBytes },
        context,
      );
      const channels = shown.channels.map((each) => ({
        ...each,
        uri: uriOf({
          kind: "channel",
          thread,
          checkpoint,
          channel: each.channel,
          namespace,
          path: undefined,
        }),
      }));
      const kept = Object.entries({ ...shown, channels }).filter(([field]) => !changing.has(field));
      return unchanging({ uri, mimeType: json, text: JSON.stringify(Object.fromEntries(kept)) });
    }
    case "channel":
      return unchanging(await valueAt(named, uri, context));
  }
}

async function valueAt(
  named: Extract<Named, { kind: "channel" }>,
  uri: string,
  context: Context,
): Promise<ReadResourceResult["contents"][number]> {
  const { thread, checkpoint, namespace, channel, path } = named;
  const saver = await context.saver();
  const stored = await lookOnly(async () => {
    const point = await resolvePoint(saver, { at: thread, namespace, checkpoint });
    return (await (await State.read(saver, point)).existing(channel)).stored;
  });
  const bytes = valueBytes(channel, stored, new Redaction(context.redact), parsePath(path ?? ""));
  if (bytes === undefined)
    throw new StratigraphError(
      "NOT_FOUND",
      `The path ${JSON.stringify(path)} leads nowhere in ${JSON.stringify(channel)}.`,
    );
  if (bytes.length > mostValueBytes) {
    const message = `The value has ${bytes.length} bytes, and ${mostValueBytes} are read at once. Read a part: add ?path= with a path such as [0:20], [-1] or .name, percent-encoded.`;
    throw new StratigraphError("INVALID_OPTION", message, { field: "path" });
  }
  return stored[0] === "json"
    ? { uri, mimeType: json, text: Buffer.from(bytes).toString("utf8") }
    : { uri, mimeType: "application/octet-stream", blob: Buffer.from(bytes).toString("base64") };
}

function fresh(uri: string, output: object): ReadResourceResult {
  return withHint({ uri, mimeType: json, text: JSON.stringify(output) }, 0);
}

function unchanging(contents: ReadResourceResult["contents"][number]): ReadResourceResult {
  return withHint(contents, unchangingMs);
}

/** Whoever may see a thread isn't everybody, so no shared cache may keep it. */
function withHint(contents: ReadResourceResult["contents"][number], ttlMs: number): ReadResourceResult {
  return { contents: [contents], ttlMs, cacheScope: "private" };
}

const described = [
  {
    name: "thread",
    uriTemplate: templates.thread,
    description:
      "A thread's newest state: values, pending writes, what it waits for. Subscribe to hear of changes.",
    mimeType: json,
  },
  {
    name: "history",
    uriTemplate: templates.history,
    description: "The checkpoints of a thread with their parents, newest first, in pages.",
    mimeType: json,
  },
  {
    name: "calls",
    uriTemplate: templates.calls,
    description: "The tool calls that a thread's journal recorded: arguments, results, outcomes, in pages.",
    mimeType: json,
  },
  {
    name: "run",
    uriTemplate: templates.run,
    description:
      "One run put together again: its snapshots and their parents, the calls between them, what they used.",
    mimeType: json,
  },
  {
    name: "checkpoint",
    uriTemplate: templates.checkpoint,
    description:
      "The state at a checkpoint, which never changes. Long values are cut; each has a resource of its own.",
    mimeType: json,
  },
  {
    name: "channel",
    uriTemplate: templates.channel,
    description:
      "The whole value of a channel at a checkpoint, or the part at a path such as [0:20] or .name.",
    mimeType: json,
  },
];
