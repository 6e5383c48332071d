/**
 * Counts tokens. Must be pure and cheap to call: the harness counts every message once and keeps the number.
 * Count whole messages and requests with `countMessage` and `countRequest`.
 */
export interface TokenCounter {
  /** For reports, for example `o200k_base`. */
  readonly name: string;
  /** Tokens of a text, without any framing. */
  count(text: string): number;
}
