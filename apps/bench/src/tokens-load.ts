// Runs in a process of its own: loads one contender's encoding and prints what that took, as JSON.
import type { TiktokenEncoding } from '@x/compaction/tiktoken';
import { type Contender, prepare } from './tokens-contenders.js';

const [contender, encoding] = process.argv.slice(2) as [Contender, TiktokenEncoding];
const load = await prepare(contender, encoding);
globalThis.gc?.();
const bytesBefore = process.memoryUsage().rss;
const started = performance.now();
load()('Hello');
const milliseconds = performance.now() - started;
globalThis.gc?.();
const megabytes = (process.memoryUsage().rss - bytesBefore) / 1e6;
console.log(JSON.stringify({ milliseconds, megabytes }));
