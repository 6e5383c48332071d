import { type AgentState, defineTool, type Tool } from '@x/core';
import { z } from 'zod';

/** Lets a model choose the moment of a compaction: what it asks for happens before its next step. */
export class CompactRequests {
  readonly tool: Tool;
  readonly #asked = new WeakMap<AgentState, { readonly instructions: string | undefined }>();

  constructor() {
    this.tool = defineTool({
      name: 'compact',
      description:
        'Replaces the older part of this conversation by a record of it, before your next step. Use it when a piece of ' +
        'work is done and its details no longer matter, not in the middle of one.',
      input: z.strictObject({
        keep: z.string().max(2_000).optional().describe('What the record must keep in particular'),
      }),
      sessionOnly: true,
      execute: ({ keep }, { state }) => {
        this.#asked.set(state, { instructions: keep });
        return 'The older part will be replaced by a record before your next step.';
      },
    });
  }

  /** The request that a session's model made since the last time, if it made one. */
  take(state: AgentState): { readonly instructions: string | undefined } | undefined {
    const asked = this.#asked.get(state);
    this.#asked.delete(state);
    return asked;
  }
}
