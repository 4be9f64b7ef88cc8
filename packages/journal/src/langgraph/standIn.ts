/**
 * An object that stands for another one: with its class and all that it has, but for some methods. Getters of its class run on the object
 * itself, which alone has its private fields.
 */
export function standIn<T extends object>(object: T, own: Readonly<Record<string, unknown>>): T {
  const made = Object.create(object) as T;
  for (const [name, value] of Object.entries(own))
    Object.defineProperty(made, name, { value, writable: true, configurable: true, enumerable: false });
  const isOf = (name: string): boolean => Object.hasOwn(made, name) || Object.hasOwn(object, name);
  let prototype = Object.getPrototypeOf(object) as object | null;
  for (
    ;
    prototype !== null && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype) as object
  )
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (get !== undefined && !isOf(name))
        Object.defineProperty(made, name, {
          get: () => Reflect.get(object, name) as unknown,
          set(value) {
            Reflect.set(object, name, value);
          },
          configurable: true,
        });
  return made;
}
