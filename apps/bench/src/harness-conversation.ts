const RESULT = 'The quick brown fox jumps over the lazy dog. '.repeat(23);

/** The one conversation that every contender holds: a tool call a step, until `steps` are taken or time is up. */
export class Conversation {
  readonly steps: number;
  /** When each model call came, in milliseconds. */
  readonly askedAt: number[] = [];
  readonly #deadline: number;
  #looks = 0;

  constructor(steps: number, budgetMs: number) {
    this.steps = steps;
    this.#deadline = performance.now() + budgetMs;
  }

  /** Called by every contender's model. Which tool call it is to ask for; `undefined` to say that it is done. */
  next(): { readonly id: string; readonly at: number } | undefined {
    const now = performance.now();
    this.askedAt.push(now);
    const at = this.askedAt.length;
    return at > this.steps || now > this.#deadline ? undefined : { id: `call-${at}`, at };
  }

  /** The tool. Its answer has about 1 000 characters. */
  look(at: number): string {
    this.#looks++;
    return `${at} ${RESULT}`;
  }

  /** @throws {Error} when the contender left out tool calls: then its time says nothing. */
  assertComplete(): void {
    const asked = this.askedAt.length - 1;
    if (this.#looks !== asked)
      throw new Error(`${asked} tool calls were asked for, ${this.#looks} were run.`);
  }
}

export const QUESTION = 'Look at everything, one after the other.';
export const ANSWER = 'done';
export const TOOL = { name: 'look', description: 'Looks at what is there' } as const;
