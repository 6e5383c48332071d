// Programs that use the packages that must run without Node, and the function that bundles them.
import { join } from 'node:path';
import { build } from 'esbuild';
import { repository } from './workspace.js';

export interface Pure {
  /** The package whose main entry imports no module of Node. */
  readonly folder: string;
  /** Code of an app. Exports a function `answer` that resolves to a string. */
  readonly code: string;
  /** The expected string. */
  readonly expected: string;
  /** Maximum size of the minified bundle in kB. */
  readonly limit: number;
}

const COMPACTION = `
  import { createCompactor } from '@x/compaction';
  import { assistantMessage, toolResultMessage, userMessage } from '@x/core';
  export const answer = async () => {
    const messages = [userMessage('Why is the build slow?')];
    for (let step = 0; step < 20; step++) {
      const call = { type: 'tool_use', id: 'c' + step, name: 'read_file', input: { path: 'part-' + step } };
      messages.push(assistantMessage([call]), toolResultMessage(call, 'a line of code; '.repeat(200)));
    }
    messages.push(assistantMessage('It reads everything.'), userMessage('Go on'));
    const compactor = createCompactor({ contextWindow: 10_000 });
    const { status, message } = await compactor.compact(messages, { reason: 'manual' });
    return status === 'applied' ? status : message;
  };
`;

/** Stores and loads a session, and validates input by a tool's schema. Both needed modules of Node in earlier versions. */
const CORE = `
  import * as core from '@x/core';
  import { compileSchema } from '@x/core/messages';
  export const answer = async () => {
    const store = new core.InMemorySession();
    const key = core.SessionKey.of('s');
    const session = await core.openSession(store, key);
    session.state.contextMutable().push(core.userMessage('Hi'));
    await session.commit();
    const { state } = await core.openSession(store, key);
    const input = { type: 'object', properties: { a: { type: 'string', pattern: '^b' } } };
    const schema = compileSchema(input, { owner: 'tool', path: 'input', value: 'input' });
    const check = async () => schema.parse({ a: 'c' });
    const refused = await check().catch((error) => error.code);
    let cursor = '';
    for await (const info of store.list()) cursor = info.cursor;
    for await (const info of store.list({}, { after: cursor })) return 'listed twice';
    return core.textOf(state.context[0]) + ' ' + refused;
  };
  export { core };
`;

/** Replays a log, as a page of the documentation does in the browser. */
const REPLAY = `
  import { createCompactor } from '@x/compaction';
  import { compareStrategies, importConversation, replayHtml, withCompactor } from '@x/replay';
  export const answer = async () => {
    const log = [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hello' }];
    const ours = withCompactor(({ window }) => createCompactor({ model: null, contextWindow: window }));
    const comparison = await compareStrategies(importConversation(JSON.stringify(log)), { ours });
    return replayHtml([comparison], { title: 'log' }).split('\\n', 1)[0];
  };
`;

/** The packages whose main entry must run without Node, with the maximum size that an app loads for them. */
export const PURE: readonly Pure[] = [
  { folder: 'packages/core', code: CORE, expected: 'Hi invalid_input', limit: 235 },
  { folder: 'packages/compaction', code: COMPACTION, expected: 'applied', limit: 220 },
  { folder: 'packages/replay', code: REPLAY, expected: '<!doctype html>', limit: 340 },
];

/**
 * Bundles and minifies a program.
 *
 * @param source Whether to bundle the sources of our packages, not their builds. Default true.
 * @throws the failure of esbuild, which names each imported module of Node.
 */
export async function minified({ code }: Pure, format: 'iife' | 'esm', source = true): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: join(repository, 'examples'), loader: 'js' },
    bundle: true,
    minify: true,
    write: false,
    // For this platform, importing a module of Node is an error.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: [...(source ? ['@x/source'] : []), 'import'],
    format,
    globalName: 'bundle',
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}
