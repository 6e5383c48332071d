import { size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { filePath } from '../state/view.js';
import { Markdown } from './markdown.js';
import { CodeBlock, ViewFrame } from './parts.js';

/** A file that the agent wrote, or a result that was too large for the window. */
export function FileView() {
  const path = filePath.value;
  const { value: file, failure } = useLoaded(() => api.file(path), [path]);
  const isCut = file !== undefined && file.size > new Blob([file.text]).size;
  const lead = file ? `${size(file.size)}${isCut ? ', the beginning' : ''}` : '';
  return (
    <ViewFrame title={path} lead={lead} failure={failure}>
      {file &&
        (path.endsWith('.md') ? <Markdown text={file.text} /> : <CodeBlock label={path} text={file.text} />)}
    </ViewFrame>
  );
}
