// Reads a stored thread. Written from docs/format.md, with nothing of core's but the dictionary's bytes: it shows that the
// document suffices. Keep it apart from the library's own code.
import { createDecipheriv, createHash, createHmac, hkdfSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { ZstdCodec } from "zstd-codec";

const zstd = await new Promise((resolve) => {
  ZstdCodec.run(resolve);
});
const simple = new zstd.Simple();

const source = readFileSync(new URL("../../src/codec/dictionary1.ts", import.meta.url), "utf8");
const dictionaries = {
  1: Buffer.from([...source.matchAll(/"([A-Za-z0-9+/=]+)"/g)].map(([, part]) => part).join(""), "base64"),
};

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  varint() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.take(1)[0];
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  }
  take(length) {
    if (this.at + length > this.bytes.length) throw new Error("the bytes end early");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  text() {
    return Buffer.from(this.take(this.varint())).toString("utf8");
  }
  rest() {
    return this.take(this.bytes.length - this.at);
  }
}

/** Envelope: decrypt, decompress. */
function unwrap(thread, stored, address) {
  const bytes = Buffer.from(stored, "hex");
  return unpack(bytes[0] === 0x41 || bytes[0] === 0x42 ? unseal(thread, bytes, address) : bytes);
}

function unseal({ keys }, bytes, address) {
  const key = keys[bytes.toString("utf8", 2, 2 + bytes[1])];
  const header = 2 + bytes[1] + (bytes[0] === 0x42 ? 9 : 0);
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(header, header + 12));
  decipher.setAAD(Buffer.concat([bytes.subarray(0, header), Buffer.from(address)]));
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(header + 12, -16)), decipher.final()]);
}

function unpack(bytes) {
  if (bytes[0] === 0) return bytes.subarray(1);
  if (bytes[0] === 1) return made(simple.decompress(bytes.subarray(1)));
  if (bytes[0] === 3) return inflateRawSync(bytes.subarray(2), { dictionary: dictionaries[bytes[1]] });
  if (bytes[0] !== 2) throw new Error(`unknown codec tag ${bytes[0]}`);
  const dictionary = new zstd.Dict.Decompression(dictionaries[bytes[1]]);
  try {
    return made(simple.decompressUsingDict(bytes.subarray(2), dictionary));
  } finally {
    dictionary.close();
  }
}

function made(content) {
  if (content === null) throw new Error("a frame can't be decoded");
  return content;
}

/** A value by its hash, down the chain of patches. */
export function readBlob(thread, hash) {
  const blob = thread.blobs.find((candidate) => candidate.hash === hash);
  if (blob === undefined) throw new Error(`blob ${hash} is missing`);
  const reader = new Reader(unwrap(thread, blob.bytes, hash));
  const kind = reader.take(1)[0];
  let payload;
  if (kind === 1) {
    payload = reader.rest();
  } else {
    if (kind !== 2 && kind !== 3) throw new Error(`unknown kind ${kind}`);
    const ops = new Reader(reader.take(reader.varint()));
    payload = patched(readBlob(thread, blob.base).payload, ops, reader.rest());
  }
  if (nameOf(thread, payload) !== hash) throw new Error(`blob ${hash} has other content`);
  return { kind, payload };
}

function patched(base, ops, literals) {
  if (ops.varint() !== base.length) throw new Error("the patch is for another base");
  const length = ops.varint();
  const pieces = [];
  let literal = 0;
  let expected = 0;
  for (let left = ops.varint(); left > 0; left -= 1) {
    const tag = ops.varint();
    const size = Math.floor(tag / 2);
    if (tag % 2 === 0) {
      pieces.push(literals.subarray(literal, literal + size));
      literal += size;
    } else {
      const coded = ops.varint();
      const from = expected + (coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2);
      pieces.push(base.subarray(from, from + size));
      expected = from + size;
    }
  }
  const result = Buffer.concat(pieces);
  if (result.length !== length) throw new Error("the patch yields another length");
  return result;
}

function nameOf({ hashKey }, payload) {
  if (hashKey === undefined) return createHash("sha256").update(payload).digest("hex").slice(0, 40);
  const key = Buffer.from(hkdfSync("sha256", hashKey, Buffer.alloc(0), "stratigraph content hash v1", 32));
  return createHmac("sha256", key).update(payload).digest("hex").slice(0, 40);
}

/** The content of a body or a write batch, once its checksum holds. */
function checked(content, owner, blobs) {
  const checksum = createHash("sha256")
    .update(JSON.stringify([...owner, ...blobs]))
    .update(content.subarray(0, -8))
    .digest();
  if (Buffer.compare(checksum.subarray(0, 8), content.subarray(-8)) !== 0)
    throw new Error("the checksum is wrong");
  return new Reader(content.subarray(0, -8));
}

function valueOf(thread, reader, blobs, reference) {
  if (Array.isArray(reference)) return [reference[1], new Uint8Array(reader.take(reference[0]))];
  const payload = new Reader(readBlob(thread, blobs[reference]).payload);
  return [payload.text(), new Uint8Array(payload.rest())];
}

/** A checkpoint: what LangGraph put, its values still serialised. */
export function readRecord(thread, record) {
  const owner = [record.namespace, record.checkpointId, record.parentId ?? ""];
  const reader = checked(unwrap(thread, record.body, JSON.stringify(owner)), owner, record.blobs);
  const { v, ts, c, s, x } = JSON.parse(reader.text());
  reader.text(); // The metadata's type, "json".
  const metadata = JSON.parse(reader.text());
  const values = {};
  const versions = {};
  for (const [channel, version, reference] of c) {
    if (version !== null) versions[channel] = version;
    if (reference !== undefined) values[channel] = valueOf(thread, reader, record.blobs, reference);
  }
  const channelOf = (name) => (typeof name === "number" ? c[name][0] : name);
  const seen = s.map(([node, pairs]) => [
    node,
    Object.fromEntries(pairs.map(([channel, version]) => [channelOf(channel), version])),
  ]);
  const checkpoint = {
    ...x,
    v,
    id: record.checkpointId,
    ts,
    channel_versions: versions,
    versions_seen: Object.fromEntries(seen),
  };
  return { checkpoint, metadata, values };
}

/** The pending writes of one batch. */
export function readWrites(thread, batch) {
  const owner = [batch.namespace, batch.checkpointId, batch.taskId];
  const reader = checked(unwrap(thread, batch.body, JSON.stringify(owner)), owner, batch.blobs);
  return JSON.parse(reader.text()).map(([index, channel, reference]) => ({
    index,
    channel,
    value: valueOf(thread, reader, batch.blobs, reference),
  }));
}
