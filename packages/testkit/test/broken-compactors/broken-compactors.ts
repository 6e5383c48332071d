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
    'keeps every call with its results',
  ],
  [
    'Forgets',
    spoiling((outcome) => ({ ...outcome, manifest: outcome.manifest.slice(1) })),
    'accounts for every message exactly once',
  ],
  [
    'CountsTwice',
    spoiling((outcome) => ({ ...outcome, manifest: [...outcome.manifest, ...outcome.manifest] })),
    'accounts for every message exactly once',
  ],
  [
    'LosesOverTime',
    spoiling((outcome) => ({ ...outcome, manifest: outcome.manifest.slice(0, -1) })),
    'loses track of no message over a chain',
  ],
  [
    'Copies',
    spoiling((outcome) => ({ ...outcome, messages: [...outcome.messages] })),
    'gives back the very list when nothing was applied',
  ],
  [
    'FailsHalfway',
    spoiling((outcome) => applied(outcome, { status: 'failed' })),
    'gives back the very list when nothing was applied',
  ],
  [
    'SplitsPairs',
    spoiling((outcome) =>
      applied(outcome, {
        messages: [...outcome.messages, userMessage('🦊'.slice(0, 1), { kind: 'synthetic' })],
      }),
    ),
    'keeps text well-formed',
  ],
  [
    'ForgetsTheRequest',
    spoiling((outcome) =>
      applied(outcome, {
        messages: outcome.messages.filter(({ role, kind }) => role !== 'user' || kind !== undefined),
      }),
    ),
    'keeps the latest request and open calls word for word',
  ],
  [
    'Misreports',
    spoiling((outcome) => ({ ...outcome, messagesAfter: outcome.messagesBefore })),
    'reports what it did',
  ],
  ['GivesNoReason', spoiling((outcome) => ({ ...outcome, reason: '' })), 'reports what it did'],
  ['Mutates', () => new Mutates(), 'never changes what it is given'],
  ['PlansForReal', () => new PlansForReal(), 'changes nothing by a plan'],
  [
    'DoesNothing',
    spoiling((outcome, before) => ({ ...outcome, status: 'skipped', messages: before, manifest: [] })),
    'makes a conversation that is too long fit',
  ],
  [
    'IgnoresSignals',
    () =>
      new (class extends DroppingCompactor {
        protected override reduce(messages: readonly Message[], { signal: _, ...options }: CompactOptions) {
          return super.reduce(messages, options);
        }
      })(),
    'gives back the very list when it is aborted',
  ],
  ['BringsBack', () => new BringsBack(), 'does not bring back what it took out'],
  ['NeverEnds', () => new NeverEnds(), 'ends: what it made smaller is not due again and again'],
];
