import { randomUUID } from 'node:crypto';
import {
  type AgentEvent,
  type AgentState,
  assistantMessage,
  compactionCostOf,
  type Message,
  type PendingCall,
  RuntimeContext,
  type SessionInfo,
  textOf,
  toolResultsOf,
  XError,
} from '@x/core';
import { errorText } from '@x/core/internal';
import { type HarnessAgent, pendingCalls, previewCall, spendingOf } from '@x/harness';
import { oneLine, shortNumber } from '@x/harness/view';
import { ageOf } from '../age.js';
import { askDecisions } from './ask-decisions.js';
import { clip } from './columns.js';
import { fullnessInWords, usageIn } from './compaction-words.js';
import { EventPrinter } from './event-printer.js';
import { LineInput } from './line-input.js';
import { AS_IT_IS, markdownLines } from './markdown.js';
import { complete, withMentions } from './mentions.js';
import type { Output } from './screen.js';
import { type ChatScope, type CommandResult, isCommand, runCommand, WAITS } from './slash-commands.js';
import type { Style } from './style.js';

export interface ChatOptions extends Omit<ChatScope, 'usage' | 'signal'> {
  /** The model's id, for the status line. */
  readonly model: string;
  readonly input: NodeJS.ReadableStream;
  readonly output: Output;
  readonly style: Style;
  /** Receives only complete answers if they go to a file or a pipe. Default: everything goes to `output`. */
  readonly reply?: NodeJS.WritableStream | undefined;
  /** Returns the command that continues a session. */
  goOn(session: string | undefined): string;
  /** Lists the sessions that can be continued, the latest first. */
  sessions(): Promise<readonly SessionInfo[]>;
  /** Whether the chat begins with the choice of a session. Default false. */
  readonly picks?: boolean;
  /** Whether the chat begins by continuing a call that stopped, as by `/resume`. Default false. */
  readonly resumes?: boolean;
}

/** Returns an error as the result of a command. */
const sayError = (error: unknown) => ({ say: errorText(error) });

/** Returns the modes of a session, except the default mode. */
function modesOf(state: AgentState | undefined, configured = 'default'): readonly string[] {
  const mode = state?.permissionContext.mode ?? configured;
  const plan = state?.planModeContext.active ? ['plan mode'] : [];
  return mode === 'default' ? plan : [...plan, `${mode} mode`];
}

const INTERRUPTED = 'The last call was interrupted, unless another process runs it. /resume continues it.';

/** Keys that choose a session. */
const KEYS = '123456789';

/**
 * Runs a chat in the terminal, until the input ends or `/exit`. While the agent works, typed text is sent to it at its next step. Pasted
 * text is one message. Escape and Ctrl-C dismiss a question or stop the call; Ctrl-C also clears the line, and pressed twice ends the chat.
 */
export async function chat(options: ChatOptions): Promise<void> {
  await new Chat(options).run();
}

class Chat {
  readonly #options: ChatOptions;
  readonly #agent: HarnessAgent;
  readonly #printer: EventPrinter;
  readonly #input: LineInput;
  #context: RuntimeContext;
  /** Texts that were sent to the running call and that the model has not read yet. */
  #queued: readonly string[] = [];
  /** Modes, compaction savings and session cost, for the status line. */
  #figures: readonly string[] = [];
  /** Formats the lines of the answer. */
  #markdown = AS_IT_IS;
  /** Messages about the commands that the user ran since the last message. */
  readonly #ran: Message[] = [];
  /** The beginning of the last answer, if the call failed in it. */
  #cut = '';
  #stop = new AbortController();
  /** When the running work began; `undefined` if nothing runs. */
  #startedAt: number | undefined;
  #interrupted = false;

