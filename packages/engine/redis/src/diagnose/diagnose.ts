import { checkUp, clockFinding, messageOf } from "@stratigraph/core/internal";
import type { Check, DiagnoseRequest, Diagnosis, CheckResult } from "@stratigraph/core/tier";
import type { Connection } from "../connection.ts";
import type { ResolvedRedisOptions } from "../options.ts";
import { evictionFinding, memoryFinding } from "./memoryFindings.ts";
import { persistenceFinding } from "./persistenceFinding.ts";
import { readServerFacts, type ServerFacts, type ServerInfo } from "./serverInfo.ts";
import { placeOf } from "./serverPlace.ts";

/** Looks at the server's role, memory, eviction, persistence and clock. Writes nothing, and never rejects. */
export async function diagnose(
  connection: Connection,
  { server, keys, ttlMs }: ResolvedRedisOptions,
  request: DiagnoseRequest,
): Promise<readonly Diagnosis[]> {
  const { text: place, test, cli } = placeOf(server);
  const { role } = request;
  return await checkUp(
    {
      tier: "redis",
      place,
      test,
      connect: () => readServerFacts(connection),
      checks: (facts): Check[] => {
        const { info } = facts;
        const told = (look: (known: ServerInfo) => CheckResult | undefined): Check["look"] => {
          return async () => (info === undefined ? undefined : look(info));
        };
        return [
          { name: "connection", look: async () => connectionFinding(place, facts) },
          {
            name: "rights",
            look: async () => {
              // Deletes a key that no thread uses, as setup() does.
              await connection.run("probe", [keys.lease("setup")], []);
              return { status: "ok", found: "Scripts run, and this user may write." };
            },
          },
          { name: "server", look: async () => serverFinding(facts, cli) },
          { name: "replication", look: told((known) => replicationFinding(known, cli)) },
          {
            name: "cluster",
            look: async () =>
              info?.get("redis_mode") === "cluster"
                ? clusterFinding(String(await connection.command("CLUSTER", "INFO")), cli)
                : undefined,
          },
          { name: "eviction", look: told((known) => evictionFinding(known, role, ttlMs, cli)) },
          { name: "memory", look: told((known) => memoryFinding(known, role, cli)) },
          { name: "persistence", look: told((known) => persistenceFinding(known, role, cli)) },
          {
            name: "clock",
            look: async () => clockFinding(facts.askedMs, facts.nowMs, facts.askedMs + facts.ms),
          },
        ];
      },
    },
    request,
  );
}

function connectionFinding(place: string, { info, ms }: ServerFacts): CheckResult {
  const valkey = info?.get("valkey_version");
  const version = valkey === undefined ? info?.get("redis_version") : `${valkey} (Valkey)`;
  const named = version === undefined ? "" : `, version ${version},`;
  return { status: "ok", found: `${place}${named} answers in ${ms} ms.` };
}

/** Reports that the server refused INFO; undefined if it didn't. */
function serverFinding({ info, refused }: ServerFacts, cli: string): CheckResult | undefined {
  if (info !== undefined) return undefined;
  return {
    status: "unknown",
    found: `Memory, eviction and persistence could not be looked at: ${messageOf(refused)}`,
    advice: `As an administrator: ${cli} acl setuser USER +info`,
  };
}

function replicationFinding(info: ServerInfo, cli: string): CheckResult | undefined {
  if (info.get("role") !== "slave") return undefined;
  const primary = `${info.get("master_host")}:${info.get("master_port")}`;
  return {
    status: "problem",
    found: `The server is a replica of ${primary}: it takes no writes.`,
    advice: `Connect to the primary. ${cli} role`,
  };
}

function clusterFinding(text: string, cli: string): CheckResult {
  const state = /cluster_state:(\w+)/.exec(text)?.[1];
  if (state === "ok") return { status: "ok", found: "The cluster serves all its slots." };
  return {
    status: "problem",
    found: `The cluster's state is ${state ?? "unknown"}: some slots have no master.`,
    advice: `${cli} cluster nodes`,
  };
}
