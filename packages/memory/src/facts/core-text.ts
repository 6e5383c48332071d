import { bulletsOf, factKey, fencedLines, SIGN, withoutBullets } from '../notes.js';
import type { CoreEdits } from './memory-state.js';

/** The heading of the section for added facts. Text that people wrote in the file is not changed. */
const HEADING = '## Noted';

/** Applies edits to the text of MEMORY.md, line by line. Existing bullets are not added again. */
export function changeCore(text: string, { replace, add, drop }: CoreEdits): string {
  // If all lines end with CRLF, keep CRLF.
  if (text.includes('\r\n') && !/(?<!\r)\n/.test(text))
    return changeCore(text.replaceAll('\r\n', '\n'), { replace, add, drop }).replaceAll('\n', '\r\n');
  const lines: (string | undefined)[] = text.split('\n');
  const bullets = bulletsOf(text);
  const present = new Set(bullets.map(({ key }) => key));
  const added: string[] = [];
  const put = (newText: string | undefined, place?: number) => {
    if (newText === undefined || present.has(factKey(newText))) return;
    present.add(factKey(newText));
    if (place === undefined) added.push(`- ${newText}`);
    else lines[place] = `${text.split('\n')[place]?.match(SIGN)?.[0] ?? '- '}${newText}`;
  };
  for (const { key, text: newText } of replace) {
    const old = bullets.filter((bullet) => bullet.key === key && present.has(key));
    for (const { start, end } of old) lines.fill(undefined, start, end);
    present.delete(key);
    put(newText, old[0]?.start);
  }
  for (const newText of add) put(newText);
  const kept = lines.filter((line) => line !== undefined);
  const changed = added.length === 0 ? kept.join('\n') : withAdded(kept, added);
  return withoutBullets(changed, ({ key }) => drop.includes(key));
}

/** Appends bullets to the section for added facts, and adds the section if it is missing. */
function withAdded(lines: readonly string[], added: readonly string[]): string {
  const code = fencedLines(lines);
  const heading = lines.findIndex((line, number) => line.trim() === HEADING && !code.has(number));
  if (heading < 0) {
    const above = lines.join('\n').trimEnd();
    return `${above === '' ? '' : `${above}\n\n`}${HEADING}\n\n${added.join('\n')}\n`;
  }
  const isNext = (at: number) => at > heading && lines[at]?.startsWith('#') && !code.has(at);
  let end = [...lines.keys()].find(isNext) ?? lines.length;
  while (end > heading + 1 && lines[end - 1]?.trim() === '') end--;
  const gap = end === heading + 1 ? [''] : [];
  const rest = lines.slice(end);
  return [...lines.slice(0, end), ...gap, ...added, ...(rest.length === 0 ? [''] : rest)].join('\n');
}

/** Applies a person's changes, from `before` to `theirs`, to `ours`. A new line is inserted after the line that it followed. */
export function mergeText(before: string, theirs: string, ours: string): string {
  const theirLines = theirs.split('\n');
  const lines = ours.split('\n');
  for (const { line } of addedLines(theirs, before)) {
    const place = line.trim() === '' ? -1 : lines.indexOf(line);
    if (place >= 0) lines.splice(place, 1);
  }
  // The person may have saved our text, so skip lines that both texts have.
  const lacking = new Set(addedLines(ours, theirs).map(({ at }) => at));
  for (const { line, at } of addedLines(before, theirs)) {
    if (!lacking.has(at)) continue;
    const anchor = theirLines.slice(0, at).findLast((other) => other.trim() !== '' && lines.includes(other));
    lines.splice(anchor === undefined ? 0 : lines.lastIndexOf(anchor) + 1, 0, line);
  }
  return lines.join('\n');
}

/** Returns the lines that occur more often in `after` than in `before`, with their line numbers. */
export function addedLines(before: string, after: string): { readonly line: string; readonly at: number }[] {
  const known = new Map<string, number>();
  for (const line of before.split('\n')) known.set(line, (known.get(line) ?? 0) + 1);
  return after.split('\n').flatMap((line, at) => {
    const left = known.get(line) ?? 0;
    known.set(line, left - 1);
    return left > 0 ? [] : [{ line, at }];
  });
}
