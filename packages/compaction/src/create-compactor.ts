import {
  type CompactionOutcome,
  type CompactOptions,
  type Compactor,
  estimateCounter,
  InvalidInputError,
  type Message,
} from '@x/core';
import { countWork, digest, exactText, inPieces, notify, parseWith } from '@x/core/internal';
import {
  type CompactionConfig,
  compactionConfigSchema,
  NOTHING_WRITTEN,
  type WithoutPreset,
} from './config/compaction-config.js';
import { Meter } from './meter.js';
import { contextWindowOf } from './run/budget.js';
import { checkRequest } from './run/check-request.js';
import { runCompaction } from './run/compaction-run.js';
import { observerFor, stagesOf } from './run/ladder.js';
import { NarrativeDesk } from './summary/narrative-desk.js';

/** Maximum number of conversations whose background narrative is kept until their next compaction. */
const MAX_DESKS = 64;

/**
 * Makes a compactor that works on plain message lists, with no harness. `model` writes the summaries. Without it, no model is called, and
 * the summary is a record that rules make. `contextWindow` is the window of the model that reads the conversation. Default: the window
 * of `model`, else 128 000 tokens.
 *
 * `compact` and `plan` throw an `InvalidInputError` for invalid messages or options. They report any other failure, including duplicate
 * message ids, in the outcome's `status`.
 *
 * @example
 * const compactor = createCompactor({ model, contextWindow: 200_000 });
 * const { status, message, messages } = await compactor.compact(conversation);
 *
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work.
 */
export function createCompactor(options: CompactionConfig): Compactor;
// Keep this overload last: TypeScript reports errors against the last one.
export function createCompactor(options?: WithoutPreset<CompactionConfig>): Compactor;
export function createCompactor(options: CompactionConfig = {}): Compactor {
  return compactorWith(options, new NarrativeDesks());
}

/** A desk, and the conversation of its last compaction: the text of each message by id. */
interface KeptDesk {
  readonly desk: NarrativeDesk;
  readonly texts: ReadonlyMap<string, string>;
}

/** Tests if a conversation continues an earlier one. Compares texts too, because two conversations may use the same message ids. */
function continues(messages: readonly Message[], texts: ReadonlyMap<string, string>): boolean {
  const shared = messages.filter(({ id, kind }) => kind !== 'summary' && texts.has(id));
  return shared.length > 0 && shared.every((message) => texts.get(message.id) === textIn(message));
}

function textIn({ content }: Message): string {
  return digest(exactText(content));
}

/** The narratives that models write in the background, by conversation. */
export class NarrativeDesks {
  #desks: readonly KeptDesk[] = [];

  of(messages: readonly Message[]): NarrativeDesk {
    const kept = this.#desks.find(
      ({ desk, texts }) => desk.find(messages) !== undefined && continues(messages, texts),
    );
    return kept?.desk ?? new NarrativeDesk();
  }

  /** Keeps a desk until the next compaction of its conversation. */
  keep(desk: NarrativeDesk, before: readonly Message[], after: readonly Message[]): void {
    this.#desks = this.#desks.filter((one) => one.desk !== desk);
    if (desk.isEmpty) return;
    const given = new Set(before);
    // Omit altered messages, because their text may change again when an adapter converts them.
    const altered = new Set(after.filter((message) => !given.has(message)).map(({ id }) => id));
    const unaltered = before.filter(({ id }) => !altered.has(id));
    const texts = new Map(unaltered.map((message) => [message.id, textIn(message)]));
    this.#desks = [...this.#desks, { desk, texts }].slice(-MAX_DESKS);
  }
}

/** Makes a compactor that shares background narratives with other compactors. */
export function compactorWith(options: CompactionConfig, desks: NarrativeDesks): Compactor {
  const config = parseWith(compactionConfigSchema, options, 'compaction configuration');
  // A compactor has no agent whose model could write the summaries.
  if (config.model === undefined && config.summary.record === 0)
    throw new InvalidInputError('compaction configuration', [NOTHING_WRITTEN]);
  const model = config.model ?? undefined;
  const stages = stagesOf(config);
  const observe = observerFor(config);
  const run = async (
    messages: readonly Message[],
    compactOptions: CompactOptions,
    dryRun: boolean,
  ): Promise<CompactionOutcome> => {
    checkRequest(messages, compactOptions);
    const { signal, textOnly, contextWindow, onUsage } = compactOptions;
    await inPieces(countWork(config.counter ?? estimateCounter, messages), signal).catch(() => {});
    const desk = desks.of(messages);
    const outcome = await runCompaction({
      work: { desk, onUsage: (usage) => notify('onUsage', onUsage, usage), warn: () => {}, signal },
      config,
      stages,
      meter: new Meter(config.counter ?? estimateCounter, compactOptions.tokenRatio),
      messages,
      options: compactOptions,
      summarizer: model,
      model: textOnly ? undefined : model,
      window: contextWindowOf(contextWindow, config.contextWindow, model?.contextWindow),
      dryRun,
      observe,
    });
    desks.keep(desk, messages, outcome.messages);
    return outcome;
  };
  return {
    compact: (messages, compactOptions = {}) => run(messages, compactOptions, false),
    plan: (messages, compactOptions = {}) => run(messages, compactOptions, true),
  };
}
