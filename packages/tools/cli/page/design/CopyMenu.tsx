import type { VNode } from "preact";
import { errorFrom } from "../api/resource.ts";
import { copy, save } from "./copy.ts";
import { Menu } from "./Menu.tsx";
import { toast } from "./Toast.tsx";

interface CopyMenuProps {
  /** The command that shows the same in a terminal. */
  readonly cli: string;
  /** TypeScript that reads the same. */
  readonly code: string;
  /** The shown data as a file to share, without what the config redacts. */
  readonly bundle?: (() => Promise<Blob>) | undefined;
  /** The file's name. */
  readonly bundleName?: string;
}

/** Copies what is shown: as a command, as code, as a link or as a file. */
export function CopyMenu({ cli, code, bundle, bundleName = "stratigraph.json" }: CopyMenuProps): VNode {
  const download = async (make: () => Promise<Blob>) => {
    try {
      save(await make(), bundleName);
    } catch (thrown) {
      toast(errorFrom(thrown).message, "red");
    }
  };
  return (
    <Menu
      label="Copy"
      icon="copy"
      withText
      items={[
        { label: "Copy as command", detail: cli, onSelect: () => void copy(cli, "Copied the command") },
        {
          label: "Copy as code",
          detail: code.split("\n").at(-1),
          onSelect: () => void copy(code, "Copied the code"),
        },
        {
          label: "Copy the link",
          detail: location.pathname + location.search,
          onSelect: () => void copy(location.href, "Copied the link"),
        },
        ...(bundle === undefined
          ? []
          : [{ label: "Download a redacted bundle", onSelect: () => void download(bundle) }]),
      ]}
    />
  );
}
