// long file: one rule after another, each with the look at the sources that it needs
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { packageFolders } from "./run/packageFolders.mjs";

const root = join(import.meta.dirname, "..");

/** Which packages of ours each may import: the layers of ARCHITECTURE.md. */
const LAYERS: Record<string, string[]> = {
  core: [],
  postgres: ["core"],
  redis: ["core"],
  s3: ["core"],
  tiered: ["core"],
  branch: ["core"],
  service: ["core"],
  migrate: ["core"],
  journal: ["core", "branch"],
  workspace: ["core", "branch", "journal"],
  "cli/operations": ["core", "branch", "journal", "migrate", "service", "workspace"],
  "cli/serving": ["core", "cli/operations"],
  "cli/mcp": ["core", "branch", "journal", "workspace", "cli/operations", "cli/serving", "stratigraph"],
  "cli/inspector": ["core", "cli/mcp", "cli/operations", "cli/serving"],
  "cli/dev": ["core", "stratigraph"],
  "cli/terminal": [
    "core",
    "cli/dev",
    "cli/inspector",
    "cli/mcp",
    "cli/operations",
    "cli/serving",
    "stratigraph",
  ],
  testing: ["core"],
  stratigraph: ["core", "branch", "migrate", "postgres", "redis", "s3", "tiered"],
};

/** The folders of packages/, from the inside out. */
const RINGS = ["engine", "features", "tools"];

/** A statement, not a word: "update" alone is a checkpoint's source in LangGraph. */
const SQL = [
  /^\s*select\s/i,
  /\bselect\b[^.]*\bfrom\b/i,
  /\binsert\s+into\b/i,
  /\bupdate\s+\S+\s+set\b/i,
  /\bdelete\s+from\b/i,
  /\b(create|alter|drop)\s+(unique\s+)?(table|index|schema|function|type|sequence|view)\b/i,
];

/**
 * Test files that wait for a time, and why no event can take its place. Whoever waits for something to happen uses `waitUntil` of
 * test/servers/process.ts, or `expect.poll`; whoever needs time to pass uses fake timers, or test/simulation.
 */
const WAITS: Record<string, string> = {
  "packages/tools/cli/test/inspector/seeds/on.ts": "what a node of the examples takes, for the page to show",
  "packages/features/journal/test/races/outages.test.ts": "a slow storage",
  "packages/features/journal/test/races/processes.test.ts":
    "a call outlasts a real lease, and another process waits for it",
  "packages/features/journal/test/races/racesChild.ts":
    "a payment that takes long enough for two processes to meet",
  "packages/engine/postgres/test/primaryFinder.test.ts": "a server that is far away",
  "packages/engine/postgres/test/restart.test.ts":
    "the pace at which connections are ended, and of a run meanwhile",
  "packages/engine/postgres/test/support/endChild.ts": "the pace of a child's runs",
  "packages/engine/postgres/test/support/lockChild.ts":
    "the pace of a child that takes a lock again and again",
  "packages/engine/redis/test/operations.test.ts": "a slow server",
  "packages/tools/service/test/support/drainChild.ts": "what a step of a child's runs takes",
  "packages/tools/service/test/telemetry/monitoring/troubles.ts": "what is told once a second is told again",
  "packages/tools/service/test/telemetry/monitoringLive.test.ts":
    "Prometheus scrapes once a second, and rates need two of these",
  "packages/tools/testing/src/faulty/faults.ts": "FaultyTier's delay()",
  "packages/tools/testing/src/graphs/abortTests.ts":
    "older LangGraphs tell nobody when a run that was left has ended",
  "packages/engine/tiered/test/adaptiveStack.test.ts":
    "copies expire in a real Redis between the steps of runs",
  "packages/engine/tiered/test/faults.test.ts": "a user's pause between turns",
  "packages/engine/tiered/test/stacks/kill.test.ts":
    "nothing tells when another process's copy is no longer trusted",
  "packages/engine/tiered/test/stacks/soak.test.ts": "the pace of archivers that found nothing",
  "packages/engine/tiered/test/stacks/support/runsDuring.ts": "a user's pause between turns",
  "test/collected.ts": "polls, because nothing tells what was collected",
  "test/production/dashboard.ts": "Prometheus scrapes once a second",
  "test/production/production.test.ts": "users who don't begin at once; polls",
  "test/production/turnsChild.ts": "polls, in a child",
  "test/production/user.ts": "a user's pause before another attempt",
  "test/servers/process.ts": "waitUntil polls",
  "test/servers/redis.test.ts": "a paused server says nothing for a while",
  "test/servers/s3.test.ts": "a paused server says nothing for a while",
  "test/servers/shared.ts": "polls, for a second at most",
};

