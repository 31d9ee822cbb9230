export {
  type EndedKind,
  type EndReason,
  loginsHorizonSeconds,
  machineHorizonSeconds,
  personHorizonSeconds,
} from './entry.ts'
export { createEndedFeed, type EndedFeed } from './feed.ts'
export { appendToFeed, credentialSet, entryChange, realmCredentialsSet, sweepFeed } from './feed-store.ts'
export { shareFollowers } from './followers.ts'
export { type EndedServices, endedOperations, forPeers } from './operations.ts'
export { withToldEnds } from './told.ts'
