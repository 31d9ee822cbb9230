export {
  loginRetentionSeconds,
  machineRetentionSeconds,
  personRetentionSeconds,
  type RevocationKind,
  type RevocationReason,
} from './entry.ts'
export { createRevocationFeed, type RevocationFeed } from './feed.ts'
export {
  announceCredential,
  announceRealmCredentials,
  appendToFeed,
  entryChange,
  sweepFeed,
} from './feed-store.ts'
export { forPeers, type RevocationServices, revocationOperations } from './operations.ts'
export { replyAfterAck } from './reply-after-ack.ts'
export { shareSubscribers } from './subscribers.ts'
