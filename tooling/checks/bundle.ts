// Bundles the packages that must not need Node, and runs them without the modules and globals of Node. Prints problems and exits with 1.
import { createContext, Script } from 'node:vm';
import type { BuildFailure } from 'esbuild';
import { type Problem, report } from './problem.js';
import { minified, PURE, type Pure } from './pure.js';

/** Globals that browsers and workers have in common. */
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
    text = await minified(pure, 'iife');
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
  // As a property of `globalThis`, it is `undefined` elsewhere.
  if (/(?<!globalThis\.)\bBuffer\b/.test(text))
    problems.push({ file, message: 'uses Buffer, which exists only in Node' });
  try {
    const context = createContext(
      Object.fromEntries(WEB.map((name) => [name, Reflect.get(globalThis, name)])),
    );
    new Script(`${text}\nglobalThis.answer = bundle.answer()`).runInContext(context);
    const answer = await context.answer;
    if (answer !== expected)
      problems.push({ file, message: `returns ${answer} without Node, not ${expected}` });
  } catch (error) {
    problems.push({ file, message: `fails without Node: ${(error as Error).message}` });
  }
  return problems;
}
