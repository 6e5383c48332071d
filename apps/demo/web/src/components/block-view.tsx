import { Component } from 'preact';
import type { Block } from '../lib/blocks.js';
import { AgentTurn } from './agent-turn.js';
import { CompactionDivider } from './compaction-divider.js';
import { NoticeView } from './notice-view.js';
import { UserTurn } from './user-turn.js';

interface BlockViewProps {
  readonly block: Block;
}

/** One block of the conversation, drawn again only when it changed. */
export class BlockView extends Component<BlockViewProps> {
  override shouldComponentUpdate(next: BlockViewProps): boolean {
    return next.block !== this.props.block;
  }

  override render({ block }: BlockViewProps) {
    switch (block.type) {
      case 'user':
        return <UserTurn message={block.message} />;
      case 'agent':
        return <AgentTurn messages={block.messages} />;
      case 'compaction':
        return <CompactionDivider compaction={block.compaction} />;
      case 'notice':
        return <NoticeView notice={block.notice} />;
    }
  }
}
