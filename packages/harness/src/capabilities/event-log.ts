import { isDeepStrictEqual } from 'node:util';
import {
  type AgentEvent,
  type AgentEventBody,
  type CallScope,
  type Capability,
  type ClientEvent,
  type Message,
  type RuntimeContext,
  readText,
  type SessionLog,
  toClientEvent,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import {
  callable,
  clientJson,
  errorText,
  parsedJson,
  parseWith,
  type WordError,
  warn,
} from '@x/core/internal';
import * as z from 'zod';
import type { HarnessAgent } from '../agent/harness-agent.js';
import type { KeptEvent } from '../view/request-at.js';

/** Events that are not stored, because a later event contains their information. */
const PASSING: ReadonlySet<string> = new Set([
  'text.delta',
  'thinking.delta',
  'tool.delta',
  'tool.progress',
  'subagent.event',
  'context.compacting',
  'state.changed',
]);

const optionsSchema = z.strictObject({
  /** Returns the text of an error for clients, as in `toClientEvent`. Default: the error's own client message. */
  onError: z.optional(callable<WordError>()),
});

/** The source of a session's events: an agent, or an object with the same methods. */
type Kept = Pick<HarnessAgent, 'log' | 'state' | 'storage'>;

/** A capability that stores the events of sessions. */
export interface EventLog extends Capability {
  /** Reads the events of all calls of a session, oldest first. Messages that are only in the log come last. */
  read(agent: Kept, context: RuntimeContext): Promise<readonly KeptEvent[]>;
}

/**
 * Stores the events of each session in a file next to its log, so that a page can show requests, compactions, durations
 * and usage after a restart. The file has only the ids of messages; their content is in the log. Calls do not wait for
 * these writes, because everything essential is in the log and the session store. Errors are stored as clients may see
 * them.
 *
 * @example
 * ```ts
 * import type { Model, RuntimeContext } from '@x/core';
 * import { eventLog, HarnessAgent } from '@x/harness';
 * import { requestAt } from '@x/harness/view';
 *
 * export async function firstRequest(model: Model, session: RuntimeContext) {
 *   const kept = eventLog();
 *   const agent = HarnessAgent.builder().model(model).use(kept).build();
 *   await agent.call('Hi', session);
 *   return requestAt(await kept.read(agent, session), 1);
 * }
 * ```
 * @throws {InvalidInputError} for malformed options.
 */
export function eventLog(options: z.input<typeof optionsSchema> = {}): EventLog {
  return new EventFiles(parseWith(optionsSchema, options, 'eventLog options').onError);
}

class EventFiles implements EventLog {
  readonly name = 'event_log';
  readonly #onError: WordError | undefined;
  /** Pending writes by path. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(onError: WordError | undefined) {
    this.#onError = onError;
  }

  // The harness passes complete events with number, call and time, so the cast is safe.
  observe(event: AgentEventBody, { log, storage, state }: CallScope): void {
    if (PASSING.has(event.type)) return;
    const path = pathOf(log);
    const isReduced = /^context\.(?:compacted|narrated|restored)$/.test(event.type);
    const context = isReduced ? [...state.context] : undefined;
    const write = async () => {
      const told = toClientEvent(event as AgentEvent, this.#onError);
      const kept = context ? { ...told, view: await viewOf(context, log) } : told;
      await storage.append(path, `${clientJson(withoutContent(kept))}\n`);
    };
    const done = (this.#writing.get(path) ?? Promise.resolve())
      .then(write)
      .catch((error) => warn(`An event could not be written to ${path}: ${errorText(error)}`))
      .then(() => void (this.#writing.get(path) === done && this.#writing.delete(path)));
    this.#writing.set(path, done);
  }

  async read(agent: Kept, context: RuntimeContext): Promise<readonly KeptEvent[]> {
    await this.close();
    const log = agent.log(context);
    const path = pathOf(log);
    const messages = new Map<string, Message>();
    for await (const message of log.read()) messages.set(message.id, message);
    const now = (await agent.state(context))?.context ?? [];
    for (const id of neverStored([...messages.values()], now)) messages.delete(id);
    // A summary is part of its compaction event.
    const alone = new Map([...messages].filter(([, { kind }]) => kind !== 'summary'));
    const text = (await agent.storage.stat(path)) ? await readText(agent.storage, path) : '';
    const events: KeptEvent[] = [];
    for (const line of text.split('\n')) {
      // A crash may have truncated a line.
      const kept = parsedJson(line) as (KeptEvent & { readonly messageId?: string }) | undefined;
      const { messageId } = kept ?? {};
      const message = messages.get(messageId ?? '');
      const isWhole = messageId === undefined || /\.(?:evicted|discarded)$/.test(kept?.type ?? '');
      if (kept?.type !== 'draft.discarded') alone.delete(messageId ?? '');
      if (kept && isWhole) events.push(kept);
      else if (kept && message) events.push({ ...kept, message } as KeptEvent);
    }
    for (const message of alone.values())
      events.push({ type: 'message.added', message, at: message.createdAt, callId: '', seq: 0 });
    return events;
  }

  async close(): Promise<void> {
    await Promise.all(this.#writing.values());
  }
}

function pathOf({ location }: SessionLog): string {
  return location.replace(/(?:\.log)?\.jsonl$/, '.events.jsonl');
}

/** Returns a view in which messages that are unchanged in the log are replaced by their ids. */
async function viewOf(context: readonly Message[], log: SessionLog): Promise<readonly (string | Message)[]> {
  const logged = new Map<string, Message>();
  for await (const message of log.read()) logged.set(message.id, message);
  return context.map((message) =>
    isDeepStrictEqual(logged.get(message.id)?.content, message.content) && message.kind !== 'summary'
      ? message.id
      : message,
  );
}

function withoutContent(event: ClientEvent): object {
  if (event.type === 'tool.result') return { ...event, result: { ...event.result, output: [] } };
  if (!('message' in event) || typeof event.message !== 'object') return event;
  const { message, ...rest } = event;
  return { ...rest, messageId: message.id };
}

/**
 * Finds logged messages that never became part of the conversation. A process logs a step before it stores it, and may
 * crash in between. The next process repeats the step, so the lost one would appear as calls without results, or as a
 * second answer.
 *
 * @param logged Every message of the log, in order.
 * @param context The conversation as it is now. Compactions removed other messages from it, but never a call without its results.
 */
function neverStored(logged: readonly Message[], context: readonly Message[]): ReadonlySet<string> {
  const stored = new Set(context.map(({ id }) => id));
  const current = new Set(context.flatMap((message) => toolUsesOf(message)).map(({ id }) => id));
  const answered = new Set<string>();
  const lost = new Set<string>();
  // Go backwards: results come after their calls, and the last answer is the stored one.
  for (const message of logged.toReversed()) {
    const results = toolResultsOf(message).map(({ toolUseId }) => toolUseId);
    const repeated = results.length > 0 && results.every((call) => answered.has(call) || current.has(call));
    const unanswered = toolUsesOf(message).some((call) => !answered.has(call.id));
    if (!stored.has(message.id) && (unanswered || repeated)) lost.add(message.id);
    else for (const call of results) answered.add(call);
  }
  return lost;
}
