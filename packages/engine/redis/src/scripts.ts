import { createHash } from "node:crypto";
import { lua } from "./embedded.ts";

/** A Lua script, and its SHA-1, by which EVALSHA calls it. */
interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(...parts: readonly string[]): Script {
  const text = parts.join("\n");
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

export const scripts = {
  read: script(lua.common, lua.read),
  append: script(lua.common, lua.changes, lua.status, lua.append),
  appendWrites: script(lua.common, lua.changes, lua.status, lua.appendWrites),
  list: script(lua.common, lua.list),
  ancestry: script(lua.common, lua.ancestry),
  blobs: script(lua.common, lua.blobs),
  inspect: script(lua.common, lua.survey, lua.inspect),
  mend: script(lua.common, lua.survey, lua.mend),
  remove: script(lua.common, lua.status, lua.remove),
  replaceBytes: script(lua.common, lua.replaceBytes),
  evict: script(lua.common, lua.evict),
  noteStatus: script(lua.common, lua.noteStatus),
  deleteThread: script(lua.common, lua.deleteThread),
  stage: script(lua.common, lua.stage),
  paste: script(lua.common, lua.changes, lua.status, lua.paste),
  pin: script(lua.common, lua.pin),
  adopt: script(lua.common, lua.changes, lua.adopt),
  invalidate: script(lua.common, lua.invalidate),
  tagThread: script(lua.common, lua.tagThread),
  untagThread: script(lua.common, lua.untagThread),
  commit: script(lua.common, lua.space, lua.commit),
  readItems: script(lua.common, lua.space, lua.readItems),
  searchItems: script(lua.common, lua.space, lua.searchItems),
  replaceItems: script(lua.common, lua.space, lua.replaceItems),
  spacePage: script(lua.common, lua.space, lua.spacePage),
  itemNamespaces: script(lua.common, lua.space, lua.itemNamespaces),
  sweepItems: script(lua.common, lua.space, lua.sweepItems),
  log: script(lua.common, lua.space, lua.log),
  entries: script(lua.common, lua.space, lua.entries),
  itemsAt: script(lua.common, lua.space, lua.itemsAt),
  replaceEntries: script(lua.common, lua.space, lua.replaceEntries),
  trim: script(lua.common, lua.space, lua.trim),
  deleteSpace: script(lua.common, lua.space, lua.deleteSpace),
  cacheRead: script(lua.cache, lua.cacheRead),
  cacheWrite: script(lua.cache, lua.cacheWrite),
  cacheClear: script(lua.cache, lua.cacheClear),
  lease: script(lua.lease),
  lock: script(lua.lock),
  unlock: script(lua.unlock),
  probe: script(lua.probe),
  threadPage: script(lua.threadPage),
  unindex: script(lua.unindex),
} as const;

export type ScriptName = keyof typeof scripts;
