import { createInterface, type Interface } from 'node:readline';

interface Listener {
  /** Takes a text that was typed, or pasted as a whole, while no question was open. */
  typed(text: string): void;
  /** Stops what runs. Returns false where nothing runs. */
  interrupt(): boolean;
}

/** The lines that a person types. Lines that are pasted together are one text. */
export class LineInput {
  readonly #lines: Interface;
  readonly #output: NodeJS.WritableStream;
  readonly #listener: Listener;
  readonly #isTerminal: boolean;
  /** Lines that came together, and whether they are looked at soon. */
  readonly #typed: string[] = [];
  #isDue = false;
  /** Takes the next text in place of the listener: a question is open. */
  #answer: ((text: string | undefined) => void) | undefined;
  readonly #waiting: string[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(
    input: NodeJS.ReadableStream,
    output: NodeJS.WritableStream,
    prompt: string,
    listener: Listener,
  ) {
    this.#output = output;
    this.#listener = listener;
    this.#isTerminal = (output as { readonly isTTY?: boolean }).isTTY === true;
    this.#lines = createInterface({ input, output, prompt, historySize: 200 });
    this.#lines.on('line', (line) => this.#read(line));
    this.#lines.on('SIGINT', () => this.#interrupted());
    this.#lines.on('close', () => {
      if (this.#typed.length > 0) this.#take();
      this.#ended = true;
      this.#give(undefined);
      this.#wake?.();
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  close(): void {
    this.#lines.close();
  }

  /** Puts a text back into the line, to be sent or changed. */
  giveBack(text: string): void {
    this.#lines.write(text.replaceAll('\n', ' '));
  }

  /** Keeps a text for {@link next}. */
  push(text: string): void {
    this.#waiting.push(text);
    this.#wake?.();
  }

  /** Waits for the next text. Resolves to `undefined` when the input has ended. */
  async next(): Promise<string | undefined> {
    // A prompt would open an input again that has ended.
    if (!this.#ended) this.#lines.prompt();
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#waiting.shift();
  }

  /** Asks a question. Resolves to `undefined` when the input has ended, or the question was left. */
  async ask(question: string): Promise<string | undefined> {
    if (this.#ended) return undefined;
    this.#output.write(question);
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  #read(line: string): void {
    this.#typed.push(line);
    if (!this.#isTerminal) this.#take();
    else if (!this.#isDue) {
      this.#isDue = true;
      setImmediate(() => {
        this.#isDue = false;
        // The last line of what was pasted stands in the input, and goes with the others.
        if (this.#typed.length > 0 && this.#lines.line === '') this.#take();
      });
    }
  }

  #take(): void {
    const text = this.#typed.splice(0).join('\n');
    if (this.#answer === undefined) this.#listener.typed(text);
    else if (text.trim() === '/exit') this.#lines.close();
    else this.#give(text);
  }

  #give(text: string | undefined): void {
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.(text);
  }

  /** Ctrl-C leaves a question, stops the call, clears the line, and ends the input, whichever comes first. */
  #interrupted(): void {
    this.#typed.length = 0;
    if (this.#answer !== undefined) {
      this.#output.write('\n');
      this.#give(undefined);
    } else if (this.#listener.interrupt()) return;
    else if (this.#lines.line !== '') {
      this.#lines.write(null, { ctrl: true, name: 'e' });
      this.#lines.write(null, { ctrl: true, name: 'u' });
    } else this.#lines.close();
  }
}
