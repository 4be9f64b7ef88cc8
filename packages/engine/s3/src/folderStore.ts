import { createHash, randomUUID } from "node:crypto";
import {
  access,
  constants,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { InvalidOptionError } from "@stratigraph/core";
import { livenessOf } from "@stratigraph/core/internal";
import type { Check } from "@stratigraph/core/tier";
import type {
  FoundObject,
  GetOptions,
  ListedObject,
  ObjectStore,
  PutCondition,
  StorePlace,
} from "./objectStore.ts";
import { FileLocks, holderOf } from "./fileLock.ts";
import { explainFolderError } from "./explainFolderError.ts";
import { spaceOf } from "./folderSpace.ts";

/** Holds files that are being written and the names of lock holders. It isn't listed. */
const workFolder = ".work";
/** Work files older than this, in milliseconds, were left by a process that died. */
const abandonedMs = 3_600_000;
/** How often a put is tried if its folder is deleted meanwhile. */
const folderAttempts = 3;

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Returns undefined for "no such file". @throws any other error */
function unlessAbsent(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
  return undefined;
}

/** Makes a hard link to a file. False if the name is taken. */
async function isLinked(file: string, name: string): Promise<boolean> {
  try {
    await link(file, name);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function etagOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function syncFolder(folder: string): Promise<void> {
  // Windows can't open folders. Its renames are durable without this.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * A folder as object storage, for any number of processes that share it. A file appears as a whole or not at all, and is on the
 * disk when its put returns.
 */
export class FolderStore implements ObjectStore {
  readonly name = "folder";
  readonly listsLocally = true;
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

  async get(key: string, options: GetOptions = {}): Promise<FoundObject | "unchanged" | undefined> {
    return await this.#explainingErrors(() => this.#get(key, options));
  }

  async put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    return await this.#explainingErrors(async () => {
      const written = await this.#write(bytes);
      try {
        const isStored = await this.#stored(key, written, condition);
        return isStored ? etagOf(bytes) : undefined;
      } finally {
        await rm(written, { force: true });
      }
    });
  }

  async *list(prefix: string, after = ""): AsyncGenerator<ListedObject> {
    for await (const key of this.#keys(prefix.slice(0, prefix.lastIndexOf("/") + 1), after)) {
      if (!key.startsWith(prefix) || key <= after) continue;
      const found = await this.#explainingErrors(() =>
        stat(this.#file(key), { bigint: true }).catch(unlessAbsent),
      );
      if (found === undefined) continue;
      const version = `${found.ino} ${found.mtimeNs} ${found.size}`;
      yield { key, size: Number(found.size), modifiedMs: Number(found.mtimeNs / 1_000_000n), version };
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#explainingErrors(async () => {
      for (const key of keys) await rm(this.#file(key), { force: true });
      for (const folder of new Set(keys.map((key) => dirname(this.#file(key)))))
        await syncFolder(folder).catch(unlessAbsent);
    });
  }

  /** Fails if the folder isn't there or can't be written to. */
  async ping(): Promise<void> {
    await this.#explainingErrors(() => access(this.#root, constants.R_OK | constants.W_OK));
  }

  async deleteIf(key: string, etag: string): Promise<boolean> {
    const file = this.#file(key);
    const isSame = async (): Promise<boolean> => (await this.#get(key, { unless: etag })) === "unchanged";
    return await this.#explainingErrors(async () => {
      // This check also covers a folder that isn't there, which can hold no lock.
      if (!(await isSame())) return false;
      const deletion = this.#locks.run(`${file}.lock`, async (check) => {
        if (!(await isSame())) return false;
        await check();
        await rm(file, { force: true });
        await syncFolder(dirname(file));
        return true;
      });
      // An error ENOENT means that somebody else has deleted the object and its folder.
      const isDeleted = (await deletion.catch(unlessAbsent)) === true;
      // Delete the thread's folder too, because its name may tell who used it. This fails if anything is left in it.
      if (isDeleted) await rmdir(dirname(file)).catch(() => undefined);
      return isDeleted;
    });
  }

  /** Makes the folder, tests whether it can be written to, and deletes what dead processes left. */
  async setup(): Promise<void> {
    await this.#explainingErrors(async () => {
      const written = await this.#write(Buffer.from("Stratigraph tries whether files can be stored here.\n"));
      try {
        await link(written, `${written}.link`);
      } finally {
        await rm(`${written}.link`, { force: true });
        await rm(written, { force: true });
      }
      await this.#tidy();
    });
  }

  async place(): Promise<StorePlace> {
    return { text: `Folder ${this.#root}`, test: `ls -ld '${this.#root.replaceAll("'", String.raw`'\''`)}'` };
  }

  checks(): readonly Check[] {
    return [{ name: "space", look: () => this.#explainingErrors(() => spaceOf(this.#root)) }];
  }

  async end(): Promise<void> {
    await this.#explainingErrors(() => this.#locks.end());
  }

  async #explainingErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explainFolderError(error, this.#root);
    }
  }

  async #get(key: string, { range, unless }: GetOptions): Promise<FoundObject | "unchanged" | undefined> {
    try {
      if (range !== undefined) return { bytes: await this.#part(key, range), etag: "" };
      const bytes = await readFile(this.#file(key));
      const etag = etagOf(bytes);
      return etag === unless ? "unchanged" : { bytes, etag };
    } catch (error) {
      unlessAbsent(error);
      return undefined;
    }
  }

  /** Calls {@link #store}, and again if the empty folder was deleted meanwhile. */
  async #stored(key: string, written: string, condition: PutCondition | undefined): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#store(key, written, condition);
      } catch (error) {
        if (attempt === folderAttempts || codeOf(error) !== "ENOENT") throw error;
      }
    }
  }

  /** Moves a written file to its place. False if the condition doesn't hold. */
  async #store(key: string, written: string, condition: PutCondition | undefined): Promise<boolean> {
    const file = this.#file(key);
    await this.#makeFolder(dirname(file));
    if (condition === undefined) await rename(written, file);
    else if ("ifNoneMatch" in condition) {
      if (!(await isLinked(written, file))) return false;
    } else {
      const isReplaced = await this.#locks.run(`${file}.lock`, async (check) => {
        if ((await this.#get(key, { unless: condition.ifMatch })) !== "unchanged") return false;
        await check();
        await rename(written, file);
        return true;
      });
      if (!isReplaced) return false;
    }
    await syncFolder(dirname(file));
    return true;
  }

  /** The keys below a folder, in order. Folders all of whose keys come before `after` aren't read. */
  async *#keys(folder: string, after: string): AsyncGenerator<string> {
    const entries = await this.#explainingErrors(
      async () =>
        (await readdir(join(this.#root, folder), { withFileTypes: true }).catch(unlessAbsent)) ?? [],
    );
    // Sort folders by their names with the slash, because that is how the keys in them sort.
    const names = entries.map((entry) => folder + entry.name + (entry.isDirectory() ? "/" : "")).sort();
    for (const name of names) {
      if (name === `${workFolder}/` || /\.lock(\.breaking)?$/.test(name)) continue;
      if (!name.endsWith("/")) yield name;
      else if (name > after || after.startsWith(name)) yield* this.#keys(name, after);
    }
  }

  /** Deletes work files and holder files of processes that died. */
  async #tidy(): Promise<void> {
    const work = join(this.#root, workFolder);
    for (const name of await readdir(work)) {
      const found = await stat(join(work, name)).catch(() => undefined);
      const isOld = found !== undefined && Date.now() - found.mtimeMs > abandonedMs;
      const holder = name.startsWith("holder-") ? await holderOf(join(work, name)) : undefined;
      const liveness = holder === undefined ? "elsewhere" : livenessOf(holder);
      if (liveness === "dead" || (liveness === "elsewhere" && isOld))
        await rm(join(work, name), { force: true });
    }
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

  /** Makes a folder and its parents, durably: syncs the folder that contains each new one. */
  async #makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true });
    if (first === undefined) return;
    for (let made = folder; made.length >= first.length; made = dirname(made))
      await syncFolder(dirname(made));
  }

  async #write(bytes: Uint8Array): Promise<string> {
    const work = join(this.#root, workFolder);
    await this.#makeFolder(work);
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
