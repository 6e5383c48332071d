import { tiktokenCounter } from '@x/compaction/tiktoken';
import { estimateCounter } from '@x/core';
import { command, oneOf } from '../command.js';
import { readInput } from '../read-input.js';

const ENCODINGS = ['o200k_base', 'cl100k_base'] as const;

export const count = command({
  name: 'count',
  takes: '[FILE…]',
  options: {
    encoding: {
      type: 'string',
      default: 'o200k_base',
      value: ENCODINGS.join('|'),
      help: 'The encoding of the exact count.',
    },
  },
  summary: 'Counts the tokens of files, or of standard input: exactly, and as the estimate sees them.',
  examples: ['x count prompt.txt', 'git diff | x count'],
  async run({ values, positionals, output }) {
    const counter = tiktokenCounter(oneOf('encoding', ENCODINGS, values.encoding));
    for (const file of positionals.length > 0 ? positionals : ['-']) {
      const content = await readInput(file);
      output.write(`${counter.count(content)}\t~${estimateCounter.count(content)}\t${file}\n`);
    }
  },
});
