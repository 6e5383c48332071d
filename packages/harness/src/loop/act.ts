import { randomUUID } from 'node:crypto';
import type { Message, Tool, ToolResultBlock, ToolScope, ToolUseBlock } from '@x/core';
import { Interruption } from '../errors/interruption.js';
import { onion } from './onion.js';
import { closeDangling } from './pairing.js';
import { runTool } from './run-tool.js';
import type { RunningCall } from './running-call.js';

/**
 * Runs the tool calls of one assistant message and appends their results in the order of the calls. Read-only tools
 * that stand side by side run in parallel, all others alone and in order. An interruption closes what has not
 * finished and keeps what has.
 */
export async function act(
  call: RunningCall,
  uses: readonly ToolUseBlock[],
  tools: ReadonlyMap<string, Tool>,
): Promise<void> {
  const results = new Map<ToolUseBlock, ToolResultBlock>();
  try {
    for (const batch of batches(uses, tools, call.options.parts.settings.maxParallelTools)) {
      await Promise.all(
        batch.map(async (use) => {
          results.set(use, await runOne(call, use, tools));
        }),
      );
    }
  } finally {
    const { signal } = call.scope;
    const reason = signal.reason instanceof Interruption ? signal.reason.kind : 'interrupted';
    call.add(
      uses.flatMap((use): readonly Message[] => {
        const result = results.get(use);
        return result ? [resultMessage(result)] : closeDangling([use], reason);
      }),
    );
  }
}

async function runOne(
  call: RunningCall,
  use: ToolUseBlock,
  tools: ReadonlyMap<string, Tool>,
): Promise<ToolResultBlock> {
  const { settings, capabilities } = call.options.parts;
  call.scope.signal.throwIfAborted();
  const scope: ToolScope = { ...call.scope, tool: tools.get(use.name) };
  const hooks = capabilities.flatMap((capability) =>
    capability.aroundTool
      ? [
          (argument: ToolUseBlock, next: (argument: ToolUseBlock) => Promise<ToolResultBlock>) =>
            capability.aroundTool?.(argument, scope, next) ?? next(argument),
        ]
      : [],
  );
  call.emit({ type: 'tool.call', call: use });
  const startedAt = performance.now();
  const result = await onion(hooks, (argument) =>
    runTool(argument, scope, { defaultTimeoutMs: settings.toolTimeoutMs, toolNames: [...tools.keys()] }),
  )(use);
  call.emit({ type: 'tool.result', result, durationMs: performance.now() - startedAt });
  return result;
}

function batches(
  uses: readonly ToolUseBlock[],
  tools: ReadonlyMap<string, Tool>,
  size: number,
): readonly (readonly ToolUseBlock[])[] {
  const groups: ToolUseBlock[][] = [];
  let parallel = false;
  for (const use of uses) {
    const readOnly = tools.get(use.name)?.readOnly ?? false;
    const last = groups.at(-1);
    if (last && readOnly && parallel && last.length < size) last.push(use);
    else groups.push([use]);
    parallel = readOnly;
  }
  return groups;
}

function resultMessage(result: ToolResultBlock): Message {
  return { id: randomUUID(), role: 'tool', content: [result], createdAt: new Date().toISOString() };
}
