import { UsageError } from './command.js';

const SERVERS = {
  redis: { scheme: /^rediss?:$/, example: 'redis://[user:password@]host[:port][/number]' },
  mysql: { scheme: /^(mysqls?|mariadb):$/, example: 'mysql://user:password@host[:port]/database' },
} as const;

/**
 * The address of a server, as its driver takes it. One whose password was not encoded is refused here: a driver would
 * take a part of it for the host, and name that in its errors.
 *
 * @throws {UsageError} which does not say what the address is.
 */
export function storeAddress(server: keyof typeof SERVERS, text: string): string {
  // Redis on a socket.
  if (server === 'redis' && text.startsWith('/') && !text.startsWith('//')) return text;
  const { scheme, example } = SERVERS[server];
  if (URL.canParse(text)) {
    const url = new URL(text);
    const { username, password, pathname, search, hash } = url;
    const isWhole = hash === '' && !`${pathname}${search}`.includes('@');
    if (scheme.test(url.protocol) && isWhole && canDecode(username, password, pathname)) return url.href;
  }
  throw new UsageError(
    `The address given for ${server} must be ${example}; in a password write %40 for @, %23 for #, %2F for /, ` +
      '%3A for :, %3F for ? and %25 for %.',
  );
}

function canDecode(...parts: readonly string[]): boolean {
  try {
    parts.forEach(decodeURIComponent);
    return true;
  } catch {
    return false;
  }
}
