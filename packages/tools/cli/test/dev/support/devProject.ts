import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";

/** What the graph of a project does: it waits if it is told so, or asks. */
const body = `
const State = Annotation.Root({
  said: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const waitFor = (signal) =>
  setTimeout(3_600_000, undefined, { signal }).catch((error) => {
    writeFileSync(go + ".aborted", "");
    throw error;
  });
const builder = new StateGraph(State)
  .addNode("first", async (_state, config) => {
    await config.store.put(["seen"], "first", { thread: config.configurable.thread_id });
    return { said: ["first"] };
  })
  .addNode("second", async ({ said }, { signal }) => {
    if (said.includes("wait") && !existsSync(go)) await waitFor(signal);
    if (said.includes("fail")) throw new Error("it was told to fail");
    return { said: [said.includes("ask") ? String(interrupt("May I?")) : "second"] };
  })
  .addEdge(START, "first")
  .addEdge("first", "second");
`;

/** A user's project: langgraph.json, a graph, and LangGraph's packages. */
export class DevProject {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @param api the folder in node_modules of the version of LangGraph's dev server */
  static async make({
    api = "@langchain/langgraph-api",
    ending = "mjs",
    compile = "builder.compile()",
    imports = "",
    does = body,
  }: {
    readonly api?: string;
    readonly ending?: "mjs" | "ts";
    readonly compile?: string;
    readonly imports?: string;
    readonly does?: string;
  } = {}): Promise<DevProject> {
    const project = new DevProject(await mkdtemp(join(tmpdir(), "stratigraph-dev-")));
    const { folder } = project;
    const modules = join(folder, "node_modules");
    await mkdir(join(modules, "@langchain"), { recursive: true });
    const ours = join(import.meta.dirname, "../../../node_modules");
    const links = ["core", "langgraph", "langgraph-checkpoint"].map((name) => `@langchain/${name}`);
    for (const name of [...links, "stratigraph"]) await symlink(join(ours, name), join(modules, name));
    await symlink(join(ours, api), join(modules, "@langchain/langgraph-api"));
    const graph = `import { existsSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Annotation, START, StateGraph, interrupt } from "@langchain/langgraph";
${imports}
const go = ${JSON.stringify(project.go)};
${ending === "ts" ? `type Typed = string;\n${does.replace("Annotation({", "Annotation<Typed[]>({").replace("(_state, config)", "(_state, config: any)")}` : does}
export const graph = ${compile};
`;
    await writeFile(join(folder, `graph.${ending}`), graph);
    await project.write("package.json", { type: "module" });
    await project.write("langgraph.json", { graphs: { agent: `./graph.${ending}:graph` } });
    return project;
  }

  /** Once this file is there, the graph doesn't wait. */
  get go(): string {
    return join(this.folder, "go");
  }

  async write(name: string, value: unknown): Promise<void> {
    await writeFile(join(this.folder, name), JSON.stringify(value));
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** LangGraph's own client. A failure is no reason to try again here. */
export function clientOf(url: string): Client {
  return new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } });
}
