// long file: every kind of application, one after another
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { query } from "../servers/postgres.ts";
import { freePort, waitUntil } from "../servers/process.ts";
import { Project } from "./project.ts";

/** What the machine has for the applications. */
export interface Context {
  /** The folder with our packages. */
  readonly tarballs: string;
  /** Paths of newer Node binaries. */
  readonly nodes: readonly string[];
  /** URL of a server, or "". */
  readonly postgres: string;
}

type Consumer = (context: Context) => Promise<string>;

/** The newest LangGraph that is tested, and the oldest with the oldest of all that it admits. */
const newest = ["@langchain/langgraph@1.7.3", "@langchain/core@1.4.0"];
const oldest = [
  "@langchain/langgraph@1.4.12",
  "@langchain/core@1.1.48",
  "@langchain/langgraph-checkpoint@1.1.5",
];
/** The oldest that supervisor, swarm and langchain admit. */
const oldestOfAgents = ["@langchain/langgraph@1.4.18", "@langchain/core@1.3.5"];
const pglite = "@electric-sql/pglite@0.5.16";
const tools = {
  // The command line brings it to where applications are bundled.
  jiti: "jiti@2",
  agents: [
    "langchain@1.5.14",
    "deepagents@1.14.1",
    "@langchain/langgraph-supervisor@1.1.3",
    "@langchain/langgraph-swarm@1.0.4",
  ],
  bun: "@oven/bun-linux-x64@1.4.5",
  esbuild: "esbuild@0.28.2",
  jest: "jest@30.5.2",
  mcp: ["@langchain/mcp-adapters@1.1.4", "@modelcontextprotocol/server@2.4.0", "@openai/agents-core@0.20.0"],
  next: ["next@16.4.6", "react@19", "react-dom@19"],
  typescript: ["typescript@5.9.3", "@types/node@20"],
  yarn: "@yarnpkg/cli-dist@4.18.1",
};

/** What test/consumers/apps/scenario.cjs must give on every storage, whoever runs it. */
const expected = {
  foreign: [],
  asked: ["May I look at 2?"],
  sends: 2,
  found: ["1: yes", "2: go on"],
  messages: ["human h1 5", "ai a1 22", "tool t1 3", "tool t2 5", "ai a2 2400"],
  calls: 2,
  steps: 5,
};

/** What the agents of test/consumers/apps/agents.mjs must know in a second process, on new threads. */
const remembered = {
  createAgent: "anna drinks tea",
  deepagents: "Anna drinks green tea",
  workspace: "Anna drinks green tea",
  supervisor: "bob drinks tea",
  swarm: "carl drinks tea",
};

function check(output: string, storages: readonly string[]): void {
  const results = JSON.parse(output) as Record<string, unknown>;
  const right = isDeepStrictEqual(results, Object.fromEntries(storages.map((name) => [name, expected])));
  if (!right)
    throw new Error(
      `The application printed ${output}, not ${JSON.stringify(expected)} on ${storages.join(", ")}`,
    );
}

const programs = ["app.cjs", "app.mjs"];

let databases = 0;

/** Environment of a program: a database of its own where there is a server. */
async function withDatabase({ postgres }: Context): Promise<Record<string, string>> {
  if (postgres === "") return { DATABASE_URL: "" };
  const url = new URL(postgres);
  databases += 1;
  url.pathname = `/consumer_${process.pid}_${databases}`;
  await query(postgres, `create database ${url.pathname.slice(1)} template template0`);
  return { DATABASE_URL: url.href };
}

/** A folder of its own for bundles: with no node_modules above it, they have to have everything in them. */
function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-bundles-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** One application after the other on one installation: each brings only what it needs itself. */
let shared: Promise<Project> | undefined;
function application(context: Context): Promise<Project> {
  shared ??= (async () => {
    const project = new Project(context.tarballs);
    await project.install(
      ...newest,
      pglite,
      tools.jiti,
      tools.esbuild,
      tools.jest,
      ...tools.mcp,
      ...tools.next,
      ...tools.typescript,
    );
    return project;
  })();
  return shared;
}

/** Applications with an installation of their own: they may run beside those that share one. */
export const onTheirOwn: ReadonlySet<string> = new Set(["oldest", "agents", "yarn"]);

