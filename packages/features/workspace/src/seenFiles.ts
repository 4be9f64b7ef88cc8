import { createHash } from "node:crypto";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { writerIn } from "@stratigraph/journal/internal";

/** A file as deepagents keeps it in a store. */
export type FileValue = Record<string, unknown> | undefined;

/** How many files that agents have seen are remembered at most. */
const mostSeen = 10_000;

/** What an agent knows of a file. */
interface SeenFile {
  /** Of the content that it knows; undefined if it has not read the file. */
  readonly digest: string | undefined;
  set(digest: string): void;
}

/** Which content of a file each agent of a graph read or wrote last, in this process. */
export class SeenFiles {
  readonly #digests = new Map<string, string>();

  /** The same store, whose gets are remembered. */
  watch(store: BaseStore): BaseStore {
    const get: BaseStore["get"] = async (namespace, key) => {
      const item = await store.get(namespace, key);
      this.of(namespace, key).set(digestOf(item?.value));
      return item;
    };
    return new Proxy(store, {
      get: (target, name) => {
        if (name === "get") return get;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  }

  /** What the agent that runs now knows of a file. Outside a graph nothing is known. */
  of(namespace: readonly string[], path: string): SeenFile {
    const { thread, run, namespace: graph } = writerIn();
    const conversation = thread ?? run;
    if (conversation === undefined && graph === undefined) return { digest: undefined, set: () => {} };
    const name = JSON.stringify([conversation, graph, namespace, path]);
    return {
      digest: this.#digests.get(name),
      set: (digest) => {
        this.#digests.delete(name);
        this.#digests.set(name, digest);
        if (this.#digests.size > mostSeen) this.#digests.delete(this.#digests.keys().next().value!);
      },
    };
  }
}

/** Names a file's content; "" is that of no file. */
export function digestOf(value: FileValue): string {
  if (value === undefined) return "";
  const { content } = value;
  const bytes = content instanceof Uint8Array ? content : JSON.stringify(content);
  return createHash("sha256").update(bytes).digest("base64");
}
