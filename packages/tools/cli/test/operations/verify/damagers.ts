import { createHash } from "node:crypto";
import type { Address } from "@stratigraph/core/tier";
import { Redis } from "ioredis";
import pg from "pg";
import { encodeCheckpointKey } from "../../../../../engine/redis/src/checkpointKeys.ts";
import { KeyNames } from "../../../../../engine/redis/src/keyNames.ts";
import { keyOf } from "../../../../../engine/postgres/src/wire/keys.ts";
import { decodeHead, encodeHead, type Head } from "../../../../../engine/s3/src/head.ts";
import type { ObjectStore } from "../../../../../engine/s3/src/objectStore.ts";
import { headKey } from "../../../../../engine/s3/src/threadKey.ts";
import { FolderStore } from "@stratigraph/s3/internal";
import type { Entries } from "../../../../../engine/s3/src/entries.ts";
import { storages } from "./support.ts";

// Damages what a server has, past every check of the tiers.

export interface Damager {
  corruptBlob(threadId: string, hash: string): Promise<void>;
  dropBlob(threadId: string, hash: string): Promise<void>;
  addBlob(threadId: string, hash: string): Promise<void>;
  corruptBody(at: Address): Promise<void>;
  corruptBatch(at: Address): Promise<void>;
  /** Its pending writes stay. */
  dropRecord(at: Address): Promise<void>;
  dropWrites(at: Address): Promise<void>;
  setHead(threadId: string, to: string | undefined): Promise<void>;
  /** Numbers its pending writes as if they came after everything. */
  renumberWrites(at: Address): Promise<void>;
  /** Puts back a part of a thread that was deleted. */
  leak(threadId: string): Promise<void>;
  /** All that is stored, as one digest. */
  digest(): Promise<string>;
  close(): Promise<void>;
}

const flipped = (bytes: Uint8Array): Buffer => {
  const copy = Buffer.from(bytes);
  copy[copy.length - 6]! ^= 0xff;
  return copy;
};

async function postgresDamager(url: string): Promise<Damager> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const run = async (text: string, values: readonly unknown[] = []): Promise<void> => {
    const { rowCount } = await pool.query(text, [...values]);
    expect(rowCount).toBeGreaterThan(0);
  };
  const thread = "thread = (select thread from stratigraph.threads where key = $1)";
  const of = ({ threadId, checkpointId, namespace }: Address) => [
    keyOf(threadId),
    keyOf(checkpointId),
    keyOf(namespace),
  ];
  const flip = (column: string): string =>
    `set ${column} = set_byte(${column}, length(${column}) - 6, get_byte(${column}, length(${column}) - 6) # 255)`;
  const bytesOf = (hash: string): Buffer => Buffer.from(hash, "hex");
  return {
    corruptBlob: (id, hash) =>
      run(`update stratigraph.blobs ${flip("bytes")} where ${thread} and hash = $2`, [
        keyOf(id),
        bytesOf(hash),
      ]),
    dropBlob: (id, hash) =>
      run(`delete from stratigraph.blobs where ${thread} and hash = $2`, [keyOf(id), bytesOf(hash)]),
    addBlob: (id, hash) =>
      run(
        "insert into stratigraph.blobs (thread, hash, bytes) select thread, $2, $3 from stratigraph.threads where key = $1",
        [keyOf(id), bytesOf(hash), Buffer.from("spare")],
      ),
    corruptBody: (at) =>
      run(`update stratigraph.checkpoints ${flip("body")} where ${thread} and id = $2 and ns = $3`, of(at)),
    corruptBatch: (at) =>
      run(`update stratigraph.writes ${flip("body")} where ${thread} and id = $2 and ns = $3`, of(at)),
    dropRecord: (at) =>
      run(`delete from stratigraph.checkpoints where ${thread} and id = $2 and ns = $3`, of(at)),
    dropWrites: (at) => run(`delete from stratigraph.writes where ${thread} and id = $2 and ns = $3`, of(at)),
    setHead: (id, to) =>
      to === undefined
        ? run(`delete from stratigraph.heads where ${thread} and ns = ''`, [keyOf(id)])
        : run(`update stratigraph.heads set id = $2 where ${thread} and ns = ''`, [keyOf(id), keyOf(to)]),
    renumberWrites: (at) =>
      run(`update stratigraph.writes set seq = seq + 100000 where ${thread} and id = $2 and ns = $3`, of(at)),
    leak: (id) =>
      run(
        "insert into stratigraph.blobs (thread, hash, bytes) select thread, $2, $3 from stratigraph.threads where key = $1",
        [keyOf(id), bytesOf("11".repeat(20)), Buffer.from("left")],
      ),
    digest: async () => {
      const found = [];
      for (const table of ["threads", "heads", "checkpoints", "blobs", "writes", "long_ids"])
        found.push(
          (
            await pool.query(
              `select md5(string_agg(x::text, '|' order by x::text)) as digest from stratigraph.${table} x`,
            )
          ).rows,
        );
      return JSON.stringify(found);
    },
    close: () => pool.end(),
  };
}

