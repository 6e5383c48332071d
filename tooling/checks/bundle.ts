// Bundles what runs anywhere, and runs it where nothing of Node is; prints what fails and exits 1.
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { type BuildFailure, build } from 'esbuild';
import { type Problem, report } from './problem.js';
import { repository } from './workspace.js';

interface Pure {
  /** The package whose main entry imports no module of Node. */
  readonly folder: string;
  /** Code of an app; exports a function whose value is a promise of a text. */
  readonly code: string;
  /** The answer. */
  readonly expected: string;
  /** Kilobytes that the minified bundle may have. */
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

/** What is stored must load again, and a tool's schema must refuse: both once needed modules of Node. */
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

/** The page of the documentation that replays a log runs in a browser. */
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

/** The main entries that run anywhere, and what one who wants the compactor alone has to load. */
const PURE: readonly Pure[] = [
  { folder: 'packages/core', code: CORE, expected: 'Hi invalid_input', limit: 235 },
  { folder: 'packages/compaction', code: COMPACTION, expected: 'applied', limit: 195 },
  { folder: 'packages/replay', code: REPLAY, expected: '<!doctype html>', limit: 320 },
];

/** What browsers and workers have in common. */
const WEB = [
  'AbortController AbortSignal DOMException Headers Request Response TextDecoder TextEncoder URL URLSearchParams',
  'atob btoa clearInterval clearTimeout console crypto fetch performance queueMicrotask setInterval setTimeout structuredClone',
]
  .join(' ')
  .split(' ');

const problems = await Promise.all(PURE.map(checkBundle));
report(problems.flat());

async function checkBundle(pure: Pure): Promise<readonly Problem[]> {
  const { folder, expected, limit } = pure;
  const file = `${folder}/src/index.ts`;
  let text: string;
  try {
    text = await bundled(pure);
  } catch (error) {
    return (error as BuildFailure).errors.map(({ text: message, location }) => ({
      file: location?.file ?? file,
      ...(location === null ? {} : { line: location.line }),
      message,
    }));
  }
  const problems: Problem[] = [];
  const size = Math.ceil(Buffer.byteLength(text) / 1000);
  console.log(`${folder}: ${size} kB minified, of ${limit}`);
  if (size > limit) problems.push({ file, message: `bundles to ${size} kB, above its limit of ${limit} kB` });
  if (/\bBuffer\b/.test(text)) problems.push({ file, message: 'uses Buffer, which Node alone has' });
  try {
    const context = createContext(
      Object.fromEntries(WEB.map((name) => [name, Reflect.get(globalThis, name)])),
    );
    new Script(`${text}\nglobalThis.answer = bundle.answer()`).runInContext(context);
    const answer = await context.answer;
    if (answer !== expected)
      problems.push({ file, message: `answers ${answer} without Node, not ${expected}` });
  } catch (error) {
    problems.push({ file, message: `fails without Node: ${(error as Error).message}` });
  }
  return problems;
}

/** Bundles and minifies a program. @throws the esbuild failure that names each module of Node. */
async function bundled({ code }: Pure): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: join(repository, 'examples'), loader: 'js' },
    bundle: true,
    minify: true,
    write: false,
    // Knows no module of Node, so that importing one is an error.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['@x/source', 'import'],
    format: 'iife',
    globalName: 'bundle',
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}
