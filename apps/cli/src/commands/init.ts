import { writeFile } from 'node:fs/promises';
import { errorText } from '@x/core/internal';
import { listModels } from '../agent/choose-model.js';
import { requireTrust } from '../agent/trust.js';
import { command, UsageError, X } from '../command.js';
import { readYaml } from '../read-input.js';
import { clip } from '../terminal/columns.js';
import { DEFAULT_AGENT_FILE } from './run.js';

interface Served {
  readonly id: string;
  readonly max_model_len?: number | undefined;
}

/** A model and a context window for a server that reports none. */
const GUESSED = { id: 'qwen3', max_model_len: 32_768 };

/** Environment variables of providers in order of precedence, each with the initial model of an agent. */
export const PROVIDER_VARIABLES: Readonly<Record<string, (served: Served) => string>> = {
  // First, because a user who names a server wants to use it, even if an API key is set.
  OPENAI_BASE_URL: ({ id, max_model_len: window }) =>
    `{ id: "compatible:\${OPENAI_MODEL:-${id}}", context_window: ${window ?? GUESSED.max_model_len} } # ${window ? 'reported by your server' : 'a guess: set what your server allows'}`,
  OPENAI_API_KEY: () => 'openai:gpt-5',
  ANTHROPIC_API_KEY: () => 'anthropic:claude-sonnet-4-5',
};

/** Milliseconds to wait for a server's list of models. */
const TIMEOUT_MS = 2_000;

/** Characters that need no quotes in the agent file. */
const PLAIN_NAME = /^[\w./:@+-]+$/;

const agentFile = (model: string) => `# All keys: ${X} schema. To check this file: ${X} doctor.
name: coder
# openai:MODEL, anthropic:MODEL, or compatible:MODEL for a server whose URL is in OPENAI_BASE_URL
model: ${model}
system_prompt: You fix bugs, run the tests, and say what you changed.
capabilities: [compaction, tool_result_eviction, todo_list, plan_mode, workspace_tools, shell, agents_files]
# The system prompt contains AGENTS.md and these files of the folder.
features: { workspace_context: { files: [CLAUDE.md] } }
# Tools that change something need approval. These commands do not.
permissions:
  allow: ["execute(npm test*)", "execute(ls *)", "execute(git status *)", "execute(git log *)", "execute(git diff *)"]
`;

const WITHOUT_KEY = `Next:  export OPENAI_API_KEY=…, or name another model in ${DEFAULT_AGENT_FILE}. Then:  ${X} run
Without a key:  ${X} replay shows what compaction does to the logs on this machine.
`;

/** Writes a first agent file. Never overwrites a file. */
export const init = command({
  name: 'init',
  options: {},
  summary: `Writes a first ${DEFAULT_AGENT_FILE} into this folder, and prints the next step.`,
  examples: ['x init && x run'],
  async run({ output }) {
    const known = Object.entries(PROVIDER_VARIABLES).find(([name]) => process.env[name]);
    const [variable, modelOf] = known ?? ['', () => 'openai:gpt-5'];
    const served = variable === 'OPENAI_BASE_URL' ? await servedModels() : [];
    const [first = { id: GUESSED.id }] = served;
    if (!(await isNew(DEFAULT_AGENT_FILE, agentFile(modelOf(first))))) {
      output.write(`Kept ${DEFAULT_AGENT_FILE}\nNext:  ${X} doctor checks the file. Then:  ${X} run\n`);
      return undefined;
    }
    const config = Object(await readYaml(DEFAULT_AGENT_FILE));
    const keepTrust = await requireTrust(DEFAULT_AGENT_FILE, config, true);
    keepTrust();
    const next = known ? `Next:  ${X} run (${known[0]} is set)\n` : WITHOUT_KEY;
    const origin =
      process.env.OPENAI_MODEL || variable !== 'OPENAI_BASE_URL'
        ? ''
        : `Model: ${first.id} (${served.length > 0 ? `the first that your server lists: ${clip(served.map(({ id }) => id).join(', '), 200)}` : 'a guess, because your server lists no models'}). OPENAI_MODEL chooses another.\n`;
    const window =
      variable !== 'OPENAI_BASE_URL'
        ? ''
        : first.max_model_len
          ? `Context window: ${first.max_model_len} tokens, as your server reports.\n`
          : `Context window: ${GUESSED.max_model_len} tokens, a guess. Set what your server allows in ${DEFAULT_AGENT_FILE}.\n`;
    output.write(`Wrote ${DEFAULT_AGENT_FILE}\n${origin}${window}${next}`);
    return undefined;
  },
});

/** Returns the models that the server in OPENAI_BASE_URL lists, except embeddings; none if it does not list them in time. */
async function servedModels(): Promise<readonly Served[]> {
  const { models = [] } = await listModels('OPENAI_BASE_URL', TIMEOUT_MS).catch(() => ({ models: [] }));
  return models.filter(({ id }) => PLAIN_NAME.test(id) && !/embed/i.test(id));
}

async function isNew(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new UsageError(`${file} cannot be written: ${errorText(error)}`);
  }
}
