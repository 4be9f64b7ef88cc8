import { randomUUID } from "node:crypto";
import type { PutObjectCommandInput, StorageClass } from "@aws-sdk/client-s3";
import { msOf, StratigraphError, trace, type Check } from "@stratigraph/core";
import { AwsConnector, type AwsConnection } from "./awsConnector.ts";
import { attemptsOf, explained, verdictOf, type Operation } from "./awsErrors.ts";
import { bucketChecks, endpointOf } from "./bucketChecks.ts";
import type {
  FoundObject,
  GetOptions,
  ListedObject,
  ObjectStore,
  PutCondition,
  StorePlace,
} from "./objectStore.ts";
import { encryptionOf } from "./encryptionOf.ts";
import type { S3Options } from "./s3Options.ts";
import { within } from "./requestTimeout.ts";

/** First pause after a failure, in milliseconds; doubled each time. */
const firstPauseMs = 50;
/** Longest pause. */
const longestPauseMs = 2000;
/** How many objects are deleted at the same time. */
const deletesAtOnce = 8;
/** The prefix and the content of objects that test what the server can do. */
const probePrefix = ".conditions/";
const probeContent = Buffer.from("Stratigraph tries whether this server keeps conditions.\n");
/** Probes older than this were left by a process that died; milliseconds. */
const abandonedMs = 3_600_000;
/** An etag that no object has. */
const noObject = '"00000000000000000000000000000000"';
/** Objects larger than this, in bytes, get more time: a slow line still moves so much in a second. */
const bytesPerSecond = 1 << 20;

type Answer<T> = { readonly value: T } | "absent" | "unchanged" | "refused";

/** An S3 bucket as an {@link ObjectStore}, on AWS and on servers that support the same conditional writes. */
export class AwsObjectStore implements ObjectStore {
  readonly name = "s3";
  readonly #connector: AwsConnector;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #attempts: number;
  readonly #encryption: ReturnType<typeof encryptionOf>;
  readonly #written: Partial<PutObjectCommandInput>;
  readonly #storageClass: StorageClass | undefined;
  /** Ceph before Reef compares `If-Match` with the ETag as it is stored, without quotes. */
  #bareEtags = false;
  /** Whether the server supports conditional deletes; tested when it is first needed. */
  #deletesIfMatch: Promise<boolean> | undefined;

