/** Text or bytes, as a Redis client takes them. */
export type Bytes = string | Buffer;

// Characters that can't stand in a key as UTF-8. Above U+FFFF (surrogate pairs), UTF-8 sorts differently from JavaScript strings,
// and the zero byte separates the parts of a key.
const unusual = /[\0\uD800-\uDFFF]/;

/**
 * Encodes an id as bytes that sort as JavaScript sorts ids and never hold two zero bytes in a row: UTF-8 in which each half of a
 * surrogate pair is encoded on its own (CESU-8) and every zero byte is followed by 0xFF. Other ids are returned unchanged.
 */
export function encodeId(id: string): Bytes {
  if (!unusual.test(id)) return id;
  const bytes: number[] = [];
  let plain = "";
  const flush = (): void => {
    for (const byte of Buffer.from(plain)) bytes.push(byte);
    plain = "";
  };
  for (let i = 0; i < id.length; i += 1) {
    const unit = id.charCodeAt(i);
    if (unit !== 0 && (unit < 0xd800 || unit > 0xdfff)) {
      plain += id[i];
      continue;
    }
    flush();
    if (unit === 0) bytes.push(0, 0xff);
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
  }
  flush();
  return Buffer.from(bytes);
}

/** The inverse of {@link encodeId}. */
export function decodeId(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let text = "";
  let from = 0;
  for (let i = 0; i < buffer.length; i += 1) {
    const isHalf = buffer[i] === 0xed && buffer[i + 1]! >= 0xa0;
    if (buffer[i] !== 0 && !isHalf) continue;
    text += buffer.toString("utf8", from, i);
    if (isHalf)
      text += String.fromCharCode(0xd000 | ((buffer[i + 1]! & 0x3f) << 6) | (buffer[i + 2]! & 0x3f));
    else text += "\0";
    i += isHalf ? 2 : 1;
    from = i + 1;
  }
  return text + buffer.toString("utf8", from);
}

const separator = "\0\0";

/** The key of a checkpoint in the scripts: encoded id, two zero bytes, namespace. */
export function encodeCheckpointKey(namespace: string, checkpointId: string): Bytes {
  const id = encodeId(checkpointId);
  if (typeof id === "string") return `${id}${separator}${namespace}`;
  return Buffer.concat([id, Buffer.from(separator + namespace)]);
}

/** The inverse of {@link encodeCheckpointKey}. */
export function decodeCheckpointKey(key: Buffer): { namespace: string; checkpointId: string } {
  const end = key.indexOf(separator);
  return { checkpointId: decodeId(key.subarray(0, end)), namespace: key.toString("utf8", end + 2) };
}

/**
 * Bounds for ZREVRANGEBYLEX: the keys of one checkpoint id in all namespaces, the keys of all ids before another, or both.
 */
export function checkpointKeyBounds(query: {
  checkpointId?: string | undefined;
  before?: string | undefined;
}): {
  min: Bytes;
  max: Bytes;
} {
  const { checkpointId, before } = query;
  const bound = (sign: string, id: string, end: string): Buffer =>
    Buffer.concat([Buffer.from(sign), Buffer.from(encodeId(id)), Buffer.from(end)]);
  const max = before === undefined ? "+" : bound("(", before, separator);
  if (checkpointId === undefined) return { min: "-", max };
  if (before !== undefined && checkpointId >= before) return { min: "+", max: "-" };
  return { min: bound("[", checkpointId, separator), max: bound("(", checkpointId, "\0\u0001") };
}
