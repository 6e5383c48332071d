import { type AgentEvent, type PendingCall, type RuntimeContext, XError } from '@x/core';
import { type HarnessAgent, pendingCalls, previewCall } from '@x/harness';
import { askDecisions } from './ask-decisions.js';
import type { EventPrinter } from './event-printer.js';
import { LineInput } from './line-input.js';
import { type ChatScope, type CommandResult, isCommand, runCommand } from './slash-commands.js';
import type { Style } from './style.js';

export interface ChatOptions extends Omit<ChatScope, 'usage'> {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly printer: EventPrinter;
  readonly style: Style;
}

/**
 * A conversation in the terminal, until the input ends or `/exit`. While the agent works, what is typed is said to it at
 * its next step. What is pasted is one message. Ctrl-C leaves a question, stops the call, clears the line, and ends the chat,
 * whichever comes first.
 */
export async function chat(options: ChatOptions): Promise<void> {
  await new Chat(options).run();
}

class Chat {
  readonly #agent: HarnessAgent;
  readonly #printer: EventPrinter;
  readonly #input: LineInput;
  #context: RuntimeContext;
  #running = false;
  #interrupted = false;

  constructor({ agent, context, input, output, printer, style }: ChatOptions) {
    this.#agent = agent;
    this.#context = context;
    this.#printer = printer;
    this.#input = new LineInput(input, output, `${style('bold', '>')} `, {
      typed: (text) => this.#typed(text),
      interrupt: () => {
        if (!this.#running) return false;
        this.#interrupted = true;
        agent.interrupt(this.#context);
        return true;
      },
    });
  }

  async run(): Promise<void> {
    try {
      await this.#announceWaiting();
      for (let line = await this.#input.next(); line !== undefined; line = await this.#input.next()) {
        if (line.trim() === '') continue;
        try {
          if (!(await this.#handle(line))) break;
        } catch (error) {
          // A call that failed ends nothing: the session is as the error says, and one can go on.
          this.#printer.note(XError.isInstance(error) ? error.message : String(error));
        }
      }
    } finally {
      this.#input.close();
    }
    this.#printer.note(`Go on with --session ${this.#context.sessionId}`);
  }

  #typed(text: string): void {
    if (!this.#running || text.trim() === '' || isCommand(text)) {
      this.#input.push(text);
      return;
    }
    void this.#agent.steer(this.#context, text).then((read) => {
      if (read) return;
      // It came too late for this call: it is said when the call has ended, unless somebody has stopped that.
      if (!this.#interrupted) return this.#input.push(text);
      this.#printer.note('Not sent, and back in the line:');
      this.#input.giveBack(text);
    });
    this.#printer.note('(read at the next step)');
  }

  async #handle(line: string): Promise<boolean> {
    const { waiting: onWait } = this.#printer;
    if (!isCommand(line)) {
      await this.#turn(this.#agent.stream(line, this.#context, { onWait }));
      return true;
    }
    const result = await this.#command(line);
    if ('exit' in result) return false;
    if ('resume' in result) await this.#turn(this.#agent.resumeStream(this.#context, { onWait }));
    else {
      if ('session' in result) this.#context = result.session;
      this.#printer.note(result.say);
      if ('session' in result) await this.#announceWaiting();
    }
    return true;
  }

  async #turn(events: AsyncIterable<AgentEvent>): Promise<void> {
    const pending = await this.#print(events);
    if (pending.length === 0) return;
    const decisions = await askDecisions(
      pending,
      (question) => this.#input.ask(question),
      (call) => previewCall(this.#agent, this.#context, call),
    );
    const { waiting: onWait } = this.#printer;
    if (Object.keys(decisions).length > 0)
      await this.#turn(this.#agent.resumeStream(this.#context, { decisions, onWait }));
    else if (!this.#input.ended) await this.#announceWaiting();
  }

  /** Prints the events of a call. Returns the calls that wait for a decision. */
  async #print(events: AsyncIterable<AgentEvent>): Promise<readonly PendingCall[]> {
    let pending: readonly PendingCall[] = [];
    this.#interrupted = false;
    await this.#interruptible(async () => {
      for await (const event of events) {
        this.#printer.print(event);
        if (event.type === 'permission.required') pending = event.calls;
      }
    });
    return pending;
  }

  /** A command may take its time, as a compaction does. */
  #command(line: string): Promise<CommandResult> {
    const scope = { agent: this.#agent, context: this.#context, usage: this.#printer.context };
    return this.#interruptible(() => runCommand(line, scope));
  }

  /** Runs what Ctrl-C stops. */
  async #interruptible<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#running = true;
    try {
      return await run();
    } finally {
      this.#running = false;
    }
  }

  /** Says what waits in a session that is opened: whoever goes on talking denies it. */
  async #announceWaiting(): Promise<void> {
    const state = await this.#agent.state(this.#context);
    const names = pendingCalls(state).map(({ name }) => name);
    if (names.length === 0) return;
    this.#printer.note(
      `Waiting for your decision: ${names.join(', ')}. /resume asks for it; a message denies it.`,
    );
  }
}
