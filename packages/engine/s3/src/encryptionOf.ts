import { createHash } from "node:crypto";
import type { PutObjectCommandInput } from "@aws-sdk/client-s3";
import type { ServerSideEncryption } from "./s3Options.ts";

type CustomerKey = Pick<
  PutObjectCommandInput,
  "SSECustomerAlgorithm" | "SSECustomerKey" | "SSECustomerKeyMD5"
>;

/** The parameters for encryption: `written` for requests that write, `always` for all requests. */
export function encryptionOf(option: ServerSideEncryption | undefined): {
  written: Pick<PutObjectCommandInput, "ServerSideEncryption" | "SSEKMSKeyId" | "BucketKeyEnabled">;
  always: CustomerKey;
} {
  if (option === undefined) return { written: {}, always: {} };
  if (option === "AES256") return { written: { ServerSideEncryption: "AES256" }, always: {} };
  if ("customerKey" in option) {
    const key = Buffer.from(option.customerKey);
    return {
      written: {},
      always: {
        SSECustomerAlgorithm: "AES256",
        SSECustomerKey: key.toString("base64"),
        SSECustomerKeyMD5: createHash("md5").update(key).digest("base64"),
      },
    };
  }
  const { kmsKeyId, bucketKey } = option;
  return {
    written: {
      ServerSideEncryption: "aws:kms",
      ...(kmsKeyId === undefined ? {} : { SSEKMSKeyId: kmsKeyId }),
      ...(bucketKey === undefined ? {} : { BucketKeyEnabled: bucketKey }),
    },
    always: {},
  };
}
