import zlib from "node:zlib";
import { isSimulated } from "../simulation/machine.ts";

/** What Node's streams of zlib have beneath them. */
interface Handle {
  init(...args: unknown[]): unknown;
  write(...args: unknown[]): void;
  writeSync(...args: unknown[]): void;
}

/**
 * Compresses with Brotli at once where code of a simulation asks for it, as packs do: virtual time doesn't wait for Node's threads. The bytes are
 * the same. @returns a function that ends this
 */
export function brotliAtOnce(): () => void {
  const restore = [zlib.createBrotliCompress(), zlib.createBrotliDecompress()].map((stream) => {
    const handle = Object.getPrototypeOf((stream as unknown as { _handle: object })._handle) as Handle;
    stream.close();
    const { init, write } = handle;
    const ended = new WeakMap<object, () => void>();
    handle.init = function (...args) {
      ended.set(this, args[2] as () => void);
      return Reflect.apply(init, this, args);
    };
    handle.write = function (...args) {
      if (!isSimulated()) return Reflect.apply(write, this, args) as void;
      this.writeSync(...args);
      process.nextTick(() => ended.get(this)!.call(this));
    };
    return () => Object.assign(handle, { init, write });
  });
  return () => {
    for (const each of restore) each();
  };
}
