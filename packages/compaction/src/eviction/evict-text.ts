import { type CallScope, SessionKey, type TextBlock, type ToolResultBlock } from '@x/core';
import { digestWork, inPieces } from '@x/core/internal';
import { sessionPrefix } from '@x/core/store';
import { oddBetween, oddLinesWork } from '../conversation/lines.js';
import { markedText, marksOf } from '../conversation/marks.js';
import { STUB_TEXTS, type StubMark } from '../conversation/stub-texts.js';
import { cutMiddle } from '../conversation/text.js';
import { endOf } from '../conversation/tool-calls.js';

/**
 * Writes a text to the workspace.
 *
 * @returns The path of the file.
 * @throws If the workspace cannot write the file.
 */
export async function evictText(
  scope: CallScope,
  { evictionPath }: { readonly evictionPath: string },
  text: string,
): Promise<string> {
  const hash = await inPieces(digestWork(text), scope.signal);
  const path = `${evictionPath.split('/').filter(Boolean).join('/')}/${pathFor(scope, hash)}`;
  await scope.storage.write(path, text);
  return path;
}

/** Returns a path below the prefix of the session's owner. It is named by content, so equal texts share one file. */
function pathFor({ agentId, state: { tenantId, userId, sessionId } }: CallScope, hash: string): string {
  const key = SessionKey.of({ tenantId, userId, agentId, sessionId });
  return `${sessionPrefix(key)}${key.path.sessionId}/${hash.slice(0, 32)}.txt`;
}

/**
 * Makes a block with a text's size, its head and tail, and the path of its file for `read_file`.
 *
 * @param what Begins the sentence: `The result of execute`.
 * @param previewChars UTF-16 units of the head and of the tail. For short texts, an eighth of the text.
 * @param result The result that the block replaces.
 */
export async function previewBlock(
  what: string,
  text: string,
  path: string,
  previewChars: number,
  result?: ToolResultBlock,
): Promise<TextBlock> {
  const head = STUB_TEXTS.evicted.write(what, text.length, text.split('\n').length, path);
  const length = 2 * Math.min(previewChars, Math.floor(text.length / 8));
  const odd = await inPieces(oddLinesWork(text));
  const marker = (left: number, from: number) =>
    `\n${STUB_TEXTS.middle.write(left)}\n${oddBetween(odd, from, from + left, length / 4)}`;
  const ends = cutMiddle(text, length, marker, { tail: 0.5 });
  return evictedBlock(`${head}\n${ends}`, path, result);
}

const EVICTED = 'evictedTo' satisfies StubMark;

/** Makes a text that names the file with the full text of a tool result. Its metadata has the path and how the call ended. */
export function evictedBlock(text: string, path: string | undefined, result?: ToolResultBlock): TextBlock {
  const marks = path === undefined ? {} : { [EVICTED]: path };
  return markedText(text, marks, result && endOf(result));
}

/** Returns the path of the file with the full text of a result, or `undefined` if there is none. */
export function evictedPath(result: ToolResultBlock): string | undefined {
  const [path] = result.output
    .map(({ providerMetadata }) => marksOf({ metadata: providerMetadata })[EVICTED])
    .filter((mark) => typeof mark === 'string');
  return path;
}
