import { afterAll, beforeAll, describe, it } from "vitest";
import { turnsOf } from "../graphs/durabilities.ts";
import type { OpenedSaver } from "../graphs/setup.ts";
import { clauses } from "./clauses.ts";
import { type ConformanceReport, missingMethods } from "./report.ts";
import { clauseContext, runClause } from "./runConformance.ts";

/** Options of `testSaver`. */
export interface SaverSuiteOptions {
  /**
   * Clauses that this saver is known to fail, by clause name or group name. They run, and it is an error if one of them passes. Default:
   * none.
   */
  knownFailures?: readonly string[];
  /** Runs every nth clause only; the suite's name determines with which one it begins. Default: 1, which is all of them. */
  every?: number;
}

/**
 * Registers the clauses of LangGraph's checkpoint conformance suite as a vitest suite for any JavaScript saver. A clause about a method
 * that the saver doesn't have fails like any other.
 *
 * @param name - name of the suite, usually the saver's
 * @param setup - opens the saver under test; called once, in `beforeAll`
 * @param options - clauses that this saver is known to fail, and which clauses run. Default: all.
 * @returns the report, to which results are added while the tests run
 */
export const testSaver = (
  name: string,
  setup: () => Promise<OpenedSaver>,
  options: SaverSuiteOptions = {},
): ConformanceReport => {
  const known = new Set(options.knownFailures);
  const report: ConformanceReport = { saver: name, missing: [], results: [] };
  const isItsTurn = turnsOf(name, options.every);
  const due = clauses.filter(() => isItsTurn());
  describe(name, () => {
    let opened: OpenedSaver | undefined;
    beforeAll(async () => {
      opened = await setup();
      report.missing = missingMethods(opened.saver);
    });
    afterAll(async () => {
      await opened?.close();
    });
    for (const group of new Set(due.map((clause) => clause.group))) {
      describe(group, () => {
        for (const clause of due.filter((candidate) => candidate.group === group)) {
          const register = known.has(clause.name) || known.has(group) ? it.fails : it;
          register(clause.name, async () => {
            if (opened === undefined) throw new Error("The saver is open only while tests run");
            const context = clauseContext(opened);
            report.results.push(await runClause(clause, context));
            const error = report.results.at(-1)?.error;
            if (error !== undefined) throw new Error(error);
          });
        }
      });
    }
  });
  return report;
};
