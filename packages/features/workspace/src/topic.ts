import {
  checkedCount,
  checkOptions,
  kindOf,
  type OptionNames,
  endOf,
  isLost,
  type LogPlace,
} from "@stratigraph/core/internal";
import { InvalidOptionError } from "@stratigraph/core";
import type { LoggedChange } from "@stratigraph/core/tier";
import type { Access } from "./access.ts";
import type { Author } from "./author.ts";
import { follow, soFar, versionGone } from "./follow.ts";
import { checkedName } from "./names.ts";
import { putUnlogged, readUnlogged, stateOf, toldOf, type Parts } from "./parts.ts";
import type { ChangeOptions } from "./changeOptions.ts";

/** A message of a topic or an inbox. */
export interface Message {
  /** Larger than those of earlier messages. */
  readonly version: number;
  readonly at: Date;
  readonly author: Author;
  readonly reason?: string | undefined;
  readonly body: Record<string, unknown>;
  /**
   * Notes that the subscriber is done with this message and all before it: it doesn't get them again.
   * @throws StratigraphError "VERSION_GONE" if the message isn't in the log any more, as that was set back: then nothing is noted
   */
  ack(): Promise<void>;
}

/** Options of {@link Topic.subscribe}. */
export interface SubscribeOptions {
  /**
   * Where to begin: with the "first" message that is still there, with the "next" that comes, or after a version. Default: after the last
   * one that the subscriber acknowledged, or with the first.
   */
  readonly from?: "first" | "next" | number | undefined;
  /** Ends the subscription when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

const subscribeOptionNames: OptionNames<SubscribeOptions> = { from: true, signal: true };

type Publish = (body: Record<string, unknown>, options?: ChangeOptions) => Promise<number>;

/** Messages that are kept in the workspace's log. Made by {@link Workspace.topic} and {@link Workspace.inbox}. */
export class Topic {
  readonly #parts: Parts;
  readonly #access: Access;
  readonly #publish: Publish;
  readonly #namespace: string[];

  /** @internal @param publish adds a message */
  constructor(parts: Parts, access: Access, namespace: string[], publish: Publish) {
    this.#parts = parts;
    this.#access = access;
    this.#namespace = namespace;
    this.#publish = publish;
  }

  /** Adds a message. To announce a change with the change, use a step of {@link Workspace.transact}. Returns the message's version. */
  async publish(body: Record<string, unknown>, options?: ChangeOptions): Promise<number> {
    return await this.#publish(body, options);
  }

