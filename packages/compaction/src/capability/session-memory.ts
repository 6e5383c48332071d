import type { CallScope, Message, TokenCounter } from '@x/core';
import { ContextMeter, systemClock, type UserScope } from '@x/core/internal';
import { messageBytes } from '@x/core/messages';
import { marksOf } from '../conversation/marks.js';
import { NarrativeDesk, type Writing } from '../summary/narrative-desk.js';
import { IDLE_MS } from './stored-state.js';

/** Number of messages that are prepared in one step. It is more than a step adds, so that preparation catches up. */
const READ_AT_ONCE = 16;
/** How many steps before a compaction its narrative is started, until the duration of a narrative is known. */
const FIRST_LEAD = 2;
/** Decay of the growth estimate: after a large growth, at least this share of it is expected at the next step. */
const MEMORY_OF_GROWTH = 0.7;
/** Number of steps after which a call counts as long. A long call will probably continue and use a narrative that it started. */
const LONG_CALL = 8;

/** A conversation that a run left unchanged. */
interface Settled {
  readonly length: number;
  readonly lastId: string | undefined;
  readonly untilTokens: number;
  /** `true` if the conversation should stay unchanged, because a hook skipped the compaction. */
  readonly isWanted: boolean;
}

/** After a compaction without effect, the request must grow by this share before the next attempt. */
export const RETRY_GROWTH = 0.05;

/**
 * The memory of one session between calls. It refers to messages by id, because each call loads new objects. It is lost when the process
 * ends, and cheap to rebuild.
 */
export class SessionMemory {
  readonly desk = new NarrativeDesk();
  usedAt = 0;
  /** The instructions that a hook added to the last compaction; `null` before any. */
  instructions: string | undefined | null = null;
  /** The note that this process wrote when it last started a narrative. */
  noted: number | undefined;
  /** `true` if the provider rejected a request for an unknown reason, and no request has succeeded since. */
  isDoubted = false;
  /** Number of reports in a row with implausibly many tokens. */
  highReports = 0;
  #callId: string | undefined;
  #calls = 0;
  #stepsOfCall = 0;
  #steps = 0;
  #size: { readonly tokens: number; readonly messages: number } | undefined;
  #growth = { tokens: 0, messages: 0 };
  #lead = FIRST_LEAD;
  #begun: { readonly writing: Writing; readonly step: number } | undefined;
  /** The conversation that the last compaction left unchanged. */
  #settled: Settled | undefined;
  #checkedAt = 0;
  /** Number of messages that were prepared. */
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

  /** Records the narrative that was started in this step. */
  begun({ writing }: { readonly writing: Writing }): void {
    this.#begun = { writing, step: this.#steps };
  }

  /** Tests if this process will probably see the session again: it has returned before, or its call is long. */
  get isReturning(): boolean {
    return this.#calls > 1 || this.#stepsOfCall >= LONG_CALL;
  }

  /** Measures how fast the conversation grows. Returns its expected size at the time when a narrative that is started now will be done. */
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
   * Records that this conversation was left unchanged.
   *
   * @param isWanted `true` if a hook skipped the compaction.
   */
  settle(context: readonly Message[], tokens: number, isWanted: boolean): void {
    const lastId = context.at(-1)?.id;
    this.#settled = { length: context.length, lastId, untilTokens: tokens * (1 + RETRY_GROWTH), isWanted };
  }

  /**
   * Tests if the conversation has grown too little since it could not be reduced.
   *
   * @param isUrgent The request exceeds the window, so any growth justifies another attempt.
   */
  isStillFutile(context: readonly Message[], tokens: number, isUrgent: boolean): boolean {
    const settled = this.#settled;
    if (settled === undefined) return false;
    if (settled.length === context.length && settled.lastId === context.at(-1)?.id) return true;
    return tokens < settled.untilTokens && (settled.isWanted || !isUrgent);
  }

  /**
   * Tests if the request has grown by a tenth since the last check for early reductions. A check reads the whole history. Because the
   * distance between checks grows with the history, the cost per message stays constant.
   */
  earlyCheckDue(tokens: number): boolean {
    if (tokens < this.#checkedAt * 1.1) return false;
    this.#checkedAt = tokens;
    return true;
  }

  /** Prepares some messages ahead of a compaction, which would otherwise prepare all at once. */
  readAhead(context: readonly Message[], observe: ((message: Message) => void) | undefined): void {
    const next = context.slice(this.#read, this.#read + READ_AT_ONCE);
    for (const message of next) observe?.(message);
    this.#read += next.length;
  }

  /** Resets the memory after the conversation was rewritten. */
  rewritten(): void {
    this.#read = 0;
    this.#settled = undefined;
    this.#checkedAt = 0;
  }
}

/** The measurements of one loaded state, kept between steps so that each step only measures what it adds. */
export class SessionTracker {
  /** Counts as the counter does, uncalibrated. */
  readonly meter: ContextMeter;
  /** `true` while a compaction is running. */
  busy = false;
  /** The size of the last request, as a share of the size at which a compaction is due. */
  fill = 1;
  /** Grows with every reduction. Measurements of another version are invalid. */
  version = 0;
  /** Tokens of system prompt, tools and reminders in the last request. */
  frame = 0;
  /** Bytes of the conversation at the last measurement. */
  bytes = 0;
  /** The texts that replaced cut arguments in the conversation at the last measurement. */
  readonly truncations = new Set<string>();

  constructor(counter: TokenCounter) {
    this.meter = new ContextMeter(counter, (message, index) => {
      if (index === 0) {
        this.bytes = 0;
        this.truncations.clear();
      }
      this.bytes += messageBytes([message]);
      const { truncated } = marksOf(message);
      if (typeof truncated === 'string') this.truncations.add(truncated);
    });
  }
}

/** Maximum number of sessions in memory. The least recently used are removed first. */
const MAX_SESSIONS = 1_000;

/** The memories of a capability's sessions. */
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
