import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { checkRegistration } from "./checkRegistration.ts";
import { Decoder } from "./decoder.ts";
import { Encoder, type UnknownClasses } from "./encoder.ts";
import { loadLangGraphClasses } from "./langGraphClasses.ts";
import { jsonBytes, jsonText } from "./jsonBytes.ts";
import { SerializationError } from "./serializationError.ts";
import { checkSerializerOptions, type StratigraphSerializerOptions } from "./serializerOptions.ts";
import type { IncrementalReader } from "../incremental/incrementalReader.ts";
import type { IncrementalWriter, WrittenArray } from "../incremental/incrementalWriter.ts";
import { type RegisteredLangChainType, type RegisteredType, TypeRegistry } from "./typeRegistry.ts";
import type { UnknownTypes } from "./valueDecoder.ts";
import { messageOf } from "./messageOf.ts";

/**
 * Reads and writes LangGraph's `json` format, faster than LangGraph does, with a typed extension for what that format destroys.
 *
 * Kept: everything JSON has; `undefined`, NaN, ±Infinity, -0, BigInt, Date, Map, Set, RegExp, URL, Errors (name,
 * message, stack, cause, primitive own properties), typed arrays, ArrayBuffer, DataView, Buffer, objects
 * without prototype, LangChain messages, prompt values and Documents, Send, Command, Overwrite, DeltaSnapshot,
 * and registered types.
 * Not kept: identity of shared references (each place gets a copy), holes in arrays (they become `undefined`), extra
 * properties of arrays, symbol keys and non-enumerable properties, `lastIndex` of a RegExp.
 * Everything else is a {@link SerializationError} that names the path.
 */
export class StratigraphSerializer implements SerializerProtocol {
  readonly #registry: TypeRegistry;
  readonly #unknownClasses: UnknownClasses;
  readonly #unknownTypes: UnknownTypes;

  /** @throws InvalidOptionError; TypeError as {@link register} */
  constructor(options: StratigraphSerializerOptions = {}) {
    checkSerializerOptions(options);
    this.#unknownClasses = options.unknownClasses ?? "error";
    this.#unknownTypes = options.unknownTypes ?? "error";
    this.#registry = new TypeRegistry(options.langChain, options.langGraph);
    for (const type of options.types ?? []) this.register(type);
  }

  /**
   * Makes instances of exactly this class storable.
   * @throws InvalidOptionError; `TypeError` if the name or class is taken
   */
  register<T extends object>(type: RegisteredType<T> | RegisteredLangChainType): void {
    checkRegistration(type as RegisteredType | RegisteredLangChainType);
    this.#registry.register(type as RegisteredType | RegisteredLangChainType);
  }

  /** Like {@link dumps}. */
  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    return this.dumps(value);
  }

  /** Like {@link loads}, but loads LangGraph's classes if the data needs them. */
  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    const first = this.#decode(type, data);
    if (!first.missedLangGraph || (await loadLangGraphClasses()) === undefined) return first.value;
    return this.#decode(type, data).value;
  }

  /**
   * The format (`"bytes"` for a Uint8Array, otherwise `"json"`) and the bytes, which share nothing with the value.
   * Throws {@link SerializationError} if a part can't be kept.
   */
  dumps(value: unknown): [type: string, data: Uint8Array] {
    if (value instanceof Uint8Array && Object.getPrototypeOf(value) === Uint8Array.prototype) {
      return ["bytes", value.slice()];
    }
    const encoder = new Encoder(this.#registry, this.#unknownClasses);
    return ["json", guarded("serialise", () => jsonBytes(encoder.encode(value, 0, false)))];
  }

  /**
   * Like {@link dumps}, for the versions of one array, such as those of a channel in a conversation. The `writer` remembers the last
   * version, so use one for each channel. `head` is put in front of the bytes. Undefined if the value isn't an array.
   */
  dumpsIncremental(value: unknown, writer: IncrementalWriter, head: Uint8Array): WrittenArray | undefined {
    if (!Array.isArray(value) || Object.getPrototypeOf(value) !== Array.prototype) return undefined;
    const encoder = new Encoder(this.#registry, this.#unknownClasses);
    return guarded("serialise", () => writer.write(value, encoder, head));
  }

  /**
   * The value, new at every call. Throws {@link SerializationError} if the data is damaged or names an
   * unknown type. Send, Command and Overwrite come back as plain data that LangGraph understands, until its
   * classes are known (by {@link loadsTyped}, by the `langGraph` option, or because an instance was stored).
   */
  loads(type: string, data: Uint8Array | string): unknown {
    return this.#decode(type, data).value;
  }

  /**
   * Like {@link loadsTyped}, for the versions of one value, such as those of a channel in a history. The `reader` remembers the last
   * version, so use one for each channel.
   */
  async loadsIncremental(type: string, data: Uint8Array, reader: IncrementalReader): Promise<unknown> {
    const first = this.#decode(type, data, reader);
    return first.missedLangGraph ? await this.loadsTyped(type, data) : first.value;
  }

  #decode(
    type: string,
    data: Uint8Array | string,
    reader?: IncrementalReader,
  ): { value: unknown; missedLangGraph: boolean } {
    if (type === "bytes") {
      return {
        value: typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data),
        missedLangGraph: false,
      };
    }
    if (type !== "json") {
      const hint = 'This serializer reads "json" and "bytes"; give the saver the serde that wrote the data.';
      throw new SerializationError({
        action: "read back",
        path: "",
        found: `the format ${JSON.stringify(type)}`,
        hint,
      });
    }
    return guarded("read back", () => {
      let parsed: unknown;
      if (reader !== undefined && typeof data !== "string") {
        parsed = reader.parse(data, jsonText);
      } else {
        const text = typeof data === "string" ? data : jsonText(data);
        parsed = JSON.parse(text);
        if (!text.includes('"lc"')) return { value: parsed, missedLangGraph: false };
      }
      const decoder = new Decoder(this.#registry, this.#unknownTypes);
      const value = decoder.decode(parsed, 0, false);
      return { value, missedLangGraph: decoder.missedLangGraph };
    });
  }
}

/**
 * Turns what the engine throws (the stack overflows, a string is too long, the text isn't JSON) into a {@link SerializationError}.
 */
function guarded<T>(action: "serialise" | "read back", work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof SerializationError) throw cause;
    const found = cause instanceof SyntaxError ? "text that is not JSON" : "a value that the engine refuses";
    const hint = `${messageOf(cause)}.`;
    throw new SerializationError({ action, path: "", found, hint }, { cause });
  }
}
