export { isPostgresUrl, parsePostgresUrl } from './postgres/address.ts'
export { PrimaryMemory } from './postgres/hosts.ts'
export { readPassword } from './postgres/password.ts'
export { readTls } from './postgres/tls.ts'
export { createShareSet } from './seal/create-share-set.ts'
export { decodeContext, type Seal, type SealContext, UnknownDataKey } from './seal/envelope.ts'
export {
  createRecovery,
  createRootKeyRecord,
  findRecoverableKey,
  findRecoverySet,
  listRootKeyRecords,
} from './seal/recovery.ts'
export { loadRootKeys, type RootKey, type RootKeySource } from './seal/root-key.ts'
export {
  findSharedRootKey,
  openProvidedRootKey,
  type RootKeyProvider,
  RootKeyUnavailable,
  type SharedRootKey,
  sharesSource,
  testProvider,
  unwrapDatabaseKey,
} from './seal/root-key-sources.ts'
export {
  moveToFile,
  moveToKey,
  moveToProvider,
  moveToShares,
  requireRootKeyFile,
  rotateRootKey,
  rotateRootKeyFile,
} from './seal/rotate.ts'
export {
  createWrongRootKeyError,
  describeMove,
  isUnsealed,
  openSeal,
  openSealToRead,
} from './seal/seal.ts'
export {
  countRootKeyRecords,
  listRootKeySources,
  removeRootKeyRecord,
  sealMigrations,
} from './seal/seal-store.ts'
export { openText, sealText } from './seal/sealed-text.ts'
export { findShareTexts } from './seal/share.ts'
export { ShareCollection } from './seal/share-collection.ts'
export { describeSet, isShareName, type ShareHolder, type ShareSet } from './seal/share-set.ts'
export { createRowCache } from './sql/cache.ts'
export {
  commitCountMigrations,
  hasTable,
  isEmptyDatabase,
  raiseCommitCount,
  readCommitCount,
} from './sql/commit-count-store.ts'
export {
  DatabaseUnreachable,
  GuardFailed,
  OutcomeUnknown,
  retryOnGuard,
  StorageUnavailable,
  UniqueViolation,
} from './sql/errors.ts'
export { holdLease, leaseMigrations, writeProbe } from './sql/lease.ts'
export {
  advanceIdentities,
  beginRestore,
  type CopiedRow,
  type CopiedTable,
  createInsertion,
  type DatabaseSnapshot,
  deleteAllRows,
  dropRestoreMarker,
  isRestoreUnderWay,
  openSqliteSnapshot,
  readSchema,
  switchTriggers,
} from './sql/logical-copy-store.ts'
export { type MigrationPlan, migrate, planMigration, requireUsable } from './sql/migrate.ts'
export { schemaMigrations } from './sql/older-programs-store.ts'
export { lockForRestore, openPostgres, openPostgresSnapshot } from './sql/open-database.ts'
export type { PostgresOptions } from './sql/postgres.ts'
export { change, insertInto, query, queryOfText, readOne } from './sql/query.ts'
export { findRestored, forgetRestored, insertRestored } from './sql/restored-store.ts'
export { findUnsafeSettings, readConnectionLimit, readEngineVersion } from './sql/server-settings-store.ts'
export { openSqlite } from './sql/sqlite.ts'
export { openTemporaryDatabase, type TemporaryDatabase } from './sql/sqlite-connection.ts'
export { getDatabaseBytes } from './sql/sqlite-files.ts'
export { fillSqlite } from './sql/sqlite-filling-store.ts'
export { type SqliteWriter, startSqliteWriter } from './sql/sqlite-writer.ts'
export type {
  Change,
  ChangeResult,
  Commit,
  Database,
  Migration,
  Query,
  RestoredBackup,
  RowCache,
  SqlValue,
} from './sql/types.ts'
export { createUnchangedRows, type UnchangedRows } from './sql/unchanged.ts'
