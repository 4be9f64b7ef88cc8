import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest. If one of them began last, the run would wait for it alone. */
const SLOW = [
  "test/pairs/trusted.test.ts",
  "test/pairs/packs.test.ts",
  "test/pairs/stacks.test.ts",
  "test/pairs/pairs.test.ts",
  "packages/engine/postgres/test/limits.test.ts",
  "test/production/memory.test.ts",
  "packages/features/journal/test/kills/killsOnStack.test.ts",
  "packages/features/journal/test/kills/killsOnPostgres.test.ts",
  "packages/features/journal/test/kills/killsOnPglite.test.ts",
  "packages/features/journal/test/trail/fuzz.test.ts",
  "test/production/production.test.ts",
  "packages/tools/service/test/telemetry/monitoringLive.test.ts",
  "packages/features/migrate/test/killed.test.ts",
  "packages/tools/cli/test/inspector/browser/access.test.ts",
  "packages/tools/cli/test/inspector/browser/history.test.ts",
  "packages/engine/s3/test/s3Saver.test.ts",
  "packages/engine/tiered/test/stacks/archivedGraphs.test.ts",
  "packages/engine/s3/test/folderSaver.test.ts",
  "test/upgrade/upgrade.test.ts",
  "packages/engine/postgres/test/differential.test.ts",
  "packages/engine/tiered/test/stacks/differential.test.ts",
  "packages/engine/tiered/test/graphs.test.ts",
  "packages/engine/postgres/test/contract.test.ts",
  "packages/engine/postgres/test/kill.test.ts",
  "packages/engine/postgres/test/graphs.test.ts",
  "packages/engine/postgres/test/silence.test.ts",
  "packages/engine/tiered/test/faults.test.ts",
  "packages/engine/tiered/test/stacks/faults.test.ts",
  "packages/engine/redis/test/cluster.test.ts",
  "packages/engine/tiered/test/stacks/archiverKilled.test.ts",
  "packages/engine/tiered/test/stacks/graphs.test.ts",
  "packages/engine/postgres/test/end.test.ts",
  "test/exports.test.ts",
  "packages/engine/redis/test/graphs.test.ts",
  "packages/engine/s3/test/tier.test.ts",
  "packages/engine/s3/test/faults.test.ts",
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
