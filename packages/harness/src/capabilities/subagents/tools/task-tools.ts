/** The tools by which an agent directs subagents. */
export const TASK_TOOLS = [
  'agent_spawn',
  'agent_send',
  'agent_list',
  'task_output',
  'task_list',
  'task_cancel',
  'wait_async_results',
] as const;
