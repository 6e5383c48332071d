import { type AgentEvent, addUsage, type CompactionCost, type ContextUsage, textOf, XError } from '@x/core';
import { formatRule } from '@x/harness';
import {
  printable,
  type RenderedLine,
  renderCall,
  renderCompactionCost,
  renderResult,
  shortNumber,
} from '@x/harness/view';
import { X } from '../command.js';
import { clip, rowsOf } from './columns.js';
import { changeInWords, fullnessInWords, stagesInWords, stepNotes } from './compaction-words.js';
import type { Style } from './style.js';

const MAX_ARGUMENT = 80;
/** Maximum lines of a change or of a user's text that are printed. */
const MAX_LINES = 12;
/** Maximum UTF-16 units of a printed line of a change or a result. */
const MAX_WIDTH = 160;

interface Sink {
  write(text: string): unknown;
}

interface Outputs {
  /** Receives the agent's text. */
  readonly reply: Sink;
  /** Receives the agent's steps: the same terminal, or standard error if the reply goes into a pipe. */
  readonly progress: Sink;
  readonly style: Style;
  /** Writes only the complete answer, for a reply that goes into a pipe or a file. */
  readonly whole?: boolean;
}

type Completed = Extract<AgentEvent, { readonly type: 'call.completed' }>;
type Format = Parameters<Style>[0];
type NoteOf<Event> = (event: Event) => readonly [Format, string] | undefined;

/** Notes for decisions by which a call does not run. */
const DECIDED: { readonly [decision: string]: string | undefined } = {
  denied: '✗ You denied this call',
  expired: '✗ Not run: nobody decided in time',
  superseded: '✗ Not run: you sent a message instead',
};

/** The line that is printed for an event, by event type. */
const NOTES: {
  readonly [Type in AgentEvent['type']]?: NoteOf<Extract<AgentEvent, { readonly type: Type }>>;
} = {
  'draft.discarded': () => ['yellow', 'The answer above was interrupted.'],
  'tool.call': ({ call }) => {
    const { title, change, lines } = renderCall(call);
    return ['cyan', cut([`● ${title}`, ...(change ? indented(lines) : [])])];
  },
  'tool.progress': ({ output }) => ['dim', `  ${clip(textOf(output).replaceAll(/\s+/g, ' '), MAX_ARGUMENT)}`],
  'tool.result': ({ result, durationMs }) => {
    const end = `${result.isError ? 'failed · ' : ''}${durationMs < 1_000 ? `${Math.round(durationMs)} ms` : `${(durationMs / 1_000).toFixed(1)} s`}`;
    const lines = indented(renderResult(result, { head: 3, tail: 2 }));
    return [result.isError ? 'red' : 'dim', [...lines, `  ${end}`].join('\n')];
  },
  'permission.decided': ({ call, decision, rule }) => {
    const words = rule ? `Always allowed: ${formatRule(rule)}` : DECIDED[decision];
    return words === undefined ? undefined : ['yellow', `${words} · ${renderCall(call).title}`];
  },
  'message.set_aside': ({ what }) => [
    'yellow',
    `The model no longer sees ${what}: the provider refused it. The log still contains it.`,
  ],
  'tool.evicted': ({ chars, path }) => ['dim', `  ${shortNumber(chars)} characters are in .x/${path}`],
  'model.fallback': ({ from, to, error }) => ['yellow', `${from} failed (${error}); ${to} continues.`],
  'context.compacting': ({ messagesBefore }) => ['dim', `── Compacting ${messagesBefore} messages …`],
  'context.compacted': (event) => [
    'magenta',
    event.status === 'applied'
      ? `── Context compacted · ${stagesInWords(event.stagesUsed) || 'repaired'} · ${changeInWords(event)} ──`
      : `── Context not compacted · ${event.status}: ${event.message} ──`,
  ],
  'task.changed': ({ taskId, subagent, status }) => ['dim', `task ${taskId} (${subagent}): ${status}`],
  'budget.exceeded': ({ scope, used, limit, unit }) => [
    'yellow',
    `The ${scope} has used ${shortNumber(used)} of ${shortNumber(limit)} ${unit}.`,
  ],
  'memory.failed': ({ error }) => ['yellow', `Memory: ${error}`],
  warning: ({ message }) => ['yellow', message],
};

/** Prints the events of calls as they occur. */
export class EventPrinter {
  readonly #outputs: Outputs;
  /** The tokens in the window; `undefined` if they are unknown. */
  context: ContextUsage | undefined;
  #model: string | undefined;
  /** Calls that are not printed, for example because a decision or the command of a user was printed instead. */
  readonly #hidden = new Set<string>();
  /** Calls whose change a question has shown. */
  readonly #asked = new Set<string>();
  /** The error of the last request, while it is repeated. */
  #failure: string | undefined;
  /** The parts of the reply: a decision of the user begins another. */
  #parts: readonly Completed[] = [];
  /** The text of the last completed step. */
  #answer = '';
  /** Whether the reply is in an unfinished line. */
  #inLine = false;

  constructor(outputs: Outputs) {
    this.#outputs = outputs;
  }