  /**
   * Messages in order, those that are there and those that come, each at least once: what wasn't acknowledged comes again in the next
   * subscription of the same name. Two that subscribe by one name at a time both get all messages.
   * @param subscriber names the offset, which lies in the workspace
   * @throws StratigraphError "VERSION_GONE", "ACCESS_DENIED"
   */
  async *subscribe(subscriber: string, options: SubscribeOptions = {}): AsyncGenerator<Message> {
    checkOptions("subscribe", options, subscribeOptionNames);
    const { from, signal } = options;
    this.#access.maySubscribe(this.#namespace);
    const offset = new Offset(this.#parts, this.#namespace, checkedName("subscriber", subscriber));
    const since = await this.#since(from, offset);
    const onReached = async (place: LogPlace): Promise<void> => await offset.pass(place);
    try {
      for await (const entry of follow(this.#parts, [this.#namespace], since, signal, onReached)) {
        offset.given = entry.version;
        yield { ...(await this.#message(entry)), ack: async () => await offset.advance(entry) };
      }
    } finally {
      // What can't be stored now is looked at again by the next subscription.
      await offset.store().catch(() => {});
    }
  }

  /**
   * The messages so far, oldest first, without a subscription.
   * @param options `since`: only those after this version
   * @throws StratigraphError "VERSION_GONE", "ACCESS_DENIED"
   */
  async *replay({ since }: { readonly since?: number | undefined } = {}): AsyncGenerator<
    Omit<Message, "ack">
  > {
    this.#access.maySubscribe(this.#namespace);
    for await (const entry of soFar(this.#parts, [this.#namespace], since)) yield await this.#message(entry);
  }

  async #since(from: SubscribeOptions["from"], offset: Offset): Promise<LogPlace> {
    if (typeof from === "number") return { version: checkedCount("from", from, 0) };
    if (from !== undefined && from !== "first" && from !== "next")
      throw new InvalidOptionError("from", kindOf(from), 'Pass "first", "next" or a version.');
    const acknowledged = from === undefined ? await offset.read() : undefined;
    if (acknowledged !== undefined) return acknowledged;
    const state = await stateOf(this.#parts);
    return from === "next" ? endOf(state) : { version: state.trimmed };
  }

  async #message(entry: LoggedChange): Promise<Omit<Message, "ack">> {
    const { told, value } = await toldOf(this.#parts, entry);
    return { ...told, body: value! };
  }
}

/** How often a subscriber that gets no messages stores how far it has come, in milliseconds. */
const storedEveryMs = 60_000;

/** What is stored of a subscriber: a place, and the version of the item that says it. */
interface Kept extends LogPlace {
  readonly item: number;
}

/** How far a subscriber has come: an item that the log doesn't have. */
class Offset {
  readonly #parts: Parts;
  readonly #at: { readonly namespace: string[]; readonly key: string };
  /** The last message that the subscriber was given. */
  given = 0;
  #reached = 0;
  /** What was stored when this process last saw it. */
  #kept: Kept | undefined;
  /** A place up to which there is nothing that it has to acknowledge. */
  #passed: LogPlace = { version: 0 };
  #storedAt = performance.now();

  constructor(parts: Parts, topic: readonly string[], subscriber: string) {
    this.#parts = parts;
    const [, room, name] = topic;
    this.#at = { namespace: ["", "offsets", room!, name!], key: subscriber };
  }

  async read(): Promise<LogPlace | undefined> {
    const kept = await this.#read();
    this.#reached = kept.version;
    return kept.item === 0 ? undefined : kept;
  }

  async #read(): Promise<Kept> {
    const found = await readUnlogged(this.#parts, this.#at);
    const { version = 0, atMs } = found?.value ?? {};
    // Older versions didn't store the time.
    const time = atMs === undefined ? undefined : Number(atMs);
    this.#kept = { version: Number(version), atMs: time, item: found?.version ?? 0 };
    return this.#kept;
  }

  /**
   * Notes that there is no other message up to a place. If the subscriber is done with all, it needn't begin before: so a log that is
   * trimmed there has lost nothing for it. That is stored now and then.
   */
  async pass(place: LogPlace): Promise<void> {
    if (this.#reached === 0 || this.given > this.#reached) return;
    this.#passed = place;
    if (performance.now() - this.#storedAt >= storedEveryMs) await this.store();
  }

  /** Stores what was passed. */
  async store(): Promise<void> {
    this.#storedAt = performance.now();
    await this.advance(this.#passed);
  }

  /**
   * Moves the offset forward, and back only from a place that was lost.
   * @throws StratigraphError "VERSION_GONE" if this place was lost: then nothing is stored
   */
  async advance(place: LogPlace): Promise<void> {
    const { version, atMs } = place;
    while (version > this.#reached) {
      const state = await stateOf(this.#parts, version);
      if (isLost(place, state)) throw versionGone(this.#parts.name, version, state, true);
      const kept = this.#kept ?? (await this.#read());
      if (kept.version >= version) {
        const its = kept.version === version ? state : await stateOf(this.#parts, kept.version);
        if (!isLost(kept, its)) {
          this.#reached = kept.version;
          return;
        }
      }
      const item = await putUnlogged(this.#parts, this.#at, { version, atMs: atMs! }, kept.item);
      this.#kept = item === undefined ? undefined : { version, atMs, item };
      if (item !== undefined) this.#reached = Math.max(this.#reached, version);
    }
  }
}
