import { messageOf } from "@stratigraph/core/internal";
import type { OpenedSaver } from "../graphs/setup.ts";
import type { Clause, ClauseContext } from "./clause.ts";
import { clauses } from "./clauses.ts";
import { type ClauseResult, type ConformanceReport, missingMethods } from "./report.ts";

/** Runs one clause and returns its result. Never rejects. */
export const runClause = async (clause: Clause, context: ClauseContext): Promise<ClauseResult> => {
  const result = { clause: clause.name, group: clause.group };
  try {
    await clause.run(context);
    return { ...result, passed: true };
  } catch (error) {
    return { ...result, passed: false, error: messageOf(error) };
  }
};

/** The context of clauses for an opened saver. */
export const clauseContext = ({ saver, second }: OpenedSaver): ClauseContext => ({
  saver,
  reopen: async () => (second === undefined ? saver : await second()),
});

/**
 * Runs all clauses on a saver, one after another, and reports the results. Needs no test runner.
 *
 * @param name - the saver's name in the report
 * @param open - opens the saver, which is closed at the end
 */
export const runConformance = async (
  name: string,
  open: () => Promise<OpenedSaver>,
): Promise<ConformanceReport> => {
  const opened = await open();
  try {
    const context = clauseContext(opened);
    const results: ClauseResult[] = [];
    for (const clause of clauses) results.push(await runClause(clause, context));
    return { saver: name, missing: missingMethods(context.saver), results };
  } finally {
    await opened.close();
  }
};
