import { createInterface } from 'node:readline';
import { type AgentEvent, type PendingCall, type RuntimeContext, XError } from '@x/core';
import { pendingCalls } from '@x/harness';
import { askDecisions } from './ask-decisions.js';
import type { EventPrinter } from './event-printer.js';
import { readPlan } from './read-plan.js';
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
export async function chat({ input, output, printer, style, ...scope }: ChatOptions): Promise<void> {
  const lines = createInterface({ input, output, prompt: `${style('bold', '>')} `, historySize: 200 });
  let { context } = scope;
  const { waiting: onWait } = printer;
  const isTerminal = (output as { readonly isTTY?: boolean }).isTTY === true;
  let running = false;
  let interrupted = false;
  /** Lines that came together, and whether they are looked at soon. */
  const typed: string[] = [];
  let isDue = false;
  /** Takes the next line in place of the chat: a question is open. */
  let answer: ((line: string | undefined) => void) | undefined;
  const waiting: string[] = [];
  let wake: (() => void) | undefined;
  let ended = false;

  lines.on('line', (line) => {
    typed.push(line);
    if (!isTerminal) take();
    else if (!isDue) {
      isDue = true;
      setImmediate(takePasted);
    }
  });
  lines.on('SIGINT', () => {
    typed.length = 0;
    if (answer !== undefined) {
      output.write('\n');
      give(undefined);
    } else if (running) {
      interrupted = true;
      scope.agent.interrupt(context);
    } else if (lines.line !== '') {
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
    } else lines.close();
  });
  lines.on('close', () => {
    if (typed.length > 0) take();
    ended = true;
    give(undefined);
    wake?.();
  });

  /** The last line of what was pasted stands in the input, and goes with the others. */
  function takePasted(): void {
    isDue = false;
    if (typed.length > 0 && lines.line === '') take();
  }

  function take(): void {
    const text = typed.splice(0).join('\n');
    if (answer !== undefined) {
      if (text.trim() === '/exit') lines.close();
      else give(text);
      return;
    }
    if (!running || text.trim() === '' || isCommand(text)) {
      push(text);
      return;
    }
    void scope.agent.steer(context, text).then((read) => {
      if (read) return;
      // It came too late for this call: it is said when the call has ended, unless somebody has stopped that.
      if (interrupted) giveBack(text);
      else push(text);
    });
    printer.note('(read at the next step)');
  }

  function giveBack(text: string): void {
    printer.note('Not sent, and back in the line:');
    lines.write(text.replaceAll('\n', ' '));
  }

  function give(line: string | undefined): void {
    const taking = answer;
    answer = undefined;
    taking?.(line);
  }

  function push(line: string): void {
    waiting.push(line);
    wake?.();
  }

  async function nextLine(): Promise<string | undefined> {
    // A prompt would open an input again that has ended.
    if (!ended) lines.prompt();
    while (waiting.length === 0 && !ended) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return waiting.shift();
  }

  function ask(question: string): Promise<string | undefined> {
    if (ended) return Promise.resolve(undefined);
    output.write(question);
    return new Promise((resolve) => {
      answer = resolve;
    });
  }

  async function turn(events: AsyncIterable<AgentEvent>): Promise<void> {
    const pending = await run(events);
    if (pending.length === 0) return;
    const decisions = await askDecisions(pending, ask, preview);
    if (Object.keys(decisions).length > 0)
      await turn(scope.agent.resumeStream(context, { decisions, onWait }));
    else if (!ended) await announceWaiting();
  }

  /** Whoever approves a plan has read it. */
  async function preview({ name }: PendingCall): Promise<string | undefined> {
    if (name !== 'plan_exit') return undefined;
    const state = await scope.agent.state(context);
    return state && readPlan(scope.agent, state);
  }

  /** Says what waits in a session that is opened: whoever goes on talking denies it. */
  async function announceWaiting(): Promise<void> {
    const state = await scope.agent.state(context);
    const names = state === undefined ? [] : pendingCalls(state).map(({ name }) => name);
    if (names.length === 0) return;
    printer.note(`Waiting for your decision: ${names.join(', ')}. /resume asks for it; a message denies it.`);
  }

  async function run(events: AsyncIterable<AgentEvent>): Promise<readonly PendingCall[]> {
    let pending: readonly PendingCall[] = [];
    interrupted = false;
    running = true;
    try {
      for await (const event of events) {
        printer.print(event);
        if (event.type === 'permission.required') pending = event.calls;
      }
    } finally {
      running = false;
    }
    return pending;
  }

  /** A command may take its time, as a compaction does: Ctrl-C stops it like a call. */
  async function commanded(line: string): Promise<CommandResult> {
    running = true;
    try {
      return await runCommand(line, { ...scope, context, usage: printer.context });
    } finally {
      running = false;
    }
  }

  async function handle(line: string): Promise<boolean> {
    if (!isCommand(line)) {
      await turn(scope.agent.stream(line, context, { onWait }));
      return true;
    }
    const result = await commanded(line);
    if ('exit' in result) return false;
    if ('resume' in result) await turn(scope.agent.resumeStream(context, { onWait }));
    else {
      if ('session' in result) context = result.session;
      printer.note(result.say);
      if ('session' in result) await announceWaiting();
    }
    return true;
  }

  try {
    await announceWaiting();
    for (let line = await nextLine(); line !== undefined; line = await nextLine()) {
      if (line.trim() === '') continue;
      try {
        if (!(await handle(line))) break;
      } catch (error) {
        // A call that failed ends nothing: the session is as the error says, and one can go on.
        printer.note(XError.isInstance(error) ? error.message : String(error));
      }
    }
  } finally {
    lines.close();
  }
  farewell(printer, context);
}

function farewell(printer: EventPrinter, { sessionId }: RuntimeContext): void {
  printer.note(`Go on with --session ${sessionId}`);
}
