import {
  InvalidOptionError,
  TierSaver,
  type Duration,
  type SaverOptions,
  StratigraphError,
} from "@stratigraph/core";
import {
  checkOptions,
  waitMsOf,
  pickOptions,
  saverOptionAdvice,
  saverOptionNames,
  unknownParameter,
} from "@stratigraph/core/internal";
import type { S3Client } from "@aws-sdk/client-s3";
import type { AwsConnection } from "./awsConnector.ts";
import { AwsObjectStore } from "./awsObjectStore.ts";
import type { ObjectStore } from "./objectStore.ts";
import { FolderStore } from "./folderStore.ts";
import { PackTier } from "./packTier.ts";
import {
  checkS3Settings,
  s3Advice,
  s3Names,
  s3SettingNames,
  s3UrlAdvice,
  type S3Options,
} from "./s3Options.ts";
import type * as S3 from "@aws-sdk/client-s3";

/** Options of an S3Saver. */
export interface S3SaverOptions extends S3Options, SaverOptions {}

/** Options of a FolderSaver. */
export interface FolderOptions {
  /** The path of the folder. The folder is made if it doesn't exist. */
  readonly path: string;
}

const folderNames = { path: true } as const;

/** Not `instanceof`: a process may load this package both as CommonJS and as ES modules, and each has its own class. */
function isTier(source: S3SaverOptions | PackTier): source is PackTier {
  return typeof (source as Partial<PackTier> | undefined)?.append === "function";
}

function s3Store(options: S3Options): ObjectStore {
  checkOptions("s3", options, s3Names, s3Advice);
  if (typeof options?.client?.send !== "function")
    throw new InvalidOptionError("client", typeof options?.client, "Pass an S3Client of @aws-sdk/client-s3.");
  if (typeof options.bucket !== "string" || options.bucket === "")
    throw new InvalidOptionError("bucket", options.bucket, "Pass the name of a bucket that exists.");
  checkS3Settings(options);
  const client = options.client as S3Client;
  return new AwsObjectStore(async () => ({ sdk: await importAwsSdk(), client }), options);
}

/**
 * Makes a tier in an S3 bucket, to be the cold tier of a stack or to be used alone. Needs the package @aws-sdk/client-s3.
 *
 * @example
 * s3({ client: new S3Client({ region: "eu-central-1" }), bucket: "agents" })
 * @throws InvalidOptionError
 */
export function s3(options: S3Options): PackTier {
  return new PackTier(s3Store(options));
}

/**
 * Makes a tier in a folder, with the same objects as in S3. Any number of processes on one machine may use it.
 * @throws InvalidOptionError
 */
export function folder(options: FolderOptions): PackTier {
  checkOptions("folder", options, folderNames, { folder: "Write path.", dir: "Write path." });
  return new PackTier(new FolderStore(options?.path));
}

/**
 * Keeps checkpoints in S3 alone, without a database. Conditional writes keep concurrent writers from overwriting each other.
 *
 * @example
 * const checkpointer = S3Saver.fromUrl("s3://agents/checkpoints?region=eu-central-1");
 */
export class S3Saver extends TierSaver {
  declare readonly tier: PackTier;

  /** @throws InvalidOptionError */
  constructor(source: S3SaverOptions | PackTier, options: SaverOptions = {}) {
    checkOptions("S3Saver", options, saverOptionNames, saverOptionAdvice);
    if (isTier(source)) {
      super(source, options);
      return;
    }
    if (typeof source === "string")
      throw new InvalidOptionError("client", "text", "To open a URL, use S3Saver.fromUrl(url).");
    checkOptions(
      "S3Saver",
      source,
      { ...s3Names, ...saverOptionNames },
      { ...saverOptionAdvice, ...s3Advice },
    );
    const tier = s3(pickOptions<S3Options>(source ?? {}, s3Names));
    super(tier, { ...pickOptions<SaverOptions>(source, saverOptionNames), ...options });
  }

  /**
   * Opens a client of its own, which finds credentials as AWS's tools do. `end()` closes it.
   * @param url `s3://bucket/prefix?region=…&endpoint=…&pathStyle=true&timeout=10s&attempts=4&storageClass=…`. With an endpoint, pathStyle is true by default.
   * @throws InvalidOptionError
   */
  static fromUrl(
    url: string,
    options: SaverOptions & Omit<Partial<S3Options>, "client" | "bucket"> = {},
  ): S3Saver {
    const names = { ...s3SettingNames, ...saverOptionNames };
    checkOptions("S3Saver.fromUrl", options, names, { ...saverOptionAdvice, ...s3UrlAdvice });
    const { bucket, region, endpoint, pathStyle, ...inUrl } = parsed(url);
    const settings = {
      ...pickOptions<Omit<S3Options, "client" | "bucket">>(inUrl, s3SettingNames),
      ...pickOptions<Omit<S3Options, "client" | "bucket">>(options, s3SettingNames),
    };
    checkS3Settings(settings);
    const connect = async (): Promise<AwsConnection> => {
      const sdk = await importAwsSdk();
      const client = new sdk.S3Client({
        ...(region === undefined ? {} : { region }),
        ...(endpoint === undefined ? {} : { endpoint }),
        forcePathStyle: pathStyle,
        // The store repeats requests itself, because the client repeats neither timeouts nor bodies that end early.
        maxAttempts: 1,
      });
      return { sdk, client, close: () => client.destroy() };
    };
    const store = new AwsObjectStore(connect, { ...settings, bucket });
    return new S3Saver(new PackTier(store), pickOptions<SaverOptions>(options, saverOptionNames));
  }
}

