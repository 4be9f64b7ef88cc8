import { AwsClient } from "aws4fetch";

export interface S3Login {
  endpoint: string;
  accessKey: string;
  secretKey: string;
  region: string;
}

/**
 * One signed request, for buckets and checks in tests: independent of the SDK that the package under test uses.
 * `path` is `/bucket/key` with an optional `?query`, already percent-encoded, the query sorted by name.
 */
export async function s3Request(
  { endpoint, accessKey, secretKey, region }: S3Login,
  method: string,
  path: string,
  body: Buffer | string = "",
  headers: Record<string, string> = {},
): Promise<Response> {
  const client = new AwsClient({
    accessKeyId: accessKey,
    secretAccessKey: secretKey,
    service: "s3",
    region,
    retries: 0,
  });
  return await client.fetch(new URL(path, endpoint).href, {
    method,
    headers,
    ...(body.length > 0 ? { body } : {}),
  });
}
