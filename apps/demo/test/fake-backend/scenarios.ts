import { allSourcesOf, listingOf, sourceOf, sourcesBelow } from './repository-text.js';
import type { Beat, Stage, ToolPart } from './stage.js';

const core = 'packages/core/src';

/** Reads source files by name, some at a time, as an agent does that looks around. */
function reading(...names: readonly string[]): readonly ToolPart[] {
  const paths = sourcesBelow(core);
  return names.map((name) => {
    const path = paths.find((candidate) => candidate.endsWith(`/${name}.ts`));
    if (path === undefined) throw new Error(`No source file below ${core} is named ${name}.ts.`);
    return { name: 'read_file', input: { path }, output: sourceOf(path) };
  });
}

const SUMMARY = `[CONVERSATION_SUMMARY]
## SESSION INTENT
The user wants to know how this repository is laid out and how a compaction works.

## SUMMARY
The vocabulary lives in packages/core: messages, agent state, tools, capabilities, compactor. A compaction is a cascade
of stages, from free to dear; it stops as soon as the view fits. Tool outputs are masked first, a summary comes later.

## ARTIFACTS
Read: message.ts, agent-state.ts, capability.ts, compactor.ts, session.ts, session-store.ts, tool.ts, workspace.ts.
Changed: none.

## NEXT STEPS
Compare the store interface with the file stores.
[/CONVERSATION_SUMMARY]`;

const OVERVIEW = `This is a monorepo of small packages around one vocabulary.

| Package | What it holds | Depends on |
| --- | --- | --- |
| \`@x/core\` | messages, state, the interfaces | zod |
| \`@x/compaction\` | stages, the cascade, eviction | core |
| \`@x/memory\` | flush, consolidation, search | core |
| \`@x/harness\` | the agent loop | core |

Three things are kept apart, **always**:

1. the *log*: every message that ever was,
2. the *context*: what the conversation is now,
3. the *view*: what one model call sees.

A capability hooks into the loop with \`aroundReason\`, so a compaction runs right before the model call:

\`\`\`ts
const response = await capability.aroundReason(scope, async () => {
  return model.generate({ system, messages: scope.state.context, tools });
});
\`\`\`

The rule is in \`capability.ts\`: a hook that does not call \`next\` replaces what lies within.`;

const REDUCTION = `A compaction is a **cascade**: stages run in order, from free to dear, and it stops as soon as the view fits.

- \`observation_masking\` turns old tool outputs into one line each; ids and the number of messages stay.
- \`summarization\` asks a model for a summary of the older part; the tail stays verbatim.
- If neither helps enough, the outcome says \`ineffective\` and nothing is replaced.

Whatever goes is in the manifest, and the log still has it.`;

/** A short turn with an answer. */
export function* chat(stage: Stage, text: string): Generator<Beat> {
  yield* stage.begin(text);
  yield* stage.answer(REDUCTION, { thinking: 'The question is about compaction; the cascade is the point.' });
  yield* stage.end();
}

/** Wants to push and to write, for both of which it needs the user. */
export function* asking(stage: Stage, text: string): Generator<Beat> {
  yield* stage.begin(text);
  yield* stage.ask(
    'The change is committed; now I would push it.',
    [
      { name: 'execute', input: { command: 'git push origin main' }, output: 'Everything up-to-date' },
      {
        name: 'write_file',
        input: { path: 'docs/release.md', content: 'Pushed.' },
        output: 'Wrote 7 characters.',
      },
    ],
    { tool: 'execute', match: 'git push origin main' },
  );
}

/** Looks around: lists, searches, reads, runs something large, answers. */
export function* survey(stage: Stage, text: string): Generator<Beat> {
  yield* stage.begin(text);
  yield* stage.work('I will look at the layout first.', [
    { name: 'list_files', input: { path: 'packages' }, output: listingOf('packages') },
    { name: 'list_files', input: { path: core }, output: listingOf(core) },
  ]);
  yield* stage.todos([
    { content: 'List the packages', status: 'completed' },
    { content: 'Read the vocabulary', status: 'in_progress' },
    { content: 'Explain how a compaction works', status: 'pending' },
  ]);
  yield* stage.work('', [
    { name: 'grep_files', input: { pattern: 'aroundReason', path: core }, output: grepOutput },
    ...reading('message', 'capability', 'compactor'),
  ]);
  yield* stage.work('Now everything at once, to see what is there.', [
    {
      name: 'execute',
      input: { command: `cat ${core}/messages/*.ts` },
      output: allSourcesOf(`${core}/messages`),
      evictedTo: 'large_tool_results/demo/session/execute-4f2a.txt',
    },
  ]);
  yield* stage.answer(OVERVIEW);
  yield* stage.todos([
    { content: 'List the packages', status: 'completed' },
    { content: 'Read the vocabulary', status: 'completed' },
    { content: 'Explain how a compaction works', status: 'completed' },
  ]);
  yield* stage.end();
}

