/** Classes whose bytes are stored, by name. All are views except `ArrayBuffer`. */
const VIEWS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
  Buffer,
} as const;

/** Names and prototypes of the classes that {@link bytesFromBase64} can build. */
export const BYTE_CLASSES: ReadonlyMap<string, object> = new Map([
  ...Object.entries(VIEWS).map(([name, view]): [string, object] => [name, view.prototype]),
  ["ArrayBuffer", ArrayBuffer.prototype],
]);

/** The bytes of a view, or of a whole buffer, as base64. Multi-byte elements are little-endian. */
export function base64FromBytes(value: ArrayBufferView | ArrayBuffer): string {
  const bytes = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value);
  return bytes.toString("base64");
}

/**
 * Builds an instance of the named class with its own buffer. Undefined if the class is unknown, the text isn't base64, or its
 * length doesn't fit.
 */
export function bytesFromBase64(name: string, base64: unknown): object | undefined {
  if (typeof base64 !== "string" || base64.length % 4 !== 0) return undefined;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined;
  const decoded = Buffer.from(base64, "base64");
  if (name === "Buffer") return decoded;
  const { buffer } = new Uint8Array(decoded);
  if (name === "ArrayBuffer") return buffer;
  const view = (VIEWS as Record<string, new (buffer: ArrayBuffer) => object>)[name];
  if (view === undefined || !Object.hasOwn(VIEWS, name)) return undefined;
  const size = (view as unknown as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1;
  return buffer.byteLength % size === 0 ? new view(buffer) : undefined;
}