/** Keeps checkpoints in a folder, without a server. */
export class FolderSaver extends TierSaver {
  declare readonly tier: PackTier;

  /** @throws InvalidOptionError */
  constructor(source: string | (FolderOptions & SaverOptions), options: SaverOptions = {}) {
    const names = { ...folderNames, ...saverOptionNames };
    checkOptions("FolderSaver", options, saverOptionNames, { ...saverOptionAdvice, path: "It comes first." });
    const given: FolderOptions & SaverOptions = typeof source === "string" ? { path: source } : source;
    checkOptions("FolderSaver", given, names, { ...saverOptionAdvice, folder: "Write path." });
    const tier = folder({ path: given?.path });
    super(tier, { ...pickOptions<SaverOptions>(given, saverOptionNames), ...options });
  }
}

interface ParsedUrl {
  readonly bucket: string;
  readonly prefix: string;
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
  readonly pathStyle: boolean;
  readonly timeout: Duration | undefined;
  readonly attempts: number | undefined;
  readonly storageClass: string | undefined;
}

/** Parses a URL. Errors never show it, because it may contain a password. */
function parsed(text: string): ParsedUrl {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== "s3:" || url.hostname === "") {
    const found = typeof text === "string" ? "text that is no S3 URL" : typeof text;
    throw new InvalidOptionError("url", found, 'Use "s3://bucket/prefix?region=eu-central-1".');
  }
  if (url.username !== "" || url.password !== "" || url.port !== "") {
    throw new InvalidOptionError(
      "url",
      "a login or a port",
      "Credentials are found as AWS's tools do, for example in AWS_ACCESS_KEY_ID; a server of your own is named by ?endpoint=….",
    );
  }
  const known = ["region", "endpoint", "pathStyle", "timeout", "attempts", "storageClass"];
  for (const name of url.searchParams.keys())
    if (!known.includes(name)) throw unknownParameter(name, { field: "url", query: url.search, own: known });
  const endpoint = url.searchParams.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !URL.canParse(endpoint))
    throw new InvalidOptionError(
      "url, endpoint",
      "text that is no URL",
      'Write a URL, for example "http://localhost:9000".',
    );
  const pathStyle = url.searchParams.get("pathStyle") ?? String(endpoint !== undefined);
  if (pathStyle !== "true" && pathStyle !== "false")
    throw new InvalidOptionError("url, pathStyle", pathStyle, "Write true or false.");
  const timeout = (url.searchParams.get("timeout") ?? undefined) as Duration | undefined;
  if (timeout !== undefined) waitMsOf("url, timeout", timeout);
  const attempts = url.searchParams.get("attempts");
  if (attempts !== null && !/^[1-9]\d{0,2}$/.test(attempts))
    throw new InvalidOptionError("url, attempts", attempts, "Write a whole number from 1 to 999.");
  const path = decoded(url.pathname.slice(1));
  return {
    bucket: url.hostname,
    prefix: path === "" ? "stratigraph" : path,
    region: url.searchParams.get("region") ?? undefined,
    endpoint,
    pathStyle: pathStyle === "true",
    timeout,
    attempts: attempts === null ? undefined : Number(attempts),
    storageClass: url.searchParams.get("storageClass") ?? undefined,
  };
}

/** @throws InvalidOptionError */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new InvalidOptionError("url", "a prefix with a % that begins no escape", "Write % as %25.");
  }
}

/** Loads the AWS SDK. @throws StratigraphError "DRIVER_MISSING" if it isn't installed */
async function importAwsSdk(): Promise<typeof S3> {
  // If import() stands in a try of the same function, bundlers accept that the package isn't installed.
  try {
    return await import("@aws-sdk/client-s3");
  } catch (cause) {
    throw new StratigraphError(
      "DRIVER_MISSING",
      "S3 needs the package @aws-sdk/client-s3. Install it: npm install @aws-sdk/client-s3",
      { tier: "s3", package: "@aws-sdk/client-s3" },
      cause,
    );
  }
}
