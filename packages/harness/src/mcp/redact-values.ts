/** Hides secrets in a text that somebody may read. */
export type Redact = (text: string) => string;

const NAMES = /\$\{([A-Za-z_][A-Za-z0-9_]*)/g;
/** Shorter values are words: hiding them would make messages unreadable and protect nothing. */
const MIN_LENGTH = 5;

/** Hides the values of all environment variables that a configuration refers to, the longest first. */
export function secretsIn(
  config: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): Redact {
  const names = new Set([...JSON.stringify(config).matchAll(NAMES)].map(([, name = '']) => name));
  const secrets = [...names]
    .map((name): readonly [string, string] => [name, environment[name] ?? ''])
    .filter(([, value]) => value.length >= MIN_LENGTH)
    .sort(([, left], [, right]) => right.length - left.length);
  return (text) => secrets.reduce((hidden, [name, value]) => hidden.replaceAll(value, `\${${name}}`), text);
}
