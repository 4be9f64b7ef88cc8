/** Whether bytes have a buffer of their own. Drivers return slices of large buffers, and a slice keeps its whole buffer in memory. */
export function isOwn(bytes: Uint8Array): boolean {
  return bytes.buffer.byteLength <= bytes.length * 2;
}

/** The bytes in a buffer of their own. */
export function own(bytes: Uint8Array): Uint8Array {
  return isOwn(bytes) ? bytes : new Uint8Array(bytes);
}
