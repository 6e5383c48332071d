import * as z from 'zod';

const path = z
  .string()
  .min(1)
  .refine(
    (value) => !value.split(/[\\/]/).includes('..') && !value.includes('\0'),
    'must lie in the workspace',
  );

export const workspaceContextConfigSchema = z.strictObject({
  /** Estimated tokens of all sections together. What does not fit is left out, with a note that says how to read it. */
  maxTokens: z.int().min(0).default(8_000),
  /** The file with instructions for the agent, at the root of the workspace; `false`: none. */
  instructions: z.union([path, z.literal(false)]).default('AGENTS.md'),
  /** More files whose text is shown, in this order. */
  files: z.array(path).default([]),
  /** A folder of which the file `KNOWLEDGE.md` is shown and the others are listed; `false`: none. */
  knowledge: z.union([path, z.literal(false)]).default('knowledge'),
  /**
   * Show the MEMORY.md of the call's user and agent. Never done in an agent that has `memory()`, which shows it itself.
   */
  memory: z.boolean().default(true),
});

/** Options of `workspaceContext`. */
export type WorkspaceContextConfig = z.input<typeof workspaceContextConfigSchema>;
export type WorkspaceContextSettings = z.output<typeof workspaceContextConfigSchema>;
