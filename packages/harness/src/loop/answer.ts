import type { Message, ToolUseBlock } from '@x/core';
import { refuseEarlyAnswer } from '../output/final-answer.js';
import type { RunningCall } from './running-call.js';

/** Whether the answer will do. If it has not the form that was asked for, the model is told so. */
export async function settleAnswer(call: RunningCall, message: Message | undefined): Promise<boolean> {
  const { output } = call.options;
  if (output === undefined) return true;
  const judgment = await output.judge(message, call.answerTool !== undefined);
  if (judgment.taken) return true;
  const { attempt, error, complaint } = judgment;
  call.emit({ type: 'output.rejected', attempt, error });
  call.add([complaint]);
  return false;
}

/** Refuses at once an answer that was given beside other calls: those are run first. */
export function refuseEarlyAnswers(call: RunningCall, uses: readonly ToolUseBlock[]): void {
  const name = call.answerTool?.name;
  call.add(uses.filter((use) => use.name === name).map(refuseEarlyAnswer));
}
