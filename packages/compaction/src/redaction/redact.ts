import { type Redact, type SecretPattern, secretRedactor } from '@x/core';

/** What to redact: common secrets (`true`), these and more, or nothing. */
export type RedactSetting = boolean | { readonly patterns: readonly SecretPattern[] };

/** The function that a setting asks for. */
export function redactorFor(setting: RedactSetting): Redact | undefined {
  return setting === false ? undefined : secretRedactor(setting === true ? [] : setting.patterns);
}
