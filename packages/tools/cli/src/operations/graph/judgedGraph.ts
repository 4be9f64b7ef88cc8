import { StratigraphError } from "@stratigraph/core";
import { isObject } from "../values/records.ts";

/** A channel of a compiled graph. */
export interface GraphChannel {
  readonly lc_graph_name?: string;
  fromCheckpoint(stored?: unknown): GraphChannel;
  replayWrites?(writes: readonly unknown[]): void;
  update(values: readonly unknown[]): boolean;
  get(): unknown;
}

/**
 * What is read of a compiled graph. By its form alone, because the graph may be from another copy of LangGraph than ours. `builder` isn't
 * part of LangGraph's public types; 1.4.12 and 1.7.3 have it. Without it no value is judged.
 */
interface GraphParts {
  readonly channels: Readonly<Record<string, GraphChannel>>;
  readonly nodes: Readonly<Record<string, unknown>>;
  readonly builder?: { readonly _schemaRuntimeDefinition?: unknown };
  getSubgraphsAsync?(namespace: undefined, recurse: boolean): AsyncIterable<[string, unknown]>;
}

/** What a schema says against a value. */
export interface Issue {
  readonly message: string;
  readonly path: readonly (string | number)[];
}

/** How many subgraphs are looked at, at most: a graph may contain itself. */
const mostSubgraphs = 1000;

/** What a graph can load: its channels with their schemas, its nodes, its subgraphs. */
export class JudgedGraph {
  readonly #graph: GraphParts;
  readonly #schemas: Readonly<Record<string, unknown>>;
  /** By their namespaces without ids of tasks: "agent|tools". */
  readonly #subgraphs: ReadonlyMap<string, JudgedGraph>;

  private constructor(graph: GraphParts, subgraphs: ReadonlyMap<string, JudgedGraph>) {
    this.#graph = graph;
    this.#schemas = schemasOf(graph.builder?._schemaRuntimeDefinition);
    this.#subgraphs = subgraphs;
  }

  /** @throws StratigraphError "MISCONFIGURED" if it is no compiled graph */
  static async of(given: unknown): Promise<JudgedGraph> {
    const graph = partsOf(given);
    const subgraphs = new Map<string, JudgedGraph>();
    for await (const [name, subgraph] of graph.getSubgraphsAsync?.(undefined, true) ?? []) {
      if (!subgraphs.has(name)) subgraphs.set(name, new JudgedGraph(partsOf(subgraph), new Map()));
      if (subgraphs.size === mostSubgraphs) break;
    }
    return new JudgedGraph(graph, subgraphs);
  }

  get hasSubgraphs(): boolean {
    return this.#subgraphs.size > 0;
  }

  /** The subgraph of a namespace, such as "agent:4f…|tools:9a…"; undefined if LangGraph doesn't find one by the graph alone. */
  at(namespace: string): JudgedGraph | undefined {
    if (namespace === "") return this;
    // A number stands for the second, third, … subgraph that a task calls.
    const parts = namespace.split("|").filter((part) => !/^\d+$/.test(part));
    return this.#subgraphs.get(parts.map((part) => part.split(":")[0]).join("|"));
  }

  hasNode(name: string): boolean {
    return Object.hasOwn(this.#graph.nodes, name);
  }

  channel(name: string): GraphChannel | undefined {
    return Object.hasOwn(this.#graph.channels, name) ? this.#graph.channels[name] : undefined;
  }

  get channels(): readonly string[] {
    return Object.keys(this.#graph.channels);
  }

  /** What the channel's schema says against a value; nothing if the channel has no schema, as those of Annotation haven't. */
  async issues(channel: string, value: unknown): Promise<readonly Issue[]> {
    return Object.hasOwn(this.#schemas, channel) ? await issuesOf(this.#schemas[channel], value) : [];
  }
}

function partsOf(given: unknown): GraphParts {
  // The agents of langchain hold a graph.
  for (const graph of [given, (given as { readonly graph?: unknown } | undefined)?.graph])
    if (isObject((graph as GraphParts | undefined)?.channels) && isObject((graph as GraphParts).nodes))
      return graph as GraphParts;
  throw new StratigraphError("MISCONFIGURED", "This is no compiled graph: it has no channels and nodes.", {});
}

/** Schemas by channel: of a StateSchema, or of a zod object. */
function schemasOf(definition: unknown): Readonly<Record<string, unknown>> {
  const { fields, shape } = (definition ?? {}) as { readonly fields?: unknown; readonly shape?: unknown };
  const found = isObject(fields) ? fields : isObject(shape) ? shape : {};
  return Object.fromEntries(
    Object.entries(found).map(([name, field]) => {
      // ReducedValue and DeltaValue have one schema for values and one for updates.
      const { valueSchema } = (field ?? {}) as { readonly valueSchema?: unknown };
      return [name, valueSchema ?? field];
    }),
  );
}

interface Validating {
  readonly "~standard"?: {
    validate(value: unknown): StandardResult | Promise<StandardResult>;
  };
  safeParse?(value: unknown): { readonly error?: { readonly issues: readonly StandardIssue[] } };
}
interface StandardResult {
  readonly issues?: readonly StandardIssue[];
}
interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

/** By the Standard Schema interface, or by zod 3's own where it lacks that. */
async function issuesOf(schema: unknown, value: unknown): Promise<Issue[]> {
  const { "~standard": standard } = (schema ?? {}) as Validating;
  let issues: readonly StandardIssue[] = [];
  try {
    if (standard !== undefined) ({ issues = [] } = await standard.validate(value));
    else issues = (schema as Validating | undefined)?.safeParse?.(value).error?.issues ?? [];
  } catch (error) {
    // A refinement of the user's that can't take such a value.
    issues = [{ message: `the schema throws ${error instanceof Error ? error.message : String(error)}` }];
  }
  return issues.map(({ message, path = [] }) => ({
    message,
    path: path.map((step) => {
      const key = typeof step === "object" ? step.key : step;
      return typeof key === "number" ? key : String(key);
    }),
  }));
}
