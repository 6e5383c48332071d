// One contender's run, in a process of its own: its memory is its own, and it may run out of it.
import { contenderNamed } from './harness-contenders.js';
import { Conversation } from './harness-conversation.js';

const [name = '', steps = '', budgetMs = ''] = process.argv.slice(2);
const run = await contenderNamed(name);
// In the first run the engine is still compiling, which would flatter the growth.
await run(new Conversation(200, 5_000));
const conversation = new Conversation(Number(steps), Number(budgetMs));
const answer = await run(conversation);
const { askedAt } = conversation;
const rssMb = process.resourceUsage().maxRSS / 1_024;
const line = JSON.stringify({ askedAt, rssMb, differences: conversation.differences(answer) });
process.stdout.write(`\n${line}\n`, () => process.exit(0));
