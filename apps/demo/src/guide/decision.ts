import type { JsonObject } from '@x/core';

/** A tool call that the guide wants. */
export interface Wish {
  readonly name: string;
  readonly input: JsonObject;
}

/** The next text and calls of the guide; without calls its turn is over. */
export interface Decision {
  readonly text: string;
  readonly calls: readonly Wish[];
}

export function say(text: string): Decision {
  return { text, calls: [] };
}

export function act(text: string, ...calls: readonly Wish[]): Decision {
  return { text, calls };
}
