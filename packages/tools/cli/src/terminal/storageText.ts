import type { LoadedConfig } from "stratigraph";

/** Where checkpoints are kept, for people: the host of the storage, without login and query, and the config's origin. */
export function storageText({ checkpointer, origin }: LoadedConfig): string {
  const host = hostOf(typeof checkpointer === "string" ? checkpointer : ownerOf({ ...checkpointer }));
  return host === undefined ? origin : `${host} (${origin})`;
}

/** The storage itself, for people: its URL without login and query, or its folder; the config's origin if it has neither. */
export function storageName({ checkpointer, origin }: LoadedConfig): string {
  if (typeof checkpointer !== "string") {
    const { pglite, memory } = checkpointer as { pglite?: unknown; memory?: unknown };
    if (typeof pglite === "string") return pglite;
    if (memory !== undefined) return "memory";
  }
  const source = typeof checkpointer === "string" ? checkpointer : ownerOf({ ...checkpointer });
  if (typeof source !== "string") return origin;
  const [, folder] = /^(?:pglite|file):([^?]*)/i.exec(source) ?? [];
  if (folder !== undefined) return folder;
  const host = hostOf(source);
  if (host === undefined) return /^memory:/i.test(source) ? "memory" : origin;
  const { protocol, pathname } = new URL(source);
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

/** The tier that owns a config's threads: a URL, or an object. */
function ownerOf({ postgres, redis, warm }: Readonly<Record<string, unknown>>): unknown {
  return postgres ?? redis ?? warm;
}

function hostOf(source: unknown): string | undefined {
  if (typeof source !== "string" || !URL.canParse(source)) return undefined;
  const { host, username, password } = new URL(source);
  // If the password contains a slash, the login is parsed as host and path.
  const isTorn = source.includes("@") && username === "" && password === "";
  return host === "" || isTorn ? undefined : host;
}