/** A model that cannot be reached. */
export function* outage(stage: Stage, text: string): Generator<Beat> {
  yield* stage.begin(text);
  yield* stage.fail(
    'model_error',
    'The model answered 529 (overloaded) three times. Wait a little and send the message again.',
  );
}

/** A session of hours in a few seconds: two compactions that helped, one that did not, an error on the way. */
export function* longSession(stage: Stage): Generator<Beat> {
  yield* survey(stage, 'Survey this repository and explain how a compaction works');

  yield* stage.begin('Read the rest of the vocabulary too, I want to know what a session store must do.');
  yield* stage.work('', reading('session', 'session-store', 'session-key', 'session-turn'));
  yield* stage.work('', reading('agent-state', 'agent-event', 'content-block', 'model'));
  yield* stage.work('The stores refer to the workspace.', reading('workspace', 'tool', 'runtime-context'));
  yield* stage.compact({
    reason: 'proactive_budget',
    status: 'applied',
    message: 'Old tool outputs were replaced by one line each; the view fits again.',
    keepToolOutputs: 4,
  });
  yield* stage.answer(
    'A store implements five functions, all keyed by an opaque key: `load`, `commit`, `delete`, `list` and `close`. A commit is atomic and names the version it expects.',
  );
  yield* stage.end();

  yield* outage(stage, 'Which of them can lose a turn?');

  yield* stage.begin('Try again: which of them can lose a turn when two processes write?');
  yield* stage.work('', [
    ...reading('in-memory-session', 'encode-segment', 'parse'),
    {
      name: 'read_file',
      input: { path: 'packages/core/src/redis-session.ts' },
      output: 'There is no file packages/core/src/redis-session.ts. list_files shows what there is.',
      isError: true,
    },
  ]);
  yield* stage.compact({
    reason: 'proactive_budget',
    status: 'ineffective',
    message:
      'All that could be masked is masked already; a summary was not worth its price. Nothing was replaced.',
    keepToolOutputs: 8,
  });
  yield* stage.answer(
    'None. Of two writers exactly one commit wins; the other gets a `SessionConflictError` and loads the session again.',
  );
  yield* stage.end();

  yield* stage.compact({
    reason: 'manual',
    status: 'applied',
    message: 'As asked. The summary keeps the decisions about stores.',
    keepToolOutputs: 3,
    keepMessages: 6,
    summary: SUMMARY,
  });
  yield* stage.todos([
    { content: 'Read the vocabulary', status: 'completed' },
    { content: 'Find out whether a store can lose a turn', status: 'completed' },
    { content: 'Compare the store interface with the file stores', status: 'in_progress' },
    { content: 'Write down what is missing', status: 'pending' },
  ]);
  yield* chat(stage, 'And what does the model still know of all this?');
}

/** What `/compact` does: a summary when there is enough to summarize, else an honest answer that there is not. */
export function* manualCompaction(stage: Stage, instructions: string | undefined): Generator<Beat> {
  const enough = stage.context.length > 8;
  yield* stage.compact({
    reason: 'manual',
    status: enough ? 'applied' : 'ineffective',
    message: enough
      ? `As asked${instructions ? `: “${instructions}”` : ''}.`
      : 'There is too little to summarize; a summary would be longer. Nothing was replaced.',
    keepToolOutputs: 2,
    keepMessages: 4,
    summary: SUMMARY,
  });
}

const grepOutput = `${core}/agent/capability.ts:56:  /** Around one reasoning step: may change \`scope.state.context\` before \`next\`
${core}/agent/capability.ts:57:  aroundReason?(scope: ReasonScope, next: () => Promise<ModelResponse>): Promise<ModelResponse>;
packages/harness/src/loop/reason.ts:31:  if (capability.aroundReason)`;