export const consumers: Record<string, Consumer> = {
  async node(context) {
    const project = await application(context);
    const nodes = [process.execPath, ...context.nodes];
    for (const [i, node] of nodes.entries())
      for (const program of programs) {
        const output = await project.run(node, [program, `.folder-${i}-${program}`]);
        check(output, ["memory", "folder"]);
      }
    return `CommonJS and ES modules, memory and a folder, ${nodes.length} Nodes`;
  },

  async oldest(context) {
    const project = new Project(context.tarballs);
    await project.install(...oldest);
    for (const program of programs) check(await project.run("node", [program]), ["memory"]);
    // As after `npm ci --omit=dev`: no jiti, which comes with the command line.
    project.write("stratigraph.config.mjs", 'export default { checkpointer: "memory:" };\n');
    const opens = 'import("stratigraph").then((it) => it.createCheckpointer()).then((saver) => saver.end())';
    await project.run("node", ["-e", opens]);
    project.write("stratigraph.config.ts", "export default {};\n");
    const refused = await project.try("node", ["-e", opens]);
    if (!refused.stderr.includes("npm install jiti")) throw new Error(`jiti isn't named:\n${refused.stderr}`);
    return oldest.join(", ");
  },

  async both(context) {
    const project = await application(context);
    return (await project.run("node", ["both.mjs"])).trim();
  },

  async types(context) {
    const project = await application(context);
    const kinds = [
      ["commonjs", "node16", "node16"],
      ["module", "node16", "node16"],
      ["commonjs", "nodenext", "nodenext"],
      ["module", "nodenext", "nodenext"],
      ["module", "esnext", "bundler"],
      ["commonjs", "commonjs", "node10"],
    ] as const;
    const theirs = new Map<string, number>();
    for (const [type, module, resolution] of kinds) {
      project.write("types/package.json", JSON.stringify({ type }));
      const args = ["--noEmit", "--strict", "--target", "es2022", "--types", "node", "--esModuleInterop"];
      const tsc = await project.try(
        "npx",
        ["tsc", ...args, "--module", module, "--moduleResolution", resolution, "app.ts"],
        { folder: "types" },
      );
      // Declarations are checked too. LangChain's own have one error as CommonJS; nothing of ours may have any.
      const errors = tsc.stdout.split("\n").filter((line) => /error TS\d+/.test(line));
      const bad = errors.filter((line) => !line.startsWith("../node_modules/@langchain/"));
      if (bad.length > 0 || (!tsc.ok && errors.length === 0))
        throw new Error(`${type}, ${resolution}:\n${tsc.stdout}${tsc.stderr}`);
      for (const line of errors) theirs.set(line.replace(/\(.*$/, ""), (theirs.get(line) ?? 0) + 1);
    }
    const said = theirs.size === 0 ? "" : `; errors of LangChain's own: ${[...theirs.keys()].join(", ")}`;
    return `tsc without skipLibCheck, ${kinds.map(([type, , resolution]) => `${type} ${resolution}`).join(", ")}${said}`;
  },

  async jest(context) {
    const project = await application(context);
    project.write("jest/package.json", "{}");
    await project.run("npx", ["jest"], { folder: "jest" });
    // PGlite imports dynamically, which Jest only allows with this flag.
    const env = {
      NODE_OPTIONS: "--experimental-vm-modules",
      STRATIGRAPH_FOLDER: join(project.folder, ".jest"),
    };
    await project.run("npx", ["jest"], { folder: "jest", env });
    return "a test file as CommonJS, default configuration";
  },

  async esbuild(context) {
    const project = await application(context);
    const storages = context.postgres === "" ? ["memory"] : ["memory", "postgres"];
    // What the README says: pg is CommonJS and asks for Node's own modules by require(), and PGlite has files beside it.
    const banner =
      '--banner:js=import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);';
    await bundle(project, "app.mjs", "esm", "beside.mjs", banner, "--external:@electric-sql/pglite");
    check(await project.run("node", ["beside.mjs", ".bundled"]), ["memory", "folder"]);
    return await withoutPgLite(project, async () => {
      const folder = emptyFolder();
      const bundles = [
        ["app.mjs", "esm", "modules.mjs", [banner]],
        ["app.mjs", "cjs", "modules.cjs", []],
        ["app.cjs", "cjs", "commonjs.cjs", []],
        ["app.cjs", "esm", "commonjs.mjs", [banner]],
      ] as const;
      for (const [from, format, to, extra] of bundles) {
        const out = join(folder, to);
        await bundle(project, from, format, out, ...extra);
        check(await project.run("node", [out], { env: await withDatabase(context) }), storages);
        const refused = await project.try("node", [out, join(folder, "data")]);
        if (refused.ok || !refused.stderr.includes("npm install @electric-sql/pglite"))
          throw new Error(`${to} doesn't say that PGlite is missing:\n${refused.stderr}`);
      }
      const out = join(folder, "bare.mjs");
      await bundle(project, "bare.mjs", "esm", out);
      if ((await project.run("node", [out])).trim() !== "read back") throw new Error("core alone differs");
      return `to ES modules and CommonJS, no driver but pg installed: ${storages.join(", ")}`;
    });
  },

  async next(context) {
    const project = await application(context);
    const storages = context.postgres === "" ? ["memory"] : ["memory", "postgres"];
    project.write("web/package.json", "{}");
    return await withoutPgLite(project, async () => {
      for (const bundler of ["--turbopack", "--webpack"]) {
        rmSync(join(project.folder, "web/.next"), { recursive: true, force: true });
        await project.run("npx", ["next", "build", bundler], { folder: "web" });
        check(await answerOf(project, await withDatabase(context)), storages);
      }
      return `built by Turbopack and by webpack, no driver but pg installed: ${storages.join(", ")}`;
    });
  },

  async bun(context) {
    const project = await application(context);
    await project.run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", tools.bun]);
    const bun = join(project.folder, "node_modules/@oven/bun-linux-x64/bin/bun");
    for (const program of programs)
      check(await project.run(bun, [program, `.bun-${program}`]), ["memory", "folder"]);
    return "CommonJS and ES modules, memory and a folder";
  },

  async agents(context) {
    const kinds: string[] = [];
    for (const langgraph of [newest, oldestOfAgents]) {
      const project = new Project(context.tarballs);
      await project.install(...langgraph, ...tools.agents, pglite);
      for (const [storage, env] of [
        ["a folder", { DATABASE_URL: "" }],
        ...(context.postgres === "" ? [] : [["PostgreSQL", await withDatabase(context)] as const]),
      ] as const) {
        await project.run("node", ["agents.mjs", "tell", ".memories"], { env });
        const told = await project.run("node", ["agents.mjs", "ask", ".memories"], { env });
        const answers = JSON.parse(told) as Record<string, string>;
        for (const [kind, known] of Object.entries(remembered))
          if (answers[kind]?.includes(known) !== true)
            throw new Error(`${kind} doesn't remember "${known}" on ${storage}: ${told}`);
        kinds.push(`${storage} with ${langgraph[0]}`);
      }
    }
    return `${Object.keys(remembered).join(", ")} remember in another process, on ${kinds.join(", ")}`;
  },

  async mcp(context) {
    const project = await application(context);
    // The folder takes a while to open, so one generation is enough for it: the tests of the journal have the other.
    await Promise.all([
      project.run("node", ["mcp.mjs", "1", ".calls"]),
      project.run("node", ["mcp.mjs", "2"]),
    ]);
    return "a server that is killed in mid-call, of both generations of the SDK, and LangChain's adapters: paid once";
  },

  async memory(context) {
    const project = await application(context);
    await project.run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", project.cli]);
    await project.run("node", ["memory.mjs"]);
    return "an agent of LangGraph and one of OpenAI's Agents SDK share one memory over HTTP";
  },

  async yarn(context) {
    const project = new Project(context.tarballs);
    const files = Object.fromEntries([...project.tarballs].map(([name, path]) => [name, `file:${path}`]));
    const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" });
    const yarn = (...args: string[]): Promise<string> =>
      project.run("npx", ["--yes", tools.yarn, ...args], {
        env: {
          YARN_NPM_REGISTRY_SERVER: registry.trim().replace(/\/$/, ""),
          YARN_ENABLE_IMMUTABLE_INSTALLS: "false",
        },
      });
    // The third must be named: LangGraph brings it for itself, and PnP gives it to nobody else.
    const named = [...newest, "@langchain/langgraph-checkpoint@1.2.2", "zod@4.6.7"].map((text) => {
      const at = text.lastIndexOf("@");
      return [text.slice(0, at), text.slice(at + 1)];
    });
    const dependencies = { ...files, ...Object.fromEntries(named) };
    project.write("package.json", JSON.stringify({ name: "app", dependencies, resolutions: files }));
    project.write("yarn.lock", "");
    await yarn("install");
    for (const program of programs) check(await yarn("node", program), ["memory"]);
    return "Plug'n'Play, CommonJS and ES modules";
  },
};

async function bundle(
  project: Project,
  from: string,
  format: string,
  to: string,
  ...extra: readonly string[]
): Promise<void> {
  const args = ["--bundle", "--platform=node", "--target=node20", "--log-level=warning"];
  await project.run("npx", ["esbuild", from, ...args, `--format=${format}`, `--outfile=${to}`, ...extra]);
}

/** As if PGlite had never been installed: an application that keeps everything in PostgreSQL has no other driver. */
async function withoutPgLite(project: Project, work: () => Promise<string>): Promise<string> {
  const place = join(project.folder, "node_modules/@electric-sql");
  const aside = join(project.folder, ".electric-sql");
  renameSync(place, aside);
  try {
    return await work();
  } finally {
    renameSync(aside, place);
  }
}

/** What the built Next.js application answers. */
async function answerOf(project: Project, env: Record<string, string>): Promise<string> {
  const port = String(await freePort());
  const next = join(project.folder, "node_modules/next/dist/bin/next");
  const server = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", port], {
    cwd: join(project.folder, "web"),
    env: { ...process.env, ...env, NODE_OPTIONS: "", NEXT_TELEMETRY_DISABLED: "1" },
    stdio: "ignore",
  });
  const ended = once(server, "exit");
  try {
    const url = `http://127.0.0.1:${port}/api/scenario`;
    return await waitUntil("the Next.js server", async () => await (await fetch(url)).text(), {
      everyMs: 200,
    });
  } finally {
    server.kill();
    await ended;
  }
}