interface Source {
  /** From the repository's root. */
  path: string;
  package: string;
  text: string;
  tree: ts.SourceFile;
}

const packages = [...packageFolders.keys()];
const sources: Source[] = packages.flatMap((name) =>
  ["src", "page"]
    .flatMap((folder) => filesUnder(`${packageFolders.get(name)}/${folder}`))
    .map((path) => read(path, name)),
);

test("test files that are named elsewhere exist", () => {
  const naming = ["test/slowFirst.ts", "test/run/langgraph-versions.mjs", "test/run/node-versions.mjs"];
  const named = naming.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/"((?:packages|test)\/[\w./-]*)"/g)].map(
      ([, path]) => path!,
    ),
  );
  expect(named.length).toBeGreaterThan(25);
  // Some name the beginning of a file's path, as vitest takes it.
  const isThere = (path: string) => existsSync(join(root, path)) || existsSync(join(root, `${path}.test.ts`));
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});

/** A package, or a room of one that has rooms. The page is the inspector's. */
function layerOf({ package: name, path }: Pick<Source, "package" | "path">): string {
  const [, , , folder, room = ""] = path.split("/");
  if (name !== "cli") return name;
  if (folder === "page") return "cli/inspector";
  return ["operations", "serving", "inspector", "mcp", "dev"].includes(room) ? `cli/${room}` : "cli/terminal";
}

test("there are sources to look at", () => {
  expect(packages.length).toBeGreaterThanOrEqual(8);
  expect(sources.length).toBeGreaterThan(10);
});

test("every package has a place in the layers, and the layers list no others", () => {
  const placed = new Set(Object.keys(LAYERS).map((layer) => layer.split("/")[0]));
  expect([...placed].toSorted()).toEqual(packages.toSorted());
  expect([...new Set(sources.map(layerOf))].toSorted()).toEqual(Object.keys(LAYERS).toSorted());
});

test("packages import only what their layer may", () => {
  expect(
    violations((source) => {
      const own = layerOf(source);
      const allowed = LAYERS[own]!;
      return importsOf(source.tree).filter((specifier) => {
        if (specifier.startsWith(".")) {
          const room = layerOf({ ...source, path: join(source.path, "..", specifier) });
          return room !== own && !allowed.includes(room) && !specifier.endsWith("/version.ts");
        }
        const [, ours] =
          /^(?:@stratigraph\/)([^/]+)/.exec(specifier) ??
          (specifier === "stratigraph" ? ["", "stratigraph"] : []);
        if (ours === undefined || ours === source.package) return false;
        return !allowed.includes(ours);
      });
    }),
  ).toEqual([]);
});

test("packages import from their own ring and from those inside it", () => {
  const ringOf = (name: string) => RINGS.indexOf(packageFolders.get(name)!.split("/")[1]!);
  expect(packages.filter((name) => ringOf(name) < 0)).toEqual([]);
  const outwards = Object.entries(LAYERS).flatMap(([layer, allowed]) =>
    allowed
      .filter((other) => ringOf(other.split("/")[0]!) > ringOf(layer.split("/")[0]!))
      .map((other) => `${layer} imports ${other}`),
  );
  expect(outwards).toEqual([]);
});

