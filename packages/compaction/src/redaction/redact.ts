import { type Redact, redactSecrets, type SecretPattern, secretRedactor } from '@x/core';

/** What to redact: common secrets (`true`), these and more, or nothing. */
export type RedactSetting = boolean | { readonly patterns: readonly SecretPattern[] };

const redactors = new WeakMap<object, Redact>();

/** The function that a setting asks for: the same one each time, since what it was used on is remembered by it. */
export function redactorFor(setting: RedactSetting): Redact | undefined {
  if (setting === false) return undefined;
  if (setting === true) return redactSecrets;
  const redact = redactors.get(setting) ?? secretRedactor(setting.patterns);
  redactors.set(setting, redact);
  return redact;
}
