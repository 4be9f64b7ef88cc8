import { resolve } from "node:path";
import type { CheckpointerConfig } from "../config.ts";

/** A config whose paths are absolute: they are written relative to `folder`, whatever the current folder is. */
export function rebase(folder: string, config: CheckpointerConfig | string): CheckpointerConfig | string {
  if (typeof config === "string") return rebaseUrl(folder, config);
  const rebased = Object.entries(config).map(([name, value]: [string, unknown]) => {
    if (name === "folder" && typeof value === "string") return [name, resolve(folder, value)];
    if (["hot", "warm", "cold", "replicas"].includes(name)) return [name, rebaseSources(folder, value)];
    return [name, value];
  });
  return Object.fromEntries(rebased) as CheckpointerConfig;
}

function rebaseSources(folder: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => rebaseSources(folder, item));
  return typeof value === "string" ? rebaseUrl(folder, value) : value;
}

function rebaseUrl(folder: string, url: string): string {
  const [, scheme, path, query] = /^(pglite|file):(?:\/\/(?=\/))?([^?]*)(.*)$/is.exec(url) ?? [];
  return path === undefined || path === "" ? url : `${scheme}:${resolve(folder, path)}${query}`;
}
