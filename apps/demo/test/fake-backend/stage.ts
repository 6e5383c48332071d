import {
  assistantMessage,
  type CompactionReason,
  type CompactionStatus,
  type CompactionStep,
  type ContextUsage,
  estimateCounter,
  type JsonValue,
  type ManifestEntry,
  type Message,
  type PendingCall,
  type PermissionRule,
  type Todo,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { countMessage } from '@x/core/messages';
import type { Decisions } from '@x/harness';
import type { PageEvent, SessionState } from '../../src/page.js';

/** What a scenario does next: an event, or a point where a test may hold the play. */
export type Beat =
  | BeatOf<PageEvent>
  | { readonly type: 'state'; readonly state: Partial<SessionState> }
  | { readonly type: 'gate'; readonly name: string };

/** An event without the fields that the backend adds. */
type BeatOf<Event> = Event extends PageEvent
  ? Omit<Event, 'callId' | 'seq' | 'at'> & { readonly at?: string }
  : never;

export interface ToolPart {
  readonly name: string;
  readonly input: JsonValue;
  readonly output: string;
  readonly isError?: boolean;
  /** Where the full output lies; the message then holds only a preview. */
  readonly evictedTo?: string;
}

interface CompactionPart {
  readonly reason: CompactionReason;
  readonly status: CompactionStatus;
  readonly message: string;
  /** Tool results older than this many become a line each. */
  readonly keepToolOutputs?: number;
  /** All but this many messages become a summary. */
  readonly keepMessages?: number;
  readonly summary?: string;
}

const SYSTEM_TOKENS = 1_840;
const TOOL_TOKENS = 3_260;
const REMINDER_TOKENS = 620;

/**
 * Plays an agent: keeps the log and what the model sees apart as a harness does, counts honestly, and tells it all in
 * events. Only what a model would say, and when, is made up.
 */
export class Stage {
  readonly log: Message[] = [];
  context: Message[] = [];
  readonly #window: number;
  #clock: number;
  #ids = 0;
  #prefix: string;
  #step = 0;
  #asked: { readonly call: PendingCall; readonly output: string }[] = [];
  #beforeCompaction: Message[] | undefined;

  constructor(options: { readonly prefix: string; readonly window: number; readonly startsAt: Date }) {
    this.#prefix = options.prefix;
    this.#window = options.window;
    this.#clock = options.startsAt.getTime();
  }

  /** The window as it is now. */
  usage(): ContextUsage {
    const frame = { system: SYSTEM_TOKENS, tools: TOOL_TOKENS, reminders: REMINDER_TOKENS };
    const sums = { summary: 0, conversation: 0, toolResults: 0 };
    for (const message of this.context) {
      const source =
        message.kind === 'summary' ? 'summary' : message.role === 'tool' ? 'toolResults' : 'conversation';
      sums[source] += countMessage(estimateCounter, message);
    }
    const total = [...Object.values(frame), ...Object.values(sums)].reduce((sum, tokens) => sum + tokens, 0);
    return { ...frame, ...sums, total, contextWindow: this.#window };
  }

  /** The conversation as the backend tells it: unchanged messages by their id. */
  #view(): readonly (string | Message)[] {
    return this.context.map((message) => (this.log.includes(message) ? message.id : message));
  }

  *begin(text: string): Generator<Beat> {
    this.#step = 0;
    yield { type: 'call.started', resumed: false, at: this.#tick(400) };
    yield* this.#add(userMessage(text, this.#stamp('user')));
    yield { type: 'gate', name: 'begun' };
  }

  /** A model call that asks for tools, and their results. */
  *work(text: string, parts: readonly ToolPart[]): Generator<Beat> {
    const calls = parts.map(
      ({ name, input }): ToolUseBlock => ({ type: 'tool_use', id: this.#id('tool'), name, input }),
    );
    yield* this.#speak(text, calls);
    for (const call of calls) yield { type: 'tool.call', call, at: this.#tick(5) };
    yield { type: 'gate', name: 'tools' };
    for (const [index, call] of calls.entries()) {
      const part = parts[index] as ToolPart;
      const output = part.evictedTo ? preview(part.output, part.evictedTo) : part.output;
      if (part.evictedTo) {
        const { length } = part.output;
        const event = { toolUseId: call.id, path: part.evictedTo, chars: length };
        yield { type: 'tool.evicted', ...event, at: this.#tick(2) };
      }
      const message = toolResultMessage(call, output, {
        ...this.#stamp('result'),
        isError: part.isError ?? false,
      });
      const result = message.content[0];
      if (result?.type === 'tool_result') {
        const durationMs = 4 + ((part.output.length * 7) % 180);
        yield { type: 'tool.result', result, durationMs, at: this.#tick(durationMs) };
      }
      yield* this.#add(message);
    }
  }

  /** The last model call: an answer. */
  *answer(text: string, options: { readonly thinking?: string } = {}): Generator<Beat> {
    yield* this.#speak(text, [], options.thinking);
  }

  *end(stopReason: 'completed' | 'interrupted' | 'permission_required' = 'completed'): Generator<Beat> {
    const usage = { inputTokens: 0, outputTokens: 0 };
    const whole = { text: '', steps: 1, pendingCalls: [], usage };
    yield { type: 'call.completed', stopReason, ...whole, at: this.#tick(3) };
  }

  /** A model call that asks for tools which a human must allow first. */
  *ask(text: string, parts: readonly ToolPart[], suggestion?: PermissionRule): Generator<Beat> {
    const calls = parts.map(
      ({ name, input }): ToolUseBlock => ({ type: 'tool_use', id: this.#id('tool'), name, input }),
    );
    yield* this.#speak(text, calls);
    const askedAt = this.#tick(1);
    const reason = 'No rule allows this.';
    const pending = calls.map(
      (call): PendingCall => ({
        ...call,
        approvalId: call.id,
        askedAt,
        reason,
        ...(suggestion ? { suggestion } : {}),
      }),
    );
    this.#asked = pending.map((call, index) => ({ call, output: parts[index]?.output ?? '' }));
    yield { type: 'permission.required', calls: pending, at: this.#tick(1) };
    yield* this.end('permission_required');
  }

  /** What a human decided, carried out; the call continues once nothing waits any more. */
  *decide(decisions: Decisions): Generator<Beat> {
    yield { type: 'call.started', resumed: true, at: this.#tick(5) };
    for (const { call, output } of this.#asked.filter(({ call }) => decisions[call.id])) {
      const decision = decisions[call.id];
      const outcome = { approve: 'approved', edit: 'edited', deny: 'denied' } as const;
      yield {
        type: 'permission.decided',
        call,
        decision: outcome[decision?.type ?? 'deny'],
        ...(decision?.type === 'approve' && decision.always && call.suggestion
          ? { rule: call.suggestion }
          : {}),
        at: this.#tick(1),
      };
      const denied = decision?.type === 'deny';
      const text = denied ? `The user denied this call: ${decision.reason ?? ''}` : output;
      if (!denied) yield { type: 'tool.call', call, at: this.#tick(1) };
      const message = toolResultMessage(call, text, { ...this.#stamp('result'), isError: denied });
      yield* this.#add(message);
      const result = message.content[0];
      if (!denied && result?.type === 'tool_result') {
        yield { type: 'tool.result', result, durationMs: 12, at: this.#tick(12) };
      }
    }
    this.#asked = this.#asked.filter(({ call }) => !decisions[call.id]);
    if (this.#asked.length > 0) {
      const calls = this.#asked.map(({ call }) => call);
      yield { type: 'permission.required', calls, at: this.#tick(1) };
      yield* this.end('permission_required');
      return;
    }
    yield* this.answer('I went on with what you decided.');
    yield* this.end();
  }

  *fail(code: string, message: string): Generator<Beat> {
    yield* this.#startModel();
    const error = { code: 'model_error', message };
    yield { type: 'model.retrying', attempt: 1, delayMs: 1_000, error, at: this.#tick(900) };
    yield { type: 'gate', name: 'retrying' };
    yield { type: 'call.failed', error: { code, message }, at: this.#tick(1_200) };
  }

  *todos(todos: readonly Todo[]): Generator<Beat> {
    yield { type: 'state', state: { todos } };
  }

  *compact(part: CompactionPart): Generator<Beat> {
    const before = { context: [...this.context], usage: this.usage() };
    yield {
      type: 'context.compacting',
      reason: part.reason,
      strategy: 'auto',
      messagesBefore: before.context.length,
      tokensBefore: before.usage.total,
      at: this.#tick(10),
    };
    yield { type: 'gate', name: 'compacting' };
    const steps: CompactionStep[] = [];
    const manifest: ManifestEntry[] = [];
    if (part.keepToolOutputs !== undefined) {
      this.#run('mask_outputs', 3, steps, () => this.#mask(part.keepToolOutputs ?? 0, manifest));
    }
    if (part.keepMessages !== undefined) {
      this.#run('summarize', 2_480, steps, () => this.#summarize(part, manifest));
    }
    if (part.status !== 'applied') this.context = before.context;
    const at = this.#tick(2_500);
    if (part.status === 'applied') this.#beforeCompaction = before.context;
    const after = this.usage();
    yield {
      type: 'context.compacted',
      reason: part.reason,
      status: part.status,
      message: part.message,
      stagesUsed: steps.map((step) => step.stage).join('+'),
      messagesBefore: before.context.length,
      messagesAfter: this.context.length,
      tokensBefore: before.usage.total,
      tokensAfter: after.total,
      durationMs: steps.reduce((sum, step) => sum + step.durationMs, 0),
      steps,
      manifest: part.status === 'applied' ? manifest : [],
      view: this.#view(),
      context: after,
      at,
    };
  }

  *undo(): Generator<Beat> {
    if (this.#beforeCompaction === undefined) return;
    const { total: tokensBefore } = this.usage();
    const before = this.#beforeCompaction;
    const later = this.context.filter((message) => this.log.includes(message) && !before.includes(message));
    this.context = [...before, ...later];
    this.#beforeCompaction = undefined;
    const context = this.usage();
    const sizes = { tokensBefore, tokensAfter: context.total };
    yield { type: 'context.restored', ...sizes, view: this.#view(), context, at: this.#tick(20) };
  }

  *#startModel(): Generator<Beat> {
    this.#step++;
    yield { type: 'model.started', step: this.#step, context: this.usage(), at: this.#tick(120) };
  }

  *#speak(text: string, calls: readonly ToolUseBlock[], thinking = ''): Generator<Beat> {
    yield* this.#startModel();
    const { total } = this.usage();
    for (const piece of pieces(thinking))
      yield { type: 'thinking.delta', text: piece, messageId: '', draft: 1 };
    const words = pieces(text);
    for (const [index, piece] of words.entries()) {
      if (index === Math.floor(words.length * 0.6)) yield { type: 'gate', name: 'mid-stream' };
      yield { type: 'text.delta', text: piece, messageId: '', draft: 1 };
    }
    const message = assistantMessage(
      [
        ...(thinking ? [{ type: 'thinking', thinking } as const] : []),
        ...(text ? [{ type: 'text', text } as const] : []),
        ...calls,
      ],
      this.#stamp('assistant'),
    );
    const durationMs = 600 + text.length * 4;
    const usage = {
      inputTokens: total,
      outputTokens: countMessage(estimateCounter, message),
      cachedInputTokens: this.#step > 1 ? Math.floor(total * 0.91) : 0,
    };
    yield {
      type: 'model.completed',
      step: this.#step,
      message,
      finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
      usage,
      durationMs,
      at: this.#tick(durationMs),
    };
    yield* this.#add(message);
  }

  *#add(message: Message): Generator<Beat> {
    this.log.push(message);
    this.context.push(message);
    yield { type: 'message.added', message, at: this.#tick(1) };
  }

  #run(stage: string, durationMs: number, steps: CompactionStep[], reduce: () => void): void {
    const [messagesBefore, tokensBefore] = [this.context.length, this.usage().total];
    reduce();
    const [messagesAfter, tokensAfter] = [this.context.length, this.usage().total];
    const note = tokensAfter < tokensBefore ? undefined : 'nothing that it could make smaller';
    steps.push({ stage, messagesBefore, messagesAfter, tokensBefore, tokensAfter, durationMs, note });
  }

  #mask(keep: number, manifest: ManifestEntry[]): void {
    const results = this.context.filter((message) => message.role === 'tool');
    const old = new Set(results.slice(0, Math.max(0, results.length - keep)));
    this.context = this.context.map((message) => {
      const block = message.content[0];
      if (!old.has(message) || block?.type !== 'tool_result' || textOf(message).length < 120) return message;
      manifest.push({ messageId: message.id, fate: 'masked', stage: 'mask_outputs' });
      const lines = textOf(message).split('\n').length;
      const stub = `[${block.toolName} → ${lines} lines, ${textOf(message).length} bytes; ask again to see it]`;
      return { ...message, content: [{ ...block, output: [{ type: 'text', text: stub }] }] };
    });
  }

  #summarize(part: CompactionPart, manifest: ManifestEntry[]): void {
    const cut = Math.max(0, this.context.length - (part.keepMessages ?? 0));
    if (part.summary === undefined) return;
    for (const message of this.context.slice(0, cut)) {
      const earlier = manifest.findIndex((entry) => entry.messageId === message.id);
      if (earlier >= 0) manifest.splice(earlier, 1);
      if (message.kind === 'summary') continue;
      manifest.push({ messageId: message.id, fate: 'summarized', stage: 'summarize' });
    }
    const summary = userMessage(part.summary, { ...this.#stamp('summary'), kind: 'summary' });
    this.context = [summary, ...this.context.slice(cut)];
  }

  #stamp(kind: string): { id: string; createdAt: string } {
    return { id: this.#id(kind), createdAt: this.#tick(0) };
  }

  #id(kind: string): string {
    this.#ids++;
    return `${this.#prefix}-${kind}-${this.#ids}`;
  }

  #tick(milliseconds: number): string {
    this.#clock += milliseconds + 1;
    return new Date(this.#clock).toISOString();
  }
}

function preview(output: string, path: string): string {
  return [
    `[${output.length} characters; the whole is in ${path}, read it with read_file]`,
    output.slice(0, 600),
    '… the middle is left out …',
    output.slice(-600),
  ].join('\n\n');
}

/** As a model streams: a few characters at a time. */
function pieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,7}/g) ?? [];
}