async function redisDamager({ url, prefix }: { url: string; prefix: string }): Promise<Damager> {
  const client = new Redis(url);
  const names = new KeyNames(prefix);
  const hash = (threadId: string): string => names.thread(threadId)[0];
  const key = (at: Address): string => String(encodeCheckpointKey(at.namespace, at.checkpointId));
  const edit = async (threadId: string, field: string, change: (value: Buffer) => Buffer): Promise<void> => {
    const value = await client.hgetBuffer(hash(threadId), field);
    expect(value).not.toBeNull();
    await client.hset(hash(threadId), field, change(value!));
  };
  const drop = async (threadId: string, ...fields: string[]): Promise<void> => {
    expect(await client.hdel(hash(threadId), ...fields)).toBeGreaterThan(0);
  };
  return {
    corruptBlob: (id, name) => edit(id, `b${name}`, flipped),
    dropBlob: (id, name) => drop(id, `b${name}`),
    addBlob: async (id, name) => void (await client.hset(hash(id), `b${name}`, "0:spare")),
    corruptBody: (at) => edit(at.threadId, `r${key(at)}`, flipped),
    corruptBatch: (at) => edit(at.threadId, `w1:${key(at)}`, flipped),
    dropRecord: (at) => drop(at.threadId, `r${key(at)}`),
    dropWrites: (at) => drop(at.threadId, `c${key(at)}`, `w1:${key(at)}`),
    setHead: async (id, to) => {
      if (to === undefined) await drop(id, "h");
      else await client.hset(hash(id), "h", to);
    },
    renumberWrites: (at) =>
      edit(at.threadId, `w1:${key(at)}`, (value) => {
        const colon = value.indexOf(":");
        const rest = value.subarray(colon + 1 + Number(value.toString("utf8", 0, colon)));
        return Buffer.concat([Buffer.from("16:9000000000000000"), rest]);
      }),
    leak: async (id) => void (await client.hset(hash(id), `b${"11".repeat(20)}`, "0:left")),
    digest: async () => {
      const found: string[] = [];
      for (const each of (await client.keys(`${prefix}t:*`)).sort()) {
        const fields = await client.hgetallBuffer(each);
        for (const name of Object.keys(fields).sort())
          found.push(`${each} ${name} ${fields[name]!.toString("base64")}`);
      }
      return createHash("sha256").update(found.join("\n")).digest("hex");
    },
    close: async () => client.disconnect(),
  };
}

