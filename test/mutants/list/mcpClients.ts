import type { Mutant } from "../mutant.ts";

const src = "packages/tools/cli/src/mcp";
const guard = { kind: "guard", tests: ["packages/tools/cli/test/mcp/clients.test.ts"] } as const;

/** Of the MCP server, as the SDK's clients see it. */
export const mcpClients: readonly Mutant[] = [
  {
    ...guard,
    id: "mcl01",
    what: "a call over HTTP goes on when its client has gone",
    file: `${src}/wired.ts`,
    find: "new Request(url, { method, headers, signal, body: text })",
    replace: "new Request(url, { method, headers, body: text })",
  },
  {
    ...guard,
    id: "mcl02",
    what: "a client of 2025 over HTTP is told that it may subscribe, and hears nothing",
    file: `${src}/createMcp.ts`,
    find: 'era === "modern" || overStdio',
    replace: "true",
  },
  {
    ...guard,
    id: "mcl03",
    what: "a server over stdio outlives its client",
    file: `${src}/stdio.ts`,
    find: "    subscribed.end();\n    ended();\n",
    replace: "    subscribed.end();\n",
  },
];
