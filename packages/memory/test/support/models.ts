import { type Model, type ModelRequest, textOf } from '@x/core';

/** What a model is asked, as one text. */
export function promptOf(request: ModelRequest): string {
  return request.messages.map((message) => textOf(message)).join('\n');
}

/** A model whose answers are computed, and that remembers what it was asked. */
export function modelOf(
  answer: (prompt: string, call: number) => string | Partial<Awaited<ReturnType<Model['generate']>>>,
): Model & { readonly prompts: readonly string[] } {
  const prompts: string[] = [];
  return {
    id: 'rule',
    prompts,
    async generate(request) {
      const prompt = promptOf(request);
      prompts.push(prompt);
      const given = answer(prompt, prompts.length);
      const response =
        typeof given === 'string' ? { content: [{ type: 'text' as const, text: given }] } : given;
      return { content: [], finishReason: 'stop', ...response };
    },
  };
}

/** What stands between two tags of a prompt. */
export function between(prompt: string, tag: string): string {
  return new RegExp(`<${tag}>\\n([\\s\\S]*)\\n</${tag}>`).exec(prompt)?.[1] ?? '';
}

/** Notes every `fact-…` that the conversation names, known or not, in words that differ from call to call. */
export function factTaker(): ReturnType<typeof modelOf> {
  return modelOf((prompt, call) => {
    const facts = new Set(between(prompt, 'transcript').match(/fact-\d+/g) ?? []);
    return [...facts].map((fact) => `- In call ${call}: ${fact}`).join('\n') || 'NO_REPLY';
  });
}

/** What is said but for its last word: two facts that differ in that word alone are about the same thing. */
const subjectOf = (text: string) => text.slice(0, text.lastIndexOf(' '));

/** Notes what users say, word for word, and merges notes word for word: one replaces a fact about the same thing. */
export function scribe(): ReturnType<typeof modelOf> {
  return modelOf((prompt) => {
    const said = between(prompt, 'transcript').matchAll(/^\[\w{8} #(\d+) \S+ user\] (.{1,400})$/gm);
    if (prompt.includes('<transcript>'))
      return [...said].map(([, number, text]) => `- ${text} [#${number}]`).join('\n') || 'NO_REPLY';
    const facts = [...between(prompt, 'memory').matchAll(/^(f\d+): (.*)$/gm)];
    const notes = [...between(prompt, 'notes').matchAll(/^(n\d+) \([^)]*\): (.*)$/gm)];
    const edits = notes.map(([, note, text = '']) => {
      const [, older] = facts.find(([, , fact = '']) => subjectOf(fact) === subjectOf(text)) ?? [];
      return older === undefined ? `ADD ${note}: ${text}` : `REPLACE ${older} BY ${note}: ${text}`;
    });
    return edits.join('\n') || 'NO_CHANGE';
  });
}

let merged = 0;

/** Merges notes by adding every one that names a fact, never twice in the same words. */
export function merger(): ReturnType<typeof modelOf> {
  return modelOf((prompt) => {
    if (prompt.includes('<transcript>')) return 'NO_REPLY';
    const notes = between(prompt, 'notes').matchAll(/^(n\d+) \([^)]*\): (.*fact-\w+.*)$/gm);
    return [...notes].map(([, note, text]) => `ADD ${note}: ${text} (${++merged})`).join('\n') || 'NO_CHANGE';
  });
}

/** A note without the comments behind its lines. */
export function withoutMarks(note: string): string {
  return note.replaceAll(/ <!-- model .*? -->/g, '');
}
