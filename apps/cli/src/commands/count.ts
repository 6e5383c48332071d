import { tiktokenCounter } from '@x/compaction';
import { estimateCounter } from '@x/core';
import { type Command, readArguments, UsageError } from '../command.js';
import { readInput } from '../read-input.js';

const usage = 'x count [FILE…] [--encoding o200k_base|cl100k_base]';
const ENCODINGS = ['o200k_base', 'cl100k_base'] as const;

/** Counts the tokens of files, or of standard input: exactly, and as the estimate sees them. */
export const count: Command = {
  usage,
  summary: 'Counts the tokens of files, or of standard input: exactly, and as the estimate sees them.',
  async run(args, output) {
    const { values, positionals } = readArguments(usage, args, {
      encoding: { type: 'string', default: 'o200k_base' },
    });
    const encoding = ENCODINGS.find((name) => name === values.encoding);
    if (encoding === undefined) {
      throw new UsageError(`--encoding must be one of ${ENCODINGS.join(', ')}\nUsage: ${usage}`);
    }
    const counter = tiktokenCounter(encoding);
    for (const file of positionals.length > 0 ? positionals : ['-']) {
      const content = await readInput(file);
      output.write(`${counter.count(content)}\t~${estimateCounter.count(content)}\t${file}\n`);
    }
  },
};