async function objectDamager(store: ObjectStore): Promise<Damager> {
  type Editable = { head: Head; tail: { -readonly [Name in keyof Entries]: Entries[Name][number][] } };
  const edit = async (threadId: string, change: (edited: Editable) => void): Promise<void> => {
    const found = await store.get(headKey(threadId));
    if (found === undefined || found === "unchanged") throw new Error("there is no head");
    const { head, tail } = await decodeHead(found.bytes);
    const edited: Editable = {
      head,
      tail: { blobs: [...tail.blobs], records: [...tail.records], writes: [...tail.writes] },
    };
    change(edited);
    const { blobs, records, writes } = edited.tail;
    const bytes = [...blobs, ...records, ...writes].map(({ place }) => place as Uint8Array);
    await store.put(headKey(threadId), await encodeHead(edited.head, edited.tail, bytes));
  };
  const isAt = (at: Address) => (entry: { namespace: string; checkpointId: string }) =>
    entry.namespace === at.namespace && entry.checkpointId === at.checkpointId;
  const replace = <T>(list: T[], wanted: (each: T) => boolean, change: (each: T) => T): void => {
    const at = list.findIndex(wanted);
    expect(at).toBeGreaterThanOrEqual(0);
    list[at] = change(list[at]!);
  };
  const broken = <T extends { place: unknown }>(entry: T): T => ({
    ...entry,
    place: flipped(entry.place as Uint8Array),
  });
  const spare = (hash: string) => ({ hash, base: undefined, size: 5, place: Buffer.from("spare") });
  return {
    corruptBlob: (id, hash) =>
      edit(id, ({ tail }) => replace(tail.blobs, (each) => each.hash === hash, broken)),
    dropBlob: (id, hash) =>
      edit(id, ({ tail }) => void (tail.blobs = tail.blobs.filter((each) => each.hash !== hash))),
    addBlob: (id, hash) => edit(id, ({ tail }) => void tail.blobs.push(spare(hash))),
    corruptBody: (at) => edit(at.threadId, ({ tail }) => replace(tail.records, isAt(at), broken)),
    corruptBatch: (at) => edit(at.threadId, ({ tail }) => replace(tail.writes, isAt(at), broken)),
    dropRecord: (at) =>
      edit(at.threadId, ({ tail }) => void (tail.records = tail.records.filter((each) => !isAt(at)(each)))),
    dropWrites: (at) =>
      edit(at.threadId, ({ tail }) => void (tail.writes = tail.writes.filter((each) => !isAt(at)(each)))),
    setHead: (id, to) =>
      edit(id, (edited) => {
        const heads = new Map(edited.head.heads);
        if (to === undefined) heads.delete("");
        else heads.set("", to);
        edited.head = { ...edited.head, heads };
      }),
    renumberWrites: (at) =>
      edit(at.threadId, ({ tail }) =>
        replace(tail.writes, isAt(at), (each) => ({ ...each, order: 100_000 })),
      ),
    leak: (id) => edit(id, ({ tail }) => void tail.blobs.push(spare("11".repeat(20)))),
    digest: async () => {
      const found: string[] = [];
      for await (const { key } of store.list("")) {
        const object = await store.get(key);
        if (object !== undefined && object !== "unchanged")
          found.push(`${key} ${createHash("sha256").update(object.bytes).digest("hex")}`);
      }
      return found.join("\n");
    },
    close: async () => {},
  };
}

/** Storages that can be damaged from outside. */
export const damageable = {
  postgres: async () => {
    const storage = await storages.postgres();
    return { storage, damage: await postgresDamager(storage.url) };
  },
  redis: async () => {
    const storage = await storages.redis();
    return { storage, damage: await redisDamager(storage.place) };
  },
  s3: async () => {
    const storage = await storages.s3();
    const { awsObjectStore } = await import("../../../../../engine/s3/src/aws.ts");
    const store = awsObjectStore({ client: storage.client, bucket: storage.bucket });
    return { storage, damage: await objectDamager(store) };
  },
  folder: async () => {
    const storage = await storages.folder();
    return { storage, damage: await objectDamager(new FolderStore(storage.path)) };
  },
};
