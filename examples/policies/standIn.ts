import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { PolicyCall } from "@stratigraph/journal";

/**
 * Not OPA: a server that answers `POST /v1/data/desk/decision` as OPA's REST API does, and decides as desk.rego says. It shows that the
 * recipe speaks HTTP and handles every answer, not that desk.rego is right: `OPA_URL=http://localhost:8181` runs the example against an OPA.
 */
export async function startStandIn(): Promise<{ url: string; server: Server }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: PolicyCall };
    const known = request.method === "POST" && request.url === "/v1/data/desk/decision";
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(known ? { result: decision(input) } : {}));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

function decision({ tool, args, author }: PolicyCall): object {
  const { cents } = args as { cents: number };
  if (tool === "pay" && cents > 500_000) return { deny: "no payment is over 5000 EUR" };
  if (tool !== "pay" || author !== "desk") return { deny: "no rule allows it" };
  return cents > 50_000 ? { ask: "a person allows payments over 500 EUR" } : { allow: true };
}
