import { verified, withChecksum } from "../../src/encode/storedBody.ts";

const owner = ["namespace", "checkpoint", "parent"];
const content = Buffer.from("content");
const [first, second] = ["11".repeat(20), "22".repeat(20)] as const;

test("a checksum covers the blobs and their order", () => {
  const bytes = withChecksum(owner, [first, second], content);
  expect(Buffer.from(verified(owner, [first, second], bytes))).toEqual(content);
  for (const others of [[second, first], [first, first], [first], [first, second, second], []])
    expect(() => verified(owner, others, bytes)).toThrow("the checksum doesn't match");
});

test("a checksum that covers no blobs isn't taken for a body that names some", () => {
  expect(() => verified(owner, [first], withChecksum(owner, [], content))).toThrow(
    "the checksum doesn't match",
  );
});
