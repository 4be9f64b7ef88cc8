import { loadavg } from "node:os";
import { query } from "../../servers/postgres.ts";
import { startRedis } from "../../servers/redis.ts";
import { ms } from "../format.ts";
import { spread, type WorkspaceAgentsInput, type WorkspaceAgentsResult } from "../jobs/workspaceAgents.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "workspace";
export const order = 77;
export const needsPostgresSaver = true;

interface Measured {
  readonly publisher: WorkspaceAgentsResult;
  readonly subscribers: readonly WorkspaceAgentsResult[];
}

/** 100 agents in four processes on one topic, and on one item. */
export async function run({ options, inChild, postgresUrl }: BenchContext): Promise<Table> {
  const size = options.quick
    ? { processes: 2, agents: 5, calm: 3, burst: 20, updates: 2 }
    : { processes: 4, agents: 25, calm: 50, burst: 1000, updates: 20 };
  const measured = async (url: string): Promise<Measured> => {
    const one = (as: WorkspaceAgentsInput["as"]): Promise<WorkspaceAgentsResult> =>
      inChild(new URL("../jobs/workspaceAgents.ts", import.meta.url), {
        ...{ url, ...size, as },
      } satisfies WorkspaceAgentsInput);
    const others = Array.from({ length: size.processes }, () => one("subscriber"));
    const [publisher, ...subscribers] = await Promise.all([one("publisher"), ...others]);
    return { publisher, subscribers };
  };
  const url = new URL(postgresUrl);
  url.pathname = "/workspace_agents";
  await query(postgresUrl, "create database workspace_agents");
  const redis = await startRedis({ appendonly: true, extraArgs: ["--maxmemory-policy", "noeviction"] });
  try {
    const results = [await measured(url.href), await measured(redis.url)];
    const total = size.processes * size.agents * size.updates;
    for (const { publisher } of results)
      if (publisher.count !== total) throw new Error(`${publisher.count} of ${total} updates are there`);
    const row = (what: string, cell: (one: Measured) => string): string[] => [what, ...results.map(cell)];
    const times = (one: Measured, phase: "calm" | "burst"): string => {
      const { p50, p99 } = spread(one.subscribers.flatMap((subscriber) => subscriber[phase]));
      return `${ms(p50)} / ${ms(p99)}`;
    };
    return {
      title: `${size.processes * size.agents} agents in ${size.processes} processes on one topic and one item`,
      columns: ["", "PostgreSQL", "Redis"],
      rows: [
        row("a message every 100 ms: from publish to each agent", (one) => times(one, "calm")),
        row("reads of the log for each of them, by a process", ({ subscribers }) =>
          Math.max(...subscribers.map(({ readsPerMessage }) => readsPerMessage)).toFixed(1),
        ),
        row(`${size.burst} messages together: from publish to each agent`, (one) => times(one, "burst")),
        row(`the publisher has all ${size.burst} acknowledged after`, ({ publisher }) =>
          ms(publisher.publishedMs),
        ),
        row("updates of one item by all agents, per second", ({ publisher }) =>
          Math.round((1000 * total) / publisher.updatedMs).toString(),
        ),
      ],
      notes: [
        `p50 / p99. Every agent gets every message. All ${total} updates are there. Load average ${loadavg()[0]!.toFixed(1)} at the end.`,
      ],
    };
  } finally {
    await redis.stop();
  }
}
