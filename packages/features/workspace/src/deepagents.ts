import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { checkOptions, kindOf } from "@stratigraph/core/internal";
import { StoreBackend, type EditResult, type StoreBackendOptions, type WriteResult } from "deepagents";
import { digestOf, SeenFiles, type FileValue } from "./seenFiles.ts";

/** What the backend needs of a workspace, or of a role's part of it. */
interface FileWorkspace {
  store(): BaseStore;
  update(
    namespace: string[],
    key: string,
    change: (value: FileValue) => Promise<FileValue>,
    options: { readonly reason: string },
  ): Promise<unknown>;
}

type Failed = { readonly error: string };

/**
 * Files of deepagents in a workspace: deepagents' own StoreBackend, in which agents that change one file at the same time lose nothing. An
 * edit is made on the file as it is at that moment. An agent that has read a file replaces it as a whole only if nobody changed it since.
 * The log tells who made each change.
 *
 * @example
 * createDeepAgent({ backend: new WorkspaceBackend(workspace, { namespace: ["files"] }), subagents, checkpointer });
 */
export class WorkspaceBackend extends StoreBackend {
  readonly #workspace: FileWorkspace;
  readonly #fileFormat: StoreBackendOptions["fileFormat"];
  readonly #seen: SeenFiles;

  /**
   * @param workspace of `createWorkspace`, or a role's part of it
   * @param options as StoreBackend's
   * @throws InvalidOptionError
   */
  constructor(workspace: FileWorkspace, options: Omit<StoreBackendOptions, "store"> = {}) {
    if (typeof (Object(workspace) as Partial<FileWorkspace>).update !== "function")
      throw new InvalidOptionError("workspace", kindOf(workspace), "Pass what createWorkspace() returns.");
    checkOptions<typeof options>("WorkspaceBackend", options, { namespace: true, fileFormat: true });
    const seen = new SeenFiles();
    super({ ...options, store: seen.watch(workspace.store()) });
    this.#workspace = workspace;
    this.#fileFormat = options.fileFormat;
    this.#seen = seen;
  }

  /** As StoreBackend's, on the file as it is when the edit is stored. */
  override async edit(
    filePath: string,
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Promise<EditResult> {
    return await this.#change("edit_file", filePath, (backend) =>
      backend.edit(filePath, oldString, newString, replaceAll),
    );
  }

  /** As StoreBackend's. An error if this agent has read the file and others changed it since. */
  override async write(filePath: string, content: string): Promise<WriteResult> {
    return await this.#change("write_file", filePath, (backend) => backend.write(filePath, content));
  }

  async #change<Result extends object>(
    tool: "edit_file" | "write_file",
    path: string,
    change: (backend: StoreBackend) => Promise<Result>,
  ): Promise<Result | Failed> {
    const namespace = this.getNamespace();
    const seen = this.#seen.of(namespace, path);
    let result: Result | Failed = { error: "" };
    let digest: string | undefined;
    const onFile = async (value: FileValue): Promise<FileValue> => {
      digest = undefined;
      const isSeen = seen.digest === digestOf(value);
      if (tool === "write_file" && seen.digest !== undefined && !isSeen) {
        result = { error: staleText(path) };
        return undefined;
      }
      // deepagents' own code changes the file, in a store that has nothing else.
      let next: FileValue;
      const store = {
        get: () => Promise.resolve(value === undefined ? null : { value }),
        put: (_namespace: string[], _key: string, changed: FileValue) =>
          Promise.resolve(void (next = changed)),
      };
      const options = { store: store as unknown as BaseStore, namespace, fileFormat: this.#fileFormat };
      result = await change(new StoreBackend(options as StoreBackendOptions));
      // Who edits a file that others changed meanwhile has not seen all of it.
      if (next !== undefined && (isSeen || tool === "write_file")) digest = digestOf(next);
      return next;
    };
    try {
      await this.#workspace.update(namespace, path, onFile, { reason: tool });
    } catch (error) {
      if (error instanceof StratigraphError && shownToModels.has(error.code))
        return { error: `Error: ${error.message}` };
      throw error;
    }
    if (digest !== undefined) seen.set(digest);
    return result;
  }
}

/** What a model may be able to do something about. */
const shownToModels: ReadonlySet<string> = new Set(["ACCESS_DENIED", "VERSION_CONFLICT"]);

function staleText(path: string): string {
  return `Error: File '${path}' was changed by others since you read it. Nothing was written. Read it again first.`;
}
