import type { Disposable, Simple, ZstdModule } from "zstd-codec";
import { CodecError } from "./codecError.ts";
import { isShippedDictionary } from "./dictionaries.ts";
import { startZstdCodec } from "./startZstdCodec.ts";
import type { DecompressOptions, Zstd } from "./zstd.ts";
import { DICTIONARY_LEVEL } from "./zstd.ts";
import { checkLevel, rawDictionary } from "./zstdChecks.ts";
import { compressPieces, decompressPieces } from "./zstdPieces.ts";

/** A started module, and the dictionary objects that live as long as it does. */
interface Instance {
  readonly module: ZstdModule;
  readonly simple: Simple;
  readonly compressors: Map<Uint8Array, Disposable>;
  readonly decompressors: Map<Uint8Array, Disposable>;
}

/**
 * Zstandard by zstd-codec (WASM, fixed heap of 16 MiB). Calls are synchronous once {@link ready} resolved.
 *
 * Shipped dictionaries are prepared once (for DICTIONARY_LEVEL) and kept; any other one is prepared and freed
 * within the call, because the heap holds about twenty. Limits are checked before the heap is touched. Should
 * it fail all the same, the instance is dropped and a new one started; calls until then throw CodecError
 * `unavailable`.
 */
export class WasmZstd implements Zstd {
  readonly name = "wasm";
  readonly #start: () => Promise<ZstdModule>;
  #instance: Instance | undefined;
  #starting: Promise<void> | undefined;

  constructor(start: () => Promise<ZstdModule> = startZstdCodec) {
    this.#start = start;
  }

  /** Whether calls work now. */
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
    return this.#guard(({ module, simple, compressors }) => {
      if (raw === undefined) return compressPieces(bytes, (content) => made(simple.compress(content, level)));
      const kept = level === DICTIONARY_LEVEL ? compressors : undefined;
      const create = (): Disposable => new module.Dict.Compression(raw, level);
      return withPrepared(raw, kept, create, (prepared) =>
        compressPieces(bytes, (content) => made(simple.compressUsingDict(content, prepared))),
      );
    });
  }

  decompress(bytes: Uint8Array, options: DecompressOptions): Uint8Array {
    const raw = rawDictionary(options.dictionary);
    return this.#guard(({ module, simple, decompressors }) => {
      if (raw === undefined)
        return decompressPieces(bytes, options.maxSize, (frame) => read(simple.decompress(frame)));
      const create = (): Disposable => new module.Dict.Decompression(raw);
      return withPrepared(raw, decompressors, create, (prepared) =>
        decompressPieces(bytes, options.maxSize, (frame) =>
          read(simple.decompressUsingDict(frame, prepared)),
        ),
      );
    });
  }

  async #run(): Promise<void> {
    const module = await this.#start();
    this.#instance = {
      module,
      simple: new module.Simple(),
      compressors: new Map(),
      decompressors: new Map(),
    };
  }

  /** Runs `use`; anything but a CodecError coming out of it means that the heap is in an unknown state. */
  #guard(use: (instance: Instance) => Uint8Array): Uint8Array {
    const instance = this.#instance;
    if (instance === undefined) {
      void this.ready().catch(() => undefined); // a failed start is reported by the next ready()
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

/** Uses the kept object of a shipped dictionary, or one that is closed when `use` is done. */
function withPrepared(
  dictionary: Uint8Array,
  kept: Map<Uint8Array, Disposable> | undefined,
  create: () => Disposable,
  use: (prepared: Disposable) => Uint8Array,
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
    prepared.close();
  }
}

function made(frame: Uint8Array | null): Uint8Array {
  if (frame !== null) return frame;
  throw new CodecError("unavailable", "The WASM codec could not compress.");
}

function read(content: Uint8Array | null): Uint8Array {
  if (content !== null) return content;
  throw new CodecError("corrupt", "A frame cannot be decoded, or needs another dictionary.");
}
