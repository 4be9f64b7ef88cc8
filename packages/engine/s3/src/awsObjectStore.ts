// long file: one store, a method for each request
import { randomUUID } from "node:crypto";
import type { PutObjectCommandInput, StorageClass } from "@aws-sdk/client-s3";
import { StratigraphError } from "@stratigraph/core";
import { inParallel, msOf, trace } from "@stratigraph/core/internal";
import type { Check } from "@stratigraph/core/tier";
import { AwsConnector, type AwsConnection } from "./awsConnector.ts";
import { attemptsOf, explainAwsError, verdictOf, type Operation } from "./awsErrors.ts";
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
/** The longest pause in milliseconds, before jitter, which makes it at most half as long again. */
const longestPauseMs = 2000;
/** How many objects are deleted at the same time. */
const deletesAtOnce = 8;
/** The prefix and the content of probes: objects that test what the server supports. */
const probePrefix = ".conditions/";
const probeContent = Buffer.from("Stratigraph tries whether this server keeps conditions.\n");
/** Probes older than this, in milliseconds, were left by a process that died. */
const abandonedMs = 3_600_000;
/** An etag that no object has. */
const noObject = '"00000000000000000000000000000000"';
/** A request gets an additional second per this number of bytes, which even a slow network transfers in that time. */
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
  /** Whether the server supports conditional deletes. Tested at the first conditional delete. */
  #deletesIfMatch: Promise<boolean> | undefined;

  /**
   * @param connect called at the first request, because the SDK is loaded on demand. After a failure it is called again at the next request
   */
  constructor(connect: () => Promise<AwsConnection>, options: Omit<S3Options, "client">) {
    this.#connector = new AwsConnector(connect);
    const { bucket, prefix = "stratigraph", attempts = 4, objectTags, timeout = "10s" } = options;
    this.#bucket = bucket;
    this.#prefix = prefix === "" ? "" : `${prefix.replace(/\/+$/, "")}/`;
    this.#timeoutMs = msOf("timeout", timeout);
    this.#attempts = attempts;
    this.#encryption = encryptionOf(options.serverSideEncryption);
    this.#storageClass = options.storageClass as StorageClass | undefined;
    // Not URLSearchParams, which encodes a space as a plus: S3 would take that for part of the tag.
    const tagging = Object.entries(objectTags ?? {}).map((tag) => tag.map(encodeURIComponent).join("="));
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
        // The client observes the signal only until the headers have arrived. A body that stalls must be aborted here.
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
    await inParallel(keys, deletesAtOnce, (key) =>
      this.#run("delete", 0, ({ sdk, client }, abortSignal) =>
        client.send(new sdk.DeleteObjectCommand(this.#at(key)), { abortSignal }),
      ),
    );
  }

  /** Also returns false, and deletes nothing, if the server doesn't support conditional deletes. AWS has supported them since 2025. */
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
   * On a server that ignores the conditions, writes would be lost silently.
   * @throws StratigraphError "NOT_SET_UP", "ACCESS_DENIED", "MISCONFIGURED", "ARCHIVE_UNAVAILABLE"
   */
  async setup(): Promise<void> {
    const key = `${probePrefix}${randomUUID()}`;
    let keeps: boolean;
    try {
      keeps = await this.#keepsConditions(key);
      await this.get(key);
    } catch (error) {
      // If the probe can't be deleted either, the first error is the one to throw.
      await this.delete([key]).catch(() => undefined);
      throw error;
    }
    // Also delete the probes of processes that died during setup().
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
    // A refusal may mean that the first request stored the object, its answer was lost, and the repeated request was refused.
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
      // The SDK sends streams with trailing checksums, which Ceph 16 refuses, but not a Buffer.
      Body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
      ContentType: "application/octet-stream",
    };
    const answer = await this.#run("put", bytes.length, ({ sdk, client }, abortSignal) =>
      client.send(new sdk.PutObjectCommand(input), { abortSignal }),
    );
    if (typeof answer !== "string") return answer.value.ETag ?? "";
    // Without a condition, such an answer means that there is no bucket. With If-Match, 404 means that the object isn't there.
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

  /** Makes a request and repeats it after passing failures, with growing, jittered pauses. */
  async #run<T>(
    operation: Operation,
    size: number,
    request: (connection: AwsConnection, signal: AbortSignal) => Promise<T>,
  ): Promise<Answer<T>> {
    const connection = await this.#connector.connected();
    const timeoutMs = Math.ceil(this.#timeoutMs + (size / bytesPerSecond) * 1000);
    const forMs = this.#attempts * timeoutMs + (this.#attempts - 1) * 1.5 * longestPauseMs;
    for (let attempts = 0, round = 0; ; round += 1) {
      try {
        return { value: await within(timeoutMs, (signal) => request(connection, signal)) };
      } catch (error) {
        const verdict = verdictOf(error);
        if (verdict !== "passing" && verdict !== "final") return verdict;
        // A client that retries by itself has made several requests. Don't ask it again if that could exceed the limit.
        const made = attemptsOf(error);
        attempts += made;
        if (verdict === "final" || attempts + made > this.#attempts)
          throw explainAwsError(error, { bucket: this.#bucket, operation, attempts });
        trace({ type: "retry", tier: "s3", attempt: attempts, forMs, error });
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
