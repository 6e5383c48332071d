/** Stands in a record for the folder that most paths begin with. */
const SHORT = '~~';
/** Paths of a conversation that are looked at to find it. */
const MOST_PATHS = 2_000;
/** UTF-16 units that shortening must save at least. */
const LEAST_SAVED = 200;
const PATH = /(?:\/[\w.@+-]+){2,}(?=\/)/g;

/** A folder that many paths begin with, and how it is shortened: without loss, since the record says what it stands for. */
export interface CommonFolder {
  shorten(text: string): string;
  /** The line of a record that says what was shortened; empty where nothing was. */
  readonly legend: string;
}

const none: CommonFolder = { shorten: (text) => text, legend: '' };

/** The folder by which texts become shortest when it is written as `~~`. */
export function commonFolder(texts: Iterable<string>): CommonFolder {
  const counts = new Map<string, number>();
  let seen = 0;
  for (const text of texts) {
    for (const [path] of text.matchAll(PATH)) {
      if (seen++ > MOST_PATHS) break;
      for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
        const folder = path.slice(0, end);
        counts.set(folder, (counts.get(folder) ?? 0) + 1);
      }
    }
  }
  let best = '';
  let most = LEAST_SAVED;
  for (const [folder, count] of counts) {
    const saved = (folder.length - SHORT.length) * count;
    if (saved > most) {
      most = saved;
      best = folder;
    }
  }
  if (best === '') return none;
  return {
    shorten: (text) => text.replaceAll(`${best}/`, `${SHORT}/`),
    legend: `${SHORT} is ${best}`,
  };
}

const LEGEND = new RegExp(`^${SHORT} is (/\\S+)$`, 'm');

/** The record with its folder written out again. */
export function writtenOut(record: string): string {
  const folder = LEGEND.exec(record)?.[1];
  return folder === undefined ? record : record.replaceAll(`${SHORT}/`, `${folder}/`);
}
