/** What stands in the place of a part that is none, and what to do: for parts that no type checker has seen. */
export function malformedPart(
  value: unknown,
  kind: string,
  methods: readonly string[],
  remedy: string,
): string | undefined {
  const found = describe(value);
  if (typeof value === 'function')
    return `${found} is a function, not ${kind}: call it, and pass what it returns`;
  if (typeof value !== 'object' || value === null) return `${found} is not ${kind}; ${remedy}`;
  if (value instanceof Promise) return `is a promise of ${kind}: await it first`;
  return methods.every((method) => method in value) ? undefined : `is not ${kind}; ${remedy}`;
}

function describe(value: unknown): string {
  if (typeof value === 'function') return value.name || 'it';
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
