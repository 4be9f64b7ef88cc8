import { existsSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { StratigraphError } from "stratigraph";
import { exitCodes, type ExitCode } from "./exitCodes.ts";
import type { Settings } from "./settings.ts";
import { canAsk, writeLine, type Terminal } from "./terminal.ts";

/** The storages that the question offers. */
const storages = {
  pglite: {
    label: "an embedded database in the folder .stratigraph (no server)",
    code: '{ pglite: ".stratigraph" }',
    needs: ["@electric-sql/pglite"],
  },
  postgres: {
    label: "PostgreSQL, at the URL in DATABASE_URL",
    code: '{ postgres: env("DATABASE_URL") }',
    needs: ["pg"],
  },
  stack: {
    label: "PostgreSQL with Redis as a cache, at DATABASE_URL and REDIS_URL",
    code: '{ hot: env("REDIS_URL"), warm: env("DATABASE_URL") }',
    needs: ["pg", "ioredis"],
  },
} as const;

type Storage = keyof typeof storages;

/** Official savers, and the URL that their threads are imported from. */
const officialSavers: Readonly<Record<string, string>> = {
  "@langchain/langgraph-checkpoint-postgres": "official+postgresql://…",
  "@langchain/langgraph-checkpoint-sqlite": "sqlite:./checkpoints.sqlite",
  "@langchain/langgraph-checkpoint-redis": "official+redis://…",
  "@langchain/langgraph-checkpoint-mongodb": "mongodb://…",
};

/** What a project's files show about it. */
interface Project {
  readonly dependencies: ReadonlySet<string>;
  readonly usesTypeScript: boolean;
}

/** Adds the command that writes a config file. It isn't an operation, because there is no storage yet. */
export function addInit(program: Command, terminal: Terminal, ended: (code: ExitCode) => void): void {
  program
    .command("init")
    .summary("Write a config file for this project.")
    .description(
      "Write stratigraph.config.ts (or .mjs) into the current folder. Asks one question; with --yes none.",
    )
    .helpGroup("Storage:")
    .action(async () => {
      const { yes = false } = program.opts<Settings>();
      ended(await init(terminal, yes));
    });
}

async function init(terminal: Terminal, yes: boolean): Promise<ExitCode> {
  const { cwd, env, stderr, stdout } = terminal;
  const project = await projectIn(cwd);
  const file = join(cwd, project.usesTypeScript ? "stratigraph.config.ts" : "stratigraph.config.mjs");
  const suggested: Storage = (env["DATABASE_URL"] ?? "") === "" ? "pglite" : "postgres";
  const chosen = yes || !canAsk(terminal) ? suggested : await ask(terminal, suggested);
  if (chosen === undefined) return exitCodes.failed;
  await write(file, chosen);
  if (chosen === "pglite") await ignoreFolder(cwd);
  await writeLine(stdout, file);
  const missing = ["stratigraph", ...storages[chosen].needs].filter(
    (name) => !project.dependencies.has(name),
  );
  const next = [
    ...(missing.length === 0 ? [] : [`npm install ${missing.join(" ")}`]),
    "const checkpointer = await createCheckpointer(); // finds the file",
    "npx stratigraph doctor",
    ...Object.entries(officialSavers)
      .filter(([name]) => project.dependencies.has(name))
      .map(([, url]) => `npx stratigraph import ${url}`),
  ];
  await writeLine(stderr, ["Next:", ...next.map((line) => `  ${line}`)].join("\n"));
  return exitCodes.done;
}

async function ask(terminal: Terminal, suggested: Storage): Promise<Storage | undefined> {
  const { isCancel, select } = await import("@clack/prompts");
  const answer = await select<Storage>({
    message: "Where should checkpoints be kept?",
    initialValue: suggested,
    options: (Object.keys(storages) as Storage[]).map((value) => ({ value, label: storages[value].label })),
    input: terminal.stdin,
    output: terminal.stderr,
  });
  return isCancel(answer) ? undefined : answer;
}

async function write(file: string, chosen: Storage): Promise<void> {
  const { code } = storages[chosen];
  const names = code.includes("env(") ? "defineConfig, env" : "defineConfig";
  const text = `import { ${names} } from "stratigraph";\n\nexport default defineConfig({\n  checkpointer: ${code},\n});\n`;
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new StratigraphError(
      "MISCONFIGURED",
      `${file} is there already, and was left as it is.`,
      { file },
      error,
    );
  }
}

/** The folder holds people's conversations: it doesn't belong in a repository. */
async function ignoreFolder(cwd: string): Promise<void> {
  const file = join(cwd, ".gitignore");
  const before = await readFile(file, "utf8").catch(() => undefined);
  if (before === undefined && !existsSync(join(cwd, ".git"))) return;
  if (before?.split("\n").some((line) => /^\/?\.stratigraph\/?$/.test(line.trim())) === true) return;
  const gap = before === undefined || before === "" || before.endsWith("\n") ? "" : "\n";
  await appendFile(file, `${gap}.stratigraph/\n`);
}

async function projectIn(cwd: string): Promise<Project> {
  const text = await readFile(join(cwd, "package.json"), "utf8").catch(() => "{}");
  const { dependencies = {}, devDependencies = {} } = JSON.parse(text) as Record<
    string,
    Record<string, string>
  >;
  const names = new Set([...Object.keys(dependencies), ...Object.keys(devDependencies)]);
  return {
    dependencies: names,
    usesTypeScript: names.has("typescript") || existsSync(join(cwd, "tsconfig.json")),
  };
}
