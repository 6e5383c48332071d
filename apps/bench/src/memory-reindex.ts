import { MemoryIndex } from '@x/memory';
import { deleteDatabase, openBare } from './memory-build.js';
import { linesOf, type MarkdownFile } from './memory-lines.js';
import { median } from './statistics.js';

const FILE_CHARS = 50_000;
const ROUNDS = 15;

export interface Reindexing {
  /** Milliseconds, medians: every line new. */
  readonly ours: number;
  readonly bare: number;
  /** One line changed. */
  readonly oursOneLine: number;
  readonly bareOneLine: number;
}

/** Indexes a file of 50 KB again, in an index of 100 000 other lines, and the same without a library. */
export async function measureReindexing(path: string, files: readonly MarkdownFile[]): Promise<Reindexing> {
  const barePath = `${path}.bare`;
  const bare = openBare(barePath);
  for (const file of files) bare.replace(file.path, file.text);
  const index = await MemoryIndex.open(path);
  const versions = textsOf(files);
  const times = {
    ours: [] as number[],
    bare: [] as number[],
    oursOneLine: [] as number[],
    bareOneLine: [] as number[],
  };
  const measure = async (name: keyof typeof times, task: () => Promise<void> | void) => {
    const started = performance.now();
    await task();
    times[name].push(performance.now() - started);
  };
  for (let round = 0; round < ROUNDS; round++) {
    const text = versions[round % versions.length] ?? '';
    const changed = text.replace('\n', `\nround ${round}\n`);
    await measure('ours', () => index.indexFromString('memory/file.md', text));
    await measure('bare', () => bare.replace('memory/file.md', text));
    await measure('oursOneLine', () => index.indexFromString('memory/file.md', changed));
    await measure('bareOneLine', () => bare.replace('memory/file.md', changed));
  }
  index.close();
  bare.close();
  deleteDatabase(barePath);
  return {
    ours: median(times.ours),
    bare: median(times.bare),
    oursOneLine: median(times.oursOneLine),
    bareOneLine: median(times.bareOneLine),
  };
}

/** Texts of 50 KB that have few lines in common. */
function textsOf(files: readonly MarkdownFile[]): readonly string[] {
  const texts: string[] = [];
  let text = '';
  for (const line of files.flatMap((file) => linesOf(file.text))) {
    text += `${line}\n`;
    if (text.length < FILE_CHARS) continue;
    texts.push(text);
    text = '';
  }
  return texts;
}
