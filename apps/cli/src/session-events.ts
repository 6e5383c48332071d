import {
  type AgentState,
  compactionCostOf,
  openSession,
  type Receipt,
  RuntimeContext,
  type SessionKeyParts,
  type SessionLog,
} from '@x/core';
import { eventLog, spendingOf } from '@x/harness';
import {
  isPlace,
  type KeptEvent,
  renderCompactionCost,
  requestAt,
  type SeenRequest,
  savingsInWords,
  savingsOf,
  shortNumber,
} from '@x/harness/view';
import { UsageError } from './command.js';
import { findLog, findSession, noSession } from './find-session.js';
import { type IdentityValues, openWorkspace } from './identity-options.js';
import { type StoreValues, withStore } from './open-store.js';
import { compactionLines } from './terminal/compaction-words.js';

/** A session with its log, and the events that are stored with the log. */
export interface SessionEvents {
  readonly state: AgentState;
  readonly log: SessionLog;
  readonly events: readonly KeptEvent[];
}

/**
 * Reads a stored session with its log and events.
 *
 * @throws {UsageError} if the session does not exist, or its log is not in the workspace.
 */
export async function readEvents(
  values: StoreValues & IdentityValues,
  { sessionId, ...scope }: SessionKeyParts,
): Promise<SessionEvents> {
  return withStore(values, { readOnly: true }, async (store) => {
    const key = await findSession(store, scope, sessionId);
    const { state, version } = await openSession(store, key);
    if (version === 0) throw noSession(key);
    const log = await findLog(values, key);
    if (log === undefined)
      throw new UsageError(
        `There is no log of session ${sessionId} in ${values.workspace}. Set the folder with --workspace DIR.`,
      );
    const kept = { storage: openWorkspace(values), log: () => log, state: async () => state };
    const context = RuntimeContext.of({ sessionId: key.parts.sessionId });
    return { state, log, events: await eventLog().read(kept, context) };
  });
}

/** Describes the savings of compaction in a session, and the cost of the session. */
export function costLines({ state, events }: Omit<SessionEvents, 'log'>): readonly string[] {
  const { tokens, cost } = spendingOf(state);
  const compaction = compactionCostOf(state);
  const nothing = compaction.savedTokens > 0 ? [] : ['Compaction has not saved any tokens yet.'];
  const found = savingsOf(events);
  const savings = savingsInWords(found);
  // The sent tokens include those of summaries.
  const own = compaction.inputTokens + compaction.outputTokens;
  const savedTokens = savings === '' ? compaction.savedTokens : found.unreduced - found.sent + own;
  const net = own > 0 ? `, ${shortNumber(savedTokens - own)} after its own calls` : '';
  const price = cost > 0 ? `, cost ${cost.toPrecision(2)}` : '';
  return [
    ...(savings === '' ? nothing : [savings]),
    `${renderCompactionCost({ ...compaction, savedTokens })}${net}`,
    `all model calls: ${shortNumber(tokens)} tokens${price}, input and output as providers count them; the lines above estimate the input`,
  ];
}

/** Describes the content that compactions removed from the model's view of a session, and the reasons. */
export function explanation({ markdown, logLocation }: Receipt, events: readonly KeptEvent[]): string {
  const why = compactionLines(events);
  // The log is in the agent's own storage.
  const text = logLocation ? markdown.replace(`: ${logLocation}`, () => `: .x/${logLocation}`) : markdown;
  return why.length === 0 ? text : [text.trimEnd(), '', '## Why', ...why].join('\n');
}

/** @throws {UsageError} if the session has fewer requests. */
export function requestOf({ events }: Pick<SessionEvents, 'events'>, number: number): SeenRequest {
  const places = events.filter(isPlace);
  let requests = 0;
  const place = places.findIndex(({ type }) => type === 'model.started' && ++requests === number);
  const seen = place < 0 ? undefined : requestAt(events, place + 1);
  if (seen === undefined)
    throw new UsageError(`The session has ${requests} requests: there is no request ${number}.`);
  return seen;
}
