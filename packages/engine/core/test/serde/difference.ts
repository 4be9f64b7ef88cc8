/**
 * The first difference between two values, with its path, or undefined. Stricter than `toStrictEqual`: class, -0,
 * NaN, Buffer or Uint8Array, own `undefined`, order of keys, Map entries and Set items, and an Error's hidden parts.
 */
export function difference(left: unknown, right: unknown, path = "$"): string | undefined {
  if (Object.is(left, right)) return undefined;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return `${path}: ${show(left)} is not ${show(right)}`;
  }
  if (Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return `${path}: classes differ`;
  if (ArrayBuffer.isView(left) || left instanceof ArrayBuffer) {
    return bytes(left) === bytes(right as ArrayBuffer) ? undefined : `${path}: bytes differ`;
  }
  if (left instanceof Map) return difference([...left], [...(right as typeof left)], `${path}.entries()`);
  if (left instanceof Set) return difference([...left], [...(right as typeof left)], `${path}.values()`);
  if (left instanceof Date) return difference(left.getTime(), (right as Date).getTime(), `${path}.getTime()`);
  if (left instanceof URL || left instanceof RegExp) return difference(String(left), String(right), path);
  if (left instanceof Error) {
    for (const key of ["name", "message", "stack", "cause", "errors"] as const) {
      const found = difference(Reflect.get(left, key), Reflect.get(right, key), `${path}.${key}`);
      if (found !== undefined) return found;
    }
  }
  const keys = Object.keys(left);
  const found = keys.join("\0") === Object.keys(right).join("\0");
  if (!found) return `${path}: keys ${keys.join()} are not ${Object.keys(right).join()}`;
  if (Array.isArray(left) && left.length !== (right as typeof left).length) return `${path}: lengths differ`;
  for (const key of keys) {
    const inner = difference(Reflect.get(left, key), Reflect.get(right, key), `${path}.${key}`);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function bytes(value: ArrayBufferView | ArrayBuffer): string {
  return ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")
    : Buffer.from(value).toString("hex");
}

function show(value: unknown): string {
  if (Object.is(value, -0)) return "-0";
  return typeof value === "object"
    ? Object.prototype.toString.call(value)
    : `${typeof value} ${String(value)}`;
}
