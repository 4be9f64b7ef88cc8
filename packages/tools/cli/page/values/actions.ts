import { errorFrom } from "../api/resource.ts";
import { copy, save } from "../design/copy.ts";
import type { MenuItem } from "../design/Menu.tsx";
import { toast } from "../design/Toast.tsx";
import { href, navigate } from "../router.ts";
import { channelPath, contentOf, formatPath, hasCut, isRedacted } from "./records.ts";
import { loadWhole, partCommand, type Part, type ValueAt } from "./ValueAt.ts";

/** How many bytes are put on the clipboard at most. */
const mostCopied = 5_000_000;

/** A value as text for the clipboard: a text without quotes, anything else as JSON of the serde. */
function clipboardText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

async function copyValue(at: ValueAt, part: Part, value: unknown): Promise<void> {
  if (!hasCut(value)) return await copy(clipboardText(value), "Copied the value");
  const blob = await loadWhole(at, part);
  if (blob.size > mostCopied) return toast("It is too long for the clipboard. Download it instead.", "red");
  await copy(clipboardText(JSON.parse(await blob.text())), "Copied the value");
}

async function told(what: Promise<void>): Promise<void> {
  try {
    await what;
  } catch (thrown) {
    toast(errorFrom(thrown).message, "red");
  }
}

/** The address of the view that shows who last changed a part. */
export function blameHref({ thread, namespace, checkpoint }: ValueAt, { channel, path }: Part): string {
  return href("blame", {}, { at: thread, namespace, checkpoint, path: channelPath(channel, path) });
}

/** The actions for a shown value. */
export const valueActions = {
  copyValue: (at: ValueAt, part: Part, value: unknown): void => void told(copyValue(at, part, value)),
  copyPath: ({ channel, path }: Part): void => void copy(channelPath(channel, path), "Copied the path"),
  blame: (at: ValueAt, part: Part): void => navigate(blameHref(at, part)),
  download: (at: ValueAt, part: Part): void =>
    void told(loadWhole(at, part).then((blob) => save(blob, fileName(part, blob)))),
};

function fileName({ channel, path }: Part, { type }: Blob): string {
  const plain = channelPath(channel, path)
    .slice(0, 80)
    .replaceAll(/[^\w-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
  return `${plain === "" ? "value" : plain}.${type.includes("json") ? "json" : "bin"}`;
}

/** The menu of a value. */
export function valueMenu(at: ValueAt, part: Part, value: unknown): MenuItem[] {
  const hidden = isRedacted(contentOf(value));
  const command = partCommand(at, part);
  return [
    { label: "Who wrote this?", icon: "person", onSelect: () => valueActions.blame(at, part) },
    ...(hidden
      ? []
      : [
          {
            label: "Copy the value",
            icon: "copy" as const,
            onSelect: () => valueActions.copyValue(at, part, value),
          },
        ]),
    {
      label: "Copy the path",
      icon: "copy",
      detail: channelPath(part.channel, part.path),
      onSelect: () => valueActions.copyPath(part),
    },
    {
      label: "Copy as command",
      icon: "copy",
      detail: command,
      onSelect: () => void copy(command, "Copied the command"),
    },
    ...(hidden
      ? []
      : [{ label: "Download", icon: "download" as const, onSelect: () => valueActions.download(at, part) }]),
    {
      label: "Try another value",
      icon: "fork",
      onSelect: () => navigate(whatIfHref(at, part)),
    },
  ];
}

/** The address of the what-if view, with a part to change. */
export function whatIfHref({ thread, namespace, checkpoint }: ValueAt, part?: Part): string {
  const path = part === undefined ? undefined : formatPath(part.path);
  return href("whatif", {}, { at: thread, namespace, checkpoint, channel: part?.channel, path });
}
