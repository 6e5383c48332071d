/** Memoizes a function per object, without keeping the object alive. */
export function once<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
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
