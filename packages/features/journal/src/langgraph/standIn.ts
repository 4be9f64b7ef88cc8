/**
 * An object that stands for another one, with its class and all of its properties, except some methods. Getters of its class run on the
 * object itself, because only that has its private fields.
 */
export function standIn<T extends object>(object: T, own: Readonly<Record<string, unknown>>): T {
  const made = Object.create(object) as T;
  for (const [name, value] of Object.entries(own))
    Object.defineProperty(made, name, { value, writable: true, configurable: true, enumerable: false });
  for (const prototype of prototypesOf(object))
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (get !== undefined && !Object.hasOwn(made, name) && !Object.hasOwn(object, name))
        Object.defineProperty(made, name, {
          get: () => Reflect.get(object, name) as unknown,
          set(value) {
            Reflect.set(object, name, value);
          },
          configurable: true,
        });
  return made;
}

/** The prototypes of an object, nearest first, except that of all objects. */
function* prototypesOf(object: object): Generator<object> {
  const prototype = Object.getPrototypeOf(object) as object | null;
  if (prototype === null || prototype === Object.prototype) return;
  yield prototype;
  yield* prototypesOf(prototype);
}
