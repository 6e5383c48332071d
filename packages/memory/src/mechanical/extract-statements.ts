import type { Message } from '@x/core';
import type { Statement } from '../flush/flush-prompt.js';
import { factKey, plainLine } from '../notes.js';

const SHORTEST = 6;
/** UTF-16 units of a sentence; longer ones are pasted text. */
const LONGEST = 300;
/** Of a longer message only the beginning and the end are the user's own words, as a rule. */
const OWN_WORDS = 1_500;

// A full stop inside a name or a number ends nothing.
const SENTENCE_END = /(?<=[.!?])\s+|(?<=[。！？])|\n+/u;
const DECORATION = /^(?:[-*•\s]|\d+[.)]\s)+|\*\*/g;
/** Pasted code, quotations, output and what programs put into a conversation: never what the user says of themselves. */
const FENCE = /(?:```|~~~)[\s\S]*?(?:```|~~~|$)/g;
const TAGGED = /<([a-z][\w-]*)(?![\w-])[^<>]*>[\s\S]*?(?:<\/\1>|$)/gi;
const PASTED_LINE = /^\s*(?:[>$#%|]|\d+[:|]|at |@@|\+\+\+|---|[-+] ?[{}\w]+\()/;
const CODE = /[{}<>\\|=;`]|\w\(\)?|:\/\/|^\/|\w\/\w+\.\w|[A-Z]{3,} [A-Z]{3,}|->|=>|\/\w+\/|^[\w-]+:\s*\S+$/;

/** What was asked to be remembered, in so many words. */
const ASKED =
  /^(?:please |also |and )*(?:(?:remember|keep in mind|don't forget|do not forget|never forget)(?: that|:| please|,)?|note(?: that|:)) \S|^for (?:the record|future reference)\b|^(?:bitte )?(?:merk(?:e)? dir|denk daran|vergiss nicht|notiere?)[ ,:]|^(?:souviens-toi|retiens|n'oublie pas|note que)|^(?:recuerda|no olvides|ten en cuenta)|^(?:lembre-se|não esqueça)|^(?:ricorda(?:ti)?|non dimenticare)|^(?:запомни|не забудь)|^(?:请)?(?:记住|别忘了|不要忘记)|覚えて(?:おいて)?|忘れないで|기억해|잊지 마/iu;
/** Who the user is, what they like, and how they want it always. */
const PREFERENCE =
  /^(?:(?:and|also|but|please|btw|so),? )*(?:I|we)(?:(?:'d| would| really| usually| generally| always| never| do not| don't)* prefer(?! (?:u|you|if)\b)|(?: really| usually| generally| always| never| do not| don't)* (?:like|love|hate|dislike|avoid))\b(?! (?:the|that|this|how|it|her|him|them|you|to (?:do|see|have))\b)|^(?:(?:and|also|but|so),? )*(?:I|we)(?: currently| now| always| never| only| mostly| no longer| do not| don't)* use (?!the|this|that|it|these)\p{L}|^(?:I|we) stopped using \p{L}|^(?:I'm|I am) (?:allergic|vegetarian|vegan|left-handed|color-?blind|a(?! (?:bit|little|lot)\b) \w+)\b|^my (?:(?:(?:user|customer|member|employee) )?id|(?:phone|mobile) number|(?:home |postal )?address|zip code) (?:is|=|:)|^my (?:name|favou?rite(?! \S+ w(?:as|ere)\b)|time ?zone|birthday|pronouns|email|native language|job|wife|husband|partner|son|daughter|dog|cat)\b|^call me \p{Lu}|^(?:I|we) (?:live|work) (?:in|at|for|as) \S|^(?:please )?(?:always|never) (?:use|answer|reply|write|call|ask|put|run|commit|push|add|keep|show|format|speak|name)\b|^(?:from now on|in (?:the )?future|by default),? \S|^(?:ich|wir) (?:bevorzuge|mag|mögen|hasse|heiße|wohne|arbeite)|^(?:bitte )?(?:immer|nie(?:mals)?|ab (?:jetzt|sofort)) \S|^mein(?:e|er)? (?:name|lieblings\S*|frau|mann|hund|katze|kundennummer|telefonnummer|adresse) |^(?:mon|ma|mi|meu|minha|(?:il )?mio|(?:la )?mia) (?:nom|nombre|nome|numéro|número|numero|adresse|dirección|endereço|indirizzo|téléphone|teléfono|telefone|telefono) |^мой (?:номер|адрес|телефон) |^(?:je (?:préfère|déteste|m'appelle|suis (?:végétarien|allergique)\S*|travaille|vis)|toujours \S|(?:prefiero|odio|me llamo|siempre \S|nunca \S|vivo en|trabajo)|(?:prefiro|odeio|meu nome|moro em)|(?:preferisco|odio|mi chiamo|vivo a)|(?:я (?:предпочитаю|люблю|ненавижу|живу|работаю)|меня зовут|всегда \S|никогда \S))|我(?:更)?(?:喜欢|偏好|讨厌|叫|住在|是素食)|我的(?:名字|电话|手机|邮箱|地址|生日)|^私の(?:電話|住所|メール)|^제 (?:전화|주소|이메일)|^以后(?:都|请)|私(?:は|の名前は).*(?:好き|嫌い|です)|(?:저는|나는|제 이름은).*(?:좋아|싫어|입니다|이에요)/iu;
/** What the user settled. */
const DECISION =
  /^(?:(?:ok|okay|so|then|and|yes|right|alright),? )*(?:(?:we|I)(?:'ve| have)? (?:decided|agreed|chose|settled)\b|let'?s (?:go with|use|take|stick with|keep|drop)\b|we(?:'re| are) going with\b|the decision is\b)|^(?:wir (?:haben uns )?(?:entschieden|beschlossen|nehmen)|nehmen wir|lass uns \S+ (?:nehmen|verwenden))|^(?:nous avons décidé|on prend|hemos decidido|vamos a usar|decidimos|abbiamo deciso|мы решили)|(?:我们|咱们)(?:决定|选择)|に決め(?:ました|た)|결정했/iu;
/** A word or two to begin with, as `Sure, my name is …`. */
const LEAD = /^\p{L}{1,10}(?: \p{L}{1,8})?[,，、]\s*/u;
/** What is shouted is an instruction of a program, and an option is chosen here and now. */
const SHOUTED = /\p{Lu}{3,} \p{Lu}{3,}|\b[Oo]ption (?:\d|[A-D])\b/u;
const MENTION = /(?:^|\s)@\S*[/.]\S/;
const QUESTION = /[?？]\s*$/u;
/** Points to what is only there now. */
const HERE =
  /\b(?:this|that|these|those|it|above|below|here)\b[.!]?$|\b(?:the (?:above|following|attached|error|output)|this (?:file|error|test|function|line|branch|pr|commit)|that (?:trip|event|time|day|order)|him|her|them)\b/i;

/**
 * What a user plainly asked to be remembered, said of themselves or settled, found by pattern and without a model, in the
 * user's own words. Commands, pasted text, tags and code are never taken: nothing is better than noise.
 */
export function extractStatements(messages: readonly Message[], maxStatements: number): readonly Statement[] {
  const found = new Map<string, Statement & { readonly weight: number }>();
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user' || message.kind !== undefined) continue;
    for (const sentence of sentencesOf(message)) {
      const kind = kindOf(sentence);
      const key = factKey(sentence);
      if (kind === undefined || found.has(key)) continue;
      found.set(key, { text: `${kind[0]} (as stated): ${sentence}`, message: index, weight: kind[1] });
    }
  }
  const all = [...found.values()];
  const chosen = new Set(all.toSorted((left, right) => right.weight - left.weight).slice(0, maxStatements));
  return all.filter((one) => chosen.has(one)).map(({ text, message }) => ({ text, message }));
}

function kindOf(
  sentence: string,
): readonly [name: 'Fact' | 'Preference' | 'Decision', weight: number] | undefined {
  if (QUESTION.test(sentence) || SHOUTED.test(sentence)) return undefined;
  // A mentioned file is to be read now, not to be remembered.
  if (ASKED.test(sentence)) return MENTION.test(sentence) ? undefined : ['Fact', 3];
  if (CODE.test(sentence) || HERE.test(sentence)) return undefined;
  if (PREFERENCE.test(sentence) || PREFERENCE.test(sentence.replace(LEAD, ''))) return ['Preference', 2];
  return DECISION.test(sentence) ? ['Decision', 1] : undefined;
}

function sentencesOf({ content }: Message): readonly string[] {
  return content.flatMap((block) => {
    if (block.type !== 'text') return [];
    const own = block.text.replaceAll(FENCE, '\n').replaceAll(TAGGED, '\n');
    const said =
      own.length <= OWN_WORDS ? own : `${own.slice(0, OWN_WORDS / 2)}\n\n${own.slice(-OWN_WORDS / 2)}`;
    // What the cut left of a line is nobody's sentence.
    const lines = said.split('\n').filter((line) => !PASTED_LINE.test(line));
    return lines
      .flatMap((line) => line.split(SENTENCE_END))
      .map((sentence) => plainLine(sentence.replaceAll(DECORATION, '')))
      .filter(({ length }) => length >= SHORTEST && length <= LONGEST);
  });
}
