import type { ResourceLink } from "@modelcontextprotocol/server";
import { hasCut } from "../operations/values/cut.ts";
import type { OutputOf } from "../operations/index.ts";
import { uriOf } from "./uris.ts";

/** How many links a result has at most. */
const mostLinks = 10;

/** Links to the whole of what a tool's result shows in part. */
export function linksOf(tool: string, output: object): ResourceLink[] {
  if (tool !== "show") return [];
  const { thread, checkpoint, namespace, channels } = output as OutputOf<"show">;
  return channels
    .filter(({ value }) => hasCut(value))
    .slice(0, mostLinks)
    .map(({ channel, bytes }) => ({
      type: "resource_link",
      uri: uriOf({ kind: "channel", thread, checkpoint, channel, namespace, path: undefined }),
      name: `${thread} ${channel}`,
      description: `The whole value of ${channel} at this checkpoint.`,
      mimeType: "application/json",
      size: bytes,
    }));
}
