import { s3, S3Saver } from "../src/index.ts";

vi.mock("@aws-sdk/client-s3", () => {
  throw Object.assign(new Error("Cannot find package '@aws-sdk/client-s3'"), {
    code: "ERR_MODULE_NOT_FOUND",
  });
});

test("without the SDK setup and the first call say what to install, and end() says nothing", async () => {
  const missing = {
    code: "DRIVER_MISSING",
    retryable: false,
    data: { package: "@aws-sdk/client-s3" },
    message: expect.stringContaining("npm install @aws-sdk/client-s3") as string,
  };
  await S3Saver.fromUrl("s3://bucket").end();
  const saver = S3Saver.fromUrl("s3://bucket");
  await expect(saver.setup()).rejects.toMatchObject(missing);
  await expect(saver.tier.peek({ threadId: "t", namespace: "" })).rejects.toMatchObject(missing);
  await saver.end();
  const tier = s3({ client: { send: async () => undefined }, bucket: "bucket" });
  await expect(tier.setup()).rejects.toMatchObject(missing);
  await tier.end();
});
