import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { CodeBlock } from './parts.js';

/**
 * Markdown as elements. `marked` only reads it; no HTML is ever made of it, so what a model or a tool wrote cannot become
 * markup, script or a link to `javascript:`.
 */
export function Markdown({ text }: { readonly text: string }) {
  const tokens = useMemo(() => lexer(text), [text]);
  return <div class="markdown stack">{underTitle(tokens).map(block)}</div>;
}

/** Headings as far below the page's own title, which is the only h1, as they are below the highest of the text. */
function underTitle(tokens: readonly Token[]): readonly Token[] {
  const depths = tokens.flatMap((token) => (token.type === 'heading' ? [token.depth] : []));
  const ranks = [...new Set(depths)].sort();
  return tokens.map((token) =>
    token.type === 'heading' ? { ...token, depth: ranks.indexOf(token.depth) } : token,
  );
}

const headings = ['h2', 'h3', 'h4'] as const;

function block(token: Token, key: number): ComponentChildren {
  const inside = inlines(token);
  switch (token.type) {
    case 'heading': {
      const Heading = headings[token.depth] ?? 'h4';
      return <Heading key={key}>{inside}</Heading>;
    }
    case 'paragraph':
      return <p key={key}>{inside}</p>;
    case 'text':
      return <span key={key}>{inside}</span>;
    case 'code':
      return <CodeBlock key={key} label={token.lang || 'Code'} text={token.text} />;
    case 'blockquote':
      return <blockquote key={key}>{token.tokens?.map(block)}</blockquote>;
    case 'list':
      return <List key={key} list={token as Tokens.List} />;
    case 'table':
      return <Table key={key} table={token as Tokens.Table} />;
    case 'hr':
      return <hr key={key} />;
    case 'space':
    case 'def':
    case 'checkbox':
      return null;
    default:
      return <p key={key}>{token.raw}</p>;
  }
}

function List({ list }: { readonly list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index}>
      {item.task && (
        <input
          type="checkbox"
          checked={item.checked ?? false}
          disabled
          aria-label={item.checked ? 'Done' : 'To do'}
        />
      )}
      {item.tokens.map(block)}
    </li>
  ));
  return list.ordered ? <ol start={list.start || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { readonly table: Tokens.Table }) {
  const row = (cells: readonly Tokens.TableCell[], Cell: 'th' | 'td') =>
    cells.map(({ align, tokens }, index) => (
      <Cell key={index} data-align={align ?? undefined}>
        {tokens.map(inline)}
      </Cell>
    ));
  return (
    <div class="markdown-table">
      <table class="table">
        <thead>
          <tr>{row(table.header, 'th')}</tr>
        </thead>
        <tbody>
          {table.rows.map((cells, line) => (
            <tr key={line}>{row(cells, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(token: Token): ComponentChildren {
  const tokens = 'tokens' in token ? token.tokens : undefined;
  return tokens ? tokens.map(inline) : decoded('text' in token ? token.text : token.raw);
}

function inline(token: Token, key: number): ComponentChildren {
  const inside = () => inlines(token);
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del': {
      const Mark = token.type;
      return <Mark key={key}>{inside()}</Mark>;
    }
    case 'codespan':
      return <code key={key}>{token.text}</code>;
    case 'br':
      return <br key={key} />;
    case 'link':
      if (!safeLink(token.href)) return <span key={key}>{inside()}</span>;
      return (
        <a key={key} href={token.href} target="_blank" rel="noopener noreferrer">
          {inside()}
        </a>
      );
    case 'image':
      // Not loaded: the address of a picture can carry away what the model read.
      return <span key={key}>{token.text || 'image'}</span>;
    case 'text':
      return inside();
    case 'checkbox':
      return null;
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}

/** Text with its entities as what they stand for. Each is read by itself, so that none can begin markup. */
function decoded(text: string): string {
  return text.replace(
    /&(?:#\d+|#x[\da-f]+|[a-z][\da-z]*);/gi,
    (entity) => new DOMParser().parseFromString(entity, 'text/html').body.textContent ?? entity,
  );
}

function safeLink(href: string): boolean {
  return URL.canParse(href) && ['https:', 'http:', 'mailto:'].includes(new URL(href).protocol);
}
