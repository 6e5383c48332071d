import { type JsonObject, type ModelRequest, textOf, toolResultsOf } from '@x/core';
import type { ScriptedAnswer } from '@x/testkit';

/** A tool and its input; a function of what the round before answered, where that gives ids. */
type Call = readonly [name: string, input: JsonObject | ((lastAnswer: string) => JsonObject)];
type Round = readonly Call[];
type ScriptedRound = (request: ModelRequest) => ScriptedAnswer;

/** What a model does with the tools of each capability, round by round; none of it needs a human. */
export const ROUNDS_OF: Readonly<Record<string, readonly Round[]>> = {
  compaction: [[['recall', { query: 'everything' }]]],
  eviction: [[['look', { at: -1, words: 6_000 }]]],
  todoList: [[['todo_write', { todos: [{ content: 'Look at é', status: 'in_progress' }] }]]],
  toolGroups: [[['tool_groups', { activate: ['money'] }]]],
  skills: [[['load_skill', { name: 'deploy' }]], [['read_skill_file', { name: 'deploy', path: 'steps.md' }]]],
  memory: [
    [['memory_save', { content: 'The door code is 4711.' }]],
    [
      ['memory_search', { query: 'door code' }],
      ['memory_get', { path: 'MEMORY.md' }],
    ],
    [['memory_save', { content: 'The gate is green.' }]],
    [['memory_correct', { old: 'gate', content: 'The gate is red.' }]],
    [['memory_forget', { query: 'gate' }]],
  ],
  sessionHistory: [
    [
      ['session_list', {}],
      ['session_history', { sessionId: 's', lastN: 3 }],
    ],
    [
      ['session_search', { query: 'everything' }],
      ['session_search', { query: 'everything', sessionId: 's' }],
    ],
  ],
  workspaceTools: [
    [
      ['read_file', { path: 'src/main.ts' }],
      ['list_files', { path: 'src' }],
    ],
    [['write_file', { path: 'src/new.ts', content: `// ${'new '.repeat(200)}` }]],
    [['edit_file', { path: 'src/new.ts', oldText: '// new', newText: '// old' }]],
    [
      ['glob_files', { pattern: '**/*.ts' }],
      ['grep_files', { pattern: 'line19', path: 'src' }],
    ],
  ],
  shell: [[['execute', { command: 'echo hello' }]]],
  mcp: [
    [
      ['mcp__box__put', {}],
      ['mcp__box__peek', {}],
    ],
  ],
  subagents: [
    [['agent_spawn', { agent: 'helper', task: 'Find it' }]],
    [['agent_spawn', (answer) => ({ agent: last(answer, /helper-[\da-f]{8}/g), task: 'Are you sure?' })]],
    [['agent_spawn', { agent: 'helper', task: 'Find it later', background: true }]],
    [['task_cancel', (answer) => ({ taskId: last(answer, /helper-[\da-f]{8}/g) })]],
    [['wait_async_results', (answer) => ({ taskIds: [last(answer, /helper-[\da-f]{8}/g)] })]],
    [['wait_async_results', {}]],
  ],
  planMode: [],
};

/** Rounds that only fill the window, each with text in it that no other has. */
export function fillers(count: number, from = 0): readonly Round[] {
  return Array.from(
    { length: count },
    (_, index): Round => [['look', { at: from + index, words: 400 + (((from + index) * 137) % 900) }]],
  );
}

/** Rounds with a filler behind each, so that reductions fall between any two of them. */
export function interleave(rounds: readonly Round[], from: number): readonly Round[] {
  return rounds.flatMap((round, index) =>
    rounds[index + 1]?.some(([, input]) => typeof input === 'function')
      ? [round]
      : [round, ...fillers(1, from + index)],
  );
}

export function entries(rounds: readonly Round[]): readonly ScriptedRound[] {
  return rounds.map((calls) => ({ messages }: ModelRequest) => {
    const asked = messages.findLastIndex(({ role }) => role === 'assistant');
    const answer = messages
      .slice(asked + 1)
      .map(textOf)
      .join('\n');
    return {
      toolCalls: calls.map(([name, input]) => ({
        name,
        input: typeof input === 'function' ? input(answer) : input,
      })),
    };
  });
}

function last(text: string, pattern: RegExp): string {
  return text.match(pattern)?.at(-1) ?? 'none';
}

/** The failed results that a model was shown, once each, as `tool: text`. */
export function failuresIn(requests: readonly ModelRequest[]): readonly string[] {
  const failed = new Map<string, string>();
  for (const result of requests.flatMap(({ messages }) => messages.flatMap(toolResultsOf))) {
    if (result.isError && !failed.has(result.toolUseId)) {
      failed.set(result.toolUseId, `${result.toolName}: ${textOf([result])}`);
    }
  }
  return [...failed.values()];
}
