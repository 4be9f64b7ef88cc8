import type { OutputOf } from "../../src/operations/index.ts";
import { call, request } from "../api/client.ts";
import { search } from "../router.ts";
import { commandText } from "../design/commandText.ts";
import { formatPath, type Step } from "./records.ts";

/** The checkpoint whose values are shown. */
export interface ValueAt {
  readonly thread: string;
  readonly namespace: string;
  readonly checkpoint: string;
}

/** A channel, and which part of its value. */
export interface Part {
  readonly channel: string;
  readonly path: readonly Step[];
}

/** How much of a value one further request loads at most, in bytes. */
const moreBytes = 400_000;

/** Loads a part of a value, or a slice of it if the part is a list, a text or an object. @throws ApiError */
export async function loadPart(
  at: ValueAt,
  { channel, path }: Part,
  slice?: { readonly from: number; readonly to: number | undefined },
  options: { readonly signal?: AbortSignal; readonly maxBytes?: number } = {},
): Promise<unknown> {
  const where = formatPath(slice === undefined ? path : [...path, slice]);
  const { thread, namespace, checkpoint } = at;
  const input = {
    at: thread,
    namespace,
    checkpoint,
    channel,
    ...(where === "" ? {} : { path: where }),
    maxBytes: options.maxBytes ?? moreBytes,
  };
  const shown: OutputOf<"show"> = await call("show", input, { signal: options.signal });
  return shown.channels[0]?.value;
}

/** Loads a whole value as a file. @throws ApiError */
export async function loadWhole(at: ValueAt, { channel, path }: Part): Promise<Blob> {
  const { thread, namespace, checkpoint } = at;
  const query = search({ thread, namespace, checkpoint, channel, path: formatPath(path) });
  const response = await request(`/api/_value${query}`, {});
  return await response.blob();
}

/** The command that shows a part in a terminal. */
export function partCommand({ thread, namespace, checkpoint }: ValueAt, { channel, path }: Part): string {
  return commandText("show", [thread], { checkpoint, namespace, channel, path: formatPath(path) });
}
