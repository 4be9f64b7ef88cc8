import { StratigraphError } from "@stratigraph/core";
import { HttpError } from "../errors.ts";
import { isHost, isOwnOrigin } from "./hosts.ts";
import { bearerOf, isToken, tokenHeader } from "./token.ts";

/** Forbids content of other hosts, inline code, and frames around the page: text that gets into the page can't run or send anything. */
const contentPolicy = [
  "default-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const headers: Readonly<Record<string, string>> = {
  "content-security-policy": contentPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Adds the security headers to an answer. There are no CORS headers: other origins can read nothing. */
export function protectedResponse(response: Response): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** Refuses requests that were made for another host, or by a page of another site. @throws HttpError 403 */
export function refuseForeign(request: Request, hosts: readonly string[]): void {
  const { headers: given, url } = request;
  const host = given.get("host") ?? new URL(url).host;
  if (!isHost(host, hosts)) throw refused(`The request is for a host that this inspector doesn't serve.`);
  const origin = given.get("origin");
  if (origin !== null && !isOwnOrigin(origin, host)) throw refused("The request comes from another origin.");
  const site = given.get("sec-fetch-site");
  if (site === null || site === "same-origin" || site === "none") return;
  // Any site may link to the page. The page shows nothing without the token, and nothing in a frame.
  const isLink = given.get("sec-fetch-mode") === "navigate" && given.get("sec-fetch-dest") === "document";
  if (!isLink || request.method !== "GET") throw refused("The request comes from another site.");
}

/** @throws HttpError 401 if the token is missing or wrong */
export function refuseStrangers(request: Request, token: string): void {
  const given = request.headers.get(tokenHeader);
  if (isToken(given, token)) return;
  const found = given === null ? "no token" : "a wrong token";
  const message = `The request has ${found}. Open the address that the inspector printed when it began: the token is in it.`;
  throw new HttpError(401, new StratigraphError("ACCESS_DENIED", message));
}

/** Whether a request has the token, as a header of ours or, as MCP clients send it, as a bearer token. */
export function hasToken({ headers: given }: Request, token: string): boolean {
  return isToken(given.get(tokenHeader), token) || isToken(bearerOf(given), token);
}

function refused(why: string): HttpError {
  const message = `${why} Open the address that the inspector printed when it began.`;
  return new HttpError(403, new StratigraphError("ACCESS_DENIED", message));
}
