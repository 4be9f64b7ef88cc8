import type { Profiler } from "node:inspector";

/** Where a function stands: its source file, where a source map tells it. */
export interface Position {
  file: string;
  line: number;
}

/** Time of one function, file or package, in milliseconds. */
export interface Share {
  name: string;
  /** In the function itself, without what it called. */
  self: number;
  /** With what it called, up to its next `await`; counted once where it called itself. */
  total: number;
}

/** What a CPU profile says, each list sorted by self time. */
export interface ProfileSummary {
  /** From the first sample to the last. */
  wall: number;
  functions: Share[];
  packages: Share[];
  /** Files of our packages. */
  files: Share[];
}

/**
 * Sums up the samples of a profile.
 * @param locate the source of a position in a built file; lines and columns count from 0
 */
export function summarise(
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
  locate: (frame: Profiler.ProfileNode["callFrame"]) => Position,
): ProfileSummary {
  const selfOf = new Map<number, number>();
  for (const [index, id] of samples.entries())
    selfOf.set(id, (selfOf.get(id) ?? 0) + Math.max(0, timeDeltas[index] ?? 0) / 1000);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const [functions, packages, files] = [new Shares(), new Shares(), new Shares()];
  // The root has no name of its own, and calls everything.
  const walk = (node: Profiler.ProfileNode, callers: readonly string[][]): number => {
    const position = locate(node.callFrame);
    const names = [
      functionName(node.callFrame, position),
      packageOf(node.callFrame, position),
      fileOf(position),
    ];
    const self = selfOf.get(node.id) ?? 0;
    let total = self;
    for (const child of node.children ?? []) total += walk(byId.get(child)!, [...callers, names]);
    for (const [kind, shares] of [functions, packages, files].entries()) {
      const name = names[kind]!;
      shares.add(name, self, callers.some((caller) => caller[kind] === name) ? 0 : total);
    }
    return total;
  };
  let wall = 0;
  const root = nodes[0];
  for (const child of root?.children ?? []) wall += walk(byId.get(child)!, []);
  return {
    wall,
    functions: functions.sorted(),
    packages: packages.sorted(),
    files: files.sorted().filter(({ name }) => name !== ""),
  };
}

/** Sums by name. */
class Shares {
  readonly #byName = new Map<string, Share>();

  add(name: string, self: number, total: number): void {
    const share = this.#byName.get(name) ?? { name, self: 0, total: 0 };
    share.self += self;
    share.total += total;
    this.#byName.set(name, share);
  }

  sorted(): Share[] {
    return [...this.#byName.values()].toSorted((a, b) => b.self - a.self || b.total - a.total);
  }
}

function functionName({ functionName, url }: Profiler.ProfileNode["callFrame"], position: Position): string {
  const name = functionName || "(anonymous)";
  if (url === "") return name;
  return `${name} ${shortened(position.file)}:${position.line + 1}`;
}

/** V8's own entries, "(garbage collector)" and the like, are packages of their own: what they are is in their names. */
function packageOf({ functionName, url }: Profiler.ProfileNode["callFrame"], { file }: Position): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "native functions";
  if (url.startsWith("wasm:")) return "WebAssembly";
  if (url.startsWith("node:")) return "Node";
  const installed = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
  if (installed !== undefined) return installed;
  const ours = /\/packages\/[^/]+\/([^/]+)\//.exec(file)?.[1];
  if (ours !== undefined) return ours === "stratigraph" ? ours : `@stratigraph/${ours}`;
  return file.includes("/test/bench/") ? "the bench itself" : "other";
}

function fileOf({ file }: Position): string {
  return /\/(packages\/[^/]+\/[^/]+\/(?:src|dist)\/.*)/.exec(file)?.[1] ?? "";
}

/** Without the folders that are the same for all. */
function shortened(file: string): string {
  return /.*node_modules\/(.*)/.exec(file)?.[1] ?? /\/((?:packages|test)\/.*)/.exec(file)?.[1] ?? file;
}
