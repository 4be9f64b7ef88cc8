import { InvalidOptionError } from "@stratigraph/core";

const scheme = "stratigraph://threads";

/** The addresses of resources, as templates. Ids are percent-encoded. */
export const templates = {
  thread: `${scheme}/{thread}`,
  history: `${scheme}/{thread}/history{?cursor,namespace}`,
  calls: `${scheme}/{thread}/calls{?cursor}`,
  run: `${scheme}/{thread}/runs/{run}`,
  checkpoint: `${scheme}/{thread}/checkpoints/{checkpoint}{?namespace}`,
  channel: `${scheme}/{thread}/checkpoints/{checkpoint}/channels/{channel}{?namespace,path}`,
} as const;

/** The address of the list of threads. */
export const threadsUri = scheme;

/** What an address names. */
export type Named =
  | { readonly kind: "threads" }
  | { readonly kind: "thread"; readonly thread: string }
  | {
      readonly kind: "history";
      readonly thread: string;
      readonly cursor: string | undefined;
      readonly namespace: string;
    }
  | { readonly kind: "calls"; readonly thread: string; readonly cursor: string | undefined }
  | { readonly kind: "run"; readonly thread: string; readonly run: string }
  | {
      readonly kind: "checkpoint";
      readonly thread: string;
      readonly checkpoint: string;
      readonly namespace: string;
    }
  | {
      readonly kind: "channel";
      readonly thread: string;
      readonly checkpoint: string;
      readonly channel: string;
      readonly namespace: string;
      readonly path: string | undefined;
    };

/** What follows a thread in an address, by the words in it. "*" stands for an id. */
const forms: Readonly<Record<string, { readonly kind: Named["kind"]; readonly query: readonly string[] }>> = {
  "": { kind: "thread", query: [] },
  history: { kind: "history", query: ["cursor", "namespace"] },
  calls: { kind: "calls", query: ["cursor"] },
  "runs/*": { kind: "run", query: [] },
  "checkpoints/*": { kind: "checkpoint", query: ["namespace"] },
  "checkpoints/*/channels/*": { kind: "channel", query: ["namespace", "path"] },
};

/** What an address names. It is read as it was sent: an URL object would take a thread named ".." for the folder above. */
export function parseUri(uri: string): Named | undefined {
  const [, rest, search = ""] = /^stratigraph:\/\/threads([^?#]*)(?:\?([^#]*))?$/.exec(uri) ?? [];
  if (rest === undefined) return undefined;
  const query = queryOf(uri, search);
  if (rest === "") return query.size === 0 ? { kind: "threads" } : undefined;
  const [empty, thread = "", ...words] = rest.split("/");
  if (empty !== "" || thread === "" || words.includes("")) return undefined;
  const form = forms[words.map((word, n) => (n % 2 === 0 ? word : "*")).join("/")];
  if (form === undefined || [...query.keys()].some((key) => !form.query.includes(key))) return undefined;
  const [checkpoint, channel] = words.filter((_, n) => n % 2 === 1).map((word) => decoded(uri, word));
  return {
    kind: form.kind,
    thread: decoded(uri, thread),
    ...(form.kind === "run" ? { run: checkpoint } : { checkpoint, channel }),
    cursor: query.get("cursor"),
    namespace: query.get("namespace") ?? "",
    path: query.get("path"),
  } as Named;
}

/** The address of what is named. */
export function uriOf(named: Named): string {
  if (named.kind === "threads") return threadsUri;
  const thread = `${threadsUri}/${encodeURIComponent(named.thread)}`;
  switch (named.kind) {
    case "thread":
      return thread;
    case "history":
      return thread + "/history" + searchOf({ cursor: named.cursor, namespace: named.namespace });
    case "calls":
      return thread + "/calls" + searchOf({ cursor: named.cursor });
    case "run":
      return `${thread}/runs/${encodeURIComponent(named.run)}`;
    case "checkpoint":
    case "channel": {
      const checkpoint = `${thread}/checkpoints/${encodeURIComponent(named.checkpoint)}`;
      const { namespace } = named;
      return named.kind === "checkpoint"
        ? checkpoint + searchOf({ namespace })
        : `${checkpoint}/channels/${encodeURIComponent(named.channel)}${searchOf({ namespace, path: named.path })}`;
    }
  }
}

function searchOf(query: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = parts.map(([key, value]) => `${key}=${encodeURIComponent(value!)}`).join("&");
  return text === "" ? "" : `?${text}`;
}

function queryOf(uri: string, search: string): Map<string, string> {
  const query = new Map<string, string>();
  for (const part of search.split("&").filter((text) => text !== "")) {
    const split = part.indexOf("=");
    const [key, value] = split === -1 ? [part, ""] : [part.slice(0, split), part.slice(split + 1)];
    query.set(decoded(uri, key), decoded(uri, value));
  }
  return query;
}

function decoded(uri: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new InvalidOptionError(
      "uri",
      uri.slice(0, 200),
      "Percent-encode ids: after a % there must be two hexadecimal digits of UTF-8.",
    );
  }
}
