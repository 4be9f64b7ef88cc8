import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";

/** Reads what a saver of LangGraph stored as a type and bytes, or as text. */
export type Decode = (type: string | null, bytes: Uint8Array | ArrayBuffer | string) => Promise<unknown>;

/** A reader of stored values. Where a saver stored no type, it is "json", as in the official ones. */
export function decoderOf(serde: SerializerProtocol): Decode {
  return async (type, bytes) => {
    // Drivers of SQLite differ in what they call bytes.
    const stored = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;
    return (await serde.loadsTyped(type ?? "json", stored)) as unknown;
  };
}
