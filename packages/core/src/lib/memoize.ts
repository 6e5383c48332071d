/** Returns a function that computes a value once per object, and does not keep the object alive. */
export function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    let held = known.get(key);
    if (held === undefined) {
      held = { value: compute(key) };
      known.set(key, held);
    }
    return held.value;
  };
}
