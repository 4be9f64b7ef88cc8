import { call, session } from "../../api/client.ts";
import { Outline } from "../../values/outline.ts";
import type { Shown } from "./shown.ts";

const about =
  "The form of one checkpoint, without its contents: every text was replaced by its length and a number, the same for equal texts. Names of channels, nodes, properties and classes, numbers and times are as they are stored: read this file before you pass it on. Long values were cut before.";

/** The form of a checkpoint, without its contents, as a file to share, such as with a bug report. @throws ApiError */
export async function bundleOf({ thread, namespace, checkpoint }: Shown): Promise<Blob> {
  const at = { at: thread, namespace, checkpoint };
  const shown = await call("show", { ...at, maxBytes: 500_000 });
  const written = await call("writes", { ...at, maxBytes: 200_000 });
  const outline = new Outline();
  const view = <V extends { value?: unknown; sha256?: string | undefined }>({
    value,
    sha256: _hash,
    ...rest
  }: V) => ({
    ...rest,
    ...(value === undefined ? {} : { value: outline.of(value) }),
  });
  const task = ({ writes, ...rest }: (typeof written.made)[number]) => ({
    ...rest,
    writes: writes.map(view),
  });
  const { channels, writes, metadata, lostTo, ...rest } = shown;
  const bundle = {
    about,
    format: "stratigraph redacted bundle 1",
    version: session.value?.version,
    checkpoint: {
      ...rest,
      thread: outline.of(thread),
      namespace: outline.of(namespace),
      ...(rest.run === undefined ? {} : { run: outline.of(rest.run) }),
      lost: lostTo !== undefined,
    },
    metadata: view(metadata),
    channels: channels.map(view),
    writes: writes.map(view),
    made: written.made.map(task),
  };
  return new Blob([JSON.stringify(bundle, null, 2)], { type: "application/json" });
}
