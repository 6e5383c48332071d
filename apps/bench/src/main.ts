import { parseArgs } from 'node:util';
import { benchHarness } from './harness.js';
import { benchMemory } from './memory-recall.js';
import { benchOverload } from './overload.js';
import { benchReplay } from './replay.js';
import { benchScale } from './scale.js';
import { benchSessions } from './sessions.js';

const OPTIONS = {
  data: { type: 'string' },
  sessions: { type: 'string' },
  store: { type: 'string' },
  seconds: { type: 'string' },
  window: { type: 'string' },
} as const;

function optionsOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    console.error(
      `${(error as Error).message.split('. ')[0]}. Available options: --${Object.keys(OPTIONS).join(', --')}.`,
    );
    process.exit(2);
  }
}

const { positionals: wanted, values } = optionsOf(process.argv.slice(2));

const BENCHMARKS: Readonly<Record<string, () => Promise<unknown>>> = {
  harness: benchHarness,
  sessions: benchSessions,
  scale: () => benchScale(values),
  overload: () => benchOverload(values),
  memory: () => benchMemory(values),
  replay: () => benchReplay(values),
};

const unknown = wanted.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  console.error(
    `There is no benchmark ${unknown.join(', ')}. Available: ${Object.keys(BENCHMARKS).join(', ')}.`,
  );
  process.exit(2);
}
if (values.data !== undefined && wanted.length !== 1) {
  console.error('--data needs the name of one benchmark, because memory and replay read different folders.');
  process.exit(2);
}
for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n# ${name}\n`);
  await run();
}
