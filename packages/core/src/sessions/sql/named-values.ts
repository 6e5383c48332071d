/** Values of a statement by their names. */
export type SqlValues = Readonly<Record<string, unknown>>;

/** A statement with its values in the form that a driver accepts. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Matches `:name` in a statement, but not the type in a `::type` cast. */
const NAME = /(?<!:):([a-z]\w*)/gi;

/**
 * Returns a function that replaces `:name` in statements with the placeholders of a driver.
 *
 * @param placeholder Returns the placeholder of the n-th value, counted from 1, such as `$1`. By default every name becomes `?`, and
 * a name that occurs twice adds two values.
 */
export function namedValues(
  placeholder?: (position: number) => string,
): (statement: string, values: SqlValues) => BoundStatement {
  const known = new Map<string, { readonly text: string; readonly names: readonly string[] }>();
  const parse = (statement: string) => {
    const names: string[] = [];
    const text = statement.replaceAll(NAME, (_, name: string) => {
      if (placeholder === undefined || !names.includes(name)) names.push(name);
      return placeholder?.(names.indexOf(name) + 1) ?? '?';
    });
    return { text, names };
  };
  return (statement, values) => {
    const { text, names } = known.get(statement) ?? parse(statement);
    known.set(statement, { text, names });
    return { text, values: names.map((name) => values[name] ?? null) };
  };
}
