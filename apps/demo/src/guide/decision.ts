import type { JsonObject } from '@x/core';

/** A tool call that the guide wants. */
export interface Wish {
  readonly name: string;
  readonly input: JsonObject;
}

/** What the guide says and does next; without calls its turn is over. */
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
