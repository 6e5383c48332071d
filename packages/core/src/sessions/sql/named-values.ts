/** Values of a statement by their names. */
export type SqlValues = Readonly<Record<string, unknown>>;

/** A statement and its values as a driver takes them. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A name in a statement; `::` before a type is not one. */
const NAME = /(?<!:):([a-z]\w*)/gi;

/**
 * Makes what puts the placeholders of a driver in the place of `:name` in statements.
 *
 * @param placeholder The n-th value, counted from 1: `$1`. Without it every name becomes `?`, and a name that occurs twice is
 * two values.
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
