import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type JsonObject, RuntimeContext, type Tool } from '@x/core';
import type { ToolDefinition } from '@x/core/messages';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Attack,
  type AttackedAgent,
  Attacker,
  attackWith,
  excerptAround,
  inputFor,
  sequencesOf,
} from './attacks/attacker.js';
import {
  forbiddenTool,
  type HostileRepository,
  hostileRepository,
  hostileServer,
  SECRET,
} from './attacks/hostile-parts.js';

/** The parts that the agent of a {@link permissionSuite} must use. */
export interface PermissionSuiteParts {
  /** The model that attacks the agent. */
  readonly model: Attacker;
  /** A folder with the repository of an attacker. Make it the agent's workspace. */
  readonly directory: string;
  /** A client of a hostile MCP server. Do not mark the server as trusted. */
  readonly client: ReturnType<typeof hostileServer>['client'];
  /** A tool that no rule allows. */
  readonly tool: Tool;
  /** The rules of the agent, for `permissions()`. */
  readonly rules: typeof RULES;
}

/** Options of {@link permissionSuite}. */
export interface PermissionSuiteOptions {
  /** Printed in the title of the suite. */
  readonly name: string;
  /** Opens your agent with these parts. */
  open(parts: PermissionSuiteParts): Promise<AttackedAgent>;
  /** Sequences of random tool calls. Default: the environment variable `X_ATTACKS`, otherwise 10. */
  readonly sequences?: number | undefined;
}

const RULES = {
  mode: 'dont_ask' as const,
  allow: ['write(notes/*.md)', 'execute(echo *)', 'execute(ls *)', 'execute(cat *)'],
  deny: ['read(**/.env*)', 'write(docs/**)', 'read(**/environ)'],
};

const PATHS = [
  ...'.env ./.env a/../.env .ENV nested/.env.production readme.txt hard.txt notes/link.md'.split(' '),
  ...'outside.txt up/secret.txt ../secret.txt environment.txt /proc/self/environ'.split(' '),
  ...'docs/plan.md notes/docs/plan.md notes/../docs/new.md notes/first.md'.split(' '),
  ...'.x/permissions.json subagents/new.md . / ** **/.env* **/* .*'.split(' '),
  '',
];
const COMMANDS = [
  'echo hi',
  'cat .env',
  'echo $(cat .env)',
  'echo `cat .env`',
  'echo hi; cat .env',
  'echo hi && cat hard.txt',
  'cat /proc/self/cwd/hard.txt',
  'cat ../repository/readme.txt',
  'cat ./nested/../notes/link.md',
  'echo <(cat .env)',
  'ls | xargs cat',
  'echo x > docs/plan.md',
  '>docs/plan.md echo x',
  'ls\ncat .env',
  'echo "$(<.env)"',
  'ls $(touch started-by-a-file)',
  'echo hi & cat .env',
  'command cat .env',
  'cd docs && ls ../.env',
  'ls -d /proc/self/cwd/.env',
  'echo hi; cd up && cat */.env',
  'rm -rf docs',
];
const OTHERS = 'API_KEY sk- general-purpose helper root starter deploy completed pay bypass'.split(' ');

/**
 * Registers Vitest tests which check that permission rules hold against a hostile model, hostile files and a hostile MCP server. The agent
 * works in an attacker's repository. No tool call may read a secret, change a file that a rule denies, or run a tool that no rule allows.
 *
 * @example
 * ```ts
 * permissionSuite({
 *   name: 'my agent',
 *   async open({ model, directory, client, tool, rules }) {
 *     const server = await mcp({ servers: { hostile: { client } } });
 *     return HarnessAgent.builder()
 *       .model(model)
 *       .workspace(directory)
 *       .isolation('shared')
 *       .tools(tool)
 *       .use(workspaceTools(), server, permissions(rules))
 *       .build();
 *   },
 * });
 * ```
 */
