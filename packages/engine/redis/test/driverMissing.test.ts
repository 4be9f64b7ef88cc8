import { redis, RedisSaver } from "../src/index.ts";

vi.mock("ioredis", () => {
  throw Object.assign(new Error("Cannot find package 'ioredis'"), { code: "ERR_MODULE_NOT_FOUND" });
});

test("without ioredis opening and the first call say what to install, and end() says nothing", async () => {
  const missing = {
    code: "DRIVER_MISSING",
    retryable: false,
    data: { package: "ioredis" },
    message: expect.stringContaining("npm install ioredis") as string,
  };
  const url = "redis://127.0.0.1:1";
  await redis({ url }).end();
  await expect(RedisSaver.fromUrl(url)).rejects.toMatchObject(missing);
  const tier = redis({ url });
  await expect(tier.peek({ threadId: "t", namespace: "" })).rejects.toMatchObject(missing);
  await tier.end();
});
