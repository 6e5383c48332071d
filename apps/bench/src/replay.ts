import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import type { Strategy } from '@x/replay';
import { parseOptions } from './replay/options.js';
import { readRecordings } from './replay/read-recordings.js';
import { reportReplay, toJson } from './replay/report.js';
import { runReplay, settingFor } from './replay/run-replay.js';
import { strategies as known } from './replay/strategies.js';
import { syntheticRecordings } from './replay/synthetic-recordings.js';

const options = parseOptions(process.argv.slice(2));
const more: { default?: Record<string, Strategy> } = options.with
  ? await import(pathToFileURL(options.with).href)
  : {};
const available = { ...known, ...more.default };
const unknown = options.strategy.filter((name) => !Object.hasOwn(available, name));
if (unknown.length > 0) {
  console.error(
    `There is no strategy ${unknown.join(', ')}; there are ${Object.keys(available).join(', ')}.`,
  );
  process.exit(2);
}
const chosen = Object.fromEntries(
  Object.entries(available).filter(
    ([name]) => options.strategy.length === 0 || options.strategy.includes(name),
  ),
);

const counter = tiktokenCounter();
const setting = settingFor(options.window, counter);
const half = options.fit ? 'fit' : options.report ? 'report' : undefined;
const recordings = options.data
  ? readRecordings(options.data, options.domain, half)
  : syntheticRecordings({ counter }).filter(
      ({ domain }) => options.domain.length === 0 || options.domain.includes(domain),
    );
if (recordings.length === 0) {
  console.error(`There is no conversation of the domain ${options.domain.join(', ')}.`);
  process.exit(2);
}

const names = Object.keys(chosen);
const replayed = await runReplay(recordings, chosen, setting);
console.log(reportReplay(replayed, names, setting));
if (options.json)
  writeFileSync(options.json, `${JSON.stringify(toJson(replayed, names, setting), null, 2)}\n`);