test("an application that installs stratigraph gets two libraries with it, and none of the tools", () => {
  const installed = (name: string): string[] => {
    const file = join(root, packageFolders.get(name)!, "package.json");
    const { dependencies = {} } = JSON.parse(readFileSync(file, "utf8")) as {
      dependencies?: Record<string, string>;
    };
    return Object.keys(dependencies).flatMap((dependency) => {
      const [, ours] = /^@stratigraph\/(.+)/.exec(dependency) ?? [];
      return ours === undefined ? [dependency] : [dependency, ...installed(ours)];
    });
  };
  const all = [...new Set(installed("stratigraph"))];
  expect(all.filter((name) => !name.startsWith("@stratigraph/")).toSorted()).toEqual(["lru-cache", "pg"]);
  expect(all).not.toContain("@stratigraph/cli");
});

test("relative imports stay inside their package and name the file with its extension", () => {
  expect(
    violations((source) =>
      importsOf(source.tree).filter((specifier) => {
        if (!specifier.startsWith(".")) return false;
        const target = join(root, source.path, "..", specifier);
        const folders = source.path.split("/")[3] === "page" ? ["page", "src"] : ["src"];
        const isOwn = folders.some((it) =>
          target.startsWith(join(root, packageFolders.get(source.package)!, it)),
        );
        return !isOwn || !existsSync(target);
      }),
    ),
  ).toEqual([]);
});

test("no file imports itself by way of others, types included", () => {
  const graph = new Map(
    sources.map(({ path, tree }) => [path, importsOf(tree).flatMap((specifier) => fileOf(path, specifier))]),
  );
  expect(circlesIn(graph)).toEqual([]);
});

test("one class extends BaseCheckpointSaver", () => {
  const subclasses = sources
    .filter(({ text }) => /\bextends\s+BaseCheckpointSaver\b/.test(text))
    .map(({ path }) => path);
  expect(subclasses).toHaveLength(1);
});

test("SQL lives in .sql files", () => {
  // The contract suites put hostile ids into savers, some of which look like SQL on purpose.
  const judged = ({ package: owner }: Source) => owner !== "testing";
  expect(violations((source) => (judged(source) ? sqlIn(source.tree) : []))).toEqual([]);
});

test("no export *", () => {
  expect(
    violations(({ tree }) =>
      tree.statements
        .filter((statement) => ts.isExportDeclaration(statement) && statement.exportClause === undefined)
        .map((statement) => statement.getText(tree)),
    ),
  ).toEqual([]);
});

test("no any", () => {
  expect(
    violations(({ tree }) =>
      nodesOf(tree)
        .filter((node) => node.kind === ts.SyntaxKind.AnyKeyword)
        .map((node) => `line ${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`),
    ),
  ).toEqual([]);
});

test("no console in libraries", () => {
  expect(
    violations(({ path, tree }) =>
      // A page has nowhere else to say it.
      (path.includes("/page/") ? [] : nodesOf(tree))
        .filter((node) => ts.isIdentifier(node) && node.text === "console")
        .map((node) => `line ${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`),
    ),
  ).toEqual([]);
});

test("files over 300 lines say why in their first lines: // long file: <reason>", () => {
  const everything = ["packages", "test", "examples"].flatMap(filesUnder);
  const silent = everything.filter((path) => {
    const lines = readFileSync(join(root, path), "utf8").split("\n");
    return lines.length > 301 && !lines.slice(0, 10).some((line) => /^\/\/ long file: \S+/.test(line));
  });
  expect(silent).toEqual([]);
});

describe("no test passes or fails by chance", () => {
  // The bench measures, and time is virtual in simulations and pairs.
  const judged = ["packages", "test"]
    .flatMap(filesUnder)
    .filter((path) =>
      /^packages\/[^/]+\/(?:[^/]+\/test|testing\/src)\/|^test\/(?!bench\/|simulation\/|pairs\/)/.test(path),
    )
    // What names no timer and no clock can't be at fault, and isn't parsed.
    .filter((path) => /setTimeout|now\(\)/.test(readFileSync(join(root, path), "utf8")))
    .map((path) => read(path, ""));

  test("none waits for a time in place of an event", () => {
    const waiting = judged.filter(({ tree }) => waitsIn(tree).length > 0).map(({ path }) => path);
    expect(waiting).toEqual(Object.keys(WAITS).toSorted());
  });

  test("none bounds measured time from above", () => {
    expect(judged.flatMap(({ path, tree }) => timeLimitsIn(tree).map((text) => `${path}: ${text}`))).toEqual(
      [],
    );
  });
});

