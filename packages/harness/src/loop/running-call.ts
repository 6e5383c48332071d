import {
  type AgentEvent,
  type AgentEventBody,
  addUsage,
  type CallScope,
  type ContextUsage,
  type Message,
  type ReasonScope,
  type RuntimeContext,
  type Session,
  type SessionLog,
  type ToolDefinition,
  type Usage,
} from '@x/core';
import type { AgentParts } from '../agent-options.js';
import type { BackgroundQueue } from '../background-queue.js';
import { ContextMeter } from './context-meter.js';

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

export interface RunningCallOptions {
  readonly parts: AgentParts;
  readonly toolDefinitions: readonly ToolDefinition[];
  readonly session: Session;
  /** What was said since the session was last stored; kept up to date here, read by the session when it merges. */
  readonly unstored: Message[];
  readonly log: SessionLog;
  readonly runtime: RuntimeContext;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly background: BackgroundQueue;
  readonly emit: (event: AgentEvent) => void;
}

/**
 * One call while it runs: what its hooks see, and what it has gathered so far. Messages enter the context through
 * {@link RunningCall.add} alone, so that every one of them reaches the log.
 */
export class RunningCall {
  readonly options: RunningCallOptions;
  readonly scope: CallScope;
  usage: Usage = NO_USAGE;
  step = 0;
  lastAssistant: Message | undefined;
  /** Text that the model has streamed in the current step. */
  partialText = '';
  readonly #meter: ContextMeter;
  #unlogged: Message[] = [];

  constructor(options: RunningCallOptions) {
    const { parts, session, log, runtime, callId, signal } = options;
    this.options = options;
    this.#meter = new ContextMeter(parts.counter);
    this.scope = {
      agentId: parts.settings.name,
      callId,
      model: parts.model,
      runtime,
      state: session.state,
      workspace: parts.workspace,
      log,
      signal,
      emit: (event) => this.emit(event),
      checkpoint: () => (parts.settings.checkpoint === 'step' ? this.save() : Promise.resolve()),
      background: (name, task) =>
        options.background.add(task, (error) =>
          this.emit({
            type: 'warning',
            source: name,
            message: error instanceof Error ? error.message : String(error),
          }),
        ),
      beforeReduction: async (removed) => {
        for (const capability of parts.capabilities) await capability.beforeReduction?.(removed, this.scope);
      },
    };
  }

  emit(event: AgentEventBody): void {
    const { session } = this.options;
    this.options.emit({ ...event, sessionId: session.state.sessionId, at: new Date().toISOString() });
  }

  /** Appends messages to the conversation. */
  add(messages: readonly Message[]): void {
    const context = this.scope.state.contextMutable();
    for (const message of messages) {
      context.push(message);
      this.#unlogged.push(message);
      this.options.unstored.push(message);
      if (message.role === 'assistant') this.lastAssistant = message;
      this.emit({ type: 'message.added', message });
    }
  }

  /** Puts another list in place of the conversation; what is new in it reaches the log too. */
  replace(messages: readonly Message[]): void {
    const context = this.scope.state.contextMutable();
    const known = new Set(context);
    this.#unlogged.push(...messages.filter((message) => !known.has(message)));
    context.splice(0, context.length, ...messages);
  }

  /** Writes the log, then the session: what a store holds can always be read in full from the log. */
  async save(): Promise<void> {
    await this.saveLog();
    const { session, unstored } = this.options;
    const stored = unstored.length;
    await session.commit();
    unstored.splice(0, stored);
  }

  async saveLog(): Promise<void> {
    if (this.#unlogged.length === 0) return;
    const messages = this.#unlogged;
    this.#unlogged = [];
    try {
      await this.options.log.append(messages);
    } catch (error) {
      this.#unlogged = [...messages, ...this.#unlogged];
      throw error;
    }
  }

  addUsage(usage: Usage | undefined): void {
    if (usage) this.usage = addUsage(this.usage, usage);
  }

  measure(reason: ReasonScope): ContextUsage {
    return this.#meter.measure({
      system: reason.system,
      tools: reason.tools,
      context: this.scope.state.context,
      reminders: reason.reminders,
      contextWindow: this.scope.model.contextWindow,
    });
  }

  /** What the hooks of one reasoning step see. */
  async reasonScope(): Promise<ReasonScope> {
    const { parts, toolDefinitions } = this.options;
    const sections = [parts.settings.systemPrompt];
    const reminders: Message[] = [];
    for (const capability of parts.capabilities) {
      const section = await capability.system?.(this.scope);
      if (section) sections.push(section);
      const messages = await capability.remind?.(this.scope);
      if (messages) reminders.push(...messages);
    }
    return {
      ...this.scope,
      step: this.step,
      system: sections.filter(Boolean).join('\n\n'),
      tools: toolDefinitions,
      reminders,
    };
  }
}
