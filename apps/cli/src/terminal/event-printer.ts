import { type AgentEvent, type CompactionStep, type ContextUsage, textOf } from '@x/core';
import { headOf } from '@x/core/internal';
import {
  printable,
  type RenderedLine,
  renderCall,
  renderCompactionCost,
  renderResult,
  shortNumber,
} from '@x/harness/view';
import type { Style } from './style.js';

const MAX_ARGUMENT = 80;
/** Lines of a change that are printed when it is made. */
const MAX_LINES = 12;
/** UTF-16 units of one of those lines, and of one line of a result. */
const MAX_WIDTH = 160;

interface Outputs {
  /** The stream of the agent's text. */
  readonly reply: NodeJS.WritableStream;
  /** The stream of its steps: the same terminal, or standard error when the reply goes into a pipe. */
  readonly progress: NodeJS.WritableStream;
  readonly style: Style;
  /** Writes the answer alone, when it is whole: for a reply that goes into a pipe or a file. */
  readonly whole?: boolean;
}

type Format = Parameters<Style>[0];
type NoteOf<Event> = (event: Event) => readonly [Format, string] | undefined;

/** The line that is printed for an event, by its type. */
const NOTES: {
  readonly [Type in AgentEvent['type']]?: NoteOf<Extract<AgentEvent, { readonly type: Type }>>;
} = {
  'draft.discarded': ({ text }) =>
    text === '' ? undefined : ['yellow', 'The text above is void; the model begins again.'],
  'tool.call': ({ call }) => {
    const { title, change, lines } = renderCall(call);
    return ['cyan', [`● ${title}`, ...(change ? indented(lines.slice(0, MAX_LINES)) : [])].join('\n')];
  },
  'tool.progress': ({ output }) => [
    'dim',
    `  ${headOf(textOf(output).replaceAll(/\s+/g, ' '), MAX_ARGUMENT)}`,
  ],
  'tool.result': ({ result, durationMs }) => {
    const end = `${result.isError ? 'failed · ' : ''}${Math.round(durationMs)} ms`;
    const lines = indented(renderResult(result, { head: 3, tail: 2 }));
    return [result.isError ? 'red' : 'dim', [...lines, `  ${end}`].join('\n')];
  },
  'tool.evicted': ({ chars, path }) => ['dim', `  ${shortNumber(chars)} characters are in ${path}`],
  'model.retrying': ({ error, delayMs }) => [
    'yellow',
    `The model failed (${error}); trying again in ${delayMs} ms.`,
  ],
  'model.fallback': ({ from, to, error }) => ['yellow', `${from} failed (${error}); ${to} goes on.`],
  'context.compacting': ({ messagesBefore }) => ['dim', `── Compacting ${messagesBefore} messages …`],
  'context.compacted': (event) => [
    'magenta',
    event.status === 'applied'
      ? `── Context compacted · ${event.strategyUsed || 'repaired'} · ${event.messagesBefore} → ${event.messagesAfter} messages · ${shortNumber(event.tokensBefore)} → ${shortNumber(event.tokensAfter)} tokens ──`
      : `── Context not compacted · ${event.status}: ${event.detail} ──`,
  ],
  'task.changed': ({ taskId, subagent, status }) => ['dim', `task ${taskId} (${subagent}): ${status}`],
  'budget.exceeded': ({ scope, used, limit, unit }) => [
    'yellow',
    `The ${scope} has used ${shortNumber(used)} of ${shortNumber(limit)} ${unit}.`,
  ],
  'memory.failed': ({ error }) => ['yellow', `Memory: ${error}`],
  warning: ({ message }) => ['yellow', message],
};

/** Prints the events of calls as they come. */
export class EventPrinter {
  readonly #outputs: Outputs;
  #context: ContextUsage | undefined;
  /** The text of the last step that ended. */
  #answer = '';
  /** True while the reply is in an unfinished line. */
  #inLine = false;

  constructor(outputs: Outputs) {
    this.#outputs = outputs;
  }

  print(event: AgentEvent): void {
    const note = NOTES[event.type] as NoteOf<AgentEvent> | undefined;
    const [format, text] = note?.(event) ?? [];
    if (format !== undefined && text !== undefined) this.#note(format, text);
    switch (event.type) {
      case 'text.delta':
        if (!this.#outputs.whole) this.#say(printable(event.text));
        break;
      case 'model.started':
        this.#context = event.context;
        break;
      case 'model.completed':
        this.#answer = textOf(event.message);
        this.#endLine();
        break;
      case 'context.compacted':
        for (const line of stepLines(event.steps)) this.#note('dim', line);
        break;
      case 'call.completed':
        if (this.#outputs.whole) this.#say(printable(this.#answer));
        this.#endLine();
        if (this.#answer === '' && event.stopReason === 'completed')
          this.#note('dim', 'The answer is empty.');
        this.#note('dim', summary(event, this.#context));
        break;
    }
  }

  /** The tokens of the latest request; `undefined` before the first. */
  get context(): ContextUsage | undefined {
    return this.#context;
  }

  /** Says that the call has to wait. */
  readonly waiting = (): void => {
    this.#note('dim', 'Another call runs in this session; this one waits for its end.');
  };

  /** A line of the program itself. */
  note(text: string): void {
    this.#note('dim', text);
  }

  #say(text: string): void {
    if (text === '') return;
    this.#outputs.reply.write(text);
    this.#inLine = !text.endsWith('\n');
  }

  #endLine(): void {
    if (this.#inLine) this.#outputs.reply.write('\n');
    this.#inLine = false;
  }

  #note(format: Format, text: string): void {
    this.#endLine();
    this.#outputs.progress.write(`${this.#outputs.style(format, printable(text))}\n`);
  }
}

/** What each stage of a compaction did, a line each. */
export function stepLines(steps: readonly CompactionStep[]): readonly string[] {
  return steps.map(({ reducer, tokensBefore, tokensAfter, note }) => {
    const change =
      tokensAfter === tokensBefore
        ? 'nothing'
        : `${shortNumber(tokensBefore)} → ${shortNumber(tokensAfter)} tokens`;
    return `   ${reducer}: ${[change, note].filter(Boolean).join(' · ')}`;
  });
}

function indented(lines: readonly RenderedLine[]): readonly string[] {
  return lines.map(({ mark, text }) => `  ${mark === '' ? '' : `${mark} `}${headOf(text, MAX_WIDTH)}`);
}

function summary(
  { usage, stopReason, compaction }: Extract<AgentEvent, { readonly type: 'call.completed' }>,
  context: ContextUsage | undefined,
): string {
  const cached = usage.cachedInputTokens
    ? `, ${Math.round((100 * usage.cachedInputTokens) / Math.max(1, usage.inputTokens))} % cached`
    : '';
  const parts = [
    `${shortNumber(usage.inputTokens)} tokens in${cached}`,
    `${shortNumber(usage.outputTokens)} out`,
  ];
  if (context?.contextWindow) {
    parts.push(`window ${Math.round((100 * context.total) / context.contextWindow)} % full`);
  }
  if (compaction !== undefined) parts.push(renderCompactionCost(compaction));
  if (stopReason !== 'completed') parts.push(stopReason.replaceAll('_', ' '));
  return parts.join(' · ');
}