test("embedded SQL and Lua are up to date", () => {
  const out = execFileSync(process.execPath, ["test/run/embed.mjs", "--check"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(out).toBe("");
});

describe("these rules can fail", () => {
  const parse = (text: string) => ts.createSourceFile("x.ts", text, ts.ScriptTarget.ESNext, true);

  test("circles are seen wherever they are entered, and paths that only meet again are none", () => {
    const graph = (edges: Record<string, string[]>) => circlesIn(new Map(Object.entries(edges)));
    expect(graph({ a: ["b"], b: ["c"], c: ["b"] })).toEqual(["b → c → b"]);
    expect(graph({ a: ["a"] })).toEqual(["a → a"]);
    expect(graph({ a: ["b", "c"], b: ["d"], c: ["d"], d: [] })).toEqual([]);
  });

  test("SQL is seen in plain and template strings, not in words and comments", () => {
    const seen = (text: string) => sqlIn(parse(text)).length;
    expect(seen("const a = `insert  into ${t} values (1)`")).toBe(1);
    expect(seen('const a = "SELECT 1"; const b = "update t set a = 1"')).toBe(2);
    expect(seen('const a = { source: "update" }; // delete from x')).toBe(0);
  });

  test("waiting for a time is seen, whatever it is called", () => {
    const seen = (text: string) => waitsIn(parse(text)).length;
    expect(seen('import { setTimeout as pause } from "node:timers/promises"; await pause(5);')).toBe(1);
    expect(seen('import timers from "timers/promises"; await timers.setTimeout(5);')).toBe(1);
    expect(seen("await new Promise((resolve) => setTimeout(resolve, 5));")).toBe(1);
    expect(seen('import { setImmediate as turn } from "node:timers/promises"; await turn();')).toBe(0);
    expect(seen("new Promise((_, reject) => { const timer = setTimeout(reject, 20_000); })")).toBe(0);
  });

  test("limits of measured time are seen, also where it has a name", () => {
    const seen = (text: string) => timeLimitsIn(parse(text)).length;
    expect(seen("expect(performance.now() - begun).toBeLessThan(1000);")).toBe(1);
    expect(seen("const ms = Date.now() - begun; expect(ms).toBeLessThanOrEqual(1000);")).toBe(1);
    expect(seen("runs.longest = Math.max(1, Date.now() - from); expect(runs.longest < 5).toBe(true);")).toBe(
      1,
    );
    expect(seen("const tookMs = Date.now() - since; expect(tookMs).toBeGreaterThan(1000);")).toBe(0);
    expect(seen("while (Date.now() < end) look(); expect(writtenAtMs).toBeLessThan(Date.now());")).toBe(0);
  });

  test("imports are seen in every form", () => {
    const text =
      'import a from "a"; import type { B } from "b"; export { c } from "c"; const d = await import("d");';
    expect(importsOf(parse(`${text} type E = import("e").E;`))).toEqual(["a", "b", "c", "d", "e"]);
  });
});

/** What `find` reports, each with its file in front. */
function violations(find: (source: Source) => string[]): string[] {
  return sources.flatMap((source) => find(source).map((what) => `${source.path}: ${what}`));
}

function filesUnder(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry;
    if (entry.isDirectory())
      return name === "node_modules" || name === "dist" ? [] : filesUnder(`${folder}/${name}`);
    return /\.tsx?$/.test(name) && name !== "embedded.ts" ? [`${folder}/${name}`] : [];
  });
}

function read(path: string, owner: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  return { path, package: owner, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true) };
}

/** The file that a relative import of `path` names; none for an import of a package. */
function fileOf(path: string, specifier: string): string[] {
  return specifier.startsWith(".") ? [join(path, "..", specifier)] : [];
}

