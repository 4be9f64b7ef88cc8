import { InvalidOptionError, type Duration } from "@stratigraph/core";
import { checkOptions, waitMsOf, type OptionAdvice, type OptionNames } from "@stratigraph/core/internal";

/** The parts of an `S3Client` of `@aws-sdk/client-s3` that are used. */
export interface S3ClientLike {
  send(command: never, options?: { abortSignal?: AbortSignal }): Promise<unknown>;
  destroy?(): void;
}

/**
 * Encryption by S3 itself: with S3's own keys ("AES256"), with KMS keys, or with a key of 32 bytes that is sent with every request.
 */
export type ServerSideEncryption =
  | "AES256"
  | { readonly kmsKeyId?: string | undefined; readonly bucketKey?: boolean | undefined }
  | { readonly customerKey: Uint8Array };

/** Options of an S3 tier. */
export interface S3Options {
  readonly client: S3ClientLike;
  readonly bucket: string;
  /** The prefix of every key, to which "/" is added. Default "stratigraph". */
  readonly prefix?: string | undefined;
  /** Default: whatever the bucket is configured for. */
  readonly serverSideEncryption?: ServerSideEncryption | undefined;
  /** The storage class of packs, for instance "STANDARD_IA" or "GLACIER_IR". Heads change often and get the bucket's default. */
  readonly storageClass?: string | undefined;
  /** Tags for every object, for lifecycle rules and cost allocation. Default: none. */
  readonly objectTags?: Readonly<Record<string, string>> | undefined;
  /** How long one request may take, up to the last byte of its answer; every MiB adds a second. Default "10s". */
  readonly timeout?: Duration | undefined;
  /** How often a request is made at most if its failures may pass. The client's own retries count too. Default 4. */
  readonly attempts?: number | undefined;
}

/** Options of an S3 tier, without those that say where it is. */
type S3Settings = Omit<S3Options, "client" | "bucket">;

export const s3SettingNames: OptionNames<S3Settings> = {
  prefix: true,
  serverSideEncryption: true,
  storageClass: true,
  objectTags: true,
  timeout: true,
  attempts: true,
};
export const s3Names: OptionNames<S3Options> = { client: true, bucket: true, ...s3SettingNames };

const ofClient = "It belongs to the client: client: new S3Client({ … }).";

/** Advice on option names that belong to AWS's clients. */
export const s3Advice: OptionAdvice = {
  region: ofClient,
  endpoint: ofClient,
  credentials: ofClient,
  forcePathStyle: ofClient,
  pathStyle: ofClient,
  Bucket: "Write bucket.",
  Prefix: "Write prefix.",
  maxAttempts: "Write attempts.",
  retries: "Write attempts, the first one counted.",
  sse: "Write serverSideEncryption.",
  ServerSideEncryption: "Write serverSideEncryption.",
  StorageClass: "Write storageClass.",
  tags: "Write objectTags; tags of threads are threadTags, an option of the saver.",
};

/** As {@link s3Advice}, for options that are passed with a URL. */
export const s3UrlAdvice: OptionAdvice = {
  ...s3Advice,
  ...Object.fromEntries(
    ["region", "endpoint", "pathStyle"].map((name) => [
      name,
      `Write it into the URL: s3://bucket/prefix?${name}=….`,
    ]),
  ),
  bucket: "It is the first part of the URL: s3://bucket/prefix.",
  client: "A URL opens a client of its own: use new S3Saver({ client, bucket }).",
};

/** Checks all options but the client and the bucket. @throws InvalidOptionError */
export function checkS3Settings(options: S3Settings): void {
  const { prefix, serverSideEncryption, storageClass, objectTags, timeout, attempts } = options;
  for (const [name, value] of Object.entries({ prefix, storageClass })) {
    if (value !== undefined && typeof value !== "string")
      throw new InvalidOptionError(name, typeof value, "Pass a string.");
  }
  if (attempts !== undefined && (!Number.isInteger(attempts) || attempts < 1))
    throw new InvalidOptionError("attempts", String(attempts), "Use a whole number, 1 or more.");
  if (timeout !== undefined && waitMsOf("timeout", timeout) < 1)
    throw new InvalidOptionError("timeout", timeout, "Use a duration of at least 1ms.");
  checkTags(objectTags);
  checkEncryption(serverSideEncryption);
}

function checkTags(tags: unknown): void {
  if (tags === undefined) return;
  if (typeof tags !== "object" || tags === null || Array.isArray(tags))
    throw new InvalidOptionError(
      "objectTags",
      Array.isArray(tags) ? "an array" : String(tags),
      'Pass an object such as { app: "agents" }.',
    );
  for (const [name, value] of Object.entries(tags)) {
    if (typeof value !== "string")
      throw new InvalidOptionError(`objectTags.${name}`, typeof value, "Pass a string.");
  }
}

function checkEncryption(given: ServerSideEncryption | undefined): void {
  if (given === undefined || given === "AES256") return;
  const field = "serverSideEncryption";
  if (typeof given !== "object" || given === null)
    throw new InvalidOptionError(
      field,
      given === null ? "null" : typeof given,
      'Use "AES256", { kmsKeyId } or { customerKey }.',
    );
  if ("customerKey" in given) {
    checkOptions(
      field,
      given,
      { customerKey: true },
      { kmsKeyId: "There is one key: leave kmsKeyId or customerKey out." },
      field,
    );
    const { customerKey } = given;
    if (!(customerKey instanceof Uint8Array) || customerKey.length !== 32) {
      const found = customerKey instanceof Uint8Array ? `${customerKey.length} bytes` : typeof customerKey;
      throw new InvalidOptionError(`${field}.customerKey`, found, "Pass a key of 32 bytes.");
    }
    return;
  }
  checkOptions(
    field,
    given,
    { kmsKeyId: true, bucketKey: true },
    { key: "Write customerKey or kmsKeyId." },
    field,
  );
}
