import { join } from "node:path";
import { BaseSequencer, createVitest, type TestCase, type TestModule } from "vitest/node";
import config from "../../vitest.config.ts";
import type { TestResult, TestRun } from "./testRun.ts";

// Runs in a copy of the repository for as long as mutants are tried there: a vitest that keeps what it has transformed and the servers
// that it has started. The tests of each run get a new process. session.ts tells it which tests to run, and which files have changed.
const root = join(import.meta.dirname, "../..");

/** In the order in which the mutant names them. */
class AsNamed extends BaseSequencer {
  override sort(files: Parameters<BaseSequencer["sort"]>[0]): Promise<typeof files> {
    return Promise.resolve(files);
  }
}

let failed: { file: string; test: string }[] = [];
let passed = 0;
let ended: string[] = [];
let all = false;

const vitest = await createVitest(
  "test",
  {
    ...config.test,
    root,
    config: false,
    watch: false,
    // The files of a run share what they import.
    maxWorkers: 1,
    // A mutant may have a test wait for something that never comes.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Programs that tests start aren't bundled: a bundle would have to be made anew for each mutant.
    globalSetup: ["test/servers/registry.ts"],
    sequence: { sequencer: AsNamed },
    reporters: [
      {
        onTestCaseResult(testCase: TestCase) {
          const { state } = testCase.result();
          if (state === "passed") passed += 1;
          if (state === "failed") fail(testCase.module.relativeModuleId, testCase.fullName);
        },
        onTestModuleEnd(module: TestModule) {
          const file = module.relativeModuleId;
          ended.push(file);
          const suites = [...module.children.allSuites()];
          // A hook or an import.
          if ([module, ...suites].some((it) => it.errors().length > 0)) fail(file, "(outside its tests)");
        },
      },
    ],
  },
  { ssr: config.ssr ?? {} },
);
await vitest.standalone();

function fail(file: string, test: string): void {
  failed.push({ file, test });
  if (!all) void vitest.cancelCurrentRun("test-failure");
}

async function answer({ files, name, changed, all: goOn }: TestRun): Promise<TestResult> {
  [failed, passed, ended, all] = [[], 0, [], goOn];
  for (const file of changed) vitest.invalidateFile(join(root, file));
  const project = vitest.getRootProject();
  const options = name === undefined ? {} : { testNamePattern: new RegExp(name) };
  const { unhandledErrors } = await vitest.runTestSpecifications(
    files.map((file) => project.createSpecification(join(root, file), options)),
  );
  if (failed.length === 0) {
    const silent = files.find((file) => !ended.includes(file));
    if (silent !== undefined) failed.push({ file: silent, test: "(its process died)" });
    else if (unhandledErrors.length > 0) failed.push({ file: files[0]!, test: "(outside every test)" });
  }
  return { passed, failed };
}

process.on("message", (request: TestRun) => {
  void answer(request).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on("disconnect", () => void vitest.close().finally(() => process.exit()));
process.send?.("ready");
