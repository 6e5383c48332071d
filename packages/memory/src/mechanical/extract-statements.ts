import type { Message } from '@x/core';
import type { Statement } from '../flush/flush-prompt.js';
import { factKey, plainLine } from '../notes.js';

/** Of too many, what was asked for is kept first. */
const KINDS = ['Fact', 'Preference', 'Decision'] as const;
/** Letters of a sentence; one of a script whose words are one or two characters long counts twice. */
const SHORTEST = 6;
const DENSE = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]/gu;
/** UTF-16 units of a sentence; longer ones are pasted text. */
const LONGEST = 300;
/** Of a longer message only the beginning and the end are the user's own words, as a rule. */
const OWN_WORDS = 1_500;

// A full stop inside a name or a number, behind a title, an initial or a short form ends nothing.
const SHORT_FORM = String.raw`(?:[DdMJS]r|Mrs|Ms|Prof|St|Sra|Mme|Mlle|Hr|Fr|vs|approx|bzw|inkl|e\.g|i\.e|z\. ?B|d\. ?h|p\. ?ej)\.|(?!I\.)\p{Lu}\.(?=\s+\p{Lu})`;
const BEFORE_NUMBER = String.raw`(?:No|Nr|Str|Núm|núm|Nº|pp?|[Ff]ig|[Aa]rt|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.(?=\s+\d)|(?:am|zum|vom|bis|ab|den|dem|der) \d{1,2}\.(?=\s+\p{L})`;
const SENTENCE_END = new RegExp(
  String.raw`(?<=[.!?])(?<!(?<![\p{L}\p{N}])(?:${SHORT_FORM}|${BEFORE_NUMBER}))\s+|(?<=[。！？])`,
  'u',
);
/** A line of a list, as it may follow `Please remember the following:`. */
const ITEM = /^\s*(?:[-*•]|\d+[.)])\s/;
const DECORATION = /^(?:[-*•\s]|\d+[.)]\s)+|\*\*/g;
/** Pasted code, quotations, output and what programs put into a conversation: never what the user says of themselves. */
const FENCE = /(?:```|~~~)[\s\S]*?(?:```|~~~|$)/g;
const PASTED = '\n>\n';
const TAGGED = /<([a-z][\w-]*)(?![\w-])[^<>]*>[\s\S]*?(?:<\/\1>|$)/gi;
const PASTED_LINE = /^\s*(?:[>$#%|]|\d+[:|]|at |@@|\+\+\+|---|[-+] ?[{}\w]+\()/;
const CODE = /[{}<>\\|=;`]|\w\(\)?|:\/\/|^\/|\w\/\w+\.\w|[A-Z]{3,} [A-Z]{3,}|->|=>|\/\w+\/|^[\w-]+:\s*\S+$/;

/**
 * What was asked to be remembered, in so many words. Whoever is told not to forget to do something has a task: not to be
 * forgotten is what is said of oneself, behind a colon, or as a clause.
 */
const ASKED = beginning(
  String.raw`(?:please |also |and )*(?:(?:remember|keep in mind)(?: that|:| please|,)? \S|(?:don't forget|do not forget|never forget|note)(?:: ?\S|,? (?:that )?(?:my|our|I|I'm|I've|we|we're) |(?<!note) that \S))|for (?:the record|future reference)\b`,
  String.raw`bitte merken: ?\S|(?:bitte )?(?:merk(?:e|en Sie)? (?:dir|sich)|notiere?(?: dir)?[ :,]|(?:denke? daran|vergiss nicht)(?:,? dass |: ?\S))`,
  String.raw`souviens-toi|retiens|(?:n'oublie pas|note)(?: que |: ?\S| : ?\S)`,
  String.raw`(?:por favor,? )?recuerda\b|(?:no olvides|ten en cuenta)(?: que |: ?\S)`,
  String.raw`lembre-se|não esqueça(?:(?: de)? que |: ?\S)|ricorda(?:ti)?\b|non dimenticare(?: che |: ?\S)`,
  String.raw`запомни|не забудь(?:те)?(?:,? что |: ?\S)`,
  '请?(?:帮我)?(?:记住|记一下(?=.*[^，,：:。！]))|请?(?:别忘了|不要忘记)(?:我|[,，:：])',
  '.*(?:覚えておいて|ことを忘れないで|기억해 ?(?:줘|주세요|둬|두세요)|것을? 잊지 마)',
);
/** Such a request alone, which means what was said before it. */
const ASKED_OF_BEFORE =
  /^(?:please |also |and |bitte |请)*(?:(?:remember|keep in mind|don't forget|do not forget|never forget|note)(?: this| that| it)|merke? dir (?:das|dies|es)|vergiss (?:das|es) nicht|(?:souviens-t'en|retiens(?:-le| (?:ça|cela))|n'oublie pas (?:ça|cela))|(?:recuérdalo|recuerda (?:esto|eso)|no lo olvides)|(?:lembre-se|não (?:se )?esqueça) disso|ricordalo|запомни(?:те)?(?: это)?|不要忘记|别忘了|(?:帮我)?记住(?:这个|这点|这一点|它)?|(?:(?:これ|それ|この(?:こと|事)|そのこと)[をは]?)?覚えておいて(?:ください|下さい|ね)?|(?:이거|이것|그거|꼭)? ?기억해 ?(?:줘|주세요|둬|두세요))(?: please| bitte)?[.!。！]?$/iu;
/** Who the user is and what they like: of things in general, not of what is before them. */
const STATED = beginning(
  String.raw`(?:(?:and|also|but|please|btw|so),? )*(?:I|we)(?:(?:'d| would| really| usually| generally| always| never| do not| don't)* prefer(?! (?:u|you|if)\b)|(?: really| usually| generally| always| never| do not| don't)* (?:like|love|dislike|avoid))\b(?! (?:the|that|this|how|it|her|him|them|you|your|when|what|where|to (?:do|see|have))\b)`,
  String.raw`(?:(?:and|also|but|so),? )*(?:I|we)(?: currently| now| always| never| only| mostly| no longer| do not| don't)* use (?!(?:the|this|that|it|these|your)\b)\p{L}|(?:I|we) stopped using \p{L}`,
  String.raw`(?:I'm|I am) (?:allergic|vegetarian|vegan|left-handed|color-?blind|an?(?! (?:bit|little|lot|few|fan|new) ?\b) \w+)\b|(?:I|we) (?:live|work) (?:in|at|for|as) \S`,
  'my (?:(?:(?:user|customer|member|employee) )?id|(?:phone|mobile) number|(?:home |postal )?address|zip code) (?:is|=|:)',
  String.raw`my (?:favou?rite(?! \S+ w(?:as|ere)\b)\b|(?:time ?zone|birthday|pronouns|email|native language|job|wife|husband|partner|son|daughter|dog|cat)(?:,? \S+)? (?:is|are|has|works|lives|=|:)(?! (?:not|wrong|missing|broken|down|right)\b))|my name(?:'s| is) (?!(?:in|on|at|not|no|wrong|missing|also|still|already|now|too|the|a|an|so|listed|shown|spelled|spelt|misspelled)\b)`,
  String.raw`(?:ich|wir) (?:bevorzuge|(?:mag|mögen)(?! (?:das|es|den|die|der|dies\S*|dein\S*)(?: |$))|heiße |wohnen?(?: jetzt| nun)? in |arbeiten?(?: jetzt| nun)? (?:bei|als|in|für) )|mein(?:e|er)? (?:name|lieblings\S*|frau|mann|hund|katze|kundennummer|telefonnummer|adresse)(?: \S+)? (?:ist|heißt|lautet|hat|arbeitet) (?!falsch|nicht|weg|kaputt)`,
  '(?:mon|ma|mi|meu|minha|(?:il )?mio|(?:la )?mia) (?:nom|nombre|nome|numéro|número|numero|adresse|dirección|endereço|indirizzo|téléphone|teléfono|telefone|telefono) (?:est|es|é|è) ',
  String.raw`je (?:préfère|m'appelle|suis (?:végétarien|allergique)\S*|travaille (?:chez|comme|à|au|pour|dans) |vis (?:à|en|au|dans) )|(?:ahora )?(?:prefiero |vivo en |trabajo (?:en|como|para|de) )|me llamo |vivo a |prefiro |moro em |preferisco |mi chiamo `,
  'мой (?:номер|адрес|телефон) |я (?:предпочитаю|люблю(?! (?:когда|как|его|её|их|тебя)),?|живу (?:в|на)|работаю (?:в|на(?! д)|как) )|меня зовут',
  '我(?:现在)?(?:更)?(?:喜欢|偏好)(?!你|您|这|那|它|他|她)|我(?:叫(?!你|您|他|她|它)|(?:现在)?住在(?!这|那)|是素食)|我的(?:名字|电话|手机|邮箱|地址|生日)(?:是|叫|在)',
  '私の(?:電話|住所|メール)|私(?:は(?!大丈夫|結構)|の名前は).{1,30}(?:好き|です|と申します)[^、，]{0,8}$|제 (?:전화|주소|이메일)|(?:저는|나는|제 이름은).*(?:좋아|입니다|이에요)',
);
/** How they want it from the assistant from now on: a verb of its work with a word of habit, or a word of the time to come. */
const WISH = beginning(
  String.raw`(?:please )?(?:always|never) (?:use|answer|reply|write|call|ask|put|run|commit|push|add|keep|show|format|speak|name)\b|(?:from now on|in (?:the )?future|by default),? \S`,
  String.raw`(?:bitte )?(?:antworte|schreibe?|nutze|benutze|verwende|nimm|frage?|sprich|zeige?|nenne?|formatiere)(?: mir| mich)?(?: bitte)? (?:immer|nie|niemals|stets|künftig|nur) |(?:bitte )?(?:immer|nie|niemals) .*(?:antworten|schreiben|nutzen|benutzen|verwenden|fragen|nennen|formatieren)[.!]?$|(?:bitte )?(?:ab (?:jetzt|sofort)|von nun an|in zukunft|künftig) (?!ist|geht|kommt)\S`,
  String.raw`(?:s'il (?:te|vous) plaît,? )?(?:(?:réponds|répondez|écris|écrivez|utilise|utilisez|parle|montre|appelle)(?:-moi)? (?:toujours|uniquement) |(?:toujours|ne jamais) (?:répondre|écrire|utiliser|parler|mettre) |n'(?:utilise|écris)[sz]? jamais |(?:désormais|dorénavant|à partir de maintenant|à l'avenir),? \S)`,
  String.raw`(?:por favor,? )?(?:(?:responde|contesta|usa|utiliza|escribe|habla|responda|escreva|use|fale|rispondi|scrivi|parla)(?:me|mi)? (?:siempre|sempre) |(?:no )?(?:siempre|nunca|sempre) (?:me )?(?:respond|contest|us[ae]|utili[cz]|escrib|habl|escrev|fal[ae]|rispond|scriv|parl)|(?:a partir de (?:ahora|agora)|de ahora en adelante|daqui em diante|d'ora in poi),? \S)`,
  String.raw`(?:пожалуйста,? )?(?:(?:отвечай|пиши|используй|говори|называй)(?:те)?(?: мне)? (?:всегда|только) |(?:всегда|никогда не) (?:отвечай|пиши|используй|говори|называй|добавляй)|(?:впредь|отныне|с этого момента),? \S)`,
  '以后(?:都|请)|请(?:始终|总是|一律)|(?:今後|これから)は.*(?:ください|下さい|して)|앞으로(?:는)? .*(?:주세요|해줘|해 줘)',
);
/** How a name is given is told by its capital. */
const CALL_ME =
  /^(?:(?:[Pp]lease |[Bb]itte |[Pp]or favor,? )?(?:[Cc]all me|[Nn]enne? mich(?: bitte)?|[Ll]lámame)|[Aa]ppelle-moi|[Cc]hiamami) \p{Lu}/u;
/** What the user settled. */
const DECISION = beginning(
  String.raw`(?:(?:ok|okay|so|then|and|yes|right|alright),? )*(?:(?:we|I)(?:'ve| have)? (?:decided|agreed|chose|settled)\b|(?:let'?s (?:go with|use|take|stick with|keep|drop)|we(?:'re| are) going with)(?! (?:a|an|it|this|that|these|those|them|one|going|(?:the )?(?:first|second|third|last|other|same|latter|former))\b)|the decision is\b)`,
  String.raw`(?:wir haben (?:uns .*(?:entschieden|geeinigt)|(?:.* )?(?:entschieden|beschlossen|vereinbart))|(?:wir nehmen|nehmen wir)(?! (?:an|das|es)(?: |,|$)) \S|lass uns \S+ (?:nehmen|verwenden))`,
  String.raw`nous avons décidé|on (?:prend|garde) (?!un |une |la pause)\S|(?:hemos decidido|decidimos|vamos a usar|vamos usar|abbiamo deciso|мы решили)`,
  '.*(?:(?:我们|咱们)(?:已经|最后|最终)?(?:决定|选择)|に決め(?:ました|た)|결정했)',
);
/** A word or two to begin with, as `Sure, my name is …`. */
export const LEAD = /^\p{L}{1,10}(?: \p{L}{1,8})?[,，、]\s*/u;
/** What is shouted is an instruction of a program, and an option is chosen here and now. */
const SHOUTED = /\p{Lu}{3,} \p{Lu}{3,}|\b[Oo]ption (?:\d|[A-D])\b/u;
const MENTION = /(?:^|\s)@\S*[/.]\S/;
/** A question, or a sentence that was broken off. */
const OPEN = /(?:[?？…]|\.{3})\s*$/u;
/** Points to what is only there now. */
const HERE =
  /\b(?:this|that|these|those|it|above|below|here|for now|for today|this time)\b[.!]?$|\b(?:the (?:above|following|attached|error|output)|this (?:file|error|test|function|line|branch|pr|commit)|that (?:trip|event|time|day|order)|him|her|them)\b|(?<!\p{L})(?:diese[rnms]?|cette|cet|ces|ça|cela|est[eao]s?|es[eao]s?|esto|eso|ess[ae]|isso|isto|quest[oaei]|эт(?:о|от|а|и|у|ой|ом))(?!\p{L}| moment)|ce (?:fichier|test|bug|code)|(?:zweite|erste|letzte)[nrs]?(?!\p{L})|deuxième|dernière|segund[oa]|[这那](?:个|种|样|里)|第[一二三四]个|刚才|(?:これ(?!から)|それ|この|その|あの)|이거|이것|그거/iu;

/** What a user plainly asked to be remembered, said of themselves or settled, in their own words: nothing is better than noise. */
export function extractStatements(messages: readonly Message[], maxStatements: number): readonly Statement[] {
  const found = new Map<string, Statement & { readonly kind: string }>();
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user' || message.kind !== undefined) continue;
    for (const { sentence, isAsked } of sentencesOf(message)) {
      const kind = kindOf(sentence, isAsked);
      const text = `${kind} (as stated): ${sentence}`;
      const key = factKey(sentence);
      if (kind !== undefined && !found.has(key)) found.set(key, { text, message: index, kind });
    }
  }
  const all = [...found.values()];
  const ranked = KINDS.flatMap((kind) => all.filter((one) => one.kind === kind)).slice(0, maxStatements);
  return all.filter((one) => ranked.includes(one)).map(({ text, message }) => ({ text, message }));
}

/** What begins with one of some patterns, one for each language or script. */
function beginning(...patterns: readonly string[]): RegExp {
  return new RegExp(`^(?:${patterns.join('|')})`, 'iu');
}

function kindOf(sentence: string, isAsked: boolean): (typeof KINDS)[number] | undefined {
  if (OPEN.test(sentence) || SHOUTED.test(sentence)) return undefined;
  // A mentioned file is to be read now, not to be remembered.
  if (isAsked || ASKED.test(sentence)) return MENTION.test(sentence) ? undefined : 'Fact';
  if (CODE.test(sentence) || HERE.test(sentence)) return undefined;
  const ways = [sentence, sentence.replace(LEAD, '')];
  if ([STATED, WISH, CALL_ME].some((pattern) => ways.some((way) => pattern.test(way)))) return 'Preference';
  return DECISION.test(sentence) ? 'Decision' : undefined;
}

/** The sentences of a message, each with whether what stands before or behind it asks for it to be remembered. */
function sentencesOf({ content }: Message) {
  const found: { readonly sentence: string; readonly isAsked: boolean }[] = [];
  // Behind a request that ends with a colon: a list, or one line.
  let isAsked = false;
  const take = (text: string) => {
    const sentence = plainLine(text.replaceAll(DECORATION, ''));
    if (ASKED_OF_BEFORE.test(sentence))
      found.push(...found.splice(-1).map((one) => ({ ...one, isAsked: true })));
    else if (/[:：]$/.test(sentence) && ASKED.test(`${sentence} …`)) isAsked = true;
    else if (sentence.replaceAll(DENSE, '$&$&').length >= SHORTEST && sentence.length <= LONGEST)
      found.push({ sentence, isAsked });
  };
  for (const block of content) {
    if (block.type !== 'text') continue;
    const own = block.text.replaceAll(FENCE, PASTED).replaceAll(TAGGED, PASTED);
    // What the cut left of a line is nobody's sentence.
    const said =
      own.length <= OWN_WORDS ? own : `${own.slice(0, OWN_WORDS / 2)}${PASTED}${own.slice(-OWN_WORDS / 2)}`;
    let isList = false;
    for (const line of said.split('\n').filter((one) => one.trim() !== '')) {
      const isItem = ITEM.test(line);
      const isPasted = PASTED_LINE.test(line);
      if (isPasted || (isList && !isItem)) isAsked = false;
      isList = isAsked && isItem;
      if (isPasted) continue;
      const wasAsked = isAsked;
      for (const part of isAsked ? [line] : line.split(SENTENCE_END)) take(part);
      if (wasAsked && !isItem) isAsked = false;
    }
    isAsked = false;
  }
  return found;
}
