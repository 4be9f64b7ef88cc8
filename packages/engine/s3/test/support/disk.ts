import fs, { type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { inFrontOf } from "../../../../../test/inFrontOf.ts";

/** The content of a file. */
interface Content {
  isSynced: boolean;
}

/**
 * What a disk would keep of a folder if the power failed: what was synced, and nothing else. It watches the calls of node:fs/promises,
 * which do their work as always. A file's content counts as kept when its handle was synced after the last write, and a name when its
 * folder was synced after the name was made.
 */
export class Disk {
  /** Files that were given a name before their content was synced: after a failure the name may lead to half of it. */
  readonly namedTooEarly: string[] = [];
  readonly #root: string;
  readonly #names = new Map<string, Content | "folder">();
  readonly #keptNames = new Map<string, Content | "folder">();
  readonly #restore: (() => void)[];

  /** @param root what lies outside of it is there whatever happens */
  constructor(root: string) {
    this.#root = root;
    this.#restore = [
      inFrontOf(fs, "open", (real) => async (path, flags, mode) => {
        const handle = await real(path, flags, mode);
        if (this.#isInside(path)) this.#watch(handle, path, flags !== "r");
        return handle;
      }),
      inFrontOf(
        fs,
        "mkdir",
        (real) =>
          (async (path: string, options: { recursive: true }) => {
            const first = await real(path, options);
            if (first === undefined || !this.#isInside(path)) return first;
            for (let made = path; made.length >= first.length; made = dirname(made))
              this.#names.set(made, "folder");
            return first;
          }) as typeof real,
      ),
      inFrontOf(fs, "link", (real) => async (from, to) => {
        await real(from, to);
        this.#name(String(from), String(to));
      }),
      inFrontOf(fs, "rename", (real) => async (from, to) => {
        await real(from, to);
        this.#name(String(from), String(to));
        this.#names.delete(String(from));
      }),
      inFrontOf(fs, "rm", (real) => async (path, options) => {
        await real(path, options);
        this.#names.delete(String(path));
      }),
    ];
  }

  /** Whether a file would be there after a failure, with its content as it is now. */
  keeps(path: string): boolean {
    const content = this.#keptNames.get(path);
    if (content === undefined || content === "folder" || !content.isSynced) return false;
    if (this.#names.get(path) !== content) return false;
    for (let folder = dirname(path); folder !== this.#root; folder = dirname(folder))
      if (this.#keptNames.get(folder) === undefined) return false;
    return true;
  }

  /** Whether any file of that name would be there after a failure. */
  knows(path: string): boolean {
    return this.#keptNames.has(path);
  }

  close(): void {
    for (const restore of this.#restore) restore();
  }

  #isInside(path: unknown): path is string {
    return typeof path === "string" && (path === this.#root || path.startsWith(`${this.#root}/`));
  }

  #watch(handle: FileHandle, path: string, isWritten: boolean): void {
    const [sync, writeFile] = [handle.sync.bind(handle), handle.writeFile.bind(handle)];
    const content: Content = { isSynced: false };
    if (isWritten) this.#names.set(path, content);
    handle.writeFile = async (...args) => {
      content.isSynced = false;
      await writeFile(...args);
    };
    handle.sync = async () => {
      await sync();
      if (isWritten) content.isSynced = true;
      else this.#keepNames(path);
    };
  }

  #keepNames(folder: string): void {
    for (const path of this.#keptNames.keys()) if (dirname(path) === folder) this.#keptNames.delete(path);
    for (const [path, what] of this.#names) if (dirname(path) === folder) this.#keptNames.set(path, what);
  }

  #name(from: string, to: string): void {
    const content = this.#names.get(from);
    if (content === undefined || content === "folder") return;
    if (!content.isSynced) this.namedTooEarly.push(to);
    this.#names.set(to, content);
  }
}
