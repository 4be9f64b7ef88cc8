import { utf8 } from "./bytes.ts";
import { CodecError, keyIdOf, pack, packNow, unpack, unpackNow, type Cipher } from "../codec/index.ts";

/** Largest value that is decoded, in bytes, unless a saver says otherwise. A hostile size is refused before allocating. */
export const defaultMaxValueBytes = 512 * 1024 * 1024;

/** The parts of a cipher that encrypt and decrypt. */
export type Sealer = Pick<Cipher, "activeKey" | "seal" | "open">;

/** The last steps of encoding and the first of decoding: compression, then optional encryption. */
export class Envelope {
  readonly #cipher: Sealer | undefined;
  readonly #maxBytes: number;

  constructor(cipher: Sealer | undefined, maxBytes: number) {
    this.#cipher = cipher;
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns no promise if nothing has to be waited for. If encryption is on, it binds the bytes to `address`. `level` is zstd's level;
   * default: the codec's.
   */
  wrap(raw: Uint8Array, address: string, level?: number): Uint8Array | Promise<Uint8Array> {
    const options = level === undefined ? {} : { level };
    const packed = packNow(raw, options);
    if (packed !== undefined) return this.#sealed(packed, address);
    return pack(raw, options).then((later) => this.#sealed(later, address));
  }

  #sealed(packed: Uint8Array, address: string): Uint8Array | Promise<Uint8Array> {
    return this.#cipher === undefined ? packed : this.#cipher.seal(packed, utf8(address));
  }

  /** The id of the key that seals; undefined if nothing is encrypted. */
  get activeKey(): string | undefined {
    return this.#cipher?.activeKey;
  }

  /**
   * Bytes as they would be sealed now, with the active key; their content stays unchanged.
   * @param name a name that anyone can read; see {@link Cipher.seal}
   * @throws CodecError
   */
  async reseal(bytes: Uint8Array, address: string, name?: Uint8Array): Promise<Uint8Array> {
    if (this.#cipher === undefined) throw new RangeError("there is no key to seal with");
    return await this.#cipher.seal(await this.#cipher.open(bytes, utf8(address)), utf8(address), name);
  }

  /**
   * Returns no promise if nothing has to be waited for.
   * @throws CodecError on bytes that can't be decrypted or decompressed, or that claim to be too large
   */
  unwrap(bytes: Uint8Array, address: string): Uint8Array | Promise<Uint8Array> {
    if (this.#cipher === undefined) return this.#unpacked(unsealed(bytes));
    return this.#cipher.open(bytes, utf8(address)).then((packed) => this.#unpacked(packed));
  }

  #unpacked(packed: Uint8Array): Uint8Array | Promise<Uint8Array> {
    return unpackNow(packed, this.#maxBytes) ?? unpack(packed, this.#maxBytes);
  }
}

/** Bytes that need no key. @throws CodecError `unknown-key` if they are sealed */
function unsealed(bytes: Uint8Array): Uint8Array {
  const keyId = keyIdOf(bytes);
  if (keyId === undefined) return bytes;
  const shown = JSON.stringify(keyId.slice(0, 64));
  const message = `They are encrypted with key ${shown}, and this saver has no option encryption; give it that key.`;
  throw new CodecError("unknown-key", message, { keyId });
}
