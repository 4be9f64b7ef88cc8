import type { Threads } from "stratigraph";

interface Command {
  readonly id: number;
  readonly method: string;
  readonly params?: {
    readonly interrupt_id?: string;
    readonly response?: unknown;
    readonly responses?: readonly { readonly interrupt_id: string; readonly response: unknown }[];
  };
}

/**
 * Passes a request on to LangGraph's embed server. That refuses the answer to a question if the process that asked it is gone, because it
 * keeps the graph of a thread in memory. As the input of a run it takes the answer, and the thread knows its graph.
 */
export async function passOn(
  api: { fetch(request: Request): Response | Promise<Response> },
  threads: Threads,
  request: Request,
): Promise<Response> {
  const [, threadId] = /\/threads\/([^/]+)\/commands$/.exec(new URL(request.url).pathname) ?? [];
  if (request.method !== "POST" || threadId === undefined) return await api.fetch(request);
  const command = (await request.clone().json()) as Command;
  const response = await api.fetch(request);
  if (command.method !== "input.respond") return response;
  const { error } = (await response.clone().json()) as { error?: string };
  if (error !== "no_such_run") return response;
  const { metadata } = await threads.get(threadId);
  const { interrupt_id = "", response: answer, responses } = command.params ?? {};
  const answers = responses ?? [{ interrupt_id, response: answer }];
  const input = Object.fromEntries(answers.map((each) => [each.interrupt_id, each.response]));
  const params = { assistant_id: metadata["graph_id"], input };
  const body = JSON.stringify({ id: command.id, method: "run.start", params });
  const headers = { "content-type": "application/json" };
  return await api.fetch(new Request(request.url, { method: "POST", headers, body }));
}
