import { randomUUID } from "node:crypto";
import { lstat, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { StratigraphError, type ErrorCode } from "stratigraph";

/** A client's file as it was read. */
export interface ClientFile {
  readonly path: string;
  /** Undefined: there is none. */
  readonly bytes: Buffer | undefined;
  readonly text: string;
}

/** The largest file that is read, in bytes. Claude Code's own has its history in it. */
const maxBytes = 64 * 2 ** 20;

/**
 * Reads a client's file.
 * @throws StratigraphError if it isn't there to be written, or isn't UTF-8
 */
export async function readClientFile(path: string): Promise<ClientFile> {
  const target = await explained(path, "read", () => targetOf(path));
  if (target === undefined) return { path, bytes: undefined, text: "" };
  const bytes = await explained(path, "read", () => readFile(target));
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { path, bytes, text };
  } catch (error) {
    throw misconfigured(path, "isn't in UTF-8. Save it in UTF-8, then repeat the command", error);
  }
}

/**
 * Writes a client's file whole: whoever reads it sees the old file or the new one, and so it is after a crash. Links stay links, and the mode
 * stays.
 * @throws StratigraphError if it can't be written, or was changed since it was read; the file is then as it was
 */
export async function writeClientFile({ path, bytes }: ClientFile, text: string): Promise<void> {
  await explained(path, "written", async () => {
    const target = (await targetOf(path)) ?? path;
    if (bytes === undefined) await mkdir(dirname(target), { recursive: true });
    const written = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
    try {
      await writeBeside(written, target, text, bytes !== undefined);
      const now = await readFile(target).catch(unlessAbsent);
      const isSame = bytes === undefined ? now === undefined : now?.equals(bytes) === true;
      if (!isSame)
        throw misconfigured(path, "was changed meanwhile, and was left as it is. Repeat the command");
      await rename(written, target);
    } catch (error) {
      await rm(written, { force: true }).catch(() => undefined);
      throw error;
    }
    await syncFolder(dirname(target));
  });
}

/** Writes the new file, with the owner and the mode of the old one. */
async function writeBeside(written: string, target: string, text: string, exists: boolean): Promise<void> {
  const handle = await open(written, "wx");
  try {
    if (exists) {
      const [old, own] = [await stat(target), await handle.stat()];
      if (old.uid !== own.uid || old.gid !== own.gid) await handle.chown(old.uid, old.gid);
      await handle.chmod(old.mode & 0o7777);
    }
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The file that a path leads to, which may be written; undefined if there is none. */
async function targetOf(path: string): Promise<string | undefined> {
  const link = await lstat(path).catch(unlessAbsent);
  if (link === undefined) return undefined;
  const target = await realpath(path).catch(unlessAbsent);
  if (target === undefined) throw misconfigured(path, "is a link to a file that isn't there");
  const found = await stat(target);
  if (!found.isFile()) throw misconfigured(path, "isn't a file");
  if (found.size > maxBytes) throw misconfigured(path, `is larger than ${maxBytes / 2 ** 20} MB`);
  // Its folder may be writable even so, and then it could be replaced.
  if ((found.mode & 0o222) === 0)
    throw new StratigraphError("ACCESS_DENIED", `${path} is read-only, and was left as it is.`, { path });
  return target;
}

/** Not every system can do this; the file's content is already on the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

function unlessAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

const codes: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: "STORAGE_FULL",
  EDQUOT: "STORAGE_FULL",
  EACCES: "ACCESS_DENIED",
  EPERM: "ACCESS_DENIED",
  EROFS: "ACCESS_DENIED",
};

async function explained<T>(path: string, done: "read" | "written", act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (StratigraphError.is(error)) throw error;
    const { code: systemCode = "", message } = error as NodeJS.ErrnoException;
    const code = codes[systemCode] ?? "MISCONFIGURED";
    const why = `${path} can't be ${done}, and was left as it is: ${message}.`;
    throw new StratigraphError(code, why, { path, systemCode }, error);
  }
}

function misconfigured(path: string, what: string, cause?: unknown): StratigraphError {
  return new StratigraphError("MISCONFIGURED", `${path} ${what}.`, { path }, cause);
}
