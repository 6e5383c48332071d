const RESULT = 'The quick brown fox jumps over the lazy dog. '.repeat(23);

/** The one conversation that every contender holds: a tool call a step, until `steps` are taken or time is up. */
export class Conversation {
  readonly steps: number;
  /** When each model call came, in milliseconds. */
  readonly askedAt: number[] = [];
  readonly #deadline: number;
  #looks = 0;
  #withoutResult = 0;
  #resultsAtTheEnd: number | undefined;

  constructor(steps: number, budgetMs: number) {
    this.steps = steps;
    this.#deadline = performance.now() + budgetMs;
  }

  /**
   * Called by every contender's model with the messages that it was shown.
   *
   * @returns which tool call it is to ask for; `undefined` to say that it is done
   */
  next(shown: readonly unknown[]): { readonly id: string; readonly at: number } | undefined {
    const now = performance.now();
    this.askedAt.push(now);
    const at = this.askedAt.length;
    if (at > 1 && !asText(shown.at(-1)).includes(resultOf(at - 1))) this.#withoutResult++;
    if (at <= this.steps && now <= this.#deadline) return { id: `call-${at}`, at };
    this.#resultsAtTheEnd = shown.reduce<number>((sum, message) => sum + resultsIn(message), 0);
    return undefined;
  }

  /** The tool. Its answer has about 1 000 characters. */
  look(at: number): string {
    this.#looks++;
    return resultOf(at);
  }

  /** In what the contender did other than it was to do, in words, given what it answered in the end. */
  differences(answer: string): readonly string[] {
    const asked = this.askedAt.length - 1;
    const held = this.#resultsAtTheEnd;
    const found: readonly (readonly [differs: boolean, words: string])[] = [
      [this.#looks !== asked, `of ${asked} tool calls ${this.#looks} were run`],
      [this.#withoutResult > 0, `${this.#withoutResult} requests did not end with the last call's result`],
      [held === undefined, 'it stopped before the model was done'],
      [held !== undefined && held !== asked, `the last request held ${held} of ${asked} results`],
      [answer !== ANSWER, `its answer was ${JSON.stringify(answer)}`],
    ];
    return found.filter(([differs]) => differs).map(([, words]) => words);
  }
}

export const QUESTION = 'Look at everything, one after the other.';
export const ANSWER = 'done';
export const TOOL = { name: 'look', description: 'Looks at what is there' } as const;

function resultOf(at: number): string {
  return `${at} ${RESULT}`;
}

function resultsIn(message: unknown): number {
  return asText(message).split(RESULT).length - 1;
}

/** The result has no character that JSON writes differently, so it is found whatever a message looks like. */
function asText(message: unknown): string {
  return JSON.stringify(message) ?? '';
}
