import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

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
  telemetry: ["core"],
  operations: ["core", "branch", "journal", "migrate"],
  inspector: ["core", "operations"],
  cli: ["core", "inspector", "operations", "stratigraph"],
  testing: ["core"],
  stratigraph: ["core", "branch", "migrate", "postgres", "redis", "s3", "tiered"],
};

/** A statement, not a word: "update" alone is a checkpoint's source in LangGraph. */
const SQL = [
  /^\s*select\s/i,
  /\bselect\b[^.]*\bfrom\b/i,
  /\binsert\s+into\b/i,
  /\bupdate\s+\S+\s+set\b/i,
  /\bdelete\s+from\b/i,
  /\b(create|alter|drop)\s+(unique\s+)?(table|index|schema|function|type|sequence|view)\b/i,
];

interface Source {
  /** From the repository's root. */
  path: string;
  package: string;
  text: string;
  tree: ts.SourceFile;
}

const packages = readdirSync(join(root, "packages")).filter((name) =>
  existsSync(join(root, "packages", name, "package.json")),
);
const sources: Source[] = packages.flatMap((name) =>
  filesUnder(`packages/${name}/src`).map((path) => read(path, name)),
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

test("there are sources to look at", () => {
  expect(packages.length).toBeGreaterThanOrEqual(8);
  expect(sources.length).toBeGreaterThan(10);
});

test("every package has a place in the layers, and the layers list no others", () => {
  expect(Object.keys(LAYERS).toSorted()).toEqual(packages.toSorted());
});

test("packages import only what their layer may", () => {
  expect(
    violations((source) => {
      const allowed = LAYERS[source.package] ?? [];
      return importsOf(source.tree).filter((specifier) => {
        const [, ours] =
          /^(?:@stratigraph\/)([^/]+)/.exec(specifier) ??
          (specifier === "stratigraph" ? ["", "stratigraph"] : []);
        if (ours === undefined || ours === source.package) return false;
        return !allowed.includes(ours);
      });
    }),
  ).toEqual([]);
});

test("an application that installs stratigraph gets two libraries with it, and none of the tools", () => {
  const installed = (name: string): string[] => {
    const file = join(root, "packages", name, "package.json");
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
  expect(all).not.toContain("@stratigraph/operations");
});

test("relative imports stay inside their package and name the file with its extension", () => {
  expect(
    violations((source) =>
      importsOf(source.tree).filter((specifier) => {
        if (!specifier.startsWith(".")) return false;
        const target = join(root, source.path, "..", specifier);
        return !target.startsWith(join(root, "packages", source.package, "src")) || !existsSync(target);
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
    violations(({ tree }) =>
      nodesOf(tree)
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
    return name.endsWith(".ts") && name !== "embedded.ts" ? [`${folder}/${name}`] : [];
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

function nodesOf(tree: ts.SourceFile): ts.Node[] {
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
