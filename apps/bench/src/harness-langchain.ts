import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent, summarizationMiddleware } from 'langchain';
import * as z from 'zod';
import { ANSWER, type Conversation, QUESTION, TOOL } from './harness-conversation.js';

const toolsFor = (conversation: Conversation) => [
  tool(({ at }: { at: number }) => conversation.look(at), { ...TOOL, schema: z.object({ at: z.number() }) }),
];

class InstantModel extends BaseChatModel {
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    super({});
    this.#conversation = conversation;
  }

  _llmType(): string {
    return 'instant';
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const call = this.#conversation.next(messages);
    const message =
      call === undefined
        ? new AIMessage(ANSWER)
        : new AIMessage({
            content: '',
            tool_calls: [{ id: call.id, name: TOOL.name, args: { at: call.at }, type: 'tool_call' }],
          });
    return { generations: [{ text: '', message }] };
  }
}

/** LangChain's agent, with its own summarization and with LangGraph's saver at its default durability. */
export const langchain = {
  'LangChain createAgent, summarization armed': (conversation: Conversation) => {
    const model = new InstantModel(conversation);
    // The type of its options comes out as `never` under TypeScript's strictest settings.
    const options = { model, trigger: { messages: 1_000_000 }, keep: { messages: 20 } };
    return runAgent(conversation, { middleware: [summarizationMiddleware(options as never)] });
  },
  'LangChain createAgent + MemorySaver': (conversation: Conversation) =>
    runAgent(conversation, { checkpointer: new MemorySaver() }),
} as const;

async function runAgent(conversation: Conversation, options: object): Promise<string> {
  const agent = createAgent({
    model: new InstantModel(conversation),
    tools: toolsFor(conversation),
    ...options,
  } as never);
  const question = { messages: [new HumanMessage(QUESTION)] } as never;
  const { messages } = await agent.invoke(question, configOf(conversation));
  return answerIn(messages);
}

function answerIn(messages: readonly BaseMessage[]): string {
  return messages.at(-1)?.text ?? '';
}

function configOf({ steps }: Conversation) {
  return { recursionLimit: 10 * steps + 100, configurable: { thread_id: 't' } };
}
