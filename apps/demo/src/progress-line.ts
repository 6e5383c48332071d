import { type AgentEvent, headOf } from '@x/core';

/** Shows a call as it goes: one line that is written over in a terminal, one line a tool call in a pipe. */
export class ProgressLine {
  readonly #output: NodeJS.WriteStream;
  readonly #startedAt = performance.now();
  #toolCalls = 0;
  #compactions = 0;
  #evictions = 0;
  #modelCalls = 0;
  #tokens = '';

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  show(event: AgentEvent): void {
    switch (event.type) {
      case 'model.started': {
        this.#modelCalls++;
        const { total, contextWindow } = event.context;
        this.#tokens = contextWindow
          ? `${inThousands(total)}/${inThousands(contextWindow)}`
          : inThousands(total);
        return;
      }
      case 'tool.call': {
        this.#toolCalls++;
        const [first = ''] = Object.values(event.call.input ?? {});
        const argument = headOf(String(typeof first === 'object' ? '' : first).replace(/\s+/g, ' '), 60);
        this.#line(
          `${String(this.#toolCalls).padStart(3)}  ${this.#tokens} tokens  ${event.call.name} ${argument}`,
        );
        return;
      }
      case 'tool.evicted':
        this.#evictions++;
        this.#note(`     A result of ${event.chars} characters went to ${event.path}`);
        return;
      case 'context.compacted':
        if (event.status === 'applied') this.#compactions++;
        this.#note(
          `     Context ${event.status === 'applied' ? 'compacted' : `compaction ${event.status}`}: ${event.messagesBefore} → ${event.messagesAfter} messages, ` +
            `${inThousands(event.tokensBefore)} → ${inThousands(event.tokensAfter)} tokens (${event.strategyUsed || event.detail})`,
        );
        return;
      case 'warning':
        this.#note(`     ${event.source}: ${event.message}`);
        return;
      default:
    }
  }

  end(): void {
    if (this.#output.isTTY) this.#output.write('\r\x1b[K');
  }

  summary(): string {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    return (
      `${this.#modelCalls} model calls, ${this.#toolCalls} tool calls, ${this.#compactions} compactions, ` +
      `${this.#evictions} evicted results, ${seconds} s`
    );
  }

  #line(text: string): void {
    if (!this.#output.isTTY) this.#output.write(`${text}\n`);
    else this.#output.write(`\r\x1b[K${headOf(text, (this.#output.columns || 80) - 1)}`);
  }

  #note(text: string): void {
    this.end();
    this.#output.write(`${text}\n`);
  }
}

function inThousands(tokens: number): string {
  return tokens < 1_000 ? String(tokens) : `${(tokens / 1_000).toFixed(1)}k`;
}
