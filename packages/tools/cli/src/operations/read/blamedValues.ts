import { diffValues } from "@stratigraph/branch/internal";
import { NotFoundError, type TierSaver } from "@stratigraph/core";
import type { Typed } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { createHash } from "node:crypto";
import type { z } from "zod";
import type { Path, Segment } from "../values/path.ts";
import { contentOf, idOf, isRedacted } from "../values/records.ts";
import { redactedView } from "../values/redactedView.ts";
import { redactedText, type Redaction } from "../values/redaction.ts";
import { resolve, type Found } from "../values/resolve.ts";
import { State } from "../values/state.ts";
import { jsonOf, shownValue, viewOf, type ValueView } from "../values/view.ts";
import { cutChanges, type differences } from "./changes.ts";

/** How much of a value is shown, in bytes. */
const shownBytes = 4000;

/** How much of the differences is shown, in bytes, and how many changes. */
const differing = { bytes: 64_000, changes: 200 };

/** One step of the followed path: a position, or the item with an id. */
interface Step {
  readonly shown: Segment;
  readonly id: string | undefined;
}

interface Value {
  /** Equal if two values are equal. */
  readonly digest: string;
  readonly view: ValueView;
}

/** The value at a path, checkpoint by checkpoint. */
export class BlamedValues {
  readonly #saver: TierSaver;
  /** The state from which the value is followed. It is read once and used several times. */
  readonly #start: State;
  readonly #channel: string;
  readonly #redaction: Redaction;
  #steps: readonly Step[] = [];
  readonly #found = new Map<string, Promise<Value | undefined>>();

  constructor(saver: TierSaver, start: State, channel: string, redaction: Redaction) {
    this.#saver = saver;
    this.#start = start;
    this.#channel = channel;
    this.#redaction = redaction;
  }

  /** How many versions were read. */
  get read(): number {
    return this.#found.size;
  }

  /**
   * Decides what is followed. An index means the item that is there now; it is followed by its id if it has one, because items before
   * it may come and go.
   */
  async follow(
    path: Path,
    given: string,
  ): Promise<{ steps: readonly Step[]; id: string | undefined; rebuilt: boolean }> {
    const { stored, rebuilt } = await this.#start.existing(this.#channel);
    const steps: Step[] = [];
    let at = jsonOf(stored)?.value;
    for (const segment of path) {
      const found = resolve(at, [segment]);
      if (found === undefined || typeof segment === "object") throw nowhere(this.#start, given);
      at = found.value;
      const isItem = typeof found.path[0] === "number";
      steps.push({ shown: found.path[0]!, id: isItem ? idOf(at) : undefined });
    }
    this.#steps = steps;
    const item = steps.findLastIndex(({ id }) => id !== undefined);
    const where = steps.slice(0, item + 1).map(({ shown }) => shown);
    const part = item === -1 ? undefined : shownValue(this.#channel, stored, this.#redaction, where);
    return { steps, id: idOf(part?.found?.value), rebuilt };
  }

  /** The value at a checkpoint; undefined if the path leads nowhere. Each checkpoint is read once. */
  async at(point: Address): Promise<Value | undefined> {
    const known = this.#found.get(point.checkpointId);
    if (known !== undefined) return await known;
    const reading = this.#readAt(point);
    this.#found.set(point.checkpointId, reading);
    return await reading;
  }

  /** What differs between the values at two checkpoints; undefined if one of them isn't there, or isn't JSON. */
  async changes(before: Address, after: Address): Promise<z.output<typeof differences> | undefined> {
    const [one, other] = [await this.#live(before), await this.#live(after)];
    if (one === undefined || other === undefined) return undefined;
    const found = diffValues(one.value, other.value);
    const changes = found.slice(0, differing.changes);
    return cutChanges([{ changes, omitted: found.length - changes.length }], differing.bytes)[0];
  }

  async #readAt(point: Address): Promise<Value | undefined> {
    const found = await this.#partAt(point);
    if (found === undefined) return undefined;
    const { stored, path, part } = found;
    const content = part === undefined ? stored[1] : JSON.stringify(part.value);
    const digest = createHash("sha256").update(content).digest("hex");
    const value = shownValue(this.#channel, stored, this.#redaction, path);
    return { digest, view: value === undefined ? redactedView(stored) : viewOf(value, shownBytes) };
  }

  /** The revived value at a checkpoint, for comparing; redacted parts are replaced by a text. */
  async #live(point: Address): Promise<{ readonly value: unknown } | undefined> {
    const found = await this.#partAt(point);
    if (found?.part === undefined) return undefined;
    const part = shownValue(this.#channel, found.stored, this.#redaction, found.path)?.found;
    if (part === undefined) return undefined;
    const json = JSON.stringify(part.value, (_key, each: unknown) =>
      isRedacted(each) ? redactedText : each,
    );
    try {
      return { value: await this.#saver.serde.loadsTyped("json", json) };
    } catch {
      // The class isn't known here, or too much of it is redacted: compare its JSON.
      return { value: JSON.parse(json) };
    }
  }

  /** `part` is absent if the value isn't JSON. */
  async #partAt(
    point: Address,
  ): Promise<{ readonly stored: Typed; readonly path: Path; readonly part?: Found } | undefined> {
    const isStart = point.checkpointId === this.#start.point.at.checkpointId;
    const state = isStart ? this.#start : await State.read(this.#saver, point);
    const found = await state.channel(this.#channel);
    if (found === undefined) return undefined;
    const { stored } = found;
    const json = jsonOf(stored);
    if (json === undefined) return { stored, path: [] };
    const path = this.#pathIn(json.value);
    const part = path === undefined ? undefined : resolve(json.value, path);
    return path === undefined || part === undefined ? undefined : { stored, path, part };
  }

  #pathIn(json: unknown): Path | undefined {
    const path: Segment[] = [];
    let at = json;
    for (const { shown, id } of this.#steps) {
      const content = contentOf(at);
      const place =
        id === undefined || !Array.isArray(content) ? shown : content.findIndex((item) => idOf(item) === id);
      if (place === -1) return undefined;
      const found = resolve(at, [place]);
      if (found === undefined) return undefined;
      path.push(...found.path);
      at = found.value;
    }
    return path;
  }
}

function nowhere(start: State, path: string): NotFoundError {
  const { threadId, checkpointId } = start.point.at;
  return new NotFoundError(
    `At checkpoint ${checkpointId} of thread ${JSON.stringify(threadId)}, ${path} leads nowhere. "stratigraph show" shows what is there.`,
    { ...start.point.at, path },
  );
}