/** One circle for each import that closes one, found by walking the graph depth first. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const finished = new Set<string>();
  const walk = (file: string, above: readonly string[]): void => {
    if (above.includes(file)) {
      circles.push([...above.slice(above.indexOf(file)), file].join(" → "));
      return;
    }
    if (finished.has(file)) return;
    for (const imported of graph.get(file) ?? []) walk(imported, [...above, file]);
    finished.add(file);
  };
  for (const file of graph.keys()) walk(file, []);
  return circles;
}

function nodesOf(tree: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node) => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return nodes;
}

function stringsOf(tree: ts.SourceFile): string[] {
  return nodesOf(tree)
    .filter((node) => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node))
    .map((node) =>
      ts.isTemplateExpression(node) ? node.getText(tree).slice(1, -1) : (node as ts.StringLiteral).text,
    );
}

function sqlIn(tree: ts.SourceFile): string[] {
  return stringsOf(tree).filter((text) => SQL.some((pattern) => pattern.test(text)));
}

/** Where a promise is settled by a timer. */
function waitsIn(tree: ts.SourceFile): string[] {
  const sleeps = new Set(["timers.setTimeout", "timersPromises.setTimeout"]);
  for (const node of tree.statements) {
    if (!ts.isImportDeclaration(node) || !node.moduleSpecifier.getText(tree).endsWith('timers/promises"'))
      continue;
    for (const each of nodesOf(node))
      if (ts.isImportSpecifier(each) && (each.propertyName ?? each.name).text === "setTimeout")
        sleeps.add(each.name.text);
  }
  return nodesOf(tree)
    .filter(ts.isCallExpression)
    .filter((node) => {
      const callee = node.expression.getText(tree);
      return sleeps.has(callee) || (callee === "setTimeout" && isInPromise(node, tree));
    })
    .map((node) => node.getText(tree));
}

/** Whether a call stands in what is passed to `new Promise`. A timer that is kept, to be cleared, is a deadline. */
function isInPromise(call: ts.CallExpression, tree: ts.SourceFile): boolean {
  if (ts.isVariableDeclaration(call.parent) || ts.isBinaryExpression(call.parent)) return false;
  for (let node: ts.Node = call; node.parent !== undefined; node = node.parent)
    if (ts.isNewExpression(node) && node.expression.getText(tree) === "Promise") return true;
  return false;
}

/** Comparisons that fail where something took too long. */
function timeLimitsIn(tree: ts.SourceFile): string[] {
  const measured = new Set<string>();
  const isMeasure = (node: ts.Node): boolean =>
    nodesOf(node).some(
      (each) =>
        (ts.isIdentifier(each) && measured.has(each.text)) ||
        (ts.isBinaryExpression(each) &&
          each.operatorToken.kind === ts.SyntaxKind.MinusToken &&
          /\b(?:Date|performance)\.now\(\)/.test(each.left.getText(tree)) &&
          /^[\w.]*[a-z]\w*$/i.test(each.right.getText(tree))),
    );
  for (const node of nodesOf(tree)) {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      if (!ts.isArrowFunction(node.initializer) && isMeasure(node.initializer)) measured.add(node.name.text);
    } else if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
      if (isMeasure(node.right)) measured.add(node.left.getText(tree).split(".").at(-1)!);
    } else if (ts.isPropertyAssignment(node) && isMeasure(node.initializer))
      measured.add(node.name.getText(tree));
  }
  return nodesOf(tree)
    .filter((node) => {
      if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
        return node.expression.name.text.startsWith("toBeLessThan") && isMeasure(node.expression.expression);
      if (!ts.isBinaryExpression(node)) return false;
      const { LessThanToken, LessThanEqualsToken } = ts.SyntaxKind;
      return [LessThanToken, LessThanEqualsToken].includes(node.operatorToken.kind) && isMeasure(node.left);
    })
    .map((node) => node.getText(tree));
}

function importsOf(tree: ts.SourceFile): string[] {
  return nodesOf(tree).flatMap((node) => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier)
      return [(node.moduleSpecifier as ts.StringLiteral).text];
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      return node.arguments.filter(ts.isStringLiteralLike).map(({ text }) => text);
    if (
      ts.isImportTypeNode(node) &&
      ts.isLiteralTypeNode(node.argument) &&
      ts.isStringLiteral(node.argument.literal)
    )
      return [node.argument.literal.text];
    return [];
  });
}
