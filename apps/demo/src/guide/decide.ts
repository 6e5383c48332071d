import { answer } from './answer.js';
import { interject, isOurs, isUnfinished, survey } from './survey/survey.js';
import { act, type Decision, GO_ON, say, type View } from './view.js';

/** What the memory keeps by rule, at the end of the call. */
const REMEMBER = /^(?:please )?remember(?: that\b|:)/i;
const GREETING = /^(?:hi|hello|hey|help|what can you do)\b/i;

const ABOUT_ME = `I am the embedded guide: a set of rules, no language model. I can do one real job and answer a few kinds of questions:

- **survey this repository**: I explore the checkout I run in, count and read it area by area, and write REPORT.md.
- **a question about what I did**, such as "how many lines has packages/core?": I answer from what I still see, from the report, or by searching my memory and the log of this session.
- **where is openSession defined?** I search the sources.
- **write ideas.md: look at the stores first** I write that file, once you have allowed it.
- **remember that the demo listens on port 4173**: it is kept in MEMORY.md.

To talk to a language model instead, set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENAI_BASE_URL and start again.`;

/** The guide's whole policy: from what is in view to what happens next. */
export function decide(view: View): Decision {
  const isSurvey = /\bsurvey\b/i.test(view.request) && !view.request.endsWith('?');
  const goesOn = GO_ON.test(view.request) && isOurs(view) && (isUnfinished(view) || !view.isFresh);
  return isSurvey || goesOn ? survey(view, respond) : interject(view, respond);
}

function respond(view: View): Decision {
  if (GO_ON.test(view.request)) return say('Nothing is left unfinished. Try "survey this repository".');
  if (view.request === '' || GREETING.test(view.request)) return say(ABOUT_ME);
  if (REMEMBER.test(view.request))
    return say('That is kept for every conversation: see Memory, in a moment.');
  return writeDown(view) ?? answer(view);
}

/** As in “write ideas.md: look at the stores first”. */
const WRITE = /^(?:please )?write (?:to )?[`"']?([\w./-]+\.\w+)[`"']?\s*[:,]\s*([\s\S]+)$/i;

/** Writes a file that the user names, or nothing when that is not what was asked for. */
function writeDown(view: View): Decision | undefined {
  const [, path, content] = WRITE.exec(view.request) ?? [];
  if (path === undefined || content === undefined) return undefined;
  const wish = { name: 'write_file', input: { path, content: `${content.trim()}\n` } };
  const result = view.result(wish.name, wish.input);
  if (result === undefined) return act(`I will write that to ${path}.`, wish);
  return say(result.isError ? `I did not write ${path}. ${result.text}` : `Done. ${result.text}`);
}
