import { isObject, type JsonObject } from '../lib/json.js';

/** How a command ended. */
export interface CommandEnd {
  readonly failed: boolean;
  /** Left out if a signal or a timeout ended the command. */
  readonly exitCode?: number | undefined;
}

/** The key in a text's metadata. It is never sent to a model. */
const KEY = '@x/ended';

/** Returns metadata for a tool's text that says how the command ended, so that no code has to parse the text. */
export function withEnd({ failed, exitCode }: CommandEnd): JsonObject {
  return { [KEY]: { failed, ...(exitCode === undefined ? {} : { exitCode }) } };
}

/** Reads the command's end from the metadata of a text; `undefined` if it has none. */
export function endIn(metadata: JsonObject | undefined): CommandEnd | undefined {
  const noted = metadata?.[KEY];
  if (!isObject(noted)) return undefined;
  const { failed, exitCode } = noted;
  return { failed: failed === true, exitCode: typeof exitCode === 'number' ? exitCode : undefined };
}
