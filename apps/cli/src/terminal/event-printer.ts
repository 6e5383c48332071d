import { type AgentEvent, type CompactionStep, type ContextUsage, headOf, textOf, type Usage } from '@x/core';
import { printable, type Style } from './style.js';

const MAX_ARGUMENT = 80;

interface Outputs {
  /** The stream of the agent's text. */
  readonly reply: NodeJS.WritableStream;
  /** The stream of its steps: the same terminal, or standard error when the reply goes into a pipe. */
  readonly progress: NodeJS.WritableStream;
  readonly style: Style;
  /** Writes the answer alone, when it is whole: for a reply that goes into a pipe or a file. */
  readonly whole?: boolean;
}

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
      case 'draft.discarded':
        if (event.text !== '') this.#note('yellow', 'The text above is void; the model begins again.');
        break;
      case 'tool.progress':
        this.#note('dim', `  ${headOf(textOf(event.output).replaceAll(/\s+/g, ' '), MAX_ARGUMENT)}`);
        break;
      case 'model.retrying':
        this.#note('yellow', `The model failed (${event.error}); trying again in ${event.delayMs} ms.`);
        break;
      case 'model.fallback':
        this.#note('yellow', `${event.from} failed (${event.error}); ${event.to} goes on.`);
        break;
      case 'tool.call':
        this.#note('cyan', `● ${event.call.name} ${firstArgument(event.call.input)}`);
        break;
      case 'tool.result':
        this.#note(
          event.result.isError ? 'red' : 'dim',
          `  ${event.result.isError ? `failed: ${headOf(textOf([event.result]), MAX_ARGUMENT)}` : `${people(textOf([event.result]).length)} characters`} · ${Math.round(event.durationMs)} ms`,
        );
        break;
      case 'tool.evicted':
        this.#note('dim', `  ${people(event.chars)} characters are in ${event.path}`);
        break;
      case 'context.compacting':
        this.#note('dim', `── Compacting ${event.messagesBefore} messages …`);
        break;
      case 'context.compacted':
        this.#note(
          'magenta',
          event.status === 'applied'
            ? `── Context compacted · ${event.strategyUsed || 'repaired'} · ${event.messagesBefore} → ${event.messagesAfter} messages · ${people(event.tokensBefore)} → ${people(event.tokensAfter)} tokens ──`
            : `── Context not compacted · ${event.status}: ${event.detail} ──`,
        );
        for (const line of stepLines(event.steps)) this.#note('dim', line);
        break;
      case 'task.changed':
        this.#note('dim', `task ${event.taskId} (${event.subagent}): ${event.status}`);
        break;
      case 'budget.exceeded':
        this.#note(
          'yellow',
          `The ${event.scope} has used ${people(event.used)} of ${people(event.limit)} ${event.unit}.`,
        );
        break;
      case 'memory.failed':
      case 'warning':
        this.#note('yellow', event.type === 'warning' ? event.message : `Memory: ${event.error}`);
        break;
      case 'call.completed':
        if (this.#outputs.whole) this.#say(printable(this.#answer));
        this.#endLine();
        if (this.#answer === '' && event.stopReason === 'completed')
          this.#note('dim', 'The answer is empty.');
        this.#note('dim', summary(event.usage, this.#context, event.stopReason));
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

  #note(format: Parameters<Style>[0], text: string): void {
    this.#endLine();
    this.#outputs.progress.write(`${this.#outputs.style(format, printable(text))}\n`);
  }
}

/** What each stage of a compaction did, a line each. */
export function stepLines(steps: readonly CompactionStep[]): readonly string[] {
  return steps.map(({ reducer, tokensBefore, tokensAfter, note }) => {
    const change =
      tokensAfter === tokensBefore ? 'nothing' : `${people(tokensBefore)} → ${people(tokensAfter)} tokens`;
    return `   ${reducer}: ${[change, note].filter(Boolean).join(' · ')}`;
  });
}

/** The argument that tells most of a call: the first one. */
function firstArgument(input: unknown): string {
  const value = typeof input === 'object' && input !== null ? Object.values(input)[0] : input;
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > MAX_ARGUMENT ? `${headOf(line, MAX_ARGUMENT)}…` : line;
}

function summary(usage: Usage, context: ContextUsage | undefined, stopReason: string): string {
  const cached = usage.cachedInputTokens
    ? `, ${Math.round((100 * usage.cachedInputTokens) / Math.max(1, usage.inputTokens))} % cached`
    : '';
  const parts = [`${people(usage.inputTokens)} tokens in${cached}`, `${people(usage.outputTokens)} out`];
  if (context?.contextWindow) {
    parts.push(`window ${Math.round((100 * context.total) / context.contextWindow)} % full`);
  }
  if (stopReason !== 'completed') parts.push(stopReason.replaceAll('_', ' '));
  return parts.join(' · ');
}

/** 12345 as 12.3k. */
export function people(value: number): string {
  return value < 1_000 ? String(Math.round(value)) : `${(value / 1_000).toFixed(1)}k`;
}
