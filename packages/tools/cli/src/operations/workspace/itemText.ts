import { InvalidOptionError } from "@stratigraph/core";
import { checkedAddress, checkedLabels } from "@stratigraph/core/internal";
import type { ItemAddress } from "@stratigraph/core/tier";
import { formatPath } from "../values/formatPath.ts";
import { parsePath } from "../values/path.ts";

const form = 'Write labels with dots between them, and in brackets what isn\'t plain: files["/notes.md"].';

/** An item's labels and key as one text: `plan.days`, `files["/notes.md"]`. */
export function itemText({ namespace, key }: ItemAddress): string {
  return formatPath([...namespace, key]);
}

/** The item that {@link itemText} names. @throws InvalidOptionError, InvalidAddressError */
export function itemNamed(text: string): ItemAddress {
  const labels = labelsIn("item", text);
  if (labels.length < 2)
    throw new InvalidOptionError("item", text, "Name a namespace and a key in it: plan.days.");
  return checkedAddress({ namespace: labels.slice(0, -1), key: labels.at(-1)! });
}

/** The first labels of namespaces, in the same form; none where nothing is given. @throws InvalidOptionError, InvalidAddressError */
export function prefixNamed(text: string | undefined): string[] {
  return text === undefined ? [] : checkedLabels("prefix", labelsIn("prefix", text));
}

function labelsIn(field: string, text: string): string[] {
  let path: ReturnType<typeof parsePath> = [{ from: 0 }];
  try {
    path = parsePath(text);
  } catch {
    // Told below, in the words of items.
  }
  if (path.every((label) => typeof label === "string")) return [...path];
  throw new InvalidOptionError(field, JSON.stringify(text), form);
}