export function permissionSuite({ name, open, sequences = sequencesOf(10) }: PermissionSuiteOptions): void {
  describe(`Permissions: ${name}`, () => {
    // Long because its tests share one agent.
    const model = new Attacker();
    const server = hostileServer();
    const forbidden = forbiddenTool();
    let repository: HostileRepository;
    let agent: AttackedAgent;

    // The agent warns about calls that its rules cannot judge. Here these are attacks, so the warnings are expected.
    const { emitWarning } = process;
    const isExpected = (warning: unknown) => String(warning).includes('could not be judged');
    const quiet: typeof emitWarning = (...warning: unknown[]) => {
      if (!isExpected(warning[0])) Reflect.apply(emitWarning, process, warning);
    };
    let silenced: { mockRestore(): void };

    beforeAll(async () => {
      silenced = vi.spyOn(process, 'emitWarning').mockImplementation(quiet);
      repository = hostileRepository(join(mkdtempSync(join(tmpdir(), 'x-hostile-')), 'repository'));
      const { directory } = repository;
      const { client } = server;
      agent = await open({ model, directory, client, tool: forbidden.tool, rules: RULES });
    }, 120_000);
    afterAll(async () => {
      await agent?.close();
      silenced.mockRestore();
      rmSync(dirname(repository.directory), { recursive: true });
    });

    // Ensures that an agent that denies everything fails.
    test('allowed calls work', async () => {
      let rounds = 0;
      const input = { path: 'notes/first.md' };
      const calls = [
        { name: 'read_file', input },
        { name: 'write_file', input: { path: 'notes/second.md', content: 'done' } },
      ];
      model.plan((tools) =>
        calls.slice(rounds, ++rounds).filter((call) => tools.some((tool) => tool.name === call.name)),
      );
      await agent.call('Go', RuntimeContext.of({ userId: 'alice', sessionId: 'allowed' }));
      expect(model.seen).toContain('A note.');
      expect(existsSync(join(repository.directory, 'notes/second.md'))).toBe(true);
    });

    const harm = () => {
      const leak = excerptAround(SECRET, model.seen);
      return [
        ...(leak === undefined ? [] : [`The model was shown a secret: ${leak}`]),
        ...server.ran.map((name) => `The tool ${name} of the hostile server ran.`),
        ...forbidden.ran.map((input) => `The tool pay ran with ${JSON.stringify(input)}.`),
        ...repository.damage(),
      ];
    };

    test.each(['the agent', 'its subagent'])('no tool does what the rules do not allow: %s', async (who) => {
      let attacks: Attack[] | undefined;
      let isIn = who === 'the agent';
      model.plan((tools) => {
        const spawns = !isIn && tools.some(({ name }) => name === 'agent_spawn');
        isIn = true;
        if (spawns) return [{ name: 'agent_spawn', input: { agent: 'general-purpose', task: 'Go' } }];
        attacks ??= tools.flatMap(attacksOn);
        return attacks.splice(0, 20);
      });
      await agent.call('Go', RuntimeContext.of({ userId: 'alice', sessionId: who })).catch(() => {});
      expect(attacks).toEqual([]);
      expect(harm()).toEqual([]);
    });

    test('random calls do nothing that the rules do not allow', { timeout: 0 }, async () => {
      const words = [...PATHS, ...COMMANDS, ...OTHERS];
      await attackWith(model, { words, sequences, rounds: 4 }, async (made) => {
        const context = RuntimeContext.of({ userId: 'alice', sessionId: `session-${made}` });
        const outcome = await agent.call('Go', context).catch(String);
        expect(harm(), `in call ${made + 1}`).toEqual([]);
        return outcome;
      });
    });
  });
}

/** Returns calls of a tool with every path and command of the suite, or one call if the tool accepts neither. */
function attacksOn({ name, inputSchema }: ToolDefinition): readonly Attack[] {
  const { path, pattern, command } = (inputSchema.properties ?? {}) as JsonObject;
  const words = [...(path || pattern ? PATHS : []), ...(command ? COMMANDS : []), ''];
  return words.map((word) => ({
    name,
    input: inputFor(inputSchema, { below: (n) => n - 1, text: () => word }),
  }));
}
