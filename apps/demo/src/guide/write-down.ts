import { act, type Decision, say } from './decision.js';
import type { View } from './view.js';

/** As in “write ideas.md: look at the stores first”. */
const WRITE = /^(?:please )?write (?:to )?[`"']?([\w./-]+\.\w+)[`"']?\s*[:,]\s*([\s\S]+)$/i;

/** Writes a file that the user names, or nothing when that is not what was asked for. */
export function writeDown(view: View): Decision | undefined {
  const [, path, content] = WRITE.exec(view.request) ?? [];
  if (path === undefined || content === undefined) return undefined;
  const wish = { name: 'write_file', input: { path, content: `${content.trim()}\n` } };
  const result = view.result(wish.name, wish.input);
  if (result === undefined) return act(`I will write that to ${path}.`, wish);
  return say(result.isError ? `I did not write ${path}. ${result.text}` : `Done. ${result.text}`);
}