  /** @param connect called with the first request, because the SDK is loaded on demand; after a failure, with the next one */
  constructor(connect: () => Promise<AwsConnection>, options: Omit<S3Options, "client">) {
    this.#connector = new AwsConnector(connect);
    const { bucket, prefix = "stratigraph", attempts = 4, tags, timeout = "10s" } = options;
    this.#bucket = bucket;
    this.#prefix = prefix === "" ? "" : `${prefix.replace(/\/+$/, "")}/`;
    this.#timeoutMs = msOf("timeout", timeout);
    this.#attempts = attempts;
    this.#encryption = encryptionOf(options.serverSideEncryption);
    this.#storageClass = options.storageClass as StorageClass | undefined;
    // Spaces as %20: a plus would be part of the tag.
    const tagging = Object.entries(tags ?? {}).map((tag) => tag.map(encodeURIComponent).join("="));
    this.#written = {
      ...this.#encryption.written,
      ...this.#encryption.always,
      ...(tagging.length === 0 ? {} : { Tagging: tagging.join("&") }),
    };
  }

  async get(key: string, { range, unless }: GetOptions = {}): Promise<FoundObject | "unchanged" | undefined> {
    const input = {
      ...this.#at(key),
      ...this.#encryption.always,
      ...(range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1] - 1}` }),
      ...(unless === undefined ? {} : { IfNoneMatch: unless }),
    };
    const size = range === undefined ? 0 : range[1] - range[0];
    const answer = await this.#run(
      "get",
      size,
      async ({ sdk, client }, abortSignal): Promise<FoundObject> => {
        const { Body, ETag = "" } = await client.send(new sdk.GetObjectCommand(input), { abortSignal });
        if (Body === undefined) throw new TypeError("the answer has no body");
        // The client heeds the signal only until the headers have come: abort a body that stops half-way.
        abortSignal.addEventListener("abort", () => (Body as { destroy?: () => void }).destroy?.());
        return { bytes: await Body.transformToByteArray(), etag: ETag };
      },
    );
    if (answer === "absent" || answer === "refused") return undefined;
    return answer === "unchanged" ? answer : answer.value;
  }

  async put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    if (condition === undefined || "ifNoneMatch" in condition) return await this.#put(key, bytes, condition);
    const bare = { ifMatch: withoutQuotes(condition.ifMatch) };
    if (this.#bareEtags) return await this.#put(key, bytes, bare);
    const etag = await this.#put(key, bytes, condition);
    if (etag !== undefined) return etag;
    // If the object does have this etag, the server compares etags without quotes: put again without them.
    const input = { ...this.#at(key), ...this.#encryption.always };
    const found = await this.#run("get", 0, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.HeadObjectCommand(input), { abortSignal }),
    );
    if (typeof found === "string" || found.value.ETag !== condition.ifMatch) return undefined;
    const stored = await this.#put(key, bytes, bare);
    this.#bareEtags ||= stored !== undefined;
    return stored;
  }

  async *list(prefix: string, after?: string): AsyncGenerator<ListedObject> {
    for (let token: string | undefined; ;) {
      const page = await this.#run("list", 0, ({ sdk, client }, abortSignal) =>
        client.send(
          new sdk.ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: this.#prefix + prefix,
            ...(after === undefined ? {} : { StartAfter: this.#prefix + after }),
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          { abortSignal },
        ),
      );
      if (typeof page === "string") throw this.#notABucket();
      for (const { Key = "", Size = 0, LastModified, ETag = "" } of page.value.Contents ?? []) {
        const modifiedMs = LastModified?.getTime() ?? 0;
        const key = Key.slice(this.#prefix.length);
        yield { key, size: Size, modifiedMs, version: ETag + modifiedMs };
      }
      token = page.value.IsTruncated === true ? page.value.NextContinuationToken : undefined;
      if (token === undefined) return;
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    // Delete one by one: batches need checksums that not every server accepts, and there are seldom more than three objects.
    const left = [...keys];
    const worker = async (): Promise<void> => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        await this.#run("delete", 0, ({ sdk, client }, abortSignal) =>
          client.send(new sdk.DeleteObjectCommand(this.#at(key)), { abortSignal }),
        );
      }
    };
    await Promise.all(Array.from({ length: Math.min(deletesAtOnce, keys.length) }, worker));
  }

  /** Also false, with nothing deleted, where the server doesn't support the condition. AWS has since 2025. */
  async deleteIf(key: string, etag: string): Promise<boolean> {
    this.#deletesIfMatch ??= this.#triesDeleteIf();
    const keeps = await this.#deletesIfMatch.catch((error: unknown) => {
      this.#deletesIfMatch = undefined;
      throw error;
    });
    return keeps && (await this.#deleteIf(key, etag));
  }

  /**
   * Tests whether objects can be put, got, listed and deleted under the prefix, and whether the server supports conditional puts.
   * One that ignores conditions would lose writes silently.
   * @throws StratigraphError "NOT_SET_UP", "ACCESS_DENIED", "MISCONFIGURED", "ARCHIVE_UNAVAILABLE"
   */
  async setup(): Promise<void> {
    const key = `${probePrefix}${randomUUID()}`;
    let keeps: boolean;
    try {
      keeps = await this.#keepsConditions(key);
      await this.get(key);
    } catch (error) {
      // Throw this error, and not that the probe can't be deleted either.
      await this.delete([key]).catch(() => undefined);
      throw error;
    }
    // Also delete probes that processes left which died here.
    const left = [key];
    for await (const { key: found, modifiedMs } of this.list(probePrefix))
      if (modifiedMs < Date.now() - abandonedMs) left.push(found);
    await this.delete(left);
    if (keeps) return;
    throw new StratigraphError(
      "MISCONFIGURED",
      `The server of S3 bucket ${this.#bucket} doesn't keep the conditions If-None-Match and If-Match when it stores objects, so ` +
        `two writers would overwrite each other. Use AWS S3, MinIO, Ceph, Cloudflare R2 or another server that does.`,
      { tier: "s3", bucket: this.#bucket },
    );
  }

  async place(): Promise<StorePlace> {
    const endpoint = await endpointOf((await this.#connector.connected()).client);
    const at = endpoint === undefined ? "" : ` at ${endpoint}`;
    const option = endpoint === undefined ? "" : ` --endpoint-url ${endpoint}`;
    return {
      text: `S3 bucket ${this.#bucket}${at}`,
      test: `aws s3 ls 's3://${this.#bucket}/${this.#prefix}'${option}`,
    };
  }

  checks(): readonly Check[] {
    const at = { bucket: this.#bucket, prefix: this.#prefix };
    return bucketChecks(() => this.#connector.connected(), at, this.#timeoutMs);
  }

  /** Closes the client if it was opened for this store. */
  async end(): Promise<void> {
    await this.#connector.end();
  }

  async #keepsConditions(key: string): Promise<boolean> {
    // A refusal may mean that the object was stored and the answer lost, so that the repetition was refused.
    const first = (await this.put(key, probeContent, { ifNoneMatch: "*" })) ?? (await this.#etagOf(key));
    const again = await this.put(key, probeContent, { ifNoneMatch: "*" });
    const other = await this.#put(key, probeContent, { ifMatch: noObject });
    const same = first === undefined ? undefined : await this.put(key, probeContent, { ifMatch: first });
    return first !== undefined && again === undefined && other === undefined && same !== undefined;
  }

  async #etagOf(key: string): Promise<string | undefined> {
    const found = await this.get(key);
    return found === undefined || found === "unchanged" ? undefined : found.etag;
  }

  async #triesDeleteIf(): Promise<boolean> {
    const key = `${probePrefix}${randomUUID()}`;
    await this.#put(key, probeContent);
    const ignores = await this.#deleteIf(key, noObject);
    if (!ignores) await this.delete([key]);
    return !ignores;
  }

  async #deleteIf(key: string, etag: string): Promise<boolean> {
    const answer = await this.#run("delete", 0, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.DeleteObjectCommand({ ...this.#at(key), IfMatch: etag }), { abortSignal }),
    );
    return typeof answer !== "string";
  }

  async #put(key: string, bytes: Uint8Array, condition?: PutCondition): Promise<string | undefined> {
    const isPack = key.endsWith(".pack");
    const input: PutObjectCommandInput = {
      ...this.#at(key),
      ...this.#written,
      ...(isPack && this.#storageClass !== undefined ? { StorageClass: this.#storageClass } : {}),
      ...(condition === undefined ? {} : namedAsSdk(condition)),
      // A Buffer: streams are sent with trailing checksums, which Ceph 16 refuses.
      Body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
      ContentType: "application/octet-stream",
    };
    const answer = await this.#run("put", bytes.length, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.PutObjectCommand(input), { abortSignal }),
    );
    // If-Match on an object that isn't there is a 404.
    if (typeof answer !== "string") return answer.value.ETag ?? "";
    if (condition === undefined) throw this.#notABucket();
    return undefined;
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + key };
  }

  #notABucket(): StratigraphError {
    const message = `S3 bucket ${this.#bucket} isn't there, or its endpoint is no S3 server. Check bucket, region and endpoint.`;
    return new StratigraphError("NOT_SET_UP", message, { tier: "s3", bucket: this.#bucket });
  }

  /** Makes a request, and repeats it after failures that may pass, with growing and jittered pauses. */
  async #run<T>(
    operation: Operation,
    size: number,
    request: (connection: AwsConnection, signal: AbortSignal) => Promise<T>,
  ): Promise<Answer<T>> {
    const connection = await this.#connector.connected();
    const timeoutMs = Math.ceil(this.#timeoutMs + (size / bytesPerSecond) * 1000);
    for (let attempts = 0, round = 0; ; round += 1) {
      try {
        return { value: await within(timeoutMs, (signal) => request(connection, signal)) };
      } catch (error) {
        const verdict = verdictOf(error);
        if (verdict !== "passing" && verdict !== "final") return verdict;
        // A client that repeats requests itself has made several. Make no other round if that could exceed the limit.
        const made = attemptsOf(error);
        attempts += made;
        if (verdict === "final" || attempts + made > this.#attempts)
          throw explained(error, { bucket: this.#bucket, operation, attempts });
        trace({ type: "retry", tier: "s3", attempt: attempts, error });
        const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** round) * (0.5 + Math.random());
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}

function withoutQuotes(etag: string): string {
  return etag.replaceAll('"', "");
}

function namedAsSdk(condition: PutCondition): Pick<PutObjectCommandInput, "IfMatch" | "IfNoneMatch"> {
  return "ifMatch" in condition ? { IfMatch: condition.ifMatch } : { IfNoneMatch: condition.ifNoneMatch };
}
