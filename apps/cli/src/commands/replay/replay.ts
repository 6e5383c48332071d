import { writeFile } from 'node:fs/promises';
import { tiktokenCounter } from '@x/compaction';
import { estimateCounter, type TokenCounter } from '@x/core';
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
import { type Command, positive, readArguments, UsageError } from '../../command.js';
import { readInput } from '../../read-input.js';
import { readPrices } from './read-prices.js';
import { fromConfiguration, strategies } from './strategies.js';

const usage =
  'x replay FILE… [--window N] [--strategy NAMES] [--config FILE] [--prices input=3,output=15] [--currency USD] ' +
  '[--counter estimate|o200k_base|cl100k_base] [--system-tokens N] [--format NAME] [--json] [--html FILE]';

const COUNTERS: Readonly<Record<string, () => TokenCounter>> = {
  estimate: () => estimateCounter,
  o200k_base: () => tiktokenCounter('o200k_base'),
  cl100k_base: () => tiktokenCounter('cl100k_base'),
};

/** Replays recorded conversations: what each strategy would have kept, sent and cost. */
export const replay: Command = {
  usage,
  summary:
    'Replays logs of Claude Code, Codex, pi, OpenAI, Anthropic, the AI SDK or an agent of ours: what each strategy would have kept, sent and cost.',
  async run(args, output) {
    const { values, positionals } = readArguments(usage, args, {
      window: { type: 'string', default: '64000' },
      strategy: { type: 'string' },
      config: { type: 'string' },
      prices: { type: 'string' },
      currency: { type: 'string' },
      counter: { type: 'string', default: 'estimate' },
      'system-tokens': { type: 'string' },
      format: { type: 'string' },
      json: { type: 'boolean' },
      html: { type: 'string' },
    });
    if (positionals.length === 0) throw new UsageError(`Name at least one file.\nUsage: ${usage}`);
    const chosen = {
      ...choose(values.strategy),
      ...(values.config === undefined ? {} : { config: await fromConfiguration(values.config) }),
    };
    const systemTokens = values['system-tokens'];
    const options = {
      window: positive(usage, 'window', values.window),
      counter: counterOf(values.counter),
      ...(values.prices === undefined ? {} : { prices: await readPrices(values.prices) }),
      ...(systemTokens === undefined ? {} : { systemTokens: positive(usage, 'system-tokens', systemTokens) }),
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
};

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

/** What was read, and with what it was replayed. */
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
    throw new UsageError(
      `There is no strategy ${unknown.join(', ')}; there are ${Object.keys(strategies).join(', ')}.\nUsage: ${usage}`,
    );
  }
  return Object.fromEntries(Object.entries(strategies).filter(([name]) => wanted.includes(name)));
}

function counterOf(name: string): TokenCounter {
  const create = Object.hasOwn(COUNTERS, name) ? COUNTERS[name] : undefined;
  if (create !== undefined) return create();
  throw new UsageError(`--counter must be one of ${Object.keys(COUNTERS).join(', ')}\nUsage: ${usage}`);
}

async function write(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content);
  } catch (error) {
    throw new UsageError(
      `${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
