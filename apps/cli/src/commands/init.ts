import { writeFile } from 'node:fs/promises';
import { errorText } from '@x/core/internal';
import { requireTrust } from '../agent/trust.js';
import { command, UsageError, X } from '../command.js';
import { readYaml } from '../read-input.js';
import { DEFAULT_AGENT_FILE } from './run.js';

/** Environment variables of providers in order of precedence, each with the initial model of an agent. */
export const PROVIDER_VARIABLES = {
  // First, because a user who names a server wants to use it, even if an API key is set.
  OPENAI_BASE_URL:
    '{ id: "compatible:${OPENAI_MODEL:-qwen3}", context_window: 32768 } # the window that your server is started with',
  OPENAI_API_KEY: 'openai:gpt-5',
  ANTHROPIC_API_KEY: 'anthropic:claude-sonnet-4-5',
} as const;

const agentFile = (model: string) => `# All keys: ${X} schema. What is wrong with it: ${X} doctor.
name: coder
# openai:MODEL, anthropic:MODEL or compatible:MODEL
model: ${model}
system_prompt: You fix bugs, run the tests, and say what you changed.
capabilities: [compaction, tool_result_eviction, todo_list, plan_mode, workspace_tools, shell]
# Tools that act ask first. These commands need not.
permissions: { allow: ["execute(npm test*)"] }
`;

const ENVIRONMENT = `# Copy this to .env, keep that out of git, remove the # in front of the lines of your provider, and fill them in.
#OPENAI_API_KEY=
#ANTHROPIC_API_KEY=
# Ollama, vLLM and whatever else speaks the Chat Completions protocol.
#OPENAI_BASE_URL=http://localhost:11434/v1
#OPENAI_MODEL=
`;

const WITHOUT_KEY = `Next:  cp .env.example .env, remove the # in front of your provider's lines, fill them in, and name its model in ${DEFAULT_AGENT_FILE}. Then:  set -a; . ./.env; set +a; ${X} run
Without a key:  ${X} replay shows what compaction does to the logs on this machine.
`;

/** Writes the files for a first run. Existing files stay unchanged. */
export const init = command({
  name: 'init',
  options: {},
  summary: `Writes a first ${DEFAULT_AGENT_FILE} and .env.example into this folder, and prints the next step.`,
  examples: ['x init && x run'],
  async run({ output }) {
    const known = Object.entries(PROVIDER_VARIABLES).find(([name]) => process.env[name]);
    const [, model] = known ?? ['', PROVIDER_VARIABLES.OPENAI_API_KEY];
    const files = { [DEFAULT_AGENT_FILE]: agentFile(model), '.env.example': ENVIRONMENT };
    const kept = new Set<string>();
    for (const [file, content] of Object.entries(files)) {
      if (!(await isNew(file, content))) kept.add(file);
      output.write(`${kept.has(file) ? 'Kept ' : 'Wrote'} ${file}\n`);
    }
    if (!kept.has(DEFAULT_AGENT_FILE)) {
      const config = Object(await readYaml(DEFAULT_AGENT_FILE));
      const keepTrust = await requireTrust(DEFAULT_AGENT_FILE, config, true);
      keepTrust();
    }
    if (kept.has(DEFAULT_AGENT_FILE))
      output.write(`Next:  ${X} doctor, which says what ${DEFAULT_AGENT_FILE} still needs, then ${X} run\n`);
    else if (known) output.write(`Next:  ${X} run (${known[0]} is set)\n`);
    else output.write(WITHOUT_KEY);
  },
});

async function isNew(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new UsageError(`${file} cannot be written: ${errorText(error)}`);
  }
}
