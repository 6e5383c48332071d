import { writeFile } from 'node:fs/promises';
import { tiktokenCounter } from '@x/compaction';
import { errorText, estimateCounter, type TokenCounter } from '@x/core';
import {
  type Comparison,
  compareStrategies,
  importConversation,
  ReplayError,
  replayHtml,
  replayReport,
  replayTable,
  type Strategy,
} from '@x/replay';
import { ArgumentError, command, oneOf, positive, UsageError } from '../../command.js';
import { readInput } from '../../read-input.js';
import { readPrices } from './read-prices.js';
import { fromConfiguration, strategies } from './strategies.js';

const COUNTERS = ['estimate', 'o200k_base', 'cl100k_base'] as const;

/** Replays recorded conversations: what each strategy would have kept, sent and cost. */
export const replay = command({
  name: 'x replay',
  takes: 'FILE…',
  options: {
    window: { type: 'string', default: '64000', value: 'N' },
    strategy: { type: 'string', value: 'NAMES' },
    config: { type: 'string', value: 'FILE' },
    prices: { type: 'string', value: 'input=3,output=15' },
    currency: { type: 'string', value: 'USD' },
    counter: { type: 'string', default: 'estimate', value: COUNTERS.join('|') },
    'system-tokens': { type: 'string', value: 'N' },
    format: { type: 'string', value: 'NAME' },
    json: { type: 'boolean' },
    html: { type: 'string', value: 'FILE' },
  },
  summary:
    'Replays logs of Claude Code, Codex, pi, OpenAI, Anthropic, the AI SDK or an agent of ours: what each strategy would have kept, sent and cost.',
  async run({ values, positionals, output }) {
    const chosen = {
      ...choose(values.strategy),
      ...(values.config === undefined ? {} : { config: await fromConfiguration(values.config) }),
    };
    const systemTokens = values['system-tokens'];
    const options = {
      window: positive('window', values.window),
      counter: counterOf(values.counter),
      ...(values.prices === undefined ? {} : { prices: await readPrices(values.prices) }),
      ...(systemTokens === undefined ? {} : { systemTokens: positive('system-tokens', systemTokens) }),
    };
    const currency = values.prices === undefined ? undefined : (values.currency ?? 'USD');
    const report = currency === undefined ? {} : { currency };
    const comparisons: Comparison[] = [];
    for (const file of positionals) {
      comparisons.push(await compare(file, values.format, chosen, options));
    }
    if (values.html !== undefined) await write(values.html, replayHtml(comparisons, report));
    if (values.json) output.write(`${JSON.stringify(replayReport(comparisons), null, 2)}\n`);
    else output.write(`${describe(comparisons, positionals)}\n\n${replayTable(comparisons, report)}\n`);
  },
});

async function compare(
  file: string,
  format: string | undefined,
  chosen: Readonly<Record<string, Strategy>>,
  options: Parameters<typeof compareStrategies>[2],
): Promise<Comparison> {
  const source = await readInput(file);
  try {
    const conversation = importConversation(source, format === undefined ? {} : { format });
    return await compareStrategies({ ...conversation, id: conversation.id ?? file }, chosen, options);
  } catch (error) {
    if (ReplayError.isInstance(error)) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

/** Describes the recordings and the settings of a replay. */
function describe(comparisons: readonly Comparison[], files: readonly string[]): string {
  const lines = comparisons.map(({ conversation, everything }, index) => {
    const unread = Object.entries(conversation.unread).map(
      ([reason, count]) => `, not read: ${count} × ${reason}`,
    );
    return `${files[index]}: ${conversation.format}, ${conversation.messages.length} messages, ${everything.calls.length} model calls${unread.join('')}`;
  });
  const { window = 0, counter } = comparisons[0]?.setting ?? {};
  const fixed = [...new Set(comparisons.map(({ setting }) => setting.overhead))].sort((a, b) => a - b);
  const range = fixed.length > 1 ? `${fixed[0]} to ${fixed.at(-1)}` : `${fixed[0]}`;
  const setting = `Window ${window} tokens, counted by ${counter?.name}; system prompt and tools take ${range} of them.`;
  const hopeless = comparisons.some(({ setting: { overhead, trigger } }) => overhead >= trigger);
  const warning = `That leaves nothing for a conversation: try a larger --window, or say with --system-tokens what they really take.`;
  return [...lines, setting, ...(hopeless ? [warning] : [])].join('\n');
}

function choose(names: string | undefined): Readonly<Record<string, Strategy>> {
  if (names === undefined) return strategies;
  const wanted = names.split(',').map((name) => name.trim());
  const unknown = wanted.filter((name) => !Object.hasOwn(strategies, name));
  if (unknown.length > 0) {
    throw new ArgumentError(
      `There is no strategy ${unknown.join(', ')}; there are ${Object.keys(strategies).join(', ')}.`,
    );
  }
  return Object.fromEntries(Object.entries(strategies).filter(([name]) => wanted.includes(name)));
}

function counterOf(name: string): TokenCounter {
  const known = oneOf('counter', COUNTERS, name);
  return known === 'estimate' ? estimateCounter : tiktokenCounter(known);
}

async function write(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content);
  } catch (error) {
    throw new UsageError(`${file} cannot be written: ${errorText(error)}`);
  }
}
