export {
  type Ended,
  type EndedConfig,
  type EndedWriter,
  endedWriter,
  readEnded,
  sharedEnded,
  shareEnded,
  shareNothing,
} from './ended.ts'
export { endedMemory } from './ended-set.ts'
export type { FeedSource } from './feed-page.ts'
export { type CredentialSet, type EndedName, type Follower, follow } from './follower.ts'
