import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textOf } from '@x/core';
import { headOf } from '@x/core/internal';
import { printable } from '@x/harness/view';
import {
  type Comparison,
  compareStrategies,
  importConversation,
  type Prices,
  parsePrices,
  type RecordedConversation,
  replayHtml,
  replayReport,
  replayTable,
} from '@x/replay';
import { parse } from 'yaml';
import { command, positive, UsageError } from '../../command.js';
import { modelPrices } from '../../known-models.js';
import { readDocument, readInput, writeOutput } from '../../read-input.js';
import { type BestSettings, candidates, withBest } from './best-settings.js';
import { readConditions } from './conditions.js';
import { foundLogs, knownFolders, type LogFile, namedLogs } from './find-logs.js';
import { readLog } from './read-log.js';
import { fromConfiguration, strategies } from './strategies.js';

/** Maximum number and total bytes of found logs to replay: enough for a result, few enough to take seconds. */
const MAX_LOGS = 12;
const MAX_BYTES = 20_000_000;

/** Replays recorded conversations, and shows what each strategy would have kept, sent and cost. */
export const replay = command({
  name: 'replay',
  takes: '[FILE…]',
  options: {
    window: {
      type: 'string',
      value: 'N',
      help: 'The context window of the replay, in tokens. Default: half of the largest request.',
    },
    config: { type: 'string', value: 'FILE', help: 'Adds a row for these compaction settings.' },
    prices: {
      type: 'string',
      value: 'input=3,output=15',
      help: 'US dollars for a million tokens. Without it, the list prices of known models.',
    },
    'system-tokens': { type: 'string', value: 'N', help: 'Tokens of system prompt and tools.' },
    format: { type: 'string', value: 'NAME', help: 'The format of the logs, if it is not recognized.' },
    json: { type: 'boolean', help: 'The figures as JSON.' },
    html: { type: 'string', value: 'FILE', help: 'Writes a page with charts.' },
    'fail-if': {
      type: 'string',
      value: '"kept<95 cost>80"',
      help: 'Exits with 1 if a condition is met by the row config (without --config: ours). Figures: kept and cost in percent, largest in tokens, over, reduced.',
    },
    write: { type: 'string', value: 'FILE', help: 'Writes the best settings for these logs.' },
  },
  summary:
    'Replays logs of coding agents, OpenAI, Anthropic, Gemini, LangChain, the AI SDK or x, and shows what each compaction strategy would have kept, sent and cost. Accepts files and folders. Without arguments, finds the logs on this machine. Does not call a model.',
  examples: [
    'x replay                            # the logs that are on this machine',
    'x replay ~/.claude/projects/my-app --html report.html',
    'x replay log.jsonl --window 128000 --config compaction.yaml',
    'x replay --write compaction.yaml    # the settings that are best for these logs',
    'x replay logs --fail-if "kept<95"   # for the checks of a pull request',
  ],
  async run({ values, positionals, output, errors }) {
    const chosen = {
      ...strategies,
      ...(values.config === undefined ? {} : { config: await fromConfiguration(values.config) }),
    };
    const numberOf = (name: 'window' | 'system-tokens') =>
      values[name] === undefined ? undefined : positive(name, values[name]);
    const sizes = { window: numberOf('window'), systemTokens: numberOf('system-tokens') };
    const conditions = values['fail-if'] === undefined ? undefined : readConditions(values['fail-if']);
    const given = values.prices === undefined ? undefined : pricesOf(values.prices);
    const searches = positionals.length === 0;
    const logs = searches ? await searched(errors) : await namedLogs(positionals);
    const { recordings, skipped } = await readLogs(logs, values.format);
    if (recordings.length === 0) throw new UsageError(nothingRead(skipped, positionals));

    const prices = pricesFor(recordings, given);
    const wantsBest = searches || values.write !== undefined;
    const tried = wantsBest ? { ...chosen, ...candidates } : chosen;
    const compared: Comparison[] = [];
    for (const [index, recording] of recordings.entries()) {
      const all = Object.keys(tried).length;
      const comparison = await compareStrategies(recording, tried, {
        ...sizes,
        prices: prices?.[index],
        onStrategy: (_name, place) =>
          onTerminal(`${printable(recording.id ?? '')}: ${place} of ${all} strategies …`),
      });
      onTerminal('');
      compared.push(comparison);
    }
    const { best, comparisons } = withBest(compared);
    const currency = prices && 'USD';
    const width = process.stdout.isTTY ? process.stdout.columns || 80 : undefined;
    const left = skipped.map((reason) => printable(`Skipped: ${reason.split('\n')[0]}\n`)).join('');
    if (values.json) {
      errors.write(left);
      output.write(`${JSON.stringify(replayReport(comparisons), null, 2)}\n`);
    } else {
      output.write(
        `${printable(describe(comparisons, values.window === undefined))}\n${left}\n${replayTable(comparisons, { currency, width })}\n${LEGEND}`,
      );
    }
    const page = values.html ?? (searches ? await newReportPath() : undefined);
    if (page !== undefined) await writeOutput(page, replayHtml(comparisons, { currency }));
    const notes = values.json ? errors : output;
    if (page !== undefined) notes.write(`\nThe report with charts is in ${page}\n`);
    if (wantsBest) notes.write(`\n${describeBest(best, comparisons)}\n`);
    if (values.write !== undefined) {
      if (best) await writeSettings(values.write, best.yaml);
      notes.write(best ? `Written to ${values.write}\n` : `Nothing was written to ${values.write}.\n`);
    }
    const met = conditions?.(values.config === undefined ? 'ours' : 'config', comparisons) ?? [];
    for (const each of met) errors.write(`Failed: ${each}.\n`);
    return met.length > 0 ? 1 : 0;
  },
});

