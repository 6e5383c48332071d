import { defineTool, type Tool, type ToolContext } from '@x/core';
import { strangersIn } from '@x/core/internal';
import * as z from 'zod';
import type { FactOutcome } from '../facts/find-facts.js';
import { isMemoryPath } from '../memory-files.js';
import { memoryPrefix } from '../memory-scope.js';
import type { MemoryService } from '../memory-service.js';
import { cut, fitting } from '../message-text.js';
import { withoutMark } from '../notes.js';

/** Maximum number of characters of one line in a result. */
const MAX_LINE = 500;
/** Maximum number of characters in one result. */
const MAX_OUTPUT = 20_000;
const fact = z.string().trim().min(1).max(4_000);
/** A date. It is checked here and not in the JSON Schema, where the pattern of a date is half a page long. */
const day = z
  .string()
  .max(10)
  .refine((text) => z.iso.date().safeParse(text).success, 'must be a date, for example 2026-01-31');

/** Creates the tools of a memory. Saving and correcting can be undone, so they do not ask for permission. */
export function memoryTools(serviceOf: (context: ToolContext) => MemoryService): readonly Tool[] {
  // Long because it declares five tools that share the service.
  const sourceOf = ({ state }: ToolContext) => ({ source: { sessionId: state.sessionId } });
  const save = (content: string, context: ToolContext) =>
    serviceOf(context).save(memoryPrefix(context), content, {
      ...sourceOf(context),
      strangers: strangersOf(context),
    });
  return [
    defineTool({
      name: 'memory_search',
      description:
        'Searches the facts that you remember from earlier sessions (MEMORY.md and the daily notes), best hits first. Search here ' +
        'first. For the exact words of a session use session_search. To read around a hit use memory_get.',
      readOnly: true,
      origin: 'agent',
      input: z.strictObject({
        query: z.string().min(1).max(1_000).describe('Words to search for, or a question'),
        limit: z.int().min(1).max(50).default(10).describe('How many lines'),
        offset: z.int().min(0).max(1_000).default(0).describe('How many lines to skip'),
        since: day.optional().describe('Only notes of this day or later, such as 2026-01-31'),
        until: day.optional().describe('Only notes of this day or earlier'),
      }),
      async execute({ query, limit, offset, since, until }, context: ToolContext) {
        const service = serviceOf(context);
        const prefix = service.prefixOf(memoryPrefix(context));
        const options = { limit: limit + 1, offset, since, until };
        const { hits, stale } = await service.search(prefix, query, options);
        const rendered = hits.slice(0, limit).map(({ path, lineNumber, content, retired }) => {
          const mark = retired === undefined ? '' : `[no longer true; ${cut(retired, MAX_LINE)}] `;
          return `${path.slice(prefix.length)}:${lineNumber}: ${mark}${cut(withoutMark(content), MAX_LINE)}`;
        });
        const lines = fitting(rendered, MAX_OUTPUT);
        const next = offset + lines.length;
        const more = lines.length < hits.length ? `\nMore: the same query with offset ${next}.` : '';
        const warning =
          stale === undefined ? '' : `The index is not up to date, so newer notes may be missing: ${stale}\n`;
        return `${warning}${lines.length === 0 ? 'Nothing found.' : `${lines.join('\n')}${more}`}`;
      },
    }),
    defineTool({
      name: 'memory_get',
      description:
        'Reads lines of MEMORY.md or of a note in memory/. The comment after a line names its day, session and message.',
      readOnly: true,
      origin: 'agent',
      input: z.strictObject({
        path: z.string().min(1).describe('A path from memory_search, for example memory/2026-01-31.md'),
        startLine: z.int().min(1).default(1),
        endLine: z.int().min(1).optional().describe('Default: as many lines as fit in a result'),
      }),
      async execute({ path, startLine, endLine = Number.POSITIVE_INFINITY }, context: ToolContext) {
        if (!isMemoryPath(path))
          return `${path} is not a memory file. Read MEMORY.md, or a Markdown file below memory/.`;
        const text = await serviceOf(context).read(memoryPrefix(context), path);
        if (text === '') return `${path} is empty or does not exist.`;
        const all = text.split(/\r\n|\n|\r/);
        if (all.at(-1) === '') all.pop();
        const wanted = all.slice(startLine - 1, endLine);
        const numbered = wanted.map((line, at) => `${startLine + at}| ${cut(line, MAX_OUTPUT - 100)}`);
        const lines = fitting(numbered, MAX_OUTPUT);
        if (lines.length === 0) return `${path} has ${all.length} lines.`;
        const last = startLine + lines.length - 1;
        const more = last < Math.min(endLine, all.length) ? `\nMore: startLine ${last + 1}.` : '';
        return `${path}, lines ${startLine} to ${last} of ${all.length}\n${lines.join('\n')}${more}`;
      },
    }),
    defineTool({
      name: 'memory_save',
      description:
        'Remembers a fact for later sessions: a preference, a name, or a decision with its reason. Write one self-contained ' +
        'statement: the fact alone, not the request to remember it.',
      sessionOnly: true,
      persists: true,
      input: z.strictObject({ content: fact.describe('What to remember') }),
      async execute({ content }, context: ToolContext) {
        return savedIn(await save(content, context));
      },
    }),
    defineTool({
      name: 'memory_correct',
      description: 'Replaces a fact that is wrong or no longer true. The old fact stays readable.',
      sessionOnly: true,
      persists: true,
      input: z.strictObject({
        old: fact.describe('The fact, or words that occur only in it'),
        content: fact.describe('What is true now'),
      }),
      async execute({ old, content }, context: ToolContext) {
        const service = serviceOf(context);
        if (strangersOf(context).length > 0) return savedIn(await save(content, context));
        const outcome = await service.correct(memoryPrefix(context), old, content, sourceOf(context));
        return answerOf(outcome, 'Replaced');
      },
    }),
    defineTool({
      name: 'memory_forget',
      description:
        'Permanently deletes a fact from MEMORY.md and all notes. Use it only when the user asks for it.',
      destructive: true,
      input: z.strictObject({ query: fact.describe('The fact, or words that occur only in it') }),
      async execute({ query }, context: ToolContext) {
        return answerOf(await serviceOf(context).forget(memoryPrefix(context), query), 'Forgotten');
      },
    }),
  ];
}

function strangersOf({ state }: ToolContext): readonly string[] {
  return strangersIn(state.context);
}

function savedIn(outcome: FactOutcome): string {
  return outcome.status === 'done' ? `Saved in ${outcome.paths?.join(' and ')}.` : answerOf(outcome, 'Saved');
}

function answerOf({ status, facts }: FactOutcome, done: string): string {
  const listed = facts.slice(0, 10).map((text) => `\n- ${cut(text, MAX_LINE)}`);
  switch (status) {
    case 'done':
      return `${done}:${listed.join('')}`;
    case 'unconfirmed':
      return `Noted as unconfirmed, because this turn has read untrusted text. Save it again after the user has confirmed it:${listed.join('')}`;
    case 'known':
      return 'This fact was saved before.';
    case 'missing':
      return 'No fact matches. Use memory_search to find it.';
    case 'ambiguous':
      return `Several facts match. Pass the whole text of one:${listed.join('')}`;
    case 'refused':
      return `A person wrote this. Only a person may change it, in MEMORY.md or the note:${listed.join('')}`;
  }
}
