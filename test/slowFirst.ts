import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest. If one of them began last, the run would wait for it alone. */
const SLOW = [
  "test/production/memory.test.ts",
  "packages/journal/test/kills/killsOnStack.test.ts",
  "packages/journal/test/kills/killsOnPostgres.test.ts",
  "packages/journal/test/kills/killsOnPglite.test.ts",
  "packages/journal/test/trail/fuzz.test.ts",
  "test/production/production.test.ts",
  "packages/service/test/telemetry/monitoringLive.test.ts",
  "packages/migrate/test/killed.test.ts",
  "packages/cli/test/inspector/browser/access.test.ts",
  "packages/cli/test/inspector/browser/history.test.ts",
  "packages/s3/test/s3Saver.test.ts",
  "packages/tiered/test/stacks/archivedGraphs.test.ts",
  "packages/s3/test/folderSaver.test.ts",
  "test/upgrade/upgrade.test.ts",
  "packages/postgres/test/differential.test.ts",
  "packages/tiered/test/stacks/differential.test.ts",
  "packages/tiered/test/graphs.test.ts",
  "packages/postgres/test/contract.test.ts",
  "packages/postgres/test/kill.test.ts",
  "packages/postgres/test/graphs.test.ts",
  "packages/postgres/test/silence.test.ts",
  "packages/tiered/test/faults.test.ts",
  "packages/tiered/test/stacks/faults.test.ts",
  "packages/redis/test/cluster.test.ts",
  "packages/tiered/test/stacks/archiverKilled.test.ts",
  "packages/tiered/test/stacks/graphs.test.ts",
  "packages/postgres/test/limits.test.ts",
  "packages/postgres/test/end.test.ts",
  "test/exports.test.ts",
  "packages/redis/test/graphs.test.ts",
  "packages/s3/test/tier.test.ts",
  "packages/s3/test/faults.test.ts",
];

/** Runs the files that take longest first, in the order above, then the others in vitest's order. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = SLOW.indexOf(relative(this.ctx.config.root, moduleId).replaceAll("\\", "/"));
      return found < 0 ? SLOW.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
