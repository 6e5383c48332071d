import type { JsonObject } from '@x/core';
import { parseWith } from '@x/core/internal';
import { jsonSchema, type Tool, type ToolSet, tool } from 'ai';
import * as z from 'zod';
import { scopedTools, scopedToolsShape, toolScopeSchema } from '../scoped-tools.js';

const optionsSchema = z.strictObject({ ...scopedToolsShape, scope: toolScopeSchema });

/** Options of `memoryTools`. */
type MemoryToolsOptions = z.input<typeof optionsSchema>;

/**
 * Converts a memory, and any other tools of `@x/core`, to tools of the AI SDK. All of them work for one tenant, user, agent and
 * session, which the model cannot change. A destructive tool (`memory_forget`) needs approval.
 *
 * @example
 * ```ts
 * const memory = new MemoryService({ workspace });
 * const scope = { userId: 'alice' };
 * const known = await memory.read(scope);
 * await generateText({ model, system: `What you remember:\n${known}`, prompt, tools: memoryTools({ memory, scope }), stopWhen: stepCountIs(5) });
 * ```
 *
 * @throws {InvalidInputError} for invalid options, or two tools with one name.
 */
export function memoryTools(options: MemoryToolsOptions): ToolSet {
  const given = parseWith(optionsSchema, options, 'memoryTools options');
  const scoped = scopedTools(given, given.scope, 'memoryTools options');
  const entries = [...scoped.tools].map(([name, own]): [string, Tool] => [
    name,
    tool({
      description: own.definition.description,
      // The tool validates its input itself, and reports every invalid field.
      inputSchema: jsonSchema<JsonObject>({ ...own.definition.inputSchema, type: 'object' }),
      needsApproval: own.destructive === true,
      async execute(input, { abortSignal }) {
        const blocks = await scoped.run(own, input, abortSignal ?? new AbortController().signal);
        const texts = blocks.map((block) =>
          block.type === 'text' ? block.text : `[file ${block.filename ?? block.mediaType}]`,
        );
        return texts.join('\n');
      },
    }),
  ]);
  return Object.fromEntries(entries);
}
