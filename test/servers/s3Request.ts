import { createHash, createHmac } from "node:crypto";

export interface S3Login {
  endpoint: string;
  accessKey: string;
  secretKey: string;
  region: string;
}

/**
 * One signed request (AWS Signature Version 4), for buckets and checks in tests: independent of any SDK.
 * `path` is `/bucket/key` with an optional `?query`, already percent-encoded, the query sorted by name.
 */
export async function s3Request(
  login: S3Login,
  method: string,
  path: string,
  body: Buffer | string = "",
  headers: Record<string, string> = {},
): Promise<Response> {
  const url = new URL(path, login.endpoint);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const day = time.slice(0, 8);
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    "x-amz-content-sha256": sha256(body),
    "x-amz-date": time,
  };
  const names = Object.keys(signed).toSorted();
  const request = [
    method,
    url.pathname,
    url.searchParams.toString().replaceAll("+", "%20"),
    ...names.map((name) => `${name}:${signed[name]}`),
    "",
    names.join(";"),
    sha256(body),
  ].join("\n");
  const scope = `${day}/${login.region}/s3/aws4_request`;
  const key = [day, login.region, "s3", "aws4_request"].reduce<Buffer | string>(
    (secret, part) => hmac(secret, part),
    `AWS4${login.secretKey}`,
  );
  const signature = hmac(key, ["AWS4-HMAC-SHA256", time, scope, sha256(request)].join("\n")).toString("hex");
  const authorization =
    `AWS4-HMAC-SHA256 Credential=${login.accessKey}/${scope}, ` +
    `SignedHeaders=${names.join(";")}, Signature=${signature}`;
  const { host: _host, ...sent } = signed;
  const init: RequestInit = { method, headers: { ...sent, authorization } };
  if (body.length > 0) init.body = body;
  return fetch(url, init);
}

function sha256(value: Buffer | string): string {
  return createHash("sha256").update(value).digest("hex");
}

function hmac(key: Buffer | string, value: string): Buffer {
  return createHmac("sha256", key).update(value).digest();
}
