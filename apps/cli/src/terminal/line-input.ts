import { createInterface, type Interface, type Key } from 'node:readline';
import { Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { oneLine, printable } from '@x/harness/view';
import { columnsOf, endOf, rowsOf } from './columns.js';
import { type Footer, type Output, Screen } from './screen.js';
import type { Style } from './style.js';

interface Listener {
  /** Receives a text that was typed, or pasted as a whole, while no question was open. */
  typed(text: string): void;
  /** Stops running work. Returns false if nothing runs. */
  interrupt(): boolean;
  /** Returns the texts that Tab can complete the end of a line to, and that end. */
  complete(line: string): Promise<[string[], string]>;
  /** Returns the rows between output and input, and the line below the input. */
  around(): { readonly above: readonly string[]; readonly status: string };
}

/** Ignores the error of readline on a closed terminal, whose mode can no longer be reset. */
function ignoreClosed(input: NodeJS.ReadableStream): void {
  const terminal = input as ReadStream;
  const setRawMode: ReadStream['setRawMode'] | undefined = terminal.setRawMode;
  terminal.setRawMode = (isRaw) => {
    try {
      setRawMode?.call(terminal, isRaw);
    } catch {}
    return terminal;
  };
}

interface Question {
  readonly text: string;
  /** The characters that answer the question without Enter. */
  readonly keys: string;
  answer(text: string | undefined): void;
}

const PROMPT = '> ';
/** Maximum rows of the input that are shown. For a longer text, the rows around the cursor are shown. */
const MOST_ROWS = 8;
/** Maximum number of sent texts that the arrow keys bring back. */
const HISTORY_SIZE = 200;
/** Escape sequences that enable and disable bracketed paste. */
const [MARK_PASTE, NO_MARKS] = ['\u001B[?2004h', '\u001B[?2004l'];

/**
 * Reads the lines that a person types at the bottom of a terminal. Lines that are pasted together are one text. Without a terminal, lines
 * are read as they come.
 */
export class LineInput {
  /** The output above the input. */
  readonly screen: Screen;
  readonly #lines: Interface;
  readonly #output: Output;
  readonly #listener: Listener;
  readonly #style: Style;
  /** Lines that arrived together, above the line that is being edited. */
  readonly #typed: string[] = [];
  /** Sent texts, the latest first. */
  #sent: readonly string[] = [];
  #isPasting = false;
  /** Whether Enter was pressed rather than pasted. */
  #isSent = false;
  #isDue = false;
  /** Whether the last key was Ctrl-C in an empty line. */
  #isLeaving = false;
  #question: Question | undefined;
  readonly #waiting: string[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(input: NodeJS.ReadableStream, output: Output, style: Style, listener: Listener) {
    this.#output = output;
    this.#listener = listener;
    this.#style = style;
    this.screen = new Screen(output, (columns, rows) => this.#footer(columns, rows));
    const { isTerminal } = this.screen;
    // The screen draws the line, so the output of readline is discarded.
    const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
    this.#lines = createInterface({
      input,
      output: isTerminal ? unseen : output,
      terminal: isTerminal,
      prompt: isTerminal ? '' : PROMPT,
      historySize: HISTORY_SIZE,
      completer: async (line: string, done: (error: null, found: [string[], string]) => void) => {
        done(null, await listener.complete(line));
        this.screen.refresh();
      },
    });
    this.#lines.on('line', (line) => this.#read(line));
    this.#lines.on('SIGINT', () => this.#interrupted());
    this.#lines.on('close', () => {
      if (this.#typed.length > 0) this.#take();
      this.#ended = true;
      this.#give(undefined);
      this.#wake?.();
    });
    if (!isTerminal) return;
    ignoreClosed(input);
    // Node inserts characters that arrive together at the cursor only while this is true; otherwise it appends them to the line.
    input.prependListener('keypress', (_text, { ctrl, name }: Key) => {
      if (ctrl && name === 'z') output.write(NO_MARKS);
      const { line, cursor } = this.#lines;
      if (cursor < line.length) Object.assign(this.#lines, { isCompletionEnabled: true });
    });
    input.on('keypress', (_text, key: Key) => this.#pressed(key));
    // After Ctrl-Z, the shell has continued the process. Readline has paused its input.
    this.#lines.on('SIGCONT', () => {
      output.write(MARK_PASTE);
      this.#lines.resume();
      this.screen.refresh();
    });
    // A signal ends the process without the end of the chat.
    process.on('exit', this.close);
    output.write(MARK_PASTE);
  }

  get ended(): boolean {
    return this.#ended;
  }

  readonly close = (): void => {
    process.off('exit', this.close);
    this.#lines.close();
    if (this.screen.isTerminal) this.#output.write(NO_MARKS);
    this.screen.close();
  };

  /** Puts a text back into the input, above the text that was typed since, so that it can be edited or sent. */
  giveBack(text: string): void {
    const lines = text.split('\n');
    const last = this.#lines.line === '' ? lines.pop() : undefined;
    this.#typed.push(...lines);
    this.#lines.write(last ?? '');
    this.screen.refresh();
  }

  /** Adds a text to those that the arrow keys bring back, and removes the single lines that readline added. */
  remember(text: string): void {
    if (text.trim() !== '' && text !== this.#sent[0])
      this.#sent = [text, ...this.#sent].slice(0, HISTORY_SIZE);
    const { history } = this.#lines as Interface & { readonly history?: string[] };
    history?.splice(0, history.length, ...this.#sent);
  }

  /** Queues a text for {@link next}. */
  push(text: string): void {
    this.#waiting.push(text);
    this.#wake?.();
  }

  /** Waits for the next text. Resolves to `undefined` when the input has ended. */
  async next(): Promise<string | undefined> {
    // A prompt would reopen an input that has ended.
    if (!this.#ended) this.#lines.prompt(true);
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#waiting.shift();
  }

  /**
   * Asks a question. Resolves to `undefined` if the input has ended, or the question was dismissed.
   *
   * @param keys Characters that count as an answer as soon as they are pressed alone in an empty line. Text that was meant for the agent
   * does not count.
   */
  async ask(text: string, keys = ''): Promise<string | undefined> {
    if (this.#ended) return undefined;
    if (!this.screen.isTerminal) this.#output.write(text);
    return new Promise((answer) => {
      this.#question = { text, keys, answer };
      this.screen.refresh();
    });
  }

  #pressed({ name, meta, ctrl }: Key): void {
    if (!ctrl || name !== 'c') this.#isLeaving = false;
    // Alt+Enter starts a new line at the cursor.
    if (meta && name === 'return') {
      this.#typed.push(this.#lines.line.slice(0, this.#lines.cursor));
      this.#lines.write(null, { ctrl: true, name: 'u' });
    }
    if (name === 'paste-start' || name === 'paste-end') this.#isPasting = name === 'paste-start';
    if (name === 'escape' && !this.#ended) this.#leave();
    this.#settle();
  }

  #read(read: string): void {
    // Since Node 24, the lines of a text from the history are joined by carriage returns.
    const line = read.replaceAll('\r', '\n');
    // A backslash before Enter starts a new line.
    const isContinued = this.screen.isTerminal && !this.#isPasting && line.endsWith('\\');
    this.#typed.push(isContinued ? line.slice(0, -1) : line);
    if (!this.#isPasting && !isContinued) this.#isSent = true;
    if (!this.screen.isTerminal) this.#take();
    else this.#settle();
  }

  /** Handles the typed lines once all lines that arrived together are there. */
  #settle(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      if (this.#ended) return;
      const { line } = this.#lines;
      const isKey = [...line].length === 1 && this.#question?.keys.includes(line.toLowerCase());
      // The last pasted line is still in the input, and belongs to the others.
      if (this.#isSent && line === '') this.#take();
      else if (isKey && this.#typed.length === 0 && !this.#isPasting) {
        this.#clear();
        this.#give(line);
      }
      this.screen.refresh();
    });
  }

  #take(): void {
    const text = this.#typed.splice(0).join('\n');
    this.#isSent = false;
    this.remember(this.#question === undefined ? text : '');
    if (this.#question === undefined) this.#listener.typed(text);
    else if (text.trim() === '/exit') this.#lines.close();
    else this.#give(text);
  }

  #give(text: string | undefined): void {
    const question = this.#question;
    this.#question = undefined;
    if (question && this.screen.isTerminal) this.screen.write(`${question.text}${printable(text ?? '')}\n`);
    question?.answer(text);
  }

  #clear(): void {
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
  }

  /** Dismisses a question, or stops the call. Returns false if there is neither. */
  #leave(): boolean {
    if (this.#question === undefined) return this.#listener.interrupt();
    this.#give(undefined);
    return true;
  }

  /** Ctrl-C dismisses a question, stops the call, or clears the input. In an empty input, the second Ctrl-C in a row ends the chat. */
  #interrupted(): void {
    this.#isSent = false;
    if (this.#leave()) return;
    const isEmpty = this.#typed.splice(0).length === 0 && this.#lines.line === '';
    if (isEmpty && this.#isLeaving) this.#lines.close();
    else this.#clear();
    this.#isLeaving = isEmpty;
  }

  #footer(columns: number, height: number): Footer {
    const { above, status } = this.#listener.around();
    const { line, cursor } = this.#lines;
    const label = rowsOf(this.#question?.text ?? PROMPT, columns).join('\n');
    const isFolded = this.#typed.length > MOST_ROWS;
    const lines = isFolded ? `[pasted ${this.#typed.length} lines]\n` : [...this.#typed, ''].join('\n');
    const shown = (text: string) =>
      rowsOf(label + printable(lines + text).replaceAll('\t', ' '), columns, true);
    const [before, rows] = [shown(line.slice(0, cursor)), shown(line)];
    const most = Math.max(1, Math.min(MOST_ROWS, height - above.length - 3));
    const first = Math.max(0, before.length - most);
    const fit = (text: string) => {
      const line = oneLine(text);
      return this.#style('dim', line.slice(0, endOf(line, columns)));
    };
    const input = rows.slice(first, first + most);
    const [top = '', ...rest] = input;
    const isLabelled = first === 0 && top.startsWith(label);
    return {
      rows: [
        ...above.map(fit),
        isLabelled ? `${this.#style('bold', label)}${top.slice(label.length)}` : top,
        ...rest,
        fit(this.#isLeaving ? 'Press Ctrl-C again to quit' : status),
      ],
      row: above.length + before.length - 1 - first,
      column: columnsOf(before.at(-1) ?? ''),
    };
  }
}
