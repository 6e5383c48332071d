import { useComputed } from '@preact/signals';
import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { files } from '../state/session.js';
import { fileAddress } from '../state/view.js';
import { CodeBlock } from './parts.js';

/**
 * Renders Markdown as elements. `marked` only parses it, and no HTML is created, so that texts of a model or tool cannot become markup,
 * script or `javascript:` links.
 */
export function Markdown({ text, messageId }: { readonly text: string; readonly messageId?: string }) {
  const tokens = useMemo(() => underTitle(lexer(text)), [text]);
  return (
    <div class="markdown stack" data-said={messageId}>
      {tokens.map(draw)}
    </div>
  );
}

/** Ranks heading levels below the page's own title, which is the only h1. */
function underTitle(tokens: readonly Token[]): readonly Token[] {
  const depths = tokens.flatMap((token) => (token.type === 'heading' ? [token.depth] : []));
  const ranks = [...new Set(depths)].sort();
  return tokens.map((token) =>
    token.type === 'heading' ? { ...token, depth: ranks.indexOf(token.depth) } : token,
  );
}

/** Elements of tokens that only have children. */
const elements: Readonly<Record<string, 'p' | 'blockquote' | 'strong' | 'em' | 'del' | 'span' | undefined>> =
  {
    paragraph: 'p',
    blockquote: 'blockquote',
    strong: 'strong',
    em: 'em',
    del: 'del',
    text: 'span',
  };
const headings = ['h2', 'h3', 'h4'] as const;

function draw(token: Token, key: number): ComponentChildren {
  const Element = elements[token.type];
  if (Element) return <Element key={key}>{inside(token)}</Element>;
  switch (token.type) {
    case 'heading': {
      const Heading = headings[token.depth] ?? 'h4';
      return <Heading key={key}>{inside(token)}</Heading>;
    }
    case 'br':
      return <br key={key} />;
    case 'hr':
      return <hr key={key} />;
    case 'codespan':
      return <CodeSpan key={key} text={token.text} />;
    case 'code':
      return <CodeBlock key={key} label={token.lang || 'Code'} text={token.text} />;
    case 'list':
      return <List key={key} list={token as Tokens.List} />;
    case 'table':
      return <Table key={key} table={token as Tokens.Table} />;
    case 'link':
      if (!isSafe(token.href)) return <span key={key}>{inside(token)}</span>;
      return (
        <a key={key} href={token.href} target="_blank" rel="noopener noreferrer">
          {inside(token)}
        </a>
      );
    case 'image':
      // Images are not loaded, because their URLs could exfiltrate what the model has read.
      return <span key={key}>{token.text || 'image'}</span>;
    case 'escape':
      return token.text;
    case 'space':
    case 'def':
      return null;
    case 'checkbox':
      return (
        <input
          key={key}
          type="checkbox"
          checked={token.checked}
          disabled
          aria-label={token.checked ? 'Done' : 'To do'}
        />
      );
    case 'html':
      return (
        <span key={key} class="quiet label">
          {token.raw}
        </span>
      );
    default:
      return <span key={key}>{token.raw}</span>;
  }
}

/** Code in a line. The name of a file that the agent wrote is a link to the file. */
function CodeSpan({ text }: { readonly text: string }) {
  const isFile = useComputed(() => files.value.some(({ path }) => path === text)).value;
  const code = <code>{text}</code>;
  return isFile ? <a href={fileAddress(text)}>{code}</a> : code;
}

function inside(token: Token): ComponentChildren {
  const tokens = 'tokens' in token ? token.tokens : undefined;
  return tokens ? tokens.map(draw) : decoded('text' in token ? token.text : token.raw);
}

function List({ list }: { readonly list: Tokens.List }) {
  const items = list.items.map((item, index) => <li key={index}>{item.tokens.map(draw)}</li>);
  return list.ordered ? <ol start={list.start || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { readonly table: Tokens.Table }) {
  const row = (cells: readonly Tokens.TableCell[], Cell: 'th' | 'td') => (
    <tr>
      {cells.map(({ align, tokens }, index) => (
        <Cell key={index} data-align={align ?? undefined}>
          {tokens.map(draw)}
        </Cell>
      ))}
    </tr>
  );
  return (
    <div class="markdown-table">
      <table class="table">
        <thead>{row(table.header, 'th')}</thead>
        <tbody>{table.rows.map((cells) => row(cells, 'td'))}</tbody>
      </table>
    </div>
  );
}

/** Decodes HTML entities, each separately, so that they cannot form markup. */
function decoded(text: string): string {
  return text.replace(
    /&(?:#\d+|#x[\da-f]+|[a-z][\da-z]*);/gi,
    (entity) => new DOMParser().parseFromString(entity, 'text/html').body.textContent ?? entity,
  );
}

function isSafe(href: string): boolean {
  return URL.canParse(href) && ['https:', 'http:', 'mailto:'].includes(new URL(href).protocol);
}