  constructor(options: ChatOptions) {
    const { agent, context, input, output, style, reply } = options;
    this.#options = options;
    this.#agent = agent;
    this.#context = context;
    this.#input = new LineInput(input, output, style, {
      typed: (text) => this.#typed(text),
      interrupt: () => this.#interrupt(),
      complete: async (line) => {
        const found = await complete(line, agent.workspace);
        if (found[0].length > 1) this.#printer.note(found[0].join(' '));
        return found;
      },
      around: () => ({
        above: this.#queued.map((text) => `queued: ${text}`),
        status: this.#status(),
      }),
    });
    const { screen } = this.#input;
    this.#printer = new EventPrinter({
      reply: reply ?? { write: (text: string) => screen.write(text, this.#markdown) },
      progress: screen,
      style,
      whole: reply !== undefined,
    });
  }

  async run(): Promise<void> {
    const onWarning = ({ message }: Error) => this.#printer.note(message);
    process.on('warning', onWarning);
    try {
      if (this.#options.picks) await this.#pick();
      if ((await this.#open()) && this.#options.resumes) this.#input.push('/resume');
      for (let line = await this.#input.next(); line !== undefined; line = await this.#input.next()) {
        if (line.trim() === '') continue;
        try {
          if (!(await this.#handle(line))) break;
        } catch (error) {
          // A failed call does not end the chat. The error describes the state of the session.
          if (XError.isInstance(error) && error.code === 'not_pending') {
            this.#printer.note('This was already decided in another terminal.');
            await this.#announce();
          } else if (!this.#printer.failed(error, '/resume')) this.#printer.note(sayError(error).say);
          if (this.#cut !== '')
            this.#printer.note('If you send a message instead, the model sees the part of its answer above.');
        }
      }
      this.#printer.note(`Go on with: ${this.#options.goOn(this.#context.sessionId)}`);
    } finally {
      process.off('warning', onWarning);
      this.#input.close();
    }
  }

  /** Stops running work. Returns false if nothing runs. */
  #interrupt(): boolean {
    if (this.#startedAt === undefined) return false;
    this.#interrupted = true;
    this.#stop.abort();
    this.#agent.interrupt(this.#context);
    return true;
  }

  #typed(text: string): void {
    if (this.#startedAt === undefined || text.trim() === '') this.#input.push(text);
    else if (isCommand(text)) void this.#commandMeanwhile(text);
    else this.#steer(text);
  }

  #steer(text: string): void {
    this.#queued = [...this.#queued, text];
    const steered = this.#messagesOf(text).then((messages) => this.#agent.steer(this.#context, messages));
    void steered.then((read) => {
      this.#queued = this.#queued.filter((each) => each !== text);
      if (read) return this.#echo(text);
      // If the text came too late for this call, it is sent after the call, unless the user has interrupted.
      if (!this.#interrupted) return this.#input.push(text);
      this.#printer.note('Not sent. The text is back in the input line.');
      this.#input.giveBack(text);
    });
  }

  /** Answers a command while work runs. Commands that change the session wait for the end of the work, and `/exit` stops it. */
  async #commandMeanwhile(line: string): Promise<void> {
    const result = WAITS.test(line) ? undefined : await runCommand(line, this.#scope).catch(sayError);
    if (result && 'say' in result) {
      this.#echo(line);
      return this.#printer.note(result.say);
    }
    if (result) this.#interrupt();
    else this.#printer.note(`${line} waits for the end of the running call.`);
    this.#input.push(line);
  }

  /** Shows a sent text above the input. */
  #echo(text: string): void {
    if (this.#input.screen.isTerminal) this.#printer.said(text);
  }

  async #handle(line: string): Promise<boolean> {
    const { waiting: onWait } = this.#printer;
    this.#echo(line);
    if (!isCommand(line)) {
      const cut =
        this.#cut === '' ? [] : [assistantMessage(`${this.#cut}\n[The answer was interrupted here.]`)];
      const messages = [...cut, ...(await this.#messagesOf(line))];
      await this.#turn(this.#agent.stream(messages, this.#context, { onWait }));
      return true;
    }
    const result = await this.#command(line);
    if ('exit' in result) return false;
    if ('pick' in result) {
      if (await this.#pick()) await this.#open();
    } else if ('resume' in result) await this.#turn(this.#agent.resumeStream(this.#context, { onWait }));
    else {
      this.#printer.note(result.say);
      const { ran = [] } = result;
      for (const { toolUseId } of ran.flatMap(toolResultsOf)) this.#printer.hide(toolUseId);
      this.#ran.push(...ran);
      if (WAITS.test(line)) await this.#measure();
      await this.#count();
    }
    return true;
  }

  /** Returns a text as messages, with the files that it mentions, and with the commands that the user ran before. */
  #messagesOf(text: string): Promise<readonly Message[]> {
    return withMentions(text, this.#ran.splice(0), this.#agent, (note) => this.#printer.note(note));
  }

  async #turn(events: AsyncIterable<AgentEvent>): Promise<void> {
    const pending = await this.#print(events);
    await this.#count();
    if (pending.length === 0) return;
    const human = {
      show: (text: string) => this.#printer.change(text),
      ask: (question: string, keys?: string) => this.#input.ask(question, keys),
    };
    const decisions = await askDecisions(pending, human, (call) => {
      this.#printer.asked(call.id);
      return previewCall(this.#agent, this.#context, call);
    });
    const { waiting: onWait } = this.#printer;
    if (Object.keys(decisions).length > 0)
      await this.#turn(this.#agent.resumeStream(this.#context, { decisions, onWait }));
    else if (!this.#input.ended) await this.#announce();
  }

  /** Prints the events of a call. Returns the pending calls. */
  async #print(events: AsyncIterable<AgentEvent>): Promise<readonly PendingCall[]> {
    let pending: readonly PendingCall[] = [];
    const { style, output } = this.#options;
    this.#markdown = markdownLines(style, () => output.columns ?? 80);
    this.#interrupted = false;
    this.#cut = '';
    await this.#interruptible(async () => {
      for await (const event of events) {
        this.#printer.print(event);
        if (event.type === 'model.started') this.#cut = '';
        if (event.type === 'draft.discarded') this.#cut = event.text.trim();
        if (event.type === 'permission.required') pending = event.calls;
      }
    });
    return pending;
  }

  /** Runs a command. It can be interrupted, because a compaction, for example, takes a while. */
  #command(line: string): Promise<CommandResult> {
    return this.#interruptible(() => runCommand(line, this.#scope));
  }

  get #scope(): ChatScope {
    const { signal } = this.#stop;
    return { ...this.#options, context: this.#context, usage: this.#printer.context, signal };
  }

  /** Runs work that Ctrl-C can stop. */
  async #interruptible<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#startedAt = performance.now();
    this.#stop = new AbortController();
    this.#input.screen.refresh();
    const timer = setInterval(this.#input.screen.refresh, 1_000);
    try {
      return await run();
    } finally {
      clearInterval(timer);
      this.#startedAt = undefined;
      this.#input.screen.refresh();
    }
  }

  /** Lets a person choose one of the latest sessions. Returns false if none was chosen. */
  async #pick(): Promise<boolean> {
    const sessions = (await this.#options.sessions()).slice(0, KEYS.length);
    if (sessions.length === 0) this.#printer.note('There is no session of this agent in this folder yet.');
    for (const [index, { key, title = '', updatedAt, messages }] of sessions.entries()) {
      const words = `${ageOf(updatedAt, Date.now())} · ${messages} messages · ${title ? `${clip(title, 60)} · ` : ''}${key.parts.sessionId}`;
      this.#printer.note(`${index + 1}  ${oneLine(words)}`);
    }
    if (sessions.length === 0) return false;
    const keys = `${KEYS.slice(0, sessions.length)}n`;
    const question = `Which one? (1 to ${sessions.length}, n for a new one; Enter for none) `;
    const answer = (await this.#input.ask(question, keys))?.trim().toLowerCase() || ' ';
    const chosen = sessions[keys.indexOf(answer)];
    if (chosen === undefined && answer !== 'n') return false;
    const sessionId = chosen?.key.parts.sessionId ?? randomUUID();
    this.#context = RuntimeContext.builder(this.#context).sessionId(sessionId).build();
    return true;
  }

  /** Shows the end of the session that is open: the user's last words and the answer. Returns whether a call stopped. */
  async #open(): Promise<boolean> {
    let [count, before, asked, answer] = [0, 0, '', ''];
    for await (const message of this.#agent.log(this.#context).read()) {
      if (message.role === 'system' || message.kind !== undefined) continue;
      if (message.role === 'user') {
        [before, asked, answer] = [count, textOf(message), ''];
        this.#input.remember(asked);
      }
      if (message.role === 'assistant') answer = textOf(message) || answer;
      count++;
    }
    await this.#measure();
    if (before > 0) this.#printer.note(`… ${before} earlier messages`);
    if (asked !== '') this.#printer.said(asked);
    if (answer !== '') this.#printer.answered(answer);
    return this.#announce();
  }

  /** Shows which session is open, and its pending calls. A new message denies them. Returns whether a call stopped. */
  async #announce(): Promise<boolean> {
    const state = await this.#agent.state(this.#context);
    const { sessionId } = this.#context;
    this.#printer.note(
      `${this.#agent.name} · ${state ? 'session' : 'new session'} ${sessionId} · /help lists commands`,
    );
    await this.#count();
    const modes = state ? modesOf(state, this.#options.mode).join(' and ') : '';
    if (modes) this.#printer.note(`The session is in ${modes}; /permissions and /plan change that.`);
    const names = pendingCalls(state).map(({ name }) => name);
    const waiting = `Waiting for your decision: ${names.join(', ')}. /resume asks for it; a message denies it.`;
    const stopped = names.length > 0 ? waiting : state?.activeCall && INTERRUPTED;
    if (stopped) this.#printer.note(stopped);
    return stopped !== undefined;
  }

  /** Reads from the events of the session how full the window is. */
  async #measure(): Promise<void> {
    this.#printer.context = usageIn(await this.#options.events.read(this.#agent, this.#context));
  }

  /** Reads the figures of the status line from the session, so that they include all calls and processes. */
  async #count(): Promise<void> {
    const state = await this.#agent.state(this.#context);
    const [saved, cost] = state ? [compactionCostOf(state).savedTokens, spendingOf(state).cost] : [0, 0];
    this.#figures = [
      ...modesOf(state, this.#options.mode),
      ...(saved > 0 ? [`saved ${shortNumber(saved)} tokens`] : []),
      ...(cost > 0 ? [`cost ${cost.toPrecision(2)}`] : []),
    ];
    this.#input.screen.refresh();
  }

  #status(): string {
    const { context } = this.#printer;
    const fullness = fullnessInWords(context);
    const window = fullness ? [`${fullness} of ${shortNumber(context?.contextWindow ?? 0)}`] : [];
    const seconds = Math.floor((performance.now() - (this.#startedAt ?? 0)) / 1_000);
    const hint = this.#startedAt === undefined ? [] : [`working ${seconds} s, Esc stops`];
    // The hint comes first, because a narrow terminal shows only the beginning.
    return [...hint, this.#printer.model ?? this.#options.model, ...window, ...this.#figures].join(' · ');
  }
}
