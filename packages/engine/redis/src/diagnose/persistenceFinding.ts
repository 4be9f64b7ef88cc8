import type { DiagnoseRequest, CheckResult } from "@stratigraph/core/tier";
import { numberIn } from "./memoryFindings.ts";
import type { ServerInfo } from "./serverInfo.ts";

/** Whether a Redis that owns its threads keeps them over a restart. Copies need not be kept. */
export function persistenceFinding(
  info: ServerInfo,
  role: DiagnoseRequest["role"],
  cli: string,
): CheckResult | undefined {
  if (role === "hot") return undefined;
  const failed = ["aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status"].filter(
    (name) => info.get(name) === "err",
  );
  if (failed.length > 0)
    return {
      status: "problem",
      found: `The server fails to write to its disk (${failed.join(", ")}: err).`,
      advice: `Look into its log, and at the disk: df -h. ${cli} info persistence`,
    };
  if (info.get("aof_enabled") === "1")
    return {
      status: "ok",
      found: "The append-only file is on: a restart loses nothing, a crash at most the last second.",
    };
  const replicas = numberIn(info, "connected_slaves");
  const advice = `${cli} config set appendonly yes && ${cli} config rewrite`;
  if (replicas > 0)
    return {
      status: "warning",
      found: `The append-only file is off: ${replicas} replicas have the threads, and a restart of all servers loses what came after the last snapshot.`,
      advice,
    };
  return {
    status: "problem",
    found:
      "The append-only file is off: a restart loses every checkpoint since the last snapshot, if there are snapshots at all.",
    advice,
  };
}
