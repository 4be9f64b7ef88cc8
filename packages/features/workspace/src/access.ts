import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { checkedLabels, checkOptions, kindOf, type OptionNames } from "@stratigraph/core/internal";
import { checkedName } from "./names.ts";
import { commonPrefixes, isWithin, type Prefixes } from "./workspaceItems.ts";

/** What a role may see and change. What isn't named is hidden from it. */
export interface RoleOptions {
  /** The first labels of namespaces whose items it may read: `[["facts"], ["plans", "2026"]]`. Default: none. */
  readonly read?: readonly (readonly string[])[] | undefined;
  /** The first labels of namespaces whose items it may put and delete. It sees only those that it may read. Default: none. */
  readonly write?: readonly (readonly string[])[] | undefined;
  /** Names of topics that it may subscribe to. Default: none. Everybody has an inbox. */
  readonly subscribe?: readonly string[] | undefined;
  /** Names of topics that it may publish on. Default: none. */
  readonly publish?: readonly string[] | undefined;
}

const roleOptionNames: OptionNames<RoleOptions> = { read: true, write: true, subscribe: true, publish: true };

/** Where messages lie: no namespace of a user's begins with an empty label. */
export function topicNamespace(topic: string): string[] {
  return ["", "topics", topic];
}

export function inboxNamespace(agent: string): string[] {
  return ["", "inboxes", agent];
}

/** The part of a workspace that a handle may use. */
export class Access {
  static readonly all = new Access(undefined, [[]], [[]], [["", "topics"]], [["", "topics"]]);
  readonly #role: string | undefined;
  readonly read: Prefixes;
  readonly #write: Prefixes;
  readonly #subscribe: Prefixes;
  readonly #publish: Prefixes;

  private constructor(
    role: string | undefined,
    read: Prefixes,
    write: Prefixes,
    subscribe: Prefixes,
    publish: Prefixes,
  ) {
    this.#role = role;
    this.read = read;
    this.#write = write;
    this.#subscribe = subscribe;
    this.#publish = publish;
  }

  /** A part of this one. @throws InvalidOptionError, InvalidAddressError */
  as(role: string, options: RoleOptions): Access {
    checkOptions("as", options, roleOptionNames);
    if (this.#role !== undefined && this.#role !== role)
      throw new InvalidOptionError(
        "role",
        role,
        `Role ${JSON.stringify(this.#role)} can narrow itself, not become another.`,
      );
    const { read, write, subscribe, publish } = options;
    return new Access(
      role,
      commonPrefixes(prefixesOf("read", read), this.read),
      commonPrefixes(prefixesOf("write", write), this.#write),
      commonPrefixes(topicsOf("subscribe", subscribe), this.#subscribe),
      commonPrefixes(topicsOf("publish", publish), this.#publish),
    );
  }

  /** The parts of the log to read, none the beginning of another. What {@link sees} doesn't see may be among them. */
  get logged(): Prefixes {
    if (this.#role === undefined || isWithin([], this.read)) return [[]];
    return [...this.read, ...this.#messages(this.#role)];
  }

  /** Whether it may be told of what a namespace has. */
  sees(namespace: readonly string[]): boolean {
    if (this.#role === undefined) return true;
    return isWithin(namespace, namespace[0] === "" ? this.#messages(this.#role) : this.read);
  }

  #messages(role: string): Prefixes {
    return [...this.#subscribe, inboxNamespace(role)];
  }

  /** @throws StratigraphError "ACCESS_DENIED" */
  mayWrite(namespace: readonly string[]): void {
    if (!isWithin(namespace, this.#write)) throw this.#denied("write", namespace);
  }

  /** @throws StratigraphError "ACCESS_DENIED" */
  maySee(namespace: readonly string[]): void {
    if (!isWithin(namespace, this.read)) throw this.#denied("read", namespace);
  }

  /** @throws StratigraphError "ACCESS_DENIED" */
  mayPublish(namespace: readonly string[]): void {
    if (!isWithin(namespace, [...this.#publish, ["", "inboxes"]])) throw this.#denied("publish", namespace);
  }

  /** @throws StratigraphError "ACCESS_DENIED" */
  maySubscribe(namespace: readonly string[]): void {
    if (!this.sees(namespace)) throw this.#denied("subscribe", namespace);
  }

  /** @throws StratigraphError "ACCESS_DENIED" */
  mayDo(what: string): void {
    if (this.#role === undefined) return;
    const role = this.#role;
    throw new StratigraphError(
      "ACCESS_DENIED",
      `Role ${JSON.stringify(role)} sees a part of the workspace, and ${what} needs all of it. Use the workspace that the role was made from.`,
      { role },
    );
  }

  #denied(right: keyof RoleOptions, labels: readonly string[]): StratigraphError {
    const [role, shown] = [this.#role ?? "", JSON.stringify(labels[0] === "" ? labels[2] : labels)];
    return new StratigraphError(
      "ACCESS_DENIED",
      `Role ${JSON.stringify(role)} has no right to ${right} ${shown}. Nothing was done. Name it in as(…, { ${right} }), if it should have it.`,
      { role, right, namespace: [...labels] },
    );
  }
}

function prefixesOf(field: string, prefixes: RoleOptions["read"] = []): Prefixes {
  if (!Array.isArray(prefixes))
    throw new InvalidOptionError(field, kindOf(prefixes), 'Pass a list of namespaces: [["facts"]].');
  return prefixes.map((prefix, place) => checkedLabels(`${field}[${place}]`, prefix));
}

function topicsOf(field: string, topics: readonly string[] = []): Prefixes {
  if (!Array.isArray(topics))
    throw new InvalidOptionError(field, kindOf(topics), 'Pass a list of topics: ["tasks"].');
  return topics.map((topic, place) => topicNamespace(checkedName(`${field}[${place}]`, topic)));
}
