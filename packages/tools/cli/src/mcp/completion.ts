import type { McpServer } from "@modelcontextprotocol/server";
import { audited, contextOf, type ToolHost } from "./calls.ts";
import type { Context } from "../operations/index.ts";
import { isWithin } from "./scopedTier.ts";
import { runNamed } from "./runNamed.ts";
import { templates } from "./uris.ts";

/** How many values the protocol lets a completion have. */
const most = 100;

/** How many checkpoints of a thread are looked at. */
const looked = 500;

/** Completes the ids in addresses of resources and in arguments of prompts. */
export function addCompletion(server: McpServer, host: ToolHost): void {
  const { server: base } = server;
  base.registerCapabilities({ completions: {} });
  base.setRequestHandler(
    "completion/complete",
    async ({ params: { ref, argument, context } }, { mcpReq }) => {
      const isOurs = ref.type === "ref/prompt" || Object.values<string>(templates).includes(ref.uri);
      const others = context?.arguments ?? {};
      const found = await audited(host, host.client, "completion", others, mcpReq.signal, async (signal) => {
        const within = contextOf(host, signal);
        const given = isOurs ? await candidates(within, argument.name, argument.value, others, host) : [];
        return { result: given, outcome: "ok" };
        // A suggestion that can't be made is none: the client asks again at the next letter.
      }).catch((): string[] => []);
      const values = [...new Set(found)].filter((text) => text.startsWith(argument.value));
      return {
        completion: { values: values.slice(0, most), total: values.length, hasMore: values.length > most },
      };
    },
  );
}

async function candidates(
  context: Context,
  name: string,
  value: string,
  { thread, checkpoint }: Readonly<Record<string, string | undefined>>,
  { client }: ToolHost,
): Promise<string[]> {
  if (["thread", "at", "from", "to"].includes(name)) {
    const { items } = await runNamed(
      "threads",
      value === "" ? { limit: most } : { search: value, limit: most },
      context,
    );
    return items.map((item) => item.thread);
  }
  if (thread === undefined || (client.threads !== undefined && !isWithin(thread, client.threads))) return [];
  if (name === "channel") {
    const { channels } = await runNamed(
      "show",
      { at: thread, ...(checkpoint === undefined ? {} : { checkpoint }), maxBytes: 1000 },
      context,
    );
    return channels.map(({ channel }) => channel);
  }
  if (name !== "checkpoint" && name !== "run" && name !== "namespace") return [];
  const saver = await context.saver();
  const found = new Set<string>();
  let left = looked;
  for await (const { record } of saver.tier.list({ threadId: thread, recordsOnly: true, limit: looked })) {
    const each = { checkpoint: record.checkpointId, run: record.runId, namespace: record.namespace }[name];
    if (each !== undefined && each !== "") found.add(each);
    left -= 1;
    if (left === 0) break;
  }
  return [...found];
}
