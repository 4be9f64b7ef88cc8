const key = "stratigraph.token";
const header = "x-stratigraph-token";

/** How long to wait for another tab to send the token. */
const answerMs = 300;

let token: string | undefined;

/**
 * Finds this tab's token. A tab that was opened from a link has none, and asks the page's other tabs. If the printed address
 * is opened in a tab that already shows the page, the browser loads nothing, so the page reloads itself with the token.
 */
export async function findToken(): Promise<void> {
  addEventListener("hashchange", () => {
    if (takeToken() !== undefined) location.reload();
  });
  const given = takeToken();
  token = given ?? sessionStorage.getItem(key) ?? undefined;
  const others = new BroadcastChannel(key);
  token ??= await asked(others);
  if (token !== undefined) sessionStorage.setItem(key, token);
  others.addEventListener("message", ({ data }: MessageEvent<{ ask?: boolean }>) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is heard by this origin alone
    if (data.ask === true && token !== undefined) others.postMessage({ token });
  });
}

/** Removes the token from the address, where `stratigraph inspect` puts it, so that it doesn't stay in the browser's history. */
function takeToken(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return undefined;
  sessionStorage.setItem(key, given);
  history.replaceState(null, "", location.pathname + location.search);
  return given;
}

/** Uses a token that somebody typed in, as the token itself or as the whole address that contains it. */
export function setToken(text: string): void {
  token = /[#&]token=([^&\s]+)/.exec(text)?.[1] ?? text.trim();
  sessionStorage.setItem(key, token);
}

/** The headers that every request carries. */
export function tokenHeaders(): Record<string, string> {
  return token === undefined ? {} : { [header]: token };
}

function asked(others: BroadcastChannel): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(undefined), answerMs);
    const hear = ({ data }: MessageEvent<{ token?: string }>) => {
      if (typeof data.token === "string") done(data.token);
    };
    const done = (found: string | undefined) => {
      clearTimeout(timer);
      others.removeEventListener("message", hear);
      resolve(found);
    };
    others.addEventListener("message", hear);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- as above
    others.postMessage({ ask: true });
  });
}
