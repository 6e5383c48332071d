/** Lines that stay, shown around what changed. */
const AROUND = 2;
/** Lines that go, shown at most: what comes in their place stands below them. */
const MOST_GONE = 20;

/** A line of a diff: `-` goes, `+` comes, a space stays. */
export type DiffLine = readonly [mark: '-' | '+' | ' ', text: string];

/** What changed between two texts, line by line: all that comes between the first and the last line that differ. */
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
  const gone = old.slice(head, old.length - tail);
  const more = gone.length - MOST_GONE;
  return [
    ...mark(' ', old.slice(Math.max(0, head - AROUND), head)),
    ...mark('-', more > 1 ? [...gone.slice(0, MOST_GONE), `… and ${more} lines more`] : gone),
    ...mark('+', now.slice(head, now.length - tail)),
    ...mark(' ', old.slice(old.length - tail, old.length - tail + AROUND)),
  ];
}
