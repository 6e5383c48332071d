/** One line of a comparison. */
export interface DiffLine {
  /** `+` for an added line, `-` for a removed one, `…` for a note such as "118 unchanged lines"; empty for an unchanged line. */
  readonly mark: '' | '+' | '-' | '…';
  readonly text: string;
}

/** Maximum number of removed lines to show per change. */
const MOST_REMOVED = 8;

/**
 * Compares two lists of lines.
 *
 * @param around Number of unchanged lines to show before and after each change.
 * @param mostPairs Maximum number of line pairs to compare. In larger texts, everything between the first and the last change counts as
 * changed.
 */
export function diffLines(
  old: readonly string[],
  now: readonly string[],
  around: number,
  mostPairs: number,
): readonly DiffLine[] {
  const all = changes(old, now, mostPairs);
  const near = new Set<number>();
  for (const [index, { mark }] of all.entries())
    if (mark !== '') for (let at = index - around; at <= index + around; at++) near.add(at);
  const lines: DiffLine[] = [];
  let hidden: DiffLine[] = [];
  let removed = 0;
  const close = () => {
    const [first] = hidden;
    const words = `${hidden.length} ${first?.mark === '-' ? 'more removed' : 'unchanged'} ${hidden.length === 1 ? 'line' : 'lines'}`;
    if (first) lines.push({ mark: '…', text: near.size === 0 ? `${words}: no change` : words });
    hidden = [];
  };
  for (const [index, line] of all.entries()) {
    removed = line.mark === '-' ? removed + 1 : 0;
    const isHidden = removed > MOST_REMOVED || !near.has(index);
    if (!isHidden || hidden[0]?.mark !== line.mark) close();
    (isHidden ? hidden : lines).push(line);
  }
  close();
  return lines;
}

/** Marks each line of two texts as removed, added or kept, in order. */
function changes(old: readonly string[], now: readonly string[], mostPairs: number): readonly DiffLine[] {
  const shortest = Math.min(old.length, now.length);
  let head = 0;
  while (head < shortest && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shortest - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const as = (mark: DiffLine['mark']) => (text: string) => ({ mark, text });
  return [
    ...old.slice(0, head).map(as('')),
    ...between(old.slice(head, old.length - tail), now.slice(head, now.length - tail), mostPairs),
    ...old.slice(old.length - tail).map(as('')),
  ];
}

/** Compares the lines between a common beginning and end, by their longest common subsequence. */
function between(old: readonly string[], now: readonly string[], mostPairs: number): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  const width = now.length + 1;
  let [row, column] = [0, 0];
  if (old.length * now.length <= mostPairs) {
    // Length of the longest common subsequence of both remainders, by row and column.
    const common = new Uint32Array((old.length + 1) * width);
    const at = (i: number, j: number) => common[i * width + j] ?? 0;
    for (let i = old.length - 1; i >= 0; i--)
      for (let j = now.length - 1; j >= 0; j--)
        common[i * width + j] =
          old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    while (row < old.length && column < now.length) {
      const [before = '', after = ''] = [old[row], now[column]];
      const isSame = before === after;
      const isRemoved = !isSame && at(row + 1, column) >= at(row, column + 1);
      lines.push({ mark: isSame ? '' : isRemoved ? '-' : '+', text: isSame || isRemoved ? before : after });
      if (isSame || isRemoved) row++;
      if (!isRemoved) column++;
    }
  }
  for (const text of old.slice(row)) lines.push({ mark: '-', text });
  for (const text of now.slice(column)) lines.push({ mark: '+', text });
  return lines;
}
