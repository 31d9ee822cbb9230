// Entry for commands: they check a service, start it, or open its database. It loads no server; a service is loaded when it
// is checked or started.
export { prepareFips } from './fips/provider.ts'
export {
  type CopiedSchema,
  type DatabaseRestore,
  openSnapshot,
  restoreDatabase,
} from './lifecycle/copy-database.ts'
export {
  type DatabaseLocation,
  openSealedDatabase,
  readSealed,
  toDatabaseLocation,
} from './lifecycle/database.ts'
export {
  type RootKeyLaunch,
  type RuntimeConfig,
  type SealedEndpoints,
  type ServiceLaunch,
  writeNote,
} from './lifecycle/launch.ts'
export { readRememberedSeq } from './lifecycle/lost-audit.ts'
export type { RunningService } from './lifecycle/primary.ts'
export {
  type ConfiguredRootKeySource,
  checkRootKeyMembers,
  createProvider,
  describeRootKeySource,
  findRootKeyProblem,
  openRootKeys,
  requireRootKeySource,
  rootKeySource,
} from './lifecycle/root-keys.ts'
export { checkSettings, runService } from './lifecycle/service-start.ts'
export { inspectDatabase } from './lifecycle/usable-database.ts'