/** Maximum UTF-16 units of a conversation's opening. */
const OPENING = 50;
/** Explains the columns of the table. */
const LEGEND = `
kept     share of reused names still in the request; of: number of reused names
cost     in US dollars; without prices, in millions of uncached input tokens
of all   cost relative to sending everything
cached   share of the input that was read from the cache
largest  the largest request, in tokens; over: requests above the window
reduced  number of reductions
`;

/** Overwrites the progress line. Prints nothing to a file or a pipe. */
function onTerminal(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${headOf(text, process.stderr.columns - 1)}`);
}

/** Explains why no log could be read. The hint about readable formats appears once, at the end. */
function nothingRead(skipped: readonly string[], named: readonly string[]): string {
  if (skipped.length === 0) {
    return `There are no .json or .jsonl files in ${named.join(', ')}. Name other files or folders; x replay alone looks for logs of ${knownFolders}.`;
  }
  return [...skipped.slice(0, -1).map((reason) => reason.split('\n')[0]), skipped.at(-1)].join('\n');
}

async function searched(errors: NodeJS.WritableStream): Promise<readonly LogFile[]> {
  const all = await foundLogs();
  if (all.length === 0) {
    throw new UsageError(`No logs of ${knownFolders} were found. Name files or folders: x replay FILE…`);
  }
  let bytes = 0;
  const taken = all.slice(0, MAX_LOGS).filter((log, index) => {
    bytes += log.bytes;
    return index === 0 || bytes <= MAX_BYTES;
  });
  const found = all.length === 1 ? 'Found 1 log' : `Found ${all.length} logs`;
  const rest =
    taken.length < all.length ? `; replaying the latest ${taken.length} (name folders for others)` : '';
  errors.write(`${found}${rest}.\n`);
  return taken;
}

/** Returns the path of a report in a new private folder, because the report quotes the logs. */
async function newReportPath(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'x-replay-')), 'report.html');
}

/** Reads logs. Returns the readable ones, and the reasons why others were skipped. */
async function readLogs(logs: readonly LogFile[], format: string | undefined) {
  const recordings: RecordedConversation[] = [];
  const skipped: string[] = [];
  for (const { path } of logs) {
    try {
      const read = readLog(importConversation, await readInput(path), path, format);
      const recording = { ...read, id: read.id ?? path };
      if (!recording.messages.some(({ role }) => role === 'assistant'))
        throw new UsageError(`${path}: The recording has no model answer, so there is nothing to replay.`);
      recordings.push(recording);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      skipped.push(error.message);
    }
  }
  return { recordings, skipped };
}

/** Parses prices per million tokens: `input=3,output=15`. */
function pricesOf(text: string): Prices {
  const pairs = text.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
  return parsePrices(Object.fromEntries(pairs.map(([name, value]) => [name, value ? Number(value) : value])));
}

/** Returns the prices of each recording: the given ones, or the list prices of its model. `undefined` if one is unknown. */
function pricesFor(
  recordings: readonly RecordedConversation[],
  given: Prices | undefined,
): readonly Prices[] | undefined {
  const known = recordings.flatMap(({ model }) => given ?? (model ? modelPrices(model) : undefined) ?? []);
  return known.length === recordings.length ? known : undefined;
}

function describeBest(best: BestSettings | undefined, comparisons: readonly Comparison[]): string {
  if (best === undefined) {
    const isExceeded = comparisons.some(({ everything }) => everything.overflows > 0);
    return isExceeded
      ? 'No settings kept every request within the window: try a larger --window.'
      : 'None of these conversations exceeded the window, so the default settings are enough.';
  }
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  const kept = best.kept === undefined ? 'no name was used again' : `${percent(best.kept)} of the names kept`;
  return [
    `Best for these logs (row best): ${kept}, at ${percent(best.costShare)} of the cost of sending everything.`,
    'In compaction.yaml (x replay --write compaction.yaml):',
    best.yaml.trimEnd().replaceAll(/^/gm, '  '),
  ].join('\n');
}

/** Returns the first words of a conversation, because people do not recognize it by the id of its log. */
function openingOf({ messages }: RecordedConversation): string {
  const [line = ''] = messages.flatMap((message) =>
    message.role === 'user' && message.kind === undefined
      ? textOf(message).replaceAll(/\s+/g, ' ').trim() || []
      : [],
  );
  return line === '' ? '' : ` “${headOf(line, OPENING)}${line.length > OPENING ? '…' : ''}”`;
}

/** Describes the recordings and the settings of a replay. */
function describe(comparisons: readonly Comparison[], isChosen: boolean): string {
  const lines = comparisons.map(({ conversation, everything }) => {
    const unread = Object.entries(conversation.unread).map(
      ([reason, count]) => `, not read: ${count} × ${reason}`,
    );
    return `${conversation.id}${openingOf(conversation)}: ${conversation.format}, ${conversation.messages.length} messages, ${everything.calls.length} model calls${unread.join('')}`;
  });
  const counter = comparisons[0]?.setting.counter.name;
  const windows = rangeOf(comparisons.map(({ setting }) => setting.window));
  const fixed = rangeOf(comparisons.map(({ setting }) => setting.overhead));
  const chosen = isChosen ? ' (half of the largest request)' : '';
  const setting = `Window ${windows}${chosen}, counted by ${counter}; ${fixed} of its tokens are reserved for system prompt and tools.`;
  return [...lines, setting, ...warningsOf(comparisons)].join('\n');
}

function rangeOf(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? `${least}` : `${least} to ${most}`;
}

function* warningsOf(comparisons: readonly Comparison[]): Generator<string> {
  if (comparisons.some(({ setting: { overhead, trigger } }) => overhead >= trigger)) {
    yield 'That leaves no tokens for the conversation. Try a larger --window, or set the size of system prompt and tools with --system-tokens.';
    return;
  }
  const isIdle = comparisons.every(({ strategies }) =>
    Object.values(strategies).every(({ reductions }) => reductions === 0),
  );
  if (!isIdle) return;
  const most = Math.max(...comparisons.map(({ setting: { peak } }) => peak));
  // Triggers a compaction when the longest conversation is half complete.
  const windows = comparisons
    .filter(({ setting: { peak } }) => peak === most)
    .map(({ setting: { overhead, trigger, window } }) => {
      const share = trigger / window;
      const smaller = 1_000 * Math.ceil((overhead + most) / (2_000 * share));
      return smaller * share < most ? ` Try --window ${smaller}.` : '';
    });
  yield `Nothing was reduced, because the largest request has only ${most} tokens.${windows[0] ?? ''}`;
}

/** Writes settings into a file, and keeps its other content. */
async function writeSettings(file: string, yaml: string): Promise<void> {
  if (!existsSync(file)) return writeOutput(file, yaml);
  const document = await readDocument(file);
  for (const [key, value] of Object.entries(parse(yaml) as object)) document.set(key, value);
  await writeOutput(file, String(document));
}
