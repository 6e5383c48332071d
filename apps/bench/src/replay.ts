import { tiktokenCounter } from '@x/compaction/tiktoken';
import { parseOptions } from './replay/options.js';
import { readRecordings } from './replay/read-recordings.js';
import { replayRecordings, reportReplay } from './replay/replay-recordings.js';
import { strategies } from './replay/strategies.js';

const options = parseOptions(process.argv.slice(2));
const unknown = options.strategy.filter((name) => !Object.hasOwn(strategies, name));
if (unknown.length > 0) {
  console.error(
    `There is no strategy ${unknown.join(', ')}; there are ${Object.keys(strategies).join(', ')}.`,
  );
  process.exit(2);
}
const chosen = Object.fromEntries(
  Object.entries(strategies).filter(
    ([name]) => options.strategy.length === 0 || options.strategy.includes(name),
  ),
);

const half = options.fit ? 'fit' : options.report ? 'report' : undefined;
const recordings = readRecordings(options.data, options.domain, half);
if (recordings.length === 0) {
  console.error(`There is no conversation of the domain ${options.domain.join(', ')}.`);
  process.exit(2);
}
const { window } = options;
console.log(reportReplay(await replayRecordings(recordings, chosen, { window, counter: tiktokenCounter() })));
