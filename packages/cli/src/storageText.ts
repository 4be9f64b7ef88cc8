import type { LoadedConfig } from "stratigraph";

/** Where checkpoints are kept, for people: the host of the storage, without login and query, and what named it. */
export function storageText({ checkpointer, origin }: LoadedConfig): string {
  const host = hostOf(typeof checkpointer === "string" ? checkpointer : ownerOf({ ...checkpointer }));
  return host === undefined ? origin : `${host} (${origin})`;
}

/** What owns the threads of a config. */
function ownerOf({ postgres, redis, warm }: Readonly<Record<string, unknown>>): unknown {
  return postgres ?? redis ?? warm;
}

function hostOf(source: unknown): string | undefined {
  if (typeof source !== "string" || !URL.canParse(source)) return undefined;
  const { host, username, password } = new URL(source);
  // A password with a slash in it is taken for a host and a path.
  const isTorn = source.includes("@") && username === "" && password === "";
  return host === "" || isTorn ? undefined : host;
}
