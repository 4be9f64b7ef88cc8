import { createHash, randomUUID } from "node:crypto";
import { access, constants, link, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { InvalidOptionError } from "@stratigraph/core";
import type { FoundObject, GetOptions, ListedObject, ObjectStore, PutCondition } from "./client.ts";
import { FileLocks, processExists } from "./fileLock.ts";

/** Files on their way, and names of lock holders: nothing that is listed. */
const workFolder = ".work";
/** Work files older than this were left by a process that died; in milliseconds. */
const abandonedMs = 3_600_000;

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function etagOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function syncFolder(folder: string): Promise<void> {
  // Windows can't open folders; its renames are durable without.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * A folder as object storage, for any number of processes of one machine: a file appears whole or not at all, and is on
 * the disk when its put returns.
 */
export class FolderStore implements ObjectStore {
  readonly name = "folder";
  readonly #root: string;
  readonly #locks: FileLocks;

  /** @throws InvalidOptionError */
  constructor(path: string) {
    if (typeof path !== "string" || path === "")
      throw new InvalidOptionError(
        "path",
        path,
        "Pass the path of a folder; it is made where it doesn't exist.",
      );
    this.#root = resolve(path);
    this.#locks = new FileLocks(join(this.#root, workFolder));
  }

  async get(key: string, { range, unless }: GetOptions = {}): Promise<FoundObject | "unchanged" | undefined> {
    try {
      if (range !== undefined) return { bytes: await this.#part(key, range), etag: "" };
      const bytes = await readFile(this.#file(key));
      const etag = etagOf(bytes);
      return etag === unless ? "unchanged" : { bytes, etag };
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    const file = this.#file(key);
    const written = await this.#write(bytes);
    try {
      await this.#makeFolder(dirname(file));
      if (condition === undefined) await rename(written, file);
      else if ("ifNoneMatch" in condition) await link(written, file);
      else {
        const replaced = await this.#locks.run(`${file}.lock`, async () => {
          const found = await this.get(key, { unless: condition.ifMatch });
          if (found === "unchanged") await rename(written, file);
          return found === "unchanged";
        });
        if (!replaced) return undefined;
      }
      await syncFolder(dirname(file));
      return etagOf(bytes);
    } catch (error) {
      if (codeOf(error) === "EEXIST") return undefined;
      throw error;
    } finally {
      await rm(written, { force: true });
    }
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const entries = await readdir(join(this.#root, folder), { recursive: true, withFileTypes: true }).catch(
      (error: unknown) => {
        if (codeOf(error) === "ENOENT") return [];
        throw error;
      },
    );
    const keys = entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.#root, join(entry.parentPath, entry.name)).split(sep).join("/"))
      .filter(
        (key) => key.startsWith(prefix) && !key.startsWith(workFolder) && !/\.lock(\.breaking)?$/.test(key),
      );
    for (const key of keys.sort()) {
      const found = await stat(this.#file(key), { bigint: true }).catch(() => undefined);
      if (found === undefined) continue;
      const version = `${found.ino} ${found.mtimeNs} ${found.size}`;
      yield { key, size: Number(found.size), modifiedMs: Number(found.mtimeNs / 1_000_000n), version };
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) await rm(this.#file(key), { force: true });
    for (const folder of new Set(keys.map((key) => dirname(this.#file(key)))))
      await syncFolder(folder).catch((error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
      });
  }

  /** Fails where the folder isn't there, or nothing may be written to it. */
  async ping(): Promise<void> {
    await access(this.#root, constants.R_OK | constants.W_OK);
  }

  /** Makes the folder, and takes away what processes that died left behind. */
  async setup(): Promise<void> {
    const work = join(this.#root, workFolder);
    await mkdir(work, { recursive: true });
    for (const name of await readdir(work)) {
      const found = await stat(join(work, name)).catch(() => undefined);
      const pid = /^holder-(\d+)-/.exec(name)?.[1];
      const abandoned =
        pid === undefined
          ? found !== undefined && Date.now() - found.mtimeMs > abandonedMs
          : !processExists(Number(pid));
      if (abandoned) await rm(join(work, name), { force: true });
    }
  }

  async end(): Promise<void> {
    await this.#locks.end();
  }

  #file(key: string): string {
    return join(this.#root, ...key.split("/"));
  }

  async #part(key: string, [start, end]: readonly [number, number]): Promise<Uint8Array> {
    const handle = await open(this.#file(key), "r");
    try {
      const bytes = Buffer.alloc(end - start);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
      return bytes.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  }

  /** New folders are made durable from the first one that was there. */
  async #makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true });
    if (first !== undefined) await syncFolder(dirname(first));
  }

  async #write(bytes: Uint8Array): Promise<string> {
    const work = join(this.#root, workFolder);
    await mkdir(work, { recursive: true });
    const file = join(work, randomUUID());
    const handle = await open(file, "wx");
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    return file;
  }
}
