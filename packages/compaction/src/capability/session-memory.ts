import type { CallScope, Message } from '@x/core';
import { systemClock, type UserScope } from '@x/core/internal';
import { NarrativeDesk, type Writing } from '../summary/narrative-desk.js';

/** Messages that a step reads ahead: more than it adds, so that a few steps have caught up with all before them. */
const READ_AT_ONCE = 16;
/** Steps before a compaction is due at which its narrative is begun, until it is known how long one takes. */
const FIRST_LEAD = 2;
/** Of a growth that was larger, so much is still expected at the next step. */
const MEMORY_OF_GROWTH = 0.7;
/** A call that has made so many steps continues: the process will be there to use what it begins. */
const LONG_CALL = 8;

/** A conversation that a run has left as it was. */
interface Settled {
  readonly length: number;
  readonly lastId: string | undefined;
  readonly untilTokens: number;
  /** A hook said so, which knows why. */
  readonly isWanted: boolean;
}

/** After a run without effect: how much the request must have grown before the next one. */
export const RETRY_GROWTH = 0.05;

/**
 * What a capability remembers of one session between the calls of an agent, by the ids of messages: a new call loads new ones.
 * Lost with the process, and cheap to find again.
 */
export class SessionMemory {
  readonly desk = new NarrativeDesk();
  usedAt = 0;
  #callId: string | undefined;
  #calls = 0;
  #stepsOfCall = 0;
  #steps = 0;
  #size: { readonly tokens: number; readonly messages: number } | undefined;
  #growth = { tokens: 0, messages: 0 };
  #lead = FIRST_LEAD;
  #begun: { readonly writing: Writing; readonly step: number } | undefined;
  /** The conversation for which nothing could be done. */
  #settled: Settled | undefined;
  #checkedAt = 0;
  /** Messages that were read ahead. */
  #read = 0;

  /** Counts a step of a call. */
  step(callId: string): void {
    if (callId !== this.#callId) {
      this.#callId = callId;
      this.#calls++;
      this.#stepsOfCall = 0;
    }
    this.#stepsOfCall++;
    this.#steps++;
    if (this.#begun?.writing.result === undefined) return;
    this.#lead = Math.max(FIRST_LEAD, this.#steps - this.#begun.step + 1);
    this.#begun = undefined;
  }

  /** Notes what was begun in this step. */
  begun({ writing }: { readonly writing: Writing }): void {
    this.#begun = { writing, step: this.#steps };
  }

  /** Tests if this process may expect to see the session again: it came back before, or its call is a long one. */
  get isReturning(): boolean {
    return this.#calls > 1 || this.#stepsOfCall >= LONG_CALL;
  }

  /** Measures how fast the conversation grows. Answers its size by the time at which what is begun now will be there. */
  grow(tokens: number, messages: number): { readonly tokens: number; readonly messages: number } {
    const last = this.#size ?? { tokens, messages };
    const expected = (grown: number, before: number) => Math.max(grown, before * MEMORY_OF_GROWTH, 0);
    this.#growth = {
      tokens: expected(tokens - last.tokens, this.#growth.tokens),
      messages: expected(messages - last.messages, this.#growth.messages),
    };
    this.#size = { tokens, messages };
    return {
      tokens: tokens + this.#lead * this.#growth.tokens,
      messages: messages + this.#lead * this.#growth.messages,
    };
  }

  /**
   * Remembers that this conversation was left as it is.
   *
   * @param isWanted A hook said so.
   */
  settle(context: readonly Message[], tokens: number, isWanted: boolean): void {
    const lastId = context.at(-1)?.id;
    this.#settled = { length: context.length, lastId, untilTokens: tokens * (1 + RETRY_GROWTH), isWanted };
  }

  /**
   * Tests if too little was added since nothing could be done.
   *
   * @param isUrgent The request exceeds the window: then whatever was added is worth a try.
   */
  isStillFutile(context: readonly Message[], tokens: number, isUrgent: boolean): boolean {
    const settled = this.#settled;
    if (settled === undefined) return false;
    if (settled.length === context.length && settled.lastId === context.at(-1)?.id) return true;
    return tokens < settled.untilTokens && (settled.isWanted || !isUrgent);
  }

  /**
   * Whether to look for early reductions: when the request has grown by a tenth since they were last looked for. Looking
   * costs the length of the history; at growing distances that is a constant for each message added.
   */
  earlyCheckDue(tokens: number): boolean {
    if (tokens < this.#checkedAt * 1.1) return false;
    this.#checkedAt = tokens;
    return true;
  }

  /** Reads some more messages ahead of a compaction, which would else read them all at once. */
  readAhead(context: readonly Message[], observe: ((message: Message) => void) | undefined): void {
    const next = context.slice(this.#read, this.#read + READ_AT_ONCE);
    for (const message of next) observe?.(message);
    this.#read += next.length;
  }

  /** The conversation was rewritten. */
  rewritten(): void {
    this.#read = 0;
    this.#settled = undefined;
    this.#checkedAt = 0;
  }
}

/** Sessions that are remembered, the last used … */
const MAX_SESSIONS = 1_000;
/** … for so many milliseconds after their last step. */
const IDLE_MS = 30 * 60_000;

/** The sessions of a capability, each with what it remembers of it. */
export class SessionMemories {
  readonly #memories = new Map<string, SessionMemory>();

  of({ agentId, state }: Pick<CallScope, 'agentId' | 'state'>): SessionMemory {
    const key = JSON.stringify([state.tenantId ?? null, state.userId ?? null, agentId, state.sessionId]);
    const memory = this.#memories.get(key) ?? new SessionMemory();
    memory.usedAt = systemClock.now();
    this.#memories.delete(key);
    this.#memories.set(key, memory);
    for (const [other, { usedAt }] of this.#memories) {
      if (this.#memories.size <= MAX_SESSIONS && memory.usedAt - usedAt <= IDLE_MS) break;
      this.#forget(other);
    }
    return memory;
  }

  /** Forgets the sessions of a user, or all. */
  clear(user?: UserScope): void {
    const start = user && JSON.stringify([user.tenantId ?? null, user.userId ?? null]).slice(0, -1);
    for (const key of [...this.#memories.keys()]) {
      if (start === undefined || key.startsWith(`${start},`)) this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#memories.get(key)?.desk.drop();
    this.#memories.delete(key);
  }
}
