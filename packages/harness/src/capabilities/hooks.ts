import { resolve } from 'node:path';
import type { CallScope } from '@x/core';
import { errorText, headOf, parsedJson, parseWith, toSnakeCase } from '@x/core/internal';
import * as z from 'zod';
import { runProgram } from '../lib/run-program.js';
import { localExecutor } from './executors.js';

/** Maximum number of characters of a command's output that are read. */
const MAX_OUTPUT_CHARS = 100_000;
/** Maximum number of characters of a command's errors that a warning quotes. */
const QUOTED_CHARS = 300;

const command = z.string().trim().min(1).optional();

const eventShape = {
  /** Runs before a compaction, and may print `{"skip": true}` or `{"instructions": "…"}`. */
  beforeCompaction: command,
  /**
   * Runs after a compaction. Its input contains `success`, `status`, `message`, `messages_before`, `messages_after` and `summary_length`.
   */
  afterCompaction: command,
};

/** The configuration of `hooks`: a command line for `sh -c` per event, and options for running it. */
export const hooksConfigSchema = z.strictObject({
  ...eventShape,
  /** Working directory of the commands, relative to the agent's file or, in code, to the current directory. */
  cwd: z.string().min(1).default('.'),
  /** Timeout of a command in milliseconds. */
  timeoutMs: z.int().min(1).default(60_000),
  /** Names of additional environment variables to pass on. */
  passEnvironment: z.array(z.string()).default([]),
});

export type HooksConfig = z.input<typeof hooksConfigSchema>;

const answerSchema = z.strictObject({ skip: z.boolean().optional(), instructions: z.string().optional() });

/** The hooks that `compaction({ … })` accepts. */
export interface Hooks {
  /** Runs the command before a compaction. Resolves to its answer: whether to skip the compaction, or instructions for the summary. */
  beforeCompaction(input: object, scope: CallScope): Promise<z.output<typeof answerSchema> | undefined>;
  /** Runs the command after a compaction. */
  afterCompaction(result: { readonly outcome: object }, scope: CallScope): Promise<void>;
}

type Facts = Readonly<Record<string, unknown>>;

/**
 * Runs your commands before and after compactions, as the user of this process and with a minimal environment. A command
 * receives its event as a JSON object on standard input. If a command fails or times out, the agent emits a warning and
 * continues.
 *
 * @example
 * ```ts
 * const builder = HarnessAgent.builder().use(compaction({ ...hooks({ afterCompaction: 'cat >> /var/log/agent.jsonl' }) }));
 * ```
 * @param directory The directory that `cwd` is relative to.
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function hooks(config: HooksConfig = {}, directory: string = process.cwd()): Hooks {
  const settings = parseWith(hooksConfigSchema, config, 'hooks configuration');
  const { timeoutMs, passEnvironment, cwd: place, ...commands } = settings;
  const cwd = resolve(directory, place);
  const options = { cwd, timeoutMs, passEnvironment, maxOutputChars: MAX_OUTPUT_CHARS };

  const warn = (event: keyof typeof commands, scope: CallScope, message: string) =>
    scope.emit({ type: 'warning', source: 'hooks', message: `The hook ${toSnakeCase(event)} ${message}` });

  /** Runs the command of an event and returns its output. */
  async function run(event: keyof typeof commands, scope: CallScope, facts: Facts): Promise<string> {
    const line = commands[event];
    if (line === undefined) return '';
    const { agentId, callId, state, runtime, workspace, signal } = scope;
    const { root } = workspace as { readonly root?: unknown };
    const input = JSON.stringify({
      event: toSnakeCase(event),
      agent_id: agentId,
      call_id: callId,
      session_id: state.sessionId,
      user_id: runtime.userId,
      tenant_id: runtime.tenantId,
      workspace: root,
      ...facts,
    });
    try {
      const execution = localExecutor.execution(line, cwd);
      const { end, status, output, errors } = await runProgram(execution, {
        ...options,
        signal,
        input,
      });
      if (!end.failed) return output.trim();
      const said = headOf((errors || output).trim(), QUOTED_CHARS);
      await warn(event, scope, `ended with ${status}, so its output is ignored: ${said}`);
    } catch (error) {
      await warn(event, scope, `did not run: ${errorText(error)}`);
    }
    return '';
  }

  return {
    async beforeCompaction(input, scope) {
      const printed = await run('beforeCompaction', scope, inSnakeCase(input));
      if (printed === '') return undefined;
      const answer = answerSchema.safeParse(parsedJson(printed));
      if (answer.success) return answer.data;
      const remedy = 'print {"skip": true}, {"instructions": "…"} or nothing';
      await warn('beforeCompaction', scope, `printed invalid output; ${remedy}`);
      return undefined;
    },
    async afterCompaction({ outcome, ...facts }, scope) {
      const { status, message } = outcome as { readonly status?: unknown; readonly message?: unknown };
      await run('afterCompaction', scope, { ...inSnakeCase(facts), status, message });
    },
  };
}

function inSnakeCase(facts: object): Facts {
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [toSnakeCase(key), value]));
}
