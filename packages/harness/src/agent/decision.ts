import { jsonValueSchema, parseWith } from '@x/core';
import { z } from 'zod';

const decisionSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('approve'),
    /**
     * Keeps a rule in the session, so that such calls are allowed from now on: `true` for the one that the pending call
     * suggests, or another, such as `execute(npm test*)`.
     */
    always: z.union([z.boolean(), z.string().min(1)]).optional(),
  }),
  /** Runs the call with another input; the model reads which. */
  z.strictObject({ type: z.literal('edit'), input: jsonValueSchema }),
  /** The model reads the reason. */
  z.strictObject({ type: z.literal('deny'), reason: z.string().optional() }),
]);
const decisionsSchema = z.record(z.string(), decisionSchema);

/** What a human says to a tool call that waits for them. */
export type Decision = z.output<typeof decisionSchema>;

/** Decisions by the id of the tool call. */
export type Decisions = Readonly<Record<string, Decision>>;

/** @throws {InvalidInputError} naming the path of every bad field. */
export function parseDecisions(decisions: unknown): Decisions {
  return parseWith(decisionsSchema, decisions, 'decisions');
}
