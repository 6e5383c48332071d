import './evicted-file.css';
import { useSignal } from '@preact/signals';
import { FileText } from 'lucide-preact';
import { size } from '../lib/format.js';
import { ApiError, api } from '../state/api.js';
import { CodeBlock } from './code-block.js';

interface EvictedFileProps {
  readonly path: string;
  readonly chars: number;
}

/** The way to a result that was too large for the window: its file, a part at a time. */
export function EvictedFile({ path, chars }: EvictedFileProps) {
  const text = useSignal('');
  const next = useSignal<number | undefined>(0);
  const total = useSignal(chars);
  const failure = useSignal('');
  const load = async () => {
    try {
      const part = await api.file(path, next.peek() ?? 0);
      text.value += part.text;
      next.value = part.nextOffset;
      total.value = part.size;
      failure.value = '';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failure.value = error.message;
    }
  };
  const begun = text.value !== '';
  return (
    <>
      {begun && <CodeBlock label={path} text={text.value} figure={size(total.value)} />}
      {failure.value && <p class="evicted-failure">{failure.value}</p>}
      {next.value !== undefined && (
        <button type="button" class="button evicted-button" onClick={() => void load()}>
          <FileText size={16} />
          <span class="evicted-label">{begun ? 'Show more of it' : 'Open the whole result'}</span>
          {!begun && <span class="evicted-path">{`${size(chars)} · ${path}`}</span>}
        </button>
      )}
    </>
  );
}
