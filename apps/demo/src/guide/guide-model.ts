import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ContentBlock,
  ContextOverflowError,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type TokenCounter,
} from '@x/core';
import { countBlock, countRequest } from '@x/core/messages';
import { finish, isOurs, isUnfinished, survey } from './survey.js';
import { act, type Decision, readView, say, type View } from './view.js';

const ABOUT_ME =
  'I cannot answer that, because I am a set of rules and not a language model. I can “survey this repository” and “write ideas.md: look at the stores first”. For anything else, start the demo again with OPENAI_API_KEY, ANTHROPIC_API_KEY, or OPENAI_BASE_URL and OPENAI_MODEL.';
const GO_ON = /^(?:please )?(?:go on|continue|resume)\b/i;
/** For example “write ideas.md: look at the stores first”. */
const WRITE = /^(?:please )?write ([\w./-]{1,200}\.\w{1,20})\s{0,9}:\s*(\S[\s\S]*)$/i;

/** Decides the next step from the current view. This is the guide's whole policy. */
export function decide(view: View): Decision {
  const { request, isFresh } = view;
  const isSurvey = /\bsurvey\b/i.test(request) && !request.endsWith('?');
  const goesOn = GO_ON.test(request) && isOurs(view) && (isUnfinished(view) || !isFresh);
  if (isSurvey || goesOn) return survey(view);
  const [, path, content = ''] = WRITE.exec(request) ?? [];
  const denied = `I left that call out, because you denied it.${isUnfinished(view) ? ' To continue the survey, say “go on”.' : ''}`;
  const answer = path === undefined ? say(view.isDenial ? denied : ABOUT_ME) : writeDown(view, path, content);
  // A message during a survey is answered, and the survey continues to its end. An answer has no calls, so work after a question is a survey.
  const joins = view.isAmid || (!isFresh && path === undefined);
  if (!view.startsCall && isOurs(view) && (isUnfinished(view) || joins)) {
    const next = isUnfinished(view) ? survey(view) : finish(view);
    const { calls } = path === undefined ? next : answer;
    return isFresh ? act(`${answer.text}\n\nI go on with the survey.`, ...calls) : next;
  }
  return answer;
}

/** Writes a file that the user names. */
function writeDown(view: View, path: string, content: string): Decision {
  const input = { path, content: `${content.trim()}\n` };
  const result = view.result('write_file', input);
  if (result === undefined) return act(`I will write that to ${path}.`, { name: 'write_file', input });
  // As code, the page links the path.
  const done = `Done. ${result.text.replace(path, () => `\`${path}\``)}`;
  return say(result.isError ? `I did not write ${path}: the call above says why.` : done);
}

interface GuideOptions {
  readonly contextWindow: number;
  readonly counter: TokenCounter;
  /** Milliseconds between two words of an answer, for readability. Default 0. */
  readonly paceMs?: number;
}

/**
 * The embedded guide: a rule-based policy behind the `Model` interface, for a first look without an API key. It is not a language model. It
 * decides only from the request, keeps no state between calls, and rejects requests that exceed its window, so that everything around it
 * works as with a real model.
 */
export class GuideModel implements Model {
  readonly id = 'embedded-guide';
  readonly contextWindow: number;
  readonly #counter: TokenCounter;
  readonly #paceMs: number;
  #calls = 0;

  constructor({ contextWindow, counter, paceMs = 0 }: GuideOptions) {
    this.contextWindow = contextWindow;
    this.#counter = counter;
    this.#paceMs = paceMs;
  }

  async generate(request: ModelRequest): Promise<ModelResponse> {
    request.signal?.throwIfAborted();
    const inputTokens = countRequest(this.#counter, request);
    if (inputTokens > this.contextWindow) {
      throw new ContextOverflowError(undefined, {
        modelId: this.id,
        inputTokens,
        contextWindow: this.contextWindow,
      });
    }
    const { text, calls } = decide(readView(request));
    const content: ContentBlock[] = text === '' ? [] : [{ type: 'text', text }];
    for (const { name, input } of calls) {
      content.push({
        type: 'tool_use',
        id: `guide-${process.pid}-${Date.now()}-${++this.#calls}`,
        name,
        input,
      });
    }
    const outputTokens = content.reduce((sum, block) => sum + countBlock(this.#counter, block), 0);
    return {
      content,
      finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
      usage: { inputTokens, outputTokens },
    };
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelStreamPart> {
    const response = await this.generate(request);
    for (const block of response.content) {
      if (block.type !== 'text') continue;
      for (const word of block.text.match(/\S+\s*|\s+/g) ?? []) {
        request.signal?.throwIfAborted();
        yield { type: 'text-delta', text: word };
        if (this.#paceMs > 0) await sleep(this.#paceMs);
      }
    }
    yield { type: 'response', response };
  }
}
