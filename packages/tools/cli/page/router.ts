import { signal } from "@preact/signals";

/** The views and their addresses. The first pattern that fits counts, so a literal part must come before a parameter. */
const patterns = {
  threads: "/",
  thread: "/t/:thread",
  checkpoint: "/t/:thread/c/:checkpoint",
  journal: "/t/:thread/calls",
  why: "/t/:thread/why",
  threadStorage: "/t/:thread/storage",
  merge: "/t/:thread/merge",
  inbox: "/inbox",
  diff: "/diff",
  blame: "/blame",
  compare: "/compare",
  conflicts: "/conflicts",
  workspaces: "/workspaces",
  workspace: "/w/:workspace",
  whatif: "/whatif",
  storage: "/storage",
  verify: "/verify",
} as const;

export type View = keyof typeof patterns;

/** The view and parameters of the page's address. */
export interface Route {
  /** "unknown" if no view has the address. */
  readonly view: View | "unknown";
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly path: string;
}

/** The parameters of a query. Absent and empty values are left out; a list becomes repeated keys. */
export type Query = Readonly<
  Record<string, string | number | boolean | readonly string[] | null | undefined>
>;

/**
 * A part of a path that holds any text. Browsers remove "." and ".." from paths, encoded or not, so these get a "~" in
 * front. A text that begins with "~" gets one more.
 */
export function encodePart(text: string): string {
  const safe = /^(?:~|\.{1,2}$)/.test(text) ? `~${text}` : text;
  return encodeURIComponent(safe.toWellFormed());
}

/** The text of {@link encodePart}; undefined if the part isn't well formed. */
export function decodePart(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    return text.startsWith("~") ? text.slice(1) : text;
  } catch {
    return undefined;
  }
}

/** Finds the view and parameters of an address. @param url path and query, as the address bar has them */
export function parse(url: string): Route {
  const [path = "/", search = ""] = url.split("#", 1)[0]!.split(/\?(.*)/s, 2);
  const parts = path.split("/").slice(1);
  if (parts.length > 1 && parts.at(-1) === "") parts.pop();
  const query = new URLSearchParams(search);
  for (const [view, pattern] of Object.entries(patterns) as [View, string][]) {
    const params = fits(pattern.split("/").slice(1), parts);
    if (params !== undefined) return { view, params, query, path };
  }
  return { view: "unknown", params: {}, query, path };
}

function fits(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const part = parts[index]!;
    if (!wanted.startsWith(":")) {
      if (wanted !== part) return undefined;
      continue;
    }
    const text = decodePart(part);
    if (text === undefined || text === "") return undefined;
    params[wanted.slice(1)] = text;
  }
  return params;
}

/** The address of a view, such as `href("checkpoint", { thread: "ada", checkpoint: id }, { tab: "diff" })`. */
export function href(view: View, params: Readonly<Record<string, string>> = {}, query: Query = {}): string {
  const path = patterns[view].replaceAll(/:(\w+)/g, (_, name: string) => encodePart(params[name] ?? ""));
  return path + search(query);
}

/** A query as text, with "?" in front; empty if the query is empty. */
export function search(query: Query): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const each of value as readonly string[]) pairs.append(name, each);
    else if (value !== undefined && value !== null && value !== "" && value !== false)
      pairs.append(name, String(value));
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

const here = () => parse(typeof location === "undefined" ? "/" : location.pathname + location.search);

/** The present route. */
export const route = signal<Route>(here());

/** Goes to an address. @param options `replace`: without an entry in the browser's history */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  route.value = here();
}

/** Changes some parameters of the query and leaves the rest; null removes a parameter. */
export function setQuery(changes: Query, options: { readonly replace?: boolean } = { replace: true }): void {
  const query: Record<string, readonly string[]> = {};
  for (const key of new Set(route.value.query.keys())) query[key] = route.value.query.getAll(key);
  navigate(location.pathname + search({ ...query, ...changes }), options);
}

/** Follows the browser's history, and takes over plain clicks on links within the page. */
export function startRouter(): void {
  addEventListener("popstate", () => {
    route.value = here();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || link.pathname.startsWith("/api/")) return;
    // The browser handles links within the view, such as the one that skips the navigation.
    if (link.hash !== "" && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
  route.value = here();
}
