import pg from "pg";

/** What PostgreSQL did for one call. */
export interface Scanned {
  /** Rows of tables that were looked at, whether they were in the answer or not. */
  rows: number;
  /** The same of the statement that looked at most. */
  most: number;
  /** Indexes that were read, by name, and tables that were read as a whole, as "whole threads". */
  through: string[];
}

/** A node of a plan, as EXPLAIN's JSON has it. */
interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/** One connection, as a pool, on which the plans of all statements are watched, also of those inside functions. */
export class WatchedPool {
  readonly #client: pg.Client;
  #plans: PlanNode[] = [];

  constructor(url: string) {
    this.#client = new pg.Client({ connectionString: url });
    this.#client.on("notice", ({ message }) => {
      const json = message?.slice(message.indexOf("{"));
      if (json !== undefined && message?.includes("plan:") === true)
        this.#plans.push((JSON.parse(json) as { Plan: PlanNode }).Plan);
    });
  }

  /** Connects as a superuser, who alone may watch plans. */
  async open(): Promise<void> {
    await this.#client.connect();
    await this.#client.query(`
      load 'auto_explain';
      set auto_explain.log_analyze = on;
      set auto_explain.log_timing = off;
      set auto_explain.log_nested_statements = on;
      set auto_explain.log_format = json;
      set auto_explain.log_level = notice;
      set auto_explain.log_min_duration = 0`);
  }

  async query(query: { text: string; values?: unknown[] }): Promise<{ rows: unknown[] }> {
    return await this.#client.query(query);
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  /** Runs a call, and tells what it looked at. */
  async during(call: () => Promise<unknown>): Promise<Scanned> {
    this.#plans = [];
    await call();
    const nodes = this.#plans.flatMap(withChildren);
    const rows = this.#plans.map((plan) => withChildren(plan).reduce((sum, node) => sum + rowsOf(node), 0));
    return {
      rows: rows.reduce((sum, each) => sum + each, 0),
      most: Math.max(0, ...rows),
      through: [...new Set(nodes.flatMap(through))].toSorted(),
    };
  }
}

function withChildren(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(withChildren)];
}

/** Rows that a scan looked at. An index scan below a bitmap counts what it found, the heap scan above it what it fetched. */
function rowsOf(node: PlanNode): number {
  if (node["Relation Name"] === undefined && node["Index Name"] === undefined) return 0;
  const each =
    (node["Actual Rows"] ?? 0) +
    (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  return each * (node["Actual Loops"] ?? 1);
}

function through(node: PlanNode): string[] {
  if ((node["Actual Loops"] ?? 1) === 0) return [];
  if (node["Index Name"] !== undefined) return [node["Index Name"]];
  return node["Node Type"] === "Seq Scan" ? [`whole ${node["Relation Name"]}`] : [];
}
