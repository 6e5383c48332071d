import { parseArgs } from 'node:util';
import { benchHarness } from './harness.js';
import { benchMemory } from './memory-recall.js';
import { benchReader } from './reader.js';
import { benchScale } from './scale.js';
import { benchSessions } from './sessions.js';

const { positionals: wanted, values } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    'with-node22': { type: 'boolean' },
    recordings: { type: 'string' },
    questions: { type: 'string' },
    out: { type: 'string' },
    sessions: { type: 'string' },
    messages: { type: 'string' },
  },
});

const BENCHMARKS: Readonly<Record<string, () => Promise<unknown>>> = {
  harness: () => benchHarness({ withNode22: values['with-node22'] }),
  sessions: benchSessions,
  scale: () => benchScale(values),
  memory: () => benchMemory(values),
  reader: () => benchReader(values),
};

const unknown = wanted.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  console.error(
    `There is no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}.`,
  );
  process.exit(2);
}
for (const [name, run] of Object.entries(BENCHMARKS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n# ${name}\n`);
  await run();
}
