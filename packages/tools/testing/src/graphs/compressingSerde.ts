import { deflateSync, inflateSync } from "node:zlib";
import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";

/** The type that the serializer gives to everything it writes. */
export const COMPRESSED_TYPE = "zlib-test";

/**
 * A serializer whose bytes aren't text: LangGraph's own format, deflated, with a type name of its own. It refuses bytes of any other
 * type, so that a saver fails if it loses the type or changes the bytes.
 */
export class CompressingSerde implements SerializerProtocol {
  readonly #inner = new MemorySaver().serde;
  /** How many values were deserialized. */
  loads = 0;

  async dumpsTyped(data: unknown): Promise<[string, Uint8Array]> {
    const [type, bytes] = await this.#inner.dumpsTyped(data);
    const framed = Buffer.concat([Buffer.from([type.length]), Buffer.from(type), bytes]);
    return [COMPRESSED_TYPE, new Uint8Array(deflateSync(framed))];
  }

  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== COMPRESSED_TYPE) throw new Error(`Stored as ${COMPRESSED_TYPE}, came back as ${type}`);
    if (typeof data === "string") throw new Error("Stored as bytes, came back as a string");
    const framed = inflateSync(data);
    const length = framed[0] ?? 0;
    this.loads += 1;
    const inner = new Uint8Array(framed.subarray(1 + length));
    const value: unknown = await this.#inner.loadsTyped(framed.subarray(1, 1 + length).toString(), inner);
    return value;
  }
}
