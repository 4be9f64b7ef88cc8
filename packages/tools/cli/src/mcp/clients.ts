import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { bearerOf, isToken } from "../serving/guards/token.ts";
import type { Access } from "../operations/index.ts";
import type { McpToken } from "stratigraph";
import { refuseOutside, ScopedTier } from "./scopedTier.ts";

/** A client, and what it may do. */
export interface Client {
  readonly name: string;
  readonly allow: readonly Access[];
  /** Beginnings of ids of the threads that it may use; undefined: all. */
  readonly threads: readonly string[] | undefined;
  /** Names of the workspaces that it may use; undefined: all. */
  readonly workspaces: readonly string[] | undefined;
  /** The saver of the threads that it may use. */
  saver(): Promise<TierSaver>;
}

/** The inputs of operations that name threads. */
const threadFields = ["thread", "threads", "at", "from", "to"];

/** What a client is given. */
export type Grant = Omit<McpToken, "token">;

/** A client with some of what the server allows. Its saver is made once: it remembers what it read. */
export function grantedClient(
  { name, allow = ["read"], ...given }: Grant,
  allowed: readonly Access[],
  saver: () => Promise<TierSaver>,
): Client {
  // A token that names something opens nothing else.
  const { threads = given.workspaces && [], workspaces = given.threads && [] } = given;
  let scoped: { readonly of: TierSaver; readonly made: TierSaver } | undefined;
  const part = async (): Promise<TierSaver> => {
    const whole = await saver();
    if (threads === undefined) return whole;
    if (scoped?.of !== whole) scoped = { of: whole, made: whole.over(new ScopedTier(whole.tier, threads)) };
    return scoped.made;
  };
  return {
    ...{ name, threads, workspaces },
    allow: allow.filter((each) => allowed.includes(each)),
    saver: part,
  };
}

/** The client whose token a request has; undefined if it has none, or a wrong one. */
export function clientOf(headers: Headers, clients: ReadonlyMap<string, Client>): Client | undefined {
  const given = bearerOf(headers);
  return [...clients].find(([token]) => isToken(given, token))?.[1];
}

/** The threads and checkpoints that an input names. */
export function threadsIn(input: Readonly<Record<string, unknown>>): { field: string; text: string }[] {
  return threadFields.flatMap((field) =>
    [input[field]]
      .flat()
      .filter((text) => typeof text === "string")
      .map((text) => ({ field, text })),
  );
}

/** @throws StratigraphError "ACCESS_DENIED" if an input names a thread that the client may not use */
export function refuseForeignThreads({ threads }: Client, input: Readonly<Record<string, unknown>>): void {
  if (threads === undefined) return;
  for (const { field, text } of threadsIn(input)) refuseOutside(text, threads, field);
}

/** @throws StratigraphError "ACCESS_DENIED" */
export function refuseForeignWorkspace({ workspaces }: Client, name: string): void {
  if (workspaces === undefined || workspaces.includes(name)) return;
  throw new StratigraphError(
    "ACCESS_DENIED",
    `This client may not use the workspace ${JSON.stringify(name)}: it may use ${workspaces.join(", ") || "none"}. A client that is limited to some threads has workspaces only if they are named, too.`,
    { field: "workspace" },
  );
}
