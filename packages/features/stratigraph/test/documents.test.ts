import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { packageFolders } from "../../../../test/run/packageFolders.mjs";

// Code in the documents for users that is in no file is type-checked here, against the sources. What it takes for granted (a
// graph, a pool, a client) is declared below.

const root = join(import.meta.dirname, "../../../..");
const documents = [
  "README.md",
  "docs/data-protection.md",
  ...readdirSync(join(root, "docs/guides")).map((name) => `docs/guides/${name}`),
  "packages/engine/core/ERRORS.md",
  ...[...packageFolders.values()].map((folder) => `${folder}/README.md`),
].filter((path) => existsSync(join(root, path)));

/** Names that snippets use and don't declare, with their types. */
const given: Readonly<Record<string, string>> = {
  builder:
    'import("@langchain/langgraph").StateGraph<typeof import("@langchain/langgraph").MessagesAnnotation.spec>',
  graph: 'ReturnType<import("@langchain/langgraph").StateGraph<unknown>["compile"]>',
  checkpointer: 'import("stratigraph").PostgresSaver',
  createCheckpointer: 'typeof import("stratigraph").createCheckpointer',
  PostgresSaver: 'typeof import("stratigraph").PostgresSaver',
  workspace: 'import("@stratigraph/workspace").Workspace',
  api: "{ fetch(request: Request): Response | Promise<Response> }",
  express:
    '() => { use(path: string, listener: import("node:http").RequestListener): void; listen(port: number): void }',
  handle: "(body: object) => Promise<void>",
  stateVersions: 'NonNullable<import("stratigraph").SaverOptions["stateVersions"]>',
  config: "{ configurable: { thread_id: string } }",
  input: "never",
  readAgainAndRepeat: "(data: object) => Promise<void>",
  runId: "string",
  fetchKeyFromKms: "() => Promise<Uint8Array>",
  hashKey: "Uint8Array",
  pool: 'import("pg").Pool',
  client: 'import("ioredis").Redis',
  app: 'import("hono").Hono',
  server: 'import("node:http").Server',
  Money:
    "{ new (amount: number, currency: string): { amount: number; currency: string }; parse(data: unknown): { amount: number; currency: string } }",
  MyTier: 'new () => import("stratigraph").MemoryTier',
};

interface Snippet {
  readonly name: string;
  /** Beside its document, so that imports are found from there. */
  readonly path: string;
  readonly text: string;
}

function snippetsOf(document: string, text: string): Snippet[] {
  return [...text.matchAll(/^```ts\n(?!\/\/ file:)(.*?)^```/gms)].map(([, code = ""], n) => ({
    name: `${document}, ${n + 1}`,
    path: join(root, `${document}.${n}.ts`),
    text: withGiven(code),
  }));
}

function withGiven(code: string): string {
  const own = new Set([...code.matchAll(/\b(?:const|let|class|function) (\w+)/g)].map(([, name]) => name));
  for (const [, names = ""] of code.matchAll(/(?:import|const) \{([^}]*)\}/g))
    for (const name of names.split(",")) own.add(name.trim());
  const missing = Object.entries(given).filter(
    ([name]) => !own.has(name) && new RegExp(`\\b${name}\\b`).test(code),
  );
  return [...missing.map(([name, type]) => `declare const ${name}: ${type};`), code, "export {};"].join("\n");
}

/** What the compiler says of each snippet. */
function complaints(snippets: readonly Snippet[]): string[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.base.json"), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, noEmit: true }, root);
  const files = new Map(snippets.map(({ path, text }) => [path, text]));
  const host = ts.createCompilerHost({ ...options, noUnusedLocals: false });
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.getSourceFile = (path, language, ...rest) => {
    const text = files.get(path);
    return text === undefined
      ? getSourceFile(path, language, ...rest)
      : ts.createSourceFile(path, text, language);
  };
  const program = ts.createProgram([...files.keys()], { ...options, noUnusedLocals: false }, host);
  return [...files.keys()].flatMap((path, n) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText }) => `${snippets[n]!.name}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
  });
}

/** A snippet that must be complained about: the check can fail. */
const wrong =
  'import { createCheckpointer } from "stratigraph";\nawait createCheckpointer({ postgers: "x" });\n';

test("the code of the documents type-checks", () => {
  const snippets = documents.flatMap((path) => snippetsOf(path, readFileSync(join(root, path), "utf8")));
  expect(snippets.length).toBeGreaterThan(30);
  const [seen, ...others] = complaints([
    ...snippetsOf("packages/wrong.md", `\`\`\`ts\n${wrong}\`\`\`\n`),
    ...snippets,
  ]);
  expect(seen).toContain("postgers");
  expect(others).toEqual([]);
}, 300_000);

test("packages bring what their READMEs send readers to", () => {
  for (const [folder, file] of [
    ["packages/engine/core", "ERRORS.md"],
    ["packages/tools/service", "monitoring"],
  ] as const) {
    const { files } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
      files: string[];
    };
    expect(files, folder).toContain(file);
    expect(existsSync(join(root, folder, file))).toBe(true);
  }
});
