import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { ItemAddress, ItemChange, StoredItem } from "../contract/items.ts";
import { payloadOf, splitPayload } from "../encode/blobFrame.ts";
import { tooLong } from "../contract/storedSize.ts";
import type { BlobEncoder } from "../encode/blobEncoder.ts";
import { checkReadable, dumped, loaded, type Dumped } from "../encode/serialized.ts";
import type { Typed } from "../encode/record.ts";
import { itemBinding, noteBinding, verified, withChecksum } from "../encode/storedBody.ts";
import { itemError } from "../encode/valueErrors.ts";
import { addressWithin } from "../contract/workspaces.ts";
import { fieldsOf } from "./filter.ts";

/** The value of an item, as LangGraph's BaseStore has it. */
export type ItemValue = Record<string, unknown>;

/** Turns the values of items into bytes, and back. Compressed, and with a checksum that covers the address. */
export class ItemCoder {
  readonly #serde: SerializerProtocol;
  readonly #blobs: BlobEncoder;
  readonly #workspace: string | undefined;

  /**
   * @param blobs the saver's, for its envelope and its limits
   * @param workspace whose addresses leave out its name; absent: the store
   */
  constructor(serde: SerializerProtocol, blobs: BlobEncoder, workspace?: string) {
    this.#serde = serde;
    this.#blobs = blobs;
    this.#workspace = workspace;
  }

  /** The coder of a workspace's items: what it encrypts opens in that workspace only. */
  of(workspace: string): ItemCoder {
    return new ItemCoder(this.#serde, this.#blobs, workspace);
  }

  get encrypts(): boolean {
    return this.#blobs.envelope.activeKey !== undefined;
  }

  /**
   * Serialises a value before anything is awaited: what happens to it afterwards is no longer seen.
   * @returns the function that makes the change to store
   * @throws StratigraphError "SERIALIZATION", at once or from that function
   */
  capture(at: ItemAddress, value: ItemValue): () => Promise<ItemChange> {
    let made: Dumped;
    try {
      made = dumped(this.#serde, value);
    } catch (cause) {
      throw notStored(at, cause);
    }
    // Another value of the same call may fail first; nobody would be waiting for this one then.
    if ("dumping" in made) made.dumping.catch(() => {});
    // Beside an encrypted value nothing that it says may be readable, nor what the value before it said.
    const beside = this.encrypts ? { vectors: [] } : { fields: fieldsOf(value) };
    return async () => {
      try {
        const [type, bytes] = "typed" in made ? made.typed : await made.dumping;
        checkReadable(bytes.length, this.#blobs.maxBytes);
        const owner = ownerOf(at);
        const content = withChecksum(owner, [], payloadOf(type, bytes));
        const wrapped = await this.#blobs.envelope.wrap(content, itemBinding(this.#whole(at)));
        const { tier, maxBytes } = this.#blobs.stored;
        if (wrapped.length > maxBytes) throw tooLong(tier, wrapped.length, maxBytes);
        return { ...at, value: wrapped, ...beside };
      } catch (cause) {
        throw notStored(at, cause);
      }
    };
  }

  /** Encodes what the log of a workspace says of a change, as text. @throws StratigraphError "SERIALIZATION" */
  async note(at: ItemAddress, text: string): Promise<Uint8Array> {
    const owner = ownerOf(noteAddress(at));
    try {
      const content = withChecksum(owner, [], Buffer.from(text));
      return await this.#blobs.envelope.wrap(content, noteBinding(this.#whole(at)));
    } catch (cause) {
      throw notStored(at, cause);
    }
  }

  /** The text of {@link note}. @throws StratigraphError "CORRUPT" */
  async noteText(at: ItemAddress, bytes: Uint8Array): Promise<string> {
    const owner = ownerOf(noteAddress(at));
    try {
      const content = await this.#blobs.envelope.unwrap(bytes, noteBinding(this.#whole(at)));
      return Buffer.from(verified(owner, [], content)).toString("utf8");
    } catch (cause) {
      throw itemError(at, "its note can't be decoded", cause, "CORRUPT");
    }
  }

  /** @throws StratigraphError "CORRUPT", "UNREGISTERED_TYPE", "NEWER_FORMAT"; "SERIALIZATION" if the serde can't revive the value */
  async decode(item: ItemAddress & Pick<StoredItem, "value">): Promise<ItemValue> {
    const owner = ownerOf(item);
    let typed: Typed;
    try {
      const content = await this.#blobs.envelope.unwrap(item.value, itemBinding(this.#whole(item)));
      typed = splitPayload(verified(owner, [], content));
    } catch (cause) {
      throw itemError(item, "its value can't be decoded", cause, "CORRUPT");
    }
    try {
      return (await loaded(this.#serde, ...typed)) as ItemValue;
    } catch (cause) {
      const what = "its value can't be revived, though its bytes are those that were put";
      throw itemError(item, what, cause, "SERIALIZATION");
    }
  }

  #whole(at: ItemAddress): ItemAddress {
    return this.#workspace === undefined ? at : addressWithin(this.#workspace, at);
  }
}

function ownerOf({ namespace, key }: ItemAddress): string[] {
  return [...namespace, key];
}

/** Where the note of an item's change would be, if it were an item: no label is empty. */
function noteAddress({ namespace, key }: ItemAddress): ItemAddress {
  return { namespace: ["", ...namespace], key };
}

function notStored(at: ItemAddress, cause: unknown): Error {
  return itemError(at, "nothing was stored, as its value can't be", cause, "SERIALIZATION");
}
