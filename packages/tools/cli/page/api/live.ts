import type { InputOf, OperationName, OutputOf, Progress, RunEvent } from "../../src/operations/index.ts";
import { ApiError, request } from "./client.ts";
import { EventParser } from "./sse.ts";

interface LiveOptions {
  readonly signal: AbortSignal;
  readonly onEvent?: (event: RunEvent) => void;
  /** Called with the progress. */
  readonly onProgress?: (progress: Progress) => void;
}

/**
 * Runs an operation, and reports what happens meanwhile. Aborting the signal stops it on the server.
 * @throws as `call`
 */
export async function callLive<N extends OperationName>(
  name: N,
  input: InputOf<N>,
  { signal, onEvent, onProgress }: LiveOptions,
): Promise<OutputOf<N>> {
  const response = await request(`/api/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(input),
    signal,
  });
  const parser = new EventParser();
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new ApiError(0, "DISCONNECTED", "The inspector ended before it had answered.");
    for (const { event, data } of parser.push(value)) {
      const told: unknown = JSON.parse(data);
      if (event === "event") onEvent?.(told as RunEvent);
      else if (event === "progress") onProgress?.(told as Progress);
      else if (event === "result") return told as OutputOf<N>;
      else if (event === "error") throw errorOf(told);
    }
  }
}

function errorOf(told: unknown): ApiError {
  const { error, status } = told as {
    readonly error: {
      readonly code: string;
      readonly message: string;
      readonly fields?: ApiError["fields"];
      readonly help?: string;
    };
    readonly status: number;
  };
  return new ApiError(status, error.code, error.message, error.fields, error.help);
}
