import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { ItemAddress, ItemChange, StoredItem } from "../contract/items.ts";
import { payloadOf, splitPayload } from "../encode/blobFrame.ts";
import type { Envelope } from "../encode/envelope.ts";
import type { Typed } from "../encode/record.ts";
import { bodyAddress, verified, withChecksum } from "../encode/storedBody.ts";
import { itemError } from "../encode/valueErrors.ts";
import { StratigraphSerializer } from "../serde/index.ts";
import { fieldsOf } from "./filter.ts";

/** The value of an item, as LangGraph's BaseStore has it. */
export type ItemValue = Record<string, unknown>;

/** Turns the values of items into bytes, and back. Compressed, and with a checksum that covers the address. */
export class ItemCoder {
  readonly #serde: SerializerProtocol;
  readonly #envelope: Envelope;
  readonly #maxBytes: number;

  /** @param maxBytes the longest value that can be stored */
  constructor(serde: SerializerProtocol, envelope: Envelope, maxBytes: number) {
    this.#serde = serde;
    this.#envelope = envelope;
    this.#maxBytes = maxBytes;
  }

  /**
   * Serialises a value before anything is awaited: what happens to it afterwards is no longer seen.
   * @returns the function that makes the change to store
   * @throws StratigraphError "SERIALIZATION", at once or from that function
   */
  capture(at: ItemAddress, value: ItemValue): () => Promise<ItemChange> {
    let typed: Typed | Promise<Typed>;
    try {
      typed =
        this.#serde instanceof StratigraphSerializer
          ? this.#serde.dumps(value)
          : (this.#serde.dumpsTyped(value) as Typed | Promise<Typed>);
    } catch (cause) {
      throw notStored(at, cause);
    }
    if (typed instanceof Promise) typed.catch(() => {});
    const fields = fieldsOf(value);
    return async () => {
      try {
        const [type, bytes] = await typed;
        const owner = ownerOf(at);
        const content = withChecksum(owner, [], payloadOf(type, bytes));
        const wrapped = await this.#envelope.wrap(content, bodyAddress(owner));
        if (wrapped.length > this.#maxBytes)
          throw new RangeError(`It has ${wrapped.length} bytes; this storage takes ${this.#maxBytes}.`);
        return { ...at, value: wrapped, fields };
      } catch (cause) {
        throw notStored(at, cause);
      }
    };
  }

  /** @throws StratigraphError "CORRUPT", "UNREGISTERED_TYPE", "NEWER_FORMAT" */
  async decode(item: StoredItem): Promise<ItemValue> {
    const owner = ownerOf(item);
    try {
      const content = await this.#envelope.unwrap(item.value, bodyAddress(owner));
      const [type, bytes] = splitPayload(verified(owner, [], content));
      return (await this.#serde.loadsTyped(type, bytes.slice())) as ItemValue;
    } catch (cause) {
      const { namespace, key } = item;
      throw itemError({ namespace, key }, "its value can't be read", cause, "CORRUPT");
    }
  }
}

function ownerOf({ namespace, key }: ItemAddress): string[] {
  return [...namespace, key];
}

function notStored({ namespace, key }: ItemAddress, cause: unknown): Error {
  return itemError({ namespace, key }, "nothing was stored, as its value can't be", cause, "SERIALIZATION");
}
