import { type Redact, redactSecrets, type SecretPattern, secretRedactor } from '@x/core';

/** What to redact: common secrets (`true`), these and more, or nothing. */
export type RedactSetting = boolean | { readonly patterns: readonly SecretPattern[] };

/** The function that a setting asks for. */
export function redactorFor(setting: RedactSetting): Redact | undefined {
  if (setting === false) return undefined;
  return setting === true ? redactSecrets : secretRedactor(setting.patterns);
}
