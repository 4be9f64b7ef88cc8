import { StratigraphError, type ErrorCode } from "@stratigraph/core";
import { checkedAddress } from "@stratigraph/core/internal";
import type { ItemAddress } from "@stratigraph/core/tier";

/** What a memory's sync needs of an MCP client: the `Client` of the SDK has it, in both of its generations. */
export interface MemoryClient {
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
}

/** The value of an item; null: there is none. */
export type Value = Record<string, unknown> | null;

/** An item of the server as it was left by a change. */
export interface RemoteItem extends ItemAddress {
  /** 0: it isn't known when it was deleted. */
  readonly version: number;
  /** Absent if it is too long for a page. */
  readonly value?: Value;
  readonly author: Readonly<Record<string, unknown>>;
  readonly reason?: string | undefined;
}

interface Page {
  readonly changes: readonly RemoteItem[];
  readonly cursor: string;
  readonly more: boolean;
}

type Answer = Readonly<Record<string, unknown>>;

/** The longest values that the server tells, as JSON, in bytes. */
const maxBytes = 4_000_000;

/** The tools of a shared memory. */
export class RemoteMemory {
  readonly #client: MemoryClient;

  constructor(client: MemoryClient) {
    this.#client = client;
  }

  async since(cursor: string | undefined): Promise<Page> {
    const {
      changes,
      cursor: next,
      more,
    } = await this.#call("memory_since", { cursor, limit: 100, maxBytes });
    if (!Array.isArray(changes) || typeof next !== "string" || (more !== false && next === cursor))
      throw unlike("memory_since");
    return { changes: changes.map(itemIn), cursor: next, more: more === true };
  }

  async get(at: ItemAddress): Promise<RemoteItem> {
    const { item } = await this.#call("memory_get", { ...addressOf(at), maxBytes });
    return item === null ? absent(at) : itemIn(item);
  }

  /**
   * Puts or deletes an item if it still has a version.
   * @returns the version of the change, or the item as it is
   */
  async change(
    at: ItemAddress,
    value: Value,
    ifVersion: number,
    reason: string | undefined,
  ): Promise<{ readonly version: number } | { readonly current: RemoteItem }> {
    const call = { ...addressOf(at), ifVersion, reason };
    const { ok, version, current } =
      value === null
        ? await this.#call("memory_delete", call)
        : await this.#call("memory_put", { ...call, value });
    if (ok === true && typeof version === "number") return { version };
    if (ok !== false || current === undefined) throw unlike("memory_put");
    return { current: current === null ? absent(at) : itemIn(current) };
  }

  async #call(name: string, args: Record<string, unknown>): Promise<Answer> {
    let result: unknown;
    try {
      result = await this.#client.callTool({ name, arguments: JSON.parse(JSON.stringify(args)) as Answer });
    } catch (cause) {
      throw new StratigraphError(
        "UNAVAILABLE",
        `The memory's server gave no answer to ${name}. What was changed here stays here: sync again once it answers.`,
        { tool: name },
        cause,
      );
    }
    const { isError, structuredContent, content, _meta } = Object(result) as Answer;
    const text = Array.isArray(content) ? String((Object(content[0]) as Answer)["text"]) : "";
    if (isError === true) throw errorIn(name, text, (Object(_meta) as Answer)["dev.stratigraph/error"]);
    return Object(structuredContent ?? parsed(text)) as Answer;
  }
}

function addressOf({ namespace, key }: ItemAddress): Record<string, unknown> {
  return { namespace: [...namespace], key };
}

function absent({ namespace, key }: ItemAddress): RemoteItem {
  return { namespace, key, version: 0, value: null, author: {} };
}

/** An item that the server told. @throws InvalidAddressError; StratigraphError "UNAVAILABLE" */
function itemIn(told: unknown): RemoteItem {
  const { kind, namespace, key, version, value, author, reason } = Object(told) as Answer;
  // The server may be a stranger: its items go nowhere but into namespaces of users.
  const at = checkedAddress({ namespace, key } as ItemAddress);
  const isValue = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!Number.isSafeInteger(version) || (value !== undefined && !isValue)) throw unlike("memory_since");
  return {
    ...at,
    version: version as number,
    ...(kind === "delete" ? { value: null } : isValue && { value: value as Record<string, unknown> }),
    author: Object(author) as Answer,
    ...(typeof reason === "string" && { reason }),
  };
}

function errorIn(tool: string, text: string, told: unknown): StratigraphError {
  const { code, message, data } = Object(told) as Answer;
  const isOurs = typeof code === "string" && code !== "INTERNAL";
  return new StratigraphError(
    isOurs ? (code as ErrorCode) : "UNAVAILABLE",
    `${tool}: ${typeof message === "string" ? message : text}`,
    { tool, ...(Object(data) as Answer) },
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unlike(tool: string): StratigraphError {
  return new StratigraphError(
    "UNAVAILABLE",
    `The answer to ${tool} isn't that of a shared memory. Connect the client to a server that was made by "stratigraph mcp --workspace".`,
    { tool },
  );
}
