/** Lines that stay, shown around what changed. */
const AROUND = 2;

/** A line of a diff: `-` goes, `+` comes, a space stays. */
export type DiffLine = readonly [mark: '-' | '+' | ' ', text: string];

/** What changed between two texts, line by line: all between the first and the last line that differ. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [before, after].map((text) => (text === '' ? [] : text.split('\n'))) as [
    string[],
    string[],
  ];
  const shortest = Math.min(old.length, now.length);
  let head = 0;
  while (head < shortest && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shortest - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const mark = (sign: DiffLine[0], lines: readonly string[]) => lines.map((line): DiffLine => [sign, line]);
  return [
    ...mark(' ', old.slice(Math.max(0, head - AROUND), head)),
    ...mark('-', old.slice(head, old.length - tail)),
    ...mark('+', now.slice(head, now.length - tail)),
    ...mark(' ', old.slice(old.length - tail, old.length - tail + AROUND)),
  ];
}
