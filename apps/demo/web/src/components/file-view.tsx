import { ArrowLeft } from 'lucide-preact';
import { size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { filePath, goToConversation } from '../state/view.js';
import { Markdown } from './markdown.js';
import { Button, CodeBlock, Header } from './parts.js';

/** A file that the agent wrote, or a result that was too large for the window. */
export function FileView() {
  const path = filePath.value;
  const { value: file, failure } = useLoaded(() => api.file(path), [path]);
  const isCut = file !== undefined && file.size > new Blob([file.text]).size;
  return (
    <main class="column">
      <Header title={path}>
        <Button onClick={goToConversation}>
          <ArrowLeft size={16} aria-hidden="true" /> Conversation
        </Button>
      </Header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text without links could not be scrolled by keys. */}
      <section class="scrolls" tabIndex={0} aria-label="Text of the file">
        <div class="view-content stack">
          {file && <p class="quiet small">{`${size(file.size)}${isCut ? ', the beginning' : ''}`}</p>}
          <p class="failure small" role="alert">
            {failure}
          </p>
          {file &&
            (path.endsWith('.md') ? (
              <Markdown text={file.text} />
            ) : (
              <CodeBlock label={path} text={file.text} />
            ))}
        </div>
      </section>
    </main>
  );
}
