import {
  type CompactionOutcome,
  type CompactOptions,
  type Compactor,
  type Message,
  toolResultsOf,
  userMessage,
} from '@x/core';
import { DroppingCompactor } from '../compactor-suite/dropping-compactor.js';

/** A compactor with something wrong in what it answers. */
function spoiling(
  spoil: (
    outcome: CompactionOutcome,
    before: readonly Message[],
    options: CompactOptions,
  ) => CompactionOutcome,
): () => Compactor {
  return () =>
    new (class extends DroppingCompactor {
      protected override reduce(messages: readonly Message[], options: CompactOptions): CompactionOutcome {
        return spoil(super.reduce(messages, options), messages, options);
      }
    })();
}

const applied = (outcome: CompactionOutcome, changes: Partial<CompactionOutcome>): CompactionOutcome =>
  outcome.status === 'applied' ? { ...outcome, ...changes } : outcome;

class Mutates extends DroppingCompactor {
  protected override reduce(messages: readonly Message[], options: CompactOptions): CompactionOutcome {
    const outcome = super.reduce(messages, options);
    if (outcome.status === 'applied') (messages as Message[]).splice(0, 1);
    return outcome;
  }
}

class PlansForReal extends DroppingCompactor {
  override async plan(messages: readonly Message[], options: CompactOptions = {}) {
    const outcome = this.reduce(messages, options);
    (messages as Message[]).splice(0, messages.length, ...outcome.messages);
    return outcome;
  }
}

class BringsBack extends DroppingCompactor {
  #first: Message | undefined;

  protected override reduce(messages: readonly Message[], options: CompactOptions): CompactionOutcome {
    const outcome = super.reduce(messages, options);
    const old = this.#first;
    this.#first = messages[0];
    if (old === undefined || messages.includes(old)) return outcome;
    return { ...outcome, status: 'applied', messages: [old, ...outcome.messages] };
  }
}

/** Always finds a word to take away, and one to add. */
class NeverEnds extends DroppingCompactor {
  #runs = 0;

  protected override reduce(messages: readonly Message[], options: CompactOptions): CompactionOutcome {
    const outcome = super.reduce(messages, options);
    const note = userMessage(`Note ${this.#runs++}`, { kind: 'synthetic' });
    return { ...outcome, status: 'applied', messages: [note, ...outcome.messages.slice(1)] };
  }
}

/** Name, compactor, and the test that must fail. */
export const brokenCompactors: readonly (readonly [string, () => Compactor, string])[] = [
  [
    'Orphans',
    spoiling((outcome) =>
      applied(outcome, {
        messages: outcome.messages.filter((message) => toolResultsOf(message).length === 0),
      }),
    ),
    'keeps tool calls with their results',
  ],
  [
    'Forgets',
    spoiling((outcome) => ({ ...outcome, manifest: outcome.manifest.slice(1) })),
    'lists every removed or changed message once in the manifest',
  ],
  [
    'CountsTwice',
    spoiling((outcome) => ({ ...outcome, manifest: [...outcome.manifest, ...outcome.manifest] })),
    'lists every removed or changed message once in the manifest',
  ],
  [
    'LosesOverTime',
    spoiling((outcome) => ({ ...outcome, manifest: outcome.manifest.slice(0, -1) })),
    'loses no message over a chain of compactions',
  ],
  [
    'Copies',
    spoiling((outcome) => ({ ...outcome, messages: [...outcome.messages] })),
    'returns the same array if nothing was applied',
  ],
  [
    'FailsHalfway',
    spoiling((outcome) => applied(outcome, { status: 'failed' })),
    'returns the same array if nothing was applied',
  ],
  [
    'SplitsPairs',
    spoiling((outcome) =>
      applied(outcome, {
        messages: [...outcome.messages, userMessage('🦊'.slice(0, 1), { kind: 'synthetic' })],
      }),
    ),
    'never splits a surrogate pair',
  ],
  [
    'ForgetsTheRequest',
    spoiling((outcome) =>
      applied(outcome, {
        messages: outcome.messages.filter(({ role, kind }) => role !== 'user' || kind !== undefined),
      }),
    ),
    'keeps the latest request and open calls unchanged',
  ],
  [
    'Misreports',
    spoiling((outcome) => ({ ...outcome, messagesAfter: outcome.messagesBefore })),
    'reports counts and a reason that match the result',
  ],
  [
    'GivesNoReason',
    spoiling((outcome) => ({ ...outcome, message: '' })),
    'reports counts and a reason that match the result',
  ],
  ['Mutates', () => new Mutates(), 'does not modify its input'],
  ['PlansForReal', () => new PlansForReal(), 'plan() changes nothing'],
  [
    'DoesNothing',
    spoiling((outcome, before) => ({ ...outcome, status: 'skipped', messages: before, manifest: [] })),
    'reduces an oversized conversation to the window',
  ],
  [
    'IgnoresSignals',
    () =>
      new (class extends DroppingCompactor {
        protected override reduce(messages: readonly Message[], { signal: _, ...options }: CompactOptions) {
          return super.reduce(messages, options);
        }
      })(),
    'returns the same array if it is aborted',
  ],
  ['BringsBack', () => new BringsBack(), 'does not bring back a removed message'],
  ['NeverEnds', () => new NeverEnds(), 'comes to an end: a reduced conversation is not due again and again'],
];
