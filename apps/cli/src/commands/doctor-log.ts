import { existsSync } from 'node:fs';
import { oneLine } from '@x/harness/view';
import { repairLog } from '@x/replay';
import { command, UsageError } from '../command.js';
import { readInput, writeOutput } from '../read-input.js';
import { readLog } from './replay/read-log.js';

/** Checks the log of another agent, and counts the messages that this agent would lose when it resumes. */
export const doctorLog = command({
  name: 'doctor log',
  takes: 'FILE',
  options: {
    write: { type: 'string', value: 'COPY', help: 'Writes a repaired copy to a new file.' },
    format: { type: 'string', value: 'NAME', help: 'The format of the log, if it is not recognized.' },
  },
  summary:
    'Checks the log of another agent: shows its contents, and the messages that the agent would lose when it resumes. Can write a repaired copy. Never changes the log itself.',
  examples: ['x doctor log ~/.claude/projects/my-app/0b9f.jsonl --write repaired.jsonl'],
  async run({ values: { write, format }, positionals: [file = ''], output }) {
    if (write !== undefined && existsSync(write))
      throw new UsageError(`${write} already exists. Name a new file.`);
    const source = await readInput(file);
    const { conversation, unreachable, repaired } = readLog(repairLog, source, file, format);
    const { messages, compactions, unread } = conversation;
    output.write(`${conversation.format}, ${messages.length} messages, ${compactions.length} compactions\n`);
    for (const [reason, count] of Object.entries(unread))
      output.write(`${oneLine(`not read: ${count} × ${reason}`)}\n`);
    output.write(
      unreachable === 0
        ? 'When that agent resumes, it reaches every message of the last branch.\n'
        : `When that agent resumes, it loses ${unreachable} messages, because the parent of a later row is missing.\n`,
    );
    if (repaired === undefined) {
      if (write === undefined) return;
      throw new UsageError(
        `Rows of ${conversation.format} have no parent ids, so there is nothing to repair.`,
      );
    }
    if (write === undefined) {
      if (unreachable > 0) output.write('To write a repaired copy: --write COPY\n');
      return;
    }
    await writeOutput(write, repaired, 'wx');
    output.write(`Written to ${write}\n`);
  },
});