  print(event: AgentEvent): void {
    if (event.type === 'tool.call' && this.#hidden.has(event.call.id)) return;
    if (event.type === 'tool.result' && this.#hidden.delete(event.result.toolUseId)) return;
    if (event.type === 'draft.discarded' && (this.#outputs.whole || event.text.trim() === '')) return;
    const note = NOTES[event.type] as NoteOf<AgentEvent> | undefined;
    const [format, text = ''] = note?.(event) ?? [];
    const isAsked = event.type === 'tool.call' && this.#asked.delete(event.call.id);
    // The title is the first line.
    if (format !== undefined) this.#note(format, isAsked ? text.replace(/\n.*/s, '') : text);
    if ('context' in event && event.context) this.context = event.context;
    switch (event.type) {
      case 'text.delta':
        if (!this.#outputs.whole) this.#say(printable(event.text));
        break;
      case 'call.started':
        if (!event.resumed) this.#parts = [];
        break;
      case 'model.started':
        this.#failure = undefined;
        break;
      case 'model.retrying':
        if (event.error !== this.#failure) this.#note('yellow', event.error);
        this.#note(
          'yellow',
          `Trying again (attempt ${event.attempt + 1}) in ${(event.delayMs / 1_000).toFixed(1)} s.`,
        );
        this.#failure = event.error;
        break;
      case 'model.fallback':
        this.#model = event.to;
        break;
      case 'permission.decided':
        if (DECIDED[event.decision]) this.#hidden.add(event.call.id);
        break;
      case 'model.completed':
        this.#answer = textOf(event.message);
        this.#endLine();
        break;
      case 'context.compacted':
        for (const line of stepNotes(event.steps)) this.#note('dim', line);
        break;
      case 'call.completed':
        if (this.#outputs.whole) this.#say(printable(this.#answer));
        this.#endLine();
        if (this.#answer === '' && event.stopReason === 'completed')
          this.#note('dim', 'The answer is empty.');
        this.#parts = [...this.#parts, event];
        // The question comes next, and the call goes on after the answer.
        if (event.stopReason === 'permission_required') break;
        this.#note('dim', summary(this.#parts, event.stopReason, this.context));
        this.#parts = [];
        break;
    }
  }

  /** The model that took over; `undefined` while the agent's own model answers. */
  get model(): string | undefined {
    return this.#model;
  }

  /** Excludes a call and its result from printing. */
  hide(toolUseId: string): void {
    this.#hidden.add(toolUseId);
  }

  /** Marks the change of a call as shown, so that it is not printed again. */
  asked(toolUseId: string): void {
    this.#asked.add(toolUseId);
  }

  /** Prints how to go on after an error that the retries have printed. Returns false, and prints nothing, for another error. */
  failed(error: unknown, goOn: string): boolean {
    if (!XError.isInstance(error) || error.message !== this.#failure) return false;
    this.note(`The model still fails. ${X} doctor checks its server. To try again: ${goOn}`);
    return true;
  }

  /** Reports that the call has to wait. */
  readonly waiting = (): void => {
    this.#note('dim', 'Another call runs in this session; this one waits for its end.');
  };

  /** Prints a line of the program itself. */
  note(text: string): void {
    this.#note('dim', text);
  }

  /** Prints a text that the user sent. */
  said(text: string): void {
    this.#note('bold', cut(`> ${text}`.split('\n')));
  }

  /** Prints the beginning of an earlier answer. */
  answered(text: string): void {
    this.#note('dim', cut(rowsOf(text, MAX_WIDTH)));
  }

  /** Prints a change, whose lines may begin with + or -. */
  change(text: string): void {
    const { style, progress } = this.#outputs;
    const colored = printable(text).replace(/^([+-]).*/gm, (line, mark) =>
      style(mark === '+' ? 'green' : 'red', line),
    );
    this.#endLine();
    progress.write(`${colored}\n`);
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
    if (text === '') return;
    this.#outputs.progress.write(`${this.#outputs.style(format, printable(text))}\n`);
  }
}

function cut(lines: readonly string[]): string {
  const more = lines.length - MAX_LINES;
  // A note about one omitted line would take as much space as the line.
  return (more > 1 ? [...lines.slice(0, MAX_LINES), `  … ${more} more lines`] : lines).join('\n');
}

function indented(lines: readonly RenderedLine[]): readonly string[] {
  return lines.map(({ mark, text }) => `  ${mark === '' ? '' : `${mark} `}${clip(text, MAX_WIDTH)}`);
}

function summary(
  parts: readonly Completed[],
  stopReason: Completed['stopReason'],
  context: ContextUsage | undefined,
): string {
  const usage = parts.map((part) => part.usage).reduce(addUsage);
  const cached = usage.cachedInputTokens
    ? `, ${Math.round((100 * usage.cachedInputTokens) / Math.max(1, usage.inputTokens))} % cached`
    : '';
  const fullness = fullnessInWords(context);
  const compactions = parts.flatMap(({ compaction }) => compaction ?? []);
  const figures = [
    usage.inputTokens > 0 && `${shortNumber(usage.inputTokens)} tokens in${cached}`,
    usage.inputTokens > 0 && `${shortNumber(usage.outputTokens)} out`,
    fullness && `window ${fullness} full`,
    compactions.length > 0 && renderCompactionCost(compactions.reduce(addCosts)),
    stopReason !== 'completed' && stopReason.replaceAll('_', ' '),
  ];
  return figures.filter(Boolean).join(' · ');
}

function addCosts(one: CompactionCost, other: CompactionCost): CompactionCost {
  const isPriced = [one, other].every(({ modelCalls, cost }) => modelCalls === 0 || cost !== undefined);
  return {
    modelCalls: one.modelCalls + other.modelCalls,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    savedTokens: one.savedTokens + other.savedTokens,
    cost: isPriced ? (one.cost ?? 0) + (other.cost ?? 0) : undefined,
  };
}
