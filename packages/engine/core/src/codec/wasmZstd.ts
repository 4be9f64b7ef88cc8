import type { Handle, RawCodec, Vector, ZstdBinding } from "zstd-codec/lib/module.js";
import { CodecError } from "./codecError.ts";
import { isShippedDictionary } from "./dictionaries.ts";
import { HeapBytes } from "./heapBytes.ts";
import { startZstdCodec, type Started } from "./startZstdCodec.ts";
import type { DecompressOptions, Zstd } from "./zstd.ts";
import { checkLevel, DICTIONARY_LEVEL, rawDictionary } from "./zstd.ts";
import { compressPieces, decompressPieces } from "./zstdFrames.ts";

/** A started module, with the objects that stay in its heap. */
interface Instance {
  readonly binding: ZstdBinding;
  readonly codec: RawCodec;
  readonly from: HeapBytes;
  readonly into: HeapBytes;
  readonly compressors: Map<Uint8Array, Handle>;
  readonly decompressors: Map<Uint8Array, Handle>;
}

/**
 * Zstandard by zstd-codec (WASM, fixed heap of 16 MiB). Calls are synchronous once {@link ready} resolved.
 *
 * Shipped dictionaries are prepared once (for DICTIONARY_LEVEL) and kept. Any other dictionary is prepared and freed within the
 * call, because the heap has room for about twenty. Limits are checked before the heap is touched. If a call fails nevertheless,
 * the instance is dropped and a new one is started; until that runs, calls throw CodecError `unavailable`.
 */
export class WasmZstd implements Zstd {
  readonly name = "wasm";
  readonly #start: () => Promise<Started>;
  #instance: Instance | undefined;
  #starting: Promise<void> | undefined;

  constructor(start: () => Promise<Started> = startZstdCodec) {
    this.#start = start;
  }

  /** Whether the module is running, so that calls work. */
  get isRunning(): boolean {
    return this.#instance !== undefined;
  }

  /** Starts the module unless it runs; resolves when calls work. */
  async ready(): Promise<void> {
    if (this.#instance !== undefined) return;
    this.#starting ??= this.#run().finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  compress(bytes: Uint8Array, level: number, dictionary?: Uint8Array): Uint8Array {
    checkLevel(level);
    const raw = rawDictionary(dictionary);
    return this.#guard((instance) => {
      const { binding, codec, compressors } = instance;
      if (raw === undefined)
        return compressPieces(bytes, (content) =>
          compressed(instance, content, (into, from) => codec.compress(into, from, level)),
        );
      const kept = level === DICTIONARY_LEVEL ? compressors : undefined;
      const create = (): Handle => binding.createCompressionDict(raw, level);
      return withPrepared(raw, kept, create, (prepared) =>
        compressPieces(bytes, (content) =>
          compressed(instance, content, (into, from) => codec.compressUsingDict(into, from, prepared)),
        ),
      );
    });
  }

  decompress(bytes: Uint8Array, options: DecompressOptions): Uint8Array {
    const raw = rawDictionary(options.dictionary);
    return this.#guard((instance) => {
      const { binding, codec, decompressors } = instance;
      if (raw === undefined)
        return decompressPieces(bytes, options.maxSize, (frame, size) =>
          decompressed(instance, frame, size, (into, from) => codec.decompress(into, from)),
        );
      const create = (): Handle => binding.createDecompressionDict(raw);
      return withPrepared(raw, decompressors, create, (prepared) =>
        decompressPieces(bytes, options.maxSize, (frame, size) =>
          decompressed(instance, frame, size, (into, from) =>
            codec.decompressUsingDict(into, from, prepared),
          ),
        ),
      );
    });
  }

  async #run(): Promise<void> {
    const { binding } = await this.#start();
    this.#instance = {
      binding,
      codec: new binding.ZstdCodec(),
      from: new HeapBytes(binding),
      into: new HeapBytes(binding),
      compressors: new Map(),
      decompressors: new Map(),
    };
  }

  /** Runs `use`. If it throws anything but a CodecError, the heap is in an unknown state. */
  #guard(use: (instance: Instance) => Uint8Array): Uint8Array {
    const instance = this.#instance;
    if (instance === undefined) {
      // The next call of ready() reports a start that failed.
      void this.ready().catch(() => undefined);
      throw new CodecError("unavailable", "The WASM codec is starting; await its ready() and call again.");
    }
    try {
      return use(instance);
    } catch (error) {
      if (error instanceof CodecError) throw error;
      this.#instance = undefined;
      void this.ready().catch(() => undefined);
      const message = "The WASM codec failed and is being restarted; await its ready() and call again.";
      throw new CodecError("unavailable", message, { cause: error });
    }
  }
}

/** Passes `use` the kept object of a shipped dictionary, or a temporary one of another dictionary. */
function withPrepared(
  dictionary: Uint8Array,
  kept: Map<Uint8Array, Handle> | undefined,
  create: () => Handle,
  use: (prepared: Handle) => Uint8Array,
): Uint8Array {
  if (kept !== undefined && isShippedDictionary(dictionary)) {
    const prepared = kept.get(dictionary) ?? create();
    kept.set(dictionary, prepared);
    return use(prepared);
  }
  const prepared = create();
  try {
    return use(prepared);
  } finally {
    prepared.delete();
  }
}

/** Calls the binding; returns how many bytes it wrote, or a number below 0 if it failed. */
type Call = (into: Vector, from: Vector) => number;

function compressed({ codec, from, into }: Instance, content: Uint8Array, call: Call): Uint8Array {
  const bound = codec.compressBound(content.length);
  from.write(content);
  into.reserve(bound);
  const length = call(into.vector, from.vector);
  const frame = length < 0 ? undefined : into.read(length);
  from.release(content.length);
  into.release(bound);
  if (frame !== undefined) return frame;
  throw new CodecError("unavailable", "The WASM codec could not compress.");
}

function decompressed({ from, into }: Instance, frame: Uint8Array, size: number, call: Call): Uint8Array {
  from.write(frame);
  into.reserve(size);
  const length = call(into.vector, from.vector);
  const content = length === size ? into.read(length) : undefined;
  from.release(frame.length);
  into.release(size);
  if (content !== undefined) return content;
  throw new CodecError("corrupt", "A frame cannot be decoded, or needs another dictionary.");
}
