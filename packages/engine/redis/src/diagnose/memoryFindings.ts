import type { DiagnoseRequest, CheckResult } from "@stratigraph/core/tier";
import type { ServerInfo } from "./serverInfo.ts";

/** There is a warning if at least this part of the server's memory is in use. */
const crowded = 0.8;

/** A number from INFO; 0 if it isn't there. */
export function numberIn(info: ServerInfo, name: string): number {
  return Number(info.get(name) ?? 0);
}

function mb(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

/**
 * Whether the server evicts what it should, and nothing else. If Redis owns threads or items, it must evict none of them; if it holds copies,
 * something has to make room.
 * @param ttlMs time after which threads expire; 0: never
 */
export function evictionFinding(
  info: ServerInfo,
  role: DiagnoseRequest["role"],
  ttlMs: number,
  cli: string,
): CheckResult {
  const policy = info.get("maxmemory_policy") ?? "unknown";
  const limit = numberIn(info, "maxmemory");
  const evicts = policy !== "noeviction";
  if (role !== "hot") {
    if (!evicts)
      return { status: "ok", found: `maxmemory-policy is noeviction: no thread or item is evicted.` };
    const advice = `${cli} config set maxmemory-policy noeviction && ${cli} config rewrite`;
    const found = `maxmemory-policy is ${policy}, and this Redis owns its threads and items`;
    return limit > 0
      ? { status: "problem", found: `${found}: at ${mb(limit)} it evicts some for good.`, advice }
      : {
          status: "warning",
          found: `${found}: as soon as maxmemory is set, it evicts some for good.`,
          advice,
        };
  }
  const volatile = policy.startsWith("volatile");
  if (limit > 0 && evicts && (!volatile || ttlMs > 0))
    return { status: "ok", found: `At ${mb(limit)} the server evicts copies (${policy}).` };
  if (ttlMs > 0 && limit === 0)
    return {
      status: "ok",
      found: `Copies expire ${ttlMs / 1000} s after their last use, or as adaptiveTtl decides.`,
    };
  const advice = `Add a ttl (redis://…?ttl=15m), and: ${cli} config set maxmemory 1gb && ${cli} config set maxmemory-policy allkeys-lru && ${cli} config rewrite`;
  if (limit === 0)
    return { status: "warning", found: "Copies never expire, and the server's memory has no limit.", advice };
  const stuck =
    volatile && ttlMs === 0
      ? `maxmemory-policy is ${policy}, which evicts only keys that expire, and copies here never do`
      : `maxmemory-policy is ${policy}`;
  return {
    status: ttlMs === 0 ? "problem" : "warning",
    found: `${stuck}: at ${mb(limit)} new copies are refused${ttlMs === 0 ? " for ever" : " until others expire"}.`,
    advice,
  };
}

/** How full the server's memory is. */
export function memoryFinding(info: ServerInfo, role: DiagnoseRequest["role"], cli: string): CheckResult {
  const used = numberIn(info, "used_memory");
  const limit = numberIn(info, "maxmemory");
  const machine = numberIn(info, "total_system_memory");
  const room = limit > 0 ? limit : machine;
  const of = limit > 0 ? `maxmemory (${mb(limit)})` : `the machine's memory (${mb(machine)}; no maxmemory)`;
  const found =
    room === 0 ? `${mb(used)} are in use.` : `${mb(used)} are in use, ${percent(used / room)} of ${of}.`;
  const evicted = numberIn(info, "evicted_keys");
  if (role !== "hot" && evicted > 0)
    return {
      status: "problem",
      found: `${found} Since its start the server has evicted ${evicted} keys, perhaps threads or items.`,
      advice: `${cli} config set maxmemory-policy noeviction && ${cli} config rewrite; then look for threads that are gone, and stores that answer CORRUPT`,
    };
  if (room === 0 || used < room * crowded || (role === "hot" && limit > 0)) return { status: "ok", found };
  return {
    status: "warning",
    found,
    advice: limit > 0 ? `${cli} config set maxmemory … (more), or stratigraph prune` : "stratigraph prune",
  };
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}
