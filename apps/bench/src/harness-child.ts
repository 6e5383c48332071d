// One contender's run, in a process of its own: its memory is its own, and it may run out of it.
import { contenderNamed } from './harness-contenders.js';
import { Conversation } from './harness-conversation.js';

const [library = '', name = '', steps = '', budgetMs = ''] = process.argv.slice(2);
const run = await contenderNamed(library, name);
// In the first run the engine is still compiling, which would flatter the growth.
await run(new Conversation(200, 5_000));
const conversation = new Conversation(Number(steps), Number(budgetMs));
await run(conversation);
conversation.assertComplete();
const rssMb = process.resourceUsage().maxRSS / 1_024;
process.stdout.write(`\n${JSON.stringify({ askedAt: conversation.askedAt, rssMb })}\n`, () =>
  process.exit(0),
);
