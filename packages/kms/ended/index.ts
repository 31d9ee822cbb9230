export {
  createEndedWriter,
  type Ended,
  type EndedConfig,
  type EndedWriter,
  readEnded,
  readSharedMemory,
  shareEnded,
  shareNothing,
} from './ended.ts'
export { createEndedMemory } from './ended-set.ts'
export type { FeedSource } from './feed-page.ts'
export { type CredentialSet, type EndedName, type Follower, follow } from './follower.ts'
