import { headOf } from '@x/core';

/** UTF-16 units of a piece. */
const MAX_PIECE = 2_000;

/** A text as it is indexed: longer ones in pieces, cut at a line break or a space where the second half has one. */
export function piecesOf(text: string): string[] {
  if (text.length <= MAX_PIECE) return text.trim() === '' ? [] : [text];
  const pieces: string[] = [];
  for (let rest = text.trim(); rest !== ''; ) {
    const head = headOf(rest, MAX_PIECE);
    const space = Math.max(head.lastIndexOf('\n'), head.lastIndexOf(' '));
    const end = head.length < rest.length && space > MAX_PIECE / 2 ? space : head.length;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return pieces;
}
