import {
  addUsage,
  isContextOverflow,
  type Message,
  type Model,
  type Redact,
  type Usage,
  userMessage,
} from '@x/core';
import type { SummarizeOptions } from '../config/stage-schemas.js';
import type { Meter } from '../meter.js';
import { checkAnswer, type Verdict } from './check-answer.js';
import { fitToTokens, takeChunk } from './chunks.js';
import { buildPrompt, type SummaryPrompt } from './prompt.js';
import { nonceFor, renderTranscript } from './transcript.js';

/** What to summarize, by whom, how long. */
export interface NarrativeTask {
  readonly model: Model;
  /** Tokens that the model can read and write together. */
  readonly window: number;
  readonly options: SummarizeOptions;
  readonly meter: Meter;
  /** Tokens that the narrative may have. */
  readonly maxTokens: number;
  /** The narrative so far, to be updated. */
  readonly previous: string | undefined;
  readonly messages: readonly Message[];
  readonly instructions: string | undefined;
  readonly appendix: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Takes secrets out of what the model writes. */
  readonly redact: Redact;
}

/** A narrative, or why there is none. */
export type NarrativeResult = Verdict & { readonly usage: Usage | undefined };

/** Room for what the counter misjudges. */
const SAFETY = 0.85;
/** How far an answer may exceed what was asked for: its author counts with another tokenizer. */
const TOLERANCE = 1.25;
/** A chunk below this many tokens is not worth a call. */
const SMALLEST_CHUNK = 100;

/**
 * Has a model write the narrative of a summary: in as many chunks as its window asks for, each updating the one before.
 * When it overflows, tool results are cut further and chunks halved; what has been written stays. An answer that
 * cannot be used gets one repair attempt.
 *
 * @throws what the model throws, except overflows.
 */
export async function writeNarrative(task: NarrativeTask): Promise<NarrativeResult> {
  const { options, messages, meter } = task;
  const nonce = nonceFor(messages);
  const lengths = [
    options.toolResultLength,
    ...options.truncationRetries.filter((length) => length < options.toolResultLength),
  ];
  let usage: Usage | undefined;
  let narrative = task.previous;
  let done = 0;
  let shrink = 1;
  let perChunk = Math.ceil(messages.length / options.chunks);

  for (const length of lengths) {
    const entries = renderTranscript(messages, nonce, length);
    try {
      while (done < entries.length) {
        const room = chunkRoom(task, narrative, nonce) * shrink;
        if (room < SMALLEST_CHUNK)
          return { ok: false, problem: 'the summarizer’s window is too small', usage };
        const end = takeChunk(entries, done, perChunk, room, meter);
        const transcript = entries.slice(done, end).map(({ text }) => fitToTokens(text, room, meter));
        const prompt = promptFor(task, narrative, nonce, transcript.join('\n\n'), end === entries.length);
        const result = await ask(task, prompt);
        if (result.usage) usage = usage ? addUsage(usage, result.usage) : result.usage;
        if (!result.ok) return { ...result, usage };
        narrative = task.redact(result.text);
        done = end;
      }
      return { ok: true, text: narrative ?? '', usage };
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      shrink /= 2;
      perChunk = Math.max(1, Math.ceil(perChunk / 2));
    }
  }
  return { ok: false, problem: 'the summarizer overflowed even without tool results', usage };
}

function promptFor(
  task: NarrativeTask,
  previous: string | undefined,
  nonce: string,
  transcript: string,
  last: boolean,
): SummaryPrompt {
  const { instructions, maxTokens } = task;
  const appendix = last ? task.appendix : undefined;
  return buildPrompt(task.options, { transcript, nonce, previous, instructions, appendix, maxTokens });
}

/** Tokens left for the transcript in one request. */
function chunkRoom(task: NarrativeTask, previous: string | undefined, nonce: string): number {
  const empty = promptFor(task, previous, nonce, '', true);
  const frame = task.meter.text(empty.system + empty.user);
  return (task.window - task.maxTokens) * SAFETY - frame;
}

async function ask(task: NarrativeTask, prompt: SummaryPrompt): Promise<NarrativeResult> {
  const request = (text: string, maxOutputTokens: number) =>
    task.model.generate({
      system: prompt.system,
      messages: [userMessage(text)],
      tools: [],
      maxOutputTokens,
      ...(task.signal ? { signal: task.signal } : {}),
    });

  const limits = {
    headings: prompt.headings,
    longest: Math.floor(task.maxTokens * TOLERANCE),
    count: (text: string) => task.meter.text(text),
  };
  const first = await request(prompt.user, task.maxTokens);
  const verdict = checkAnswer(first, limits);
  if (verdict.ok) return { ...verdict, usage: first.usage };

  task.signal?.throwIfAborted();
  const complaint = `${prompt.user}\n\nAn earlier answer could not be used: ${verdict.problem}. Answer once more, with the record alone.`;
  // Models that reason spend output on it: a second attempt after a cut-off answer gets twice the room.
  const second = await request(
    complaint,
    first.finishReason === 'length' ? task.maxTokens * 2 : task.maxTokens,
  );
  const usage =
    first.usage && second.usage ? addUsage(first.usage, second.usage) : (second.usage ?? first.usage);
  return { ...checkAnswer(second, limits), usage };
}
